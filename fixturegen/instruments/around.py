"""A process that is started alone: prepared, watched and wrapped as its mode says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from fixturegen import files
from fixturegen.fixture.conditions import PERF_RECORD, PERFS, STRACE
from fixturegen.instruments import perf, prepare, profiling, watch
from fixturegen.launcher import Start
from fixturegen.model import Case, Columns, Fixture, Mode


class Around:
    """What is done before and after the processes of one run that are started alone."""

    def __init__(
        self,
        fixture: Fixture,
        paths: Mapping[str, Path],
        folder: Path,
        run: Path,
        drop: Callable[[], None],
    ) -> None:
        """`paths` are those that arguments may name; `folder` is the processes' own, `run` ours.

        drop: empties the page cache.
        """
        self._modes: dict[Case, Mode] = {
            case: program.mode(case.mode)
            for program in fixture.programs
            for case in program.cases()
        }
        self._paths = paths
        self._folder = folder
        self._run = run
        self._drop = drop
        self._kernels = {program.name: program.kernel for program in fixture.programs}
        self._wrapped = folder.parent / "wrapped"
        self._before: Columns = {}

    def alone(self, case: Case) -> bool:
        """Return whether no other process may be in flight when this one is prepared."""
        return self._modes[case].alone

    def way(self, case: Case, start: Start) -> Start:
        """Return how the case is started: under its wrapper, if it has one."""
        wrapper = self._modes[case].wrapper
        if not wrapper:
            return start
        files.make_folder(self._wrapped)
        output = self._wrapped / wrapper
        files.remove(output)  # of a run that was killed
        if wrapper in PERFS:
            return perf.wrapped(start, wrapper, output)
        return watch.counted(start, output)

    def before(self, case: Case) -> Columns:
        """Prepare, then look; return the columns of the preparation.

        Raises prepare.RefusedError if the process must not be started.
        """
        mode = self._modes[case]
        program = self._paths[case.path.rpartition(".")[0]]
        paths = {**self._paths, "self": program}
        done = prepare.prepare(mode, program, paths, self._folder, self._drop)
        self._before = watch.look(mode.watch)
        return done

    def after(self, case: Case) -> Columns:
        """Look again; return the columns of what was watched and counted."""
        mode = self._modes[case]
        found = watch.joined(self._before, watch.look(mode.watch))
        return {**found, **self._wrapper_left(case, mode.wrapper)}

    def _wrapper_left(self, case: Case, wrapper: str) -> Columns:
        """Return the columns of what the wrapper wrote, and remove it."""
        output = self._wrapped / wrapper
        if wrapper == STRACE:
            return watch.read_counts(output)
        if wrapper == PERF_RECORD:
            binary = self._paths[case.path.rpartition(".")[0]]
            subject = profiling.subject(case, binary, self._kernels[case.program])
            return profiling.read_samples(output, subject, self._run)
        return perf.read_counts(output) if wrapper else {}
