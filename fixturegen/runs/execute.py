"""Runs the steps in fresh processes and hands on each sample as soon as it is there."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from fixturegen import errors, files, launcher, visible
from fixturegen.fixture.printed import Reader, UnreadableError
from fixturegen.fixture.project import Project
from fixturegen.instruments.around import Around, RefusedError, fill
from fixturegen.instruments.instrument import UnreadError
from fixturegen.launcher import Outcome, Start
from fixturegen.model import Case, Columns, Fixture, Program, Sample, Status, Usage, path_part
from fixturegen.runs.rungs import Rungs
from fixturegen.runs.schedule import Step
from fixturegen.runs.states import GIVE_UP
from fixturegen.runs.summary import MetricError, Number, Summary

Measured = tuple[Step, Sample, dict[str, Number] | None]
Way = Callable[
    [launcher.Launcher, Mapping[Case, int], Iterable[Step]],
    Iterator[tuple[Step, Outcome, Columns]],
]


def launcher_binary(project: Project) -> Path:
    """Return the launcher, compiled now if need be; raises errors.ToolMissingError, FileError."""
    folder = project.build / "launcher"
    try:
        return launcher.build_launcher(folder)
    except OSError as error:
        raise files.refused(error, "write the launcher to", folder) from error
    except errors.ToolMissingError as error:
        for number in (errno.ENOSPC, errno.EDQUOT):  # a compiler only tells the words
            if os.strerror(number) in str(error):
                full = OSError(number, os.strerror(number))
                raise files.refused(full, "write the launcher to", folder) from error
        raise


def starts(
    fixture: Fixture,
    cases: Sequence[Case],
    paths: Mapping[str, Path],
    cpus: Mapping[str, tuple[int, ...]],
    cwd: Path,
) -> dict[Case, Start]:
    """Return how each case is started; environments of what is compared are padded to one size.

    That is one program, or all of them where they are interleaved.
    """
    bare = {
        case: _start(fixture.program(case.program), case, paths, cpus_of(case, cpus), cwd)
        for case in cases
    }
    alike = [bare] if fixture.interleave else _by_program(bare)
    result: dict[Case, Start] = {}
    for each in alike:
        result |= zip(each, launcher.padded_environments([*each.values()]), strict=True)
    return result


def _by_program(ways: Mapping[Case, Start]) -> list[dict[Case, Start]]:
    programs = dict.fromkeys(case.program for case in ways)
    return [{c: way for c, way in ways.items() if c.program == name} for name in programs]


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
        args=tuple(fill(arg, paths) for arg in mode.args),
        env=launcher.environment(mode.env),
        cwd=str(cwd),
        timeout_s=program.timeout_s,
        cpus=cpus,
        output_limit=program.output_limit,
        discard=program.output == "discard",
        aslr=mode.aslr,
    )


def crowded(start: Start, mine: Collection[int]) -> bool:
    """Return whether a process of several threads leaves no CPU to this one.

    Then nothing is read, computed or written while it runs; else it would be on its CPUs.
    """
    return len(start.cpus) > 1 and {*mine} <= {*start.cpus}


class Execution:
    """One pass over the steps that are still to do."""

    def __init__(
        self,
        fixture: Fixture,
        summary: Summary,
        steps: Sequence[Step],
        failed: Counter[str],
        around: Around,
        rungs: Rungs,
    ) -> None:
        self.skipped: Counter[str] = Counter()
        self.refused: dict[str, str] = {}  # cases of rungs whose knobs did not take, and why
        self._summary = summary
        self._steps = steps
        self._failed = failed
        self._around = around
        self._rungs = rungs
        self._programs = {program.name: program for program in fixture.programs}
        self._begun = {path for path, each in summary.cases.items() if each.count or each.failed}
        self._starts: dict[Case, Start] = {}
        self._warming: dict[tuple[Case, tuple[str, ...]], int] = {}
        self._readers = {program.name: Reader(program.lines) for program in fixture.programs}

    def run(self, started: launcher.Launcher, ways: Mapping[Case, Start]) -> Iterator[Measured]:
        """Yield each step with its sample and, if it is ok, its metrics."""
        self._starts = dict(ways)
        numbers = {
            case: started.define(self._around.way(case, start)) for case, start in ways.items()
        }
        mine = os.sched_getaffinity(0)

        def alone(step: Step) -> bool:
            return self._around.alone(step.case) or crowded(ways[step.case], mine)

        after = ""
        for steps, run in self._groups(alone):
            for step, outcome, columns in run(started, numbers, steps):
                sample, values = self._sample(step, outcome, columns, after)
                after = step.case.path
                if sample.status != "ok":
                    self._failed[after] += 1
                yield step, sample, values
        self._rungs.end()

    def _groups(self, alone: Callable[[Step], bool]) -> Iterator[tuple[Iterable[Step], Way]]:
        """Yield the steps that run in one way; the machine is tuned for them while they do."""
        for rung, own in groupby(self._steps, self._rungs.of):
            if reason := self._rungs.enter(rung):
                yield self._of_refused(own, reason), partial(_refused, reason)
                continue
            for apart, steps in groupby(own, alone):
                yield steps, self._one_by_one if apart else self._ahead
            self._rungs.leave(rung)

    def _of_refused(self, steps: Iterable[Step], reason: str) -> Iterator[Step]:
        """Yield the steps of a refused rung whose case has samples, from before a run was resumed.

        That case is then not complete; any other is not measured, and that is all.
        """
        for step in steps:
            if step.case.path in self._begun:
                yield step
            else:
                self.refused[step.case.path] = reason

    def _ahead(
        self, started: launcher.Launcher, numbers: Mapping[Case, int], steps: Iterable[Step]
    ) -> Iterator[tuple[Step, Outcome, Columns]]:
        """Yield the outcomes of steps that are sent ahead, so that the launcher never waits."""
        sent: dict[int, Step] = {}

        def wanted() -> Iterator[int]:
            count = 0
            for step in steps:
                if self._given_up(step):
                    continue
                sent[count] = step
                count += 1
                yield numbers[step.case]

        for outcome in started.run(wanted()):
            yield sent.pop(outcome.sequence), outcome, {}

    def _one_by_one(
        self, started: launcher.Launcher, numbers: Mapping[Case, int], steps: Iterable[Step]
    ) -> Iterator[tuple[Step, Outcome, Columns]]:
        """Yield the outcomes of steps around which something is done, with what that found."""
        for step in steps:
            if self._given_up(step):
                continue
            try:
                columns = self._around.before(step.case, partial(self._warm, started, step.case))
            except RefusedError as error:
                yield step, _unstarted(str(error)), {}
                continue
            for outcome in started.run([numbers[step.case]]):
                yield step, *self._around_it(step.case, outcome, columns)

    def _around_it(self, case: Case, outcome: Outcome, columns: Columns) -> tuple[Outcome, Columns]:
        """Return how a process ended, with what was found around it; unread if that cannot be."""
        if self._status(case, outcome) != "ok":
            return outcome, columns
        try:
            return outcome, self._around.after(case, columns)
        except UnreadError as error:
            return replace(outcome, status="unread", detail=str(error)), columns

    def _warm(self, started: launcher.Launcher, case: Case, arguments: tuple[str, ...]) -> str:
        """Start a case's program with other arguments; return why that failed, "" if it did not.

        Not on the CPU of the process that follows: only files are to be in memory afterwards.
        """
        key = case, arguments
        if key not in self._warming:
            start = replace(self._starts[case], args=arguments, cpus=())
            self._warming[key] = started.define(start)
        (outcome,) = started.run([self._warming[key]])
        if self._status(case, outcome) == "ok":
            return ""
        return "; ".join(filter(None, [outcome.detail or outcome.status, _tail(outcome)]))

    def _status(self, case: Case, outcome: Outcome) -> Status:
        """Return how a process ended; an exit code that is declared is a success."""
        codes = self._programs[case.program].exits
        declared = outcome.detail in (f"exit code {code}" for code in codes)
        return "ok" if outcome.status == "exit" and declared else outcome.status

    def _given_up(self, step: Step) -> bool:
        if self._failed[step.case.path] < GIVE_UP:
            return False
        self.skipped[step.case.path] += 1
        return True

    def _sample(
        self, step: Step, outcome: Outcome, columns: Columns, after: str
    ) -> tuple[Sample, dict[str, Number] | None]:
        """Read what the process printed; a sample that cannot be read is kept as failed."""
        program = self._programs[step.case.program]
        status, detail = self._status(step.case, outcome), outcome.detail
        lines = columns
        if status == "ok":
            try:
                if program.output == "keep":
                    lines = {**self._readers[program.name].read(outcome.stdout), **columns}
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


def _refused(
    reason: str, started: launcher.Launcher, numbers: Mapping[Case, int], steps: Iterable[Step]
) -> Iterator[tuple[Step, Outcome, Columns]]:
    """Yield each step as one whose process was not started."""
    for step in steps:
        yield step, _unstarted(reason), {}


def _unstarted(detail: str) -> Outcome:
    """Return the outcome of a process that was not started because its preparation failed."""
    return Outcome(-1, -1, "unstarted", detail, Usage(), 0, 0, -1, b"", b"")


def _tail(outcome: Outcome) -> str:
    """Return the last lines of what a process said, stderr before stdout, for its record."""
    for label, data in (("stderr", outcome.stderr), ("stdout", outcome.stdout)):
        text = data[-2000:].decode("utf-8", errors="backslashreplace").strip()
        if text:
            last = " / ".join(text.splitlines()[-3:])
            return f"{label}: {visible.escape(last, 300)}"
    return ""
