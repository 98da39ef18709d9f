"""Entry point of the command `fixturegen` and of `python -m fixturegen`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line; exits with the codes of `errors`."""
    if sys.argv[1:] == ["--version"]:
        # Answered before click is imported: a version is asked for by scripts, often.
        from fixturegen import __version__

        sys.stdout.write(f"fixturegen {__version__}\n")
        return
    # Imports make many objects that stay: looking for garbage among them takes as long as some.
    gc.set_threshold(50_000)
    from fixturegen.cli import run

    run()


if __name__ == "__main__":
    main()
