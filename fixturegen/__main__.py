"""Entry point of the command `fixturegen` and of `python -m fixturegen`."""

# `python -m` puts the current folder first on the path, and that may be a stranger's, with a
# click.py of its own. So it goes before anything but these is imported; not even __future__ is.
import gc
import os
import sys


def _forget_current_folder() -> None:
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is not to be imported yet
    except OSError:
        return  # it is gone, and Python has not put it there
    if not sys.flags.safe_path and sys.path[:1] == [here]:
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()


def main() -> None:
    """Run the command line; exits with the codes of `errors`."""
    if sys.argv[1:] == ["--version"] and _version_said():
        return
    # Imports make many objects that stay: looking for garbage among them takes as long as some.
    gc.set_threshold(50_000)
    from fixturegen.cli import run

    run()


def _version_said() -> bool:
    """Answer before click is imported, for scripts ask often; False if nobody takes the answer."""
    from fixturegen import __version__

    try:
        sys.stdout.write(f"fixturegen {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # None: closed from the start
        return False  # the command line says why, as it does of every command
    return True


if __name__ == "__main__":
    main()
