"""The group of commands, loaded one by one so that none pays for another's imports."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from fixturegen import __version__, bounds, errors
from fixturegen.cli import guarded
from fixturegen.cli.guarded import Invocation
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import flush, refused_stream, say, say_error, say_misuse

READER_GONE = 141  # as a program that SIGPIPE ends
UNHEARD = contextlib.suppress(OSError)  # nobody can be told; the exit code still says it
COMMANDS = {
    "list": "the fixtures, their programs, cases and claims",
    "render": "templates to sources (--check: only compare)",
    "build": "render, then compile what is not up to date",
    "run": "build, start every case in fresh processes, write the fixture",
    "report": "stored samples to the fixture's text (--check: only compare)",
    "inspect": "how an ELF file is linked, and what binds lazily",
    "doctor": "what this machine can and cannot show, and what to install",
    "tune": "the machine's knobs: show, apply, restore",
    "check": "everything that can be verified without starting a process",
    "new": "a new fixture in templates/, ready to build and run",
}


class ReaderGoneError(Exception):
    """Nobody reads the output any more. Not an OSError: click would end with 1, which is drift."""

    def __init__(self, reason: BrokenPipeError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Group(click.Group):
    """Loads `fixturegen.cli.NAME:command` when NAME is used."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Read the command line, which may print the help."""
        try:
            return super().make_context(info_name, args, parent, **{"obj": Invocation(), **extra})
        except BrokenPipeError as error:
            raise ReaderGoneError(error) from error

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError(error) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a fixture is made."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = {"list": "listing", "new": "newcomer"}.get(cmd_name, cmd_name)
        loaded: click.Command = importlib.import_module(f"fixturegen.cli.{module}").command
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; an unknown one is answered with the nearest known name.

        Before it is imported, and before its options are read, which may name files: whose rights
        it has, where it works, and under which limits.
        """
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from fixturegen.errors import nearest

            raise errors.UsageError(f"there is no command {args[0]!r}", nearest(args[0], COMMANDS))
        _leave_root(ctx, args[0])
        _go(ctx.params["folders"])
        if args[0] in guarded.COMMANDS:
            guarded.guard(ctx)  # before the imports: the less there is, the faster is the fork
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Group, context_settings=HELP_OPTIONS)
@click.option(
    "-C",
    "folders",
    metavar="DIR",
    multiple=True,
    help="Work as if started in DIR; a second -C is relative to the first.",
)
@click.option(
    "--no-limits",
    is_flag=True,
    help="Let a command take any time and memory: for a large project of your own.",
)
@click.version_option(__version__, message="fixturegen %(version)s")
def cli(folders: tuple[str, ...], no_limits: bool) -> None:
    """Make the programs, measurements and texts that a performance article stands on.

    \b
    fixturegen build && fixturegen run   render, compile, measure, write the texts
    fixturegen check                     do programs, samples, texts still agree?
    fixturegen doctor                    what can this machine show, and what not?

    Without names, every command means all fixtures of the project: the nearest folder upwards
    with templates/*/fixture.toml. Without one, the built-in fixtures are used.

    Exit codes: 0 ok; 1 drift or a claim that does not hold; 2 wrong usage; 3 a fixture,
    a template or stored data is wrong; 4 a build failed; 5 a measured program failed; 6 a tool
    is missing; 7 another run holds the lock; 70 a bug of ours; 74 the system refused a file
    operation; 130 interrupted (what was measured is kept); 141 the reader of the output went away.
    """


def _go(folders: tuple[str, ...]) -> None:
    for folder in folders:
        try:
            os.chdir(folder)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a path"
            raise errors.UsageError(f"-C {folder}: {reason}") from error


def _leave_root(ctx: click.Context, command: str) -> None:
    """Under sudo become the user who typed it, before any path of the command line is touched.

    `tune` alone stays root. `run` may need root once more, for the guardian or --as-root: what it
    does meanwhile is done as the user.
    """
    if os.geteuid() != 0 or command == "tune":
        return
    from fixturegen import privileges

    if command == "run":
        ctx.obj = ctx.obj._replace(aside=privileges.step_aside())
    else:
        privileges.drop_privileges()


def run() -> NoReturn:
    """Run the command line and exit with its code."""
    _leave(status(limits=True))


def status(*, limits: bool = False) -> int:
    """Run the command line and return its exit code; every error becomes one message.

    limits: whether commands that are safe on a stranger's project get their limits. They then go
    on in a child.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup is asked to be heard
            signal.signal(number, _stop)
    _open_closed()
    try:
        return _told(limits)
    except MemoryError:  # what filled the memory is gone when this block is left
        said = bounds.out_of_memory
    except RecursionError:
        said = bounds.too_deep
    error = said()
    with UNHEARD:
        say_error(error)
    return error.exit_code


def _open_closed() -> None:
    """Let what was closed from the start (>&-) lead nowhere, so that no file gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - a number, and for good


def _leave(code: int) -> NoReturn:
    """Exit at once: taking the interpreter apart would need a tenth of a short command's time."""
    try:
        flush()
    except OSError as error:
        code = _refused(error)
    with contextlib.suppress(OSError):  # None: closed from the start, 2>&-
        if sys.stderr is not None:
            sys.stderr.flush()
    os._exit(code)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _told(limits: bool) -> int:
    try:
        result = cli.main(prog_name="fixturegen", standalone_mode=False, obj=Invocation(limits))
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        with UNHEARD:
            say_misuse(error)
        return 2
    except errors.FixturegenError as error:
        with UNHEARD:
            say_error(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        with UNHEARD:
            say("fixturegen: interrupted", err=True)
        return errors.InterruptedRunError.exit_code
    except ReaderGoneError as error:
        return _refused(error.reason)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError from error
        return _refused(error)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        with UNHEARD:
            say(*_bug(error), err=True)
        return 70


def _refused(error: OSError) -> int:
    """Say what the system refused, a stream or a file, and return the exit code."""
    stream = refused_stream(error)
    if stream == "standard output":
        _forget_stdout()
    if isinstance(error, BrokenPipeError):
        return READER_GONE
    said = f"{stream}: {error.strerror}" if stream else str(error)
    with UNHEARD:
        say(f"fixturegen: {said}", err=True)
    return errors.FileError.exit_code


def _forget_stdout() -> None:
    """Point stdout elsewhere, so that the interpreter's last flush does not fail as well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _bug(error: Exception) -> list[str]:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    more = traceback.format_exc().split("\n") if os.environ.get("FIXTUREGEN_TRACEBACK") else []
    return [
        f"fixturegen: a bug of ours: {type(error).__name__}: {error} ({place})",
        "  please report it with the command that was run; FIXTUREGEN_TRACEBACK=1 shows more",
        *(f"  | {line}" for line in more),  # of which the last are the error's own words
    ]
