"""`perf-stat`: the process runs under perf, which counts its events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fixturegen.instruments import perf
from fixturegen.instruments.instrument import Instrument, Refusal, Subject
from fixturegen.model import Columns

if TYPE_CHECKING:
    from fixturegen.launcher import Start


class PerfStat(Instrument):
    """Counts the events of the process and of those that it starts."""

    name = "perf-stat"
    key = "wrapper"
    description = (
        "under perf, which counts the events of the process: columns `counted.EVENT`, and "
        "`running.EVENT`, percent of the time in which it counted"
    )
    tool = perf.TOOL
    lines = perf.COUNTED

    def refusal(self, build: Path) -> Refusal | None:
        """Return why perf may not count a process, or counts nothing."""
        return perf.refused(perf.try_stat())

    def wrap(self, start: Start, output: Path) -> Start:
        """Return `start` under `perf stat`, which writes its counts to `output`."""
        return perf.wrapped(start, perf.stat_argv(output, None))

    def after(self, subject: Subject) -> Columns:
        """Return what it counted."""
        return perf.read_counts(subject.output)
