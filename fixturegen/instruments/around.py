"""A process that is started alone: prepared, watched and wrapped as its mode says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from fixturegen import errors, files
from fixturegen.instruments.instrument import Subject, UnreadError, joined
from fixturegen.instruments.registry import Use, uses
from fixturegen.launcher import Start
from fixturegen.model import REFERENCE, Case, Columns, Fixture, canonical


class RefusedError(Exception):
    """A preparation that the system refused: its process is not started."""


def _ended(arguments: tuple[str, ...]) -> str:
    return "the process has ended already"


def fill(text: str, paths: Mapping[str, Path]) -> str:
    """Return `text` with every `{name}` replaced by the path it stands for."""
    return REFERENCE.sub(lambda name: str(paths[canonical(name[1])]), text)


class Around:
    """What is done before and after the processes of one run that are started alone."""

    def __init__(
        self,
        fixture: Fixture,
        paths: Mapping[str, Path],
        folder: Path,
        run: Path,
        drop_caches: Callable[[], None],
    ) -> None:
        """`paths` are those that arguments may name; `folder` is the processes' own, `run` ours.

        drop_caches: empties the page cache.
        """
        self._uses: dict[Case, list[Use]] = {
            case: uses(program.mode(case.mode))
            for program in fixture.programs
            for case in program.cases()
        }
        self._functions = {program.name: program.kernel for program in fixture.programs}
        self._paths = paths
        self._folder = folder
        self._run = run
        self._drop_caches = drop_caches
        self._wrapped = folder.parent / "wrapped"

    def alone(self, case: Case) -> bool:
        """Return whether no other process may be in flight when this one is prepared."""
        return bool(self._uses[case])

    def way(self, case: Case, start: Start) -> Start:
        """Return how the case is started: under its wrapper, if it has one."""
        output = self._output(case)
        if self._uses[case]:
            files.make_folder(self._wrapped)
            files.remove(output)  # of a run that was killed
        for use in self._uses[case]:
            start = use.instrument.wrap(start, output)
        return start

    def before(self, case: Case, start: Callable[[tuple[str, ...]], str]) -> Columns:
        """Prepare, then look; return the columns of that.

        start: as a Subject's. Raises RefusedError if the process must not be started.
        """
        subject = self._subject(case, start)
        paths = {**self._paths, "self": subject.binary}
        if self._uses[case]:
            files.remove(subject.output)  # of a process that failed, and so was not read
        columns = []
        for use in self._uses[case]:
            arguments = [fill(each, paths) for each in use.arguments]
            try:
                columns.append(use.instrument.before(subject, arguments))
            except (OSError, errors.FileError) as error:
                said = error.what if isinstance(error, errors.FileError) else error.strerror
                raise RefusedError(f"{use.instrument.key} {use.instrument.name}: {said}") from error
        return joined(columns)

    def after(self, case: Case, before: Columns) -> Columns:
        """Look again; return the columns of `before` with what was watched and counted.

        Raises UnreadError, with the instrument's name, if that cannot be read.
        """
        subject = self._subject(case)
        columns = [before]
        for use in self._uses[case]:
            try:
                columns.append(use.instrument.after(subject))
            except (OSError, UnreadError) as error:
                said = error.strerror if isinstance(error, OSError) else error
                raise UnreadError(f"{use.instrument.key} {use.instrument.name}: {said}") from error
        return joined(columns)

    def _output(self, case: Case) -> Path:
        return self._wrapped / case.path

    def _subject(self, case: Case, start: Callable[[tuple[str, ...]], str] = _ended) -> Subject:
        return Subject(
            case,
            self._paths[case.path.rpartition(".")[0]],
            self._folder,
            self._output(case),
            self._run,
            self._functions[case.program],
            self._drop_caches,
            start,
        )
