"""One family of exceptions, each with its exit code.

A message says what happened, where, and what to do next. Only `cli` turns one into text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LISTED = 24  # known names that a hint lists


class FixturegenError(Exception):
    """Base of every error that a user can meet.

    what: one line, what happened and where; hint: one line, what to do next, empty if there is
    nothing; quoted: lines of a file or of another program, shown between the two.
    """

    exit_code = 70

    def __init__(self, what: str, hint: str = "", quoted: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.quoted = tuple(quoted)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the message's lines; what came from elsewhere may still hold a line end."""
        return [self.what, *(f"  {line}" for line in (*self.quoted, self.hint) if line)]


class CheckError(FixturegenError):
    """A check found drift, a file cannot be read as what it claims to be, a claim does not hold."""

    exit_code = 1


class UsageError(FixturegenError):
    """The command line asks for something that does not exist or makes no sense."""

    exit_code = 2


class SpecError(FixturegenError):
    """A fixture.toml, a template or an expression is wrong."""

    exit_code = 3


class LinkError(SpecError):
    """A symbolic link where a project's own file or folder must be; it is not followed."""


class LimitError(FixturegenError):
    """A file would take more time, memory or room on the disk than looking at it may take."""

    exit_code = 3


class DataError(FixturegenError):
    """Stored data is not of the shape that a run writes: a context, a sample, an attachment."""

    exit_code = 3


class BuildError(FixturegenError):
    """A compiler or cargo failed, or what it made is not what the fixture asked for."""

    exit_code = 4


class ProgramError(FixturegenError):
    """A measured program failed, hung, or printed something no pattern knows."""

    exit_code = 5


class ToolMissingError(FixturegenError):
    """A tool that cannot be done without is not installed."""

    exit_code = 6


class LockedError(FixturegenError):
    """Another run in this project holds the lock."""

    exit_code = 7


class FileError(FixturegenError):
    """The system refused a file operation: a full disk, a read-only folder (EX_IOERR)."""

    exit_code = 74


class InterruptedRunError(FixturegenError):
    """The user or the system stopped the run; what was measured is kept."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name that is nearest to `name`, or the known ones."""
    import difflib

    names = sorted(set(known))
    similar = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if similar:
        return f"did you mean {similar[0]!r}?"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"known: {', '.join(names[:LISTED])}{more}" if names else ""
