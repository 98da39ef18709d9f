"""`perf-record`: the process runs under perf, which samples the stacks of its threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fixturegen.instruments import perf
from fixturegen.instruments.instrument import AddedLine, Instrument, Refusal, Subject
from fixturegen.model import Columns

if TYPE_CHECKING:
    from fixturegen.launcher import Start


class PerfRecord(Instrument):
    """Samples stacks; what it leaves in the run's folder becomes a profile and a flame graph."""

    name = "perf-record"
    key = "wrapper"
    description = (
        "under perf, which samples its stacks: columns `profile.samples`, `.lost`, `.thread` (of "
        "the thread with most of `kernel`), and of that thread `own.FUNCTION`, `total.FUNCTION`"
    )
    tool = perf.TOOL
    lines = (
        AddedLine("profile", ("samples", "lost", "thread")),
        AddedLine("own"),
        AddedLine("total"),
    )

    def refusal(self, build: Path) -> Refusal | None:
        """Return why perf may not sample a process, or cannot read what it sampled."""
        return perf.refused(perf.try_record(build))

    def wrap(self, start: Start, output: Path) -> Start:
        """Return `start` under `perf record`, which writes its data to `output`."""
        return perf.wrapped(start, perf.record_argv(output))

    def after(self, subject: Subject) -> Columns:
        """Return the samples as columns; the files of the profile stay in the run's folder."""
        from fixturegen.instruments import profiling

        return profiling.read_samples(subject)
