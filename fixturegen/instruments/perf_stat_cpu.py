"""`perf-stat-cpu`: perf counts all that runs on one of the process's CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fixturegen.instruments import perf
from fixturegen.instruments.instrument import Refusal
from fixturegen.instruments.perf_stat import PerfStat

if TYPE_CHECKING:
    from fixturegen.launcher import Start


class PerfStatCpu(PerfStat):
    """Counts the events of the last CPU that the process may use, whoever runs there."""

    name = "perf-stat-cpu"
    description = (
        "under perf, which counts the events of all that runs on the last of its CPUs: the same "
        "columns"
    )

    def refusal(self, build: Path) -> Refusal | None:
        """Return why perf may not count a CPU."""
        return perf.refused(perf.try_stat(0))

    def wrap(self, start: Start, output: Path) -> Start:
        """Return `start` under `perf stat -a -C`, which writes its counts to `output`."""
        return perf.wrapped(start, perf.stat_argv(output, max(start.cpus, default=0)))
