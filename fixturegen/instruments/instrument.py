"""What an instrument is: something done around one process, or watched while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import Struct

from fixturegen import process
from fixturegen.model import Case, Columns
from fixturegen.process import Tool

if TYPE_CHECKING:
    from fixturegen.launcher import Start

Key = Literal["prepare", "watch", "wrapper"]  # of a mode: where an instrument is named


class AddedLine(Struct, frozen=True):
    """A line that an instrument adds to a sample; no program may print a line of this name.

    columns: their names; None if only the process decides them: system calls, functions.
    """

    name: str
    columns: tuple[str, ...] | None = None

    def paths(self, cited: Iterable[str]) -> set[str]:
        """Return `line.column` of each column; of those that the process decides, the cited."""
        if self.columns is None:
            return {path for path in cited if path.startswith(f"{self.name}.")}
        return {f"{self.name}.{column}" for column in self.columns}


class Refusal(Struct, frozen=True):
    """Why an instrument cannot be used here; `root_helps` if root might be allowed to."""

    reason: str
    root_helps: bool = False


class Subject(Struct, frozen=True):
    """The process that is prepared, watched or wrapped.

    folder: its current folder. output: a file that a wrapper may write. run: where the run keeps
    its files. function: the program's `kernel`, "" if it names none. drop_caches: empties the page
    cache; only the guardian of a run that was allowed to may do that. start: starts the program
    with other arguments and waits for its end and that of all it started; why it failed, or "".
    """

    case: Case
    binary: Path
    folder: Path
    output: Path
    run: Path
    function: str
    drop_caches: Callable[[], None]
    start: Callable[[tuple[str, ...]], str]


class UnreadError(Exception):
    """What an instrument found is not there or cannot be read; the message says which."""


class Instrument:
    """One instrument: what fixture.toml, the reference page, a run and doctor know of it.

    name: its word in a mode, at `key`. arguments: what stands behind the word, as the reference
    page writes it, and `takes`: how many, at least and at most. description: follows the word on
    the reference page. tool: what it starts. asks: for one that must be allowed by `run --allow
    NAME`, what it does to the machine and to whom. on_disk: what it tells depends on what the
    build folder is stored on. lines: what it adds to a sample.
    """

    name: ClassVar[str]
    key: ClassVar[Key]
    description: ClassVar[str]
    arguments: ClassVar[str] = ""
    takes: ClassVar[tuple[int, int]] = (0, 0)
    tool: ClassVar[Tool | None] = None
    asks: ClassVar[str] = ""
    on_disk: ClassVar[bool] = False
    lines: ClassVar[tuple[AddedLine, ...]] = ()

    @property
    def form(self) -> str:
        """Its name and what stands behind it, as an author writes them."""
        return f"{self.name} {self.arguments}".rstrip()

    def refusal(self, build: Path) -> Refusal | None:
        """Return why it cannot be used on this machine, with its files in the folder `build`."""
        if self.tool is None or any(process.find(command) for command in self.tool.commands):
            return None
        return Refusal(self.tool.absent)

    def wrap(self, start: Start, output: Path) -> Start:
        """Return how the process is started; a wrapper writes what it found to `output`.

        It runs in the environment of a mode that sets nothing, and the program in that of `start`,
        if the wrapper has an option for that; else what it writes must be read in any locale.
        """
        return start

    def before(self, subject: Subject, arguments: Sequence[str]) -> Columns:
        """Do what is to be done right before the process; return what is known then.

        Raises OSError or errors.FileError if it was refused: the process is then not started.
        """
        return {}

    def after(self, subject: Subject) -> Columns:
        """Return what is known right after the process; its entries follow those of `before`.

        Raises UnreadError if what was found cannot be read: the sample is then none. Not asked
        after a process that failed.
        """
        return {}


def joined(every: Iterable[Columns]) -> Columns:
    """Return the columns of all, the entries of one that stands several times in order."""
    result: Columns = {}
    for each in every:
        for line, columns in each.items():
            into = result.setdefault(line, {})
            for column, entries in columns.items():
                into[column] = [*into.get(column, []), *entries]
    return result
