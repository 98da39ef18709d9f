"""A process that is started alone: prepared, watched and wrapped as its mode says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fixturegen import files
from fixturegen.launcher import Start
from fixturegen.model import Case, Fixture, Mode
from fixturegen.printed import Columns
from fixturegen.runner import prepare, watch
from fixturegen.spec.conditions import STRACE


class Around:
    """What is done before and after the processes of one run that are started alone."""

    def __init__(self, fixture: Fixture, paths: Mapping[str, Path], folder: Path) -> None:
        """`paths` are those that arguments may name; `folder` is the processes' own."""
        self._modes: dict[Case, Mode] = {
            case: program.mode(case.mode)
            for program in fixture.programs
            for case in program.cases()
        }
        self._paths = paths
        self._folder = folder
        self._table = folder.parent / "wrapped" / "strace-count"
        self._before: Columns = {}

    def alone(self, case: Case) -> bool:
        """Return whether no other process may be in flight when this one is prepared."""
        return self._modes[case].alone

    def way(self, case: Case, start: Start) -> Start:
        """Return how the case is started: under its wrapper, if it has one."""
        if self._modes[case].wrapper != STRACE:
            return start
        files.make_folder(self._table.parent)
        return watch.counted(start, self._table)

    def before(self, case: Case) -> Columns:
        """Prepare, then look; return the columns of the preparation.

        Raises prepare.RefusedError if the process must not be started.
        """
        mode = self._modes[case]
        program = self._paths[case.path.rpartition(".")[0]]
        paths = {**self._paths, "self": program}
        done = prepare.prepare(mode, program, paths, self._folder)
        self._before = watch.look(mode.watch)
        return done

    def after(self, case: Case) -> Columns:
        """Look again; return the columns of what was watched and counted."""
        mode = self._modes[case]
        found = watch.joined(self._before, watch.look(mode.watch))
        return {**found, **(watch.read_counts(self._table) if mode.wrapper == STRACE else {})}
