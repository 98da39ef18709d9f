"""Runs the steps in fresh processes and hands on each sample as soon as it is there."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from fixturegen import errors, files, launcher, units
from fixturegen.launcher import Outcome, Start
from fixturegen.model import Case, Fixture, Program, Sample, path_part
from fixturegen.printed import Reader, UnreadableError
from fixturegen.project import Project
from fixturegen.runner.ending import GIVE_UP
from fixturegen.runner.schedule import Step
from fixturegen.summary import MetricError, Number, Summary

Measured = tuple[Step, Sample, dict[str, Number] | None]


def launcher_binary(project: Project) -> Path:
    """Return the launcher, compiled now if need be; raises errors.ToolMissingError, FileError."""
    folder = project.build / "launcher"
    try:
        return launcher.build_launcher(folder)
    except OSError as error:
        raise files.refused(error, "write the launcher to", folder) from error
    except errors.ToolMissingError as error:
        if os.strerror(errno.ENOSPC) in error.what:  # a compiler only tells the words
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise files.refused(full, "write the launcher to", folder) from error
        raise


def starts(
    fixture: Fixture,
    cases: Sequence[Case],
    paths: Mapping[str, Path],
    cpus: Mapping[str, tuple[int, ...]],
    cwd: Path,
) -> dict[Case, Start]:
    """Return how each case is started; environments of one program are padded to one size."""
    result: dict[Case, Start] = {}
    for program in fixture.programs:
        own = [case for case in cases if case.program == program.name]
        bare = [_start(program, case, paths, cpus_of(case, cpus), cwd) for case in own]
        result |= zip(own, launcher.padded_environments(bare), strict=True)
    return result


def cpus_of(case: Case, cpus: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return a case's CPUs: its mode's under `program.mode`, else its program's."""
    return cpus.get(f"{case.program}.{path_part(case.mode)}", cpus[case.program])


def _start(
    program: Program, case: Case, paths: Mapping[str, Path], cpus: tuple[int, ...], cwd: Path
) -> Start:
    mode = program.mode(case.mode)
    binary = case.path.removesuffix(case.path[case.path.rindex(".") :])
    return Start(
        program=str(paths[binary]),
        args=tuple(_fill(arg, paths) for arg in mode.args),
        env=launcher.environment(mode.env),
        cwd=str(cwd),
        timeout_s=program.timeout_s,
        cpus=cpus,
        output_limit=program.output_limit,
        discard=program.output == "discard",
        aslr=mode.aslr,
    )


def _fill(arg: str, paths: Mapping[str, Path]) -> str:
    return re.sub(r"\{([^{}]*)\}", lambda found: str(paths[found[1]]), arg)


class Execution:
    """One pass over the steps that are still to do."""

    def __init__(
        self, fixture: Fixture, summary: Summary, steps: Sequence[Step], failed: Counter[str]
    ) -> None:
        self.skipped: Counter[str] = Counter()
        self._summary = summary
        self._steps = steps
        self._failed = failed
        self._programs = {program.name: program for program in fixture.programs}
        self._readers = {program.name: Reader(program.lines) for program in fixture.programs}

    def run(self, started: launcher.Launcher, ways: Mapping[Case, Start]) -> Iterator[Measured]:
        """Yield each step with its sample and, if it is ok, its metrics."""
        numbers = {case: started.define(start) for case, start in ways.items()}
        sent: dict[int, Step] = {}

        def wanted() -> Iterator[int]:
            count = 0
            for step in self._steps:
                if self._failed[step.case.path] >= GIVE_UP:
                    self.skipped[step.case.path] += 1
                    continue
                sent[count] = step
                count += 1
                yield numbers[step.case]

        after = ""
        for outcome in started.run(wanted()):
            step = sent.pop(outcome.sequence)
            sample, values = self._sample(step, outcome, after)
            after = step.case.path
            if sample.status != "ok":
                self._failed[after] += 1
            yield step, sample, values

    def _sample(
        self, step: Step, outcome: Outcome, after: str
    ) -> tuple[Sample, dict[str, Number] | None]:
        """Read what the process printed; a sample that cannot be read is kept as failed."""
        status, detail = outcome.status, outcome.detail
        lines = {}
        if status == "ok":
            try:
                if self._programs[step.case.program].output == "keep":
                    lines = self._readers[step.case.program].read(outcome.stdout)
            except UnreadableError as error:
                status, detail = "unread", str(error)
        if status != "ok" or outcome.stderr:
            detail = "; ".join(filter(None, [detail, _tail(outcome)]))
        sample = Sample(
            step.case.path,
            step.round,
            step.position,
            after,
            status,
            detail,
            outcome.usage,
            lines,
            outcome.leftovers,
            outcome.rcu,
        )
        if status != "ok":
            return sample, None
        try:
            return sample, self._summary.metrics(sample)
        except MetricError as error:
            return replace(sample, status="unread", detail=str(error)), None


def _tail(outcome: Outcome) -> str:
    """Return the last lines of what a process said, stderr before stdout, for its record."""
    for label, data in (("stderr", outcome.stderr), ("stdout", outcome.stdout)):
        text = data[-2000:].decode("utf-8", errors="backslashreplace").strip()
        if text:
            last = " / ".join(text.splitlines()[-3:])
            return f"{label}: {units.escape(last, 300)}"
    return ""
