"""One run of one fixture: from the built binaries to raw data among the fixtures."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fixturegen import __version__, build, files, launcher, machine
from fixturegen.fixture.project import Project
from fixturegen.instruments import profiling
from fixturegen.instruments.around import Around
from fixturegen.instruments.made import make_files
from fixturegen.machine import disturb, inherited, memory
from fixturegen.model import Case, Fixture, Sample
from fixturegen.runs import record, states
from fixturegen.runs.context import FORMAT, Context
from fixturegen.runs.declared import declared
from fixturegen.runs.execute import Execution, launcher_binary, starts
from fixturegen.runs.options import Options
from fixturegen.runs.placing import places
from fixturegen.runs.rungs import Rungs, changed
from fixturegen.runs.schedule import Step, rounds_of, runnable, schedule
from fixturegen.runs.states import Interrupted, Measured, New
from fixturegen.runs.summary import Summary
from fixturegen.runs.unmeasured import here, storages, unmeasured
from fixturegen.runs.versions import versioned

if TYPE_CHECKING:
    from fixturegen.tune import Guard

Watch = Callable[[Step, Sample, int], None]

LOOK_S = 5.0  # how often another run on this machine is looked for while this one measures


class Session:
    """A run from its first process to its last, or to an interruption."""

    def __init__(
        self,
        project: Project,
        fixture: Fixture,
        options: Options,
        built: build.Built,
        run: New | Interrupted,
        guard: Guard | None = None,
    ) -> None:
        """`guard` does to the machine what `options.allow` allows; without it nothing is done."""
        self.project = project
        self.fixture = fixture
        self.options = options
        self.built = built
        self.run = run
        self.params = options.parameters(fixture)
        self.languages = [n for n in options.chosen(fixture) if n not in built.missing]
        self.rounds = rounds_of(fixture, options.rounds)
        again = " ".join(["fixturegen run", fixture.name, *replace(options, allow=()).typed()])
        self._machine = machine.describe(options.root)
        self._places = places(
            self._machine, fixture, options.cpu, frozenset(os.sched_getaffinity(0))
        )
        nowhere = self._places.nowhere
        place = here(options.allow, again, project.build, nowhere, guard, options.root)
        self.unmeasured = unmeasured(fixture, self.languages, built.paths, place, built.absent)
        self.steps = schedule(fixture, self.languages, self.rounds, options.seed, self.unmeasured)
        self.folder = states.unfinished_folder(project, fixture.name) / run.name
        self.summary = Summary(fixture, self.params, memory.folios(self._machine))
        self.done = 0
        self._failed: Counter[str] = Counter()
        self._lines: list[bytes] = []  # of this run, from before an interruption
        self._guard = guard
        self.context: Context

    def _now(self, started: str, number: int) -> Context:
        """Return what a reader needs to judge or repeat the run, as far as it is known now."""
        fixture, options = self.fixture, self.options
        return Context(
            format=FORMAT,
            fixturegen=__version__,
            fixture=fixture.name,
            run=self.run.name,
            started=started,
            number=number,
            params=self.params,
            declared_params=fixture.params,
            seed=options.seed,
            rounds=self.rounds,
            declared_rounds=rounds_of(fixture, None),
            languages=tuple(self.languages),
            declared_languages=fixture.languages,
            missing=self.built.missing,
            machine=self._machine,
            cpus=dict(self._places.cpus),
            cpu_reason=self._places.reason,
            disturbances=tuple(machine.disturbances(Path("/"))),
            toolchain={name: tuple(lines) for name, lines in self.built.toolchain.items()},
            binaries=self.built.binaries,
            options=tuple(options.typed()),
            asked=options.asked,
            unmeasured=self.unmeasured,
            storage=storages(fixture, self.project.build),
            boot=self._boot(),
            declared=declared(fixture),
            c_library=self.built.c_library(),
            resumed=(),
        )

    def _boot(self) -> str:
        boot = self._machine.boot_id
        return boot if isinstance(boot, str) else ""

    def _keep(self, **changes: object) -> None:
        """Change what the context says, and write it."""
        self.context = replace(self.context, **changes)
        record.write_context(self.folder, self.context)

    def enter(self) -> None:
        """Make the folder of a new run, or take up one that was interrupted.

        Raises errors.UsageError if what is left of it would not be measured as its beginning.
        """
        if isinstance(self.run, New):
            number = states.next_number(self.project, self.fixture.name)
            self.context = self._now(self.run.started, number)
            record.write_context(self.folder, self.context, new=True)
            return
        kept = self.run.context
        now = self._now(kept.started, kept.number)
        states.insist_same(self.project, kept, now)
        files.sweep(self.folder)
        self._lines = record.take_up(self.folder)
        done = set()
        for line in self._lines:
            sample = record.decode(line)
            done.add((sample.case, sample.round))
            self.summary.add(sample)
            self._failed[sample.case] += sample.status != "ok"
        self.done = len(self._lines)
        self.steps = [s for s in self.steps if (s.case.path, s.round) not in done]
        self.context = now
        # What the samples that are there were measured under.
        self._keep(
            machine=kept.machine,
            disturbances=kept.disturbances,
            launcher=kept.launcher,
            inherited=kept.inherited,
            rungs=kept.rungs,
            resumed=(*kept.resumed, self.done),
        )

    def measure(
        self,
        watch: Watch,
        meanwhile: Callable[[], None] | None = None,
    ) -> Measured:
        """Run what is left to do, and finish. On an exception everything measured stays.

        Only after `enter`.
        meanwhile: called now and then while short programs run ahead of us.
        """
        self._meanwhile = self._spare(meanwhile)
        cwd = self.project.build / self.fixture.name / "cwd"
        files.make_folder(cwd)
        cases = [
            case
            for p in self.fixture.programs
            for case in runnable(self.fixture, p, self.languages, self.unmeasured)
        ]
        made, facts = make_files(self.fixture, cwd.parent / "files")
        if facts:
            self._keep(files=facts)
        paths = {**self.built.paths, **made}
        ways = starts(self.fixture, cases, paths, self._places.cpus, cwd)
        around = Around(self.fixture, paths, cwd, self.folder, self._drop_caches)
        rungs = self._rungs()
        execution = Execution(self.fixture, self.summary, self.steps, self._failed, around, rungs)
        writer = record.Writer(self.folder)
        try:
            for line in self._lines:
                writer.again(line)
            if self.steps:
                self._execute(execution, ways, writer, watch)
            return self._finish(writer, execution)
        except BaseException:
            writer.abandon()
            raise

    def _spare(self, meanwhile: Callable[[], None] | None) -> Callable[[], None]:
        """Return what is done while programs run; first a look at whether the context reads back.

        What that takes the first time, it would take after the last sample.
        """
        pieces = [partial(record.read_context, self.project, self.folder)]

        def next_piece() -> None:
            if pieces:
                pieces.pop()()
            elif meanwhile:
                meanwhile()

        return next_piece

    def _drop_caches(self) -> None:
        assert self._guard is not None  # else its cases are not measured
        self._guard.drop_caches()

    def _rungs(self) -> Rungs:
        readings = {program: {**modes} for program, modes in self.context.rungs.items()}
        options, guard = self.options, self._guard
        return Rungs(
            self.fixture, guard, options.root, readings, lambda: self._keep(rungs=readings)
        )

    def _execute(
        self,
        execution: Execution,
        ways: Mapping[Case, launcher.Start],
        writer: record.Writer,
        watch: Watch,
    ) -> None:
        binary = launcher_binary(self.project)
        allowed = os.sched_getaffinity(0)
        if self._places.others:
            os.sched_setaffinity(0, self._places.others)
        try:
            with launcher.Launcher(binary, self.project.root) as started:
                self.context = versioned(started, ways, self.context)
                self._keep(launcher=started.hello, **self._inherited(started.pid))
                started.meanwhile = self._meanwhile if self._places.others else None
                looked = time.monotonic()
                for step, sample, values in execution.run(started, ways):
                    writer.add(sample)
                    self.summary.add(sample, values)
                    self.done += 1
                    watch(step, sample, self.done)
                    if time.monotonic() > looked + LOOK_S:
                        looked = time.monotonic()
                        writer.insist_in_place()
                        self._note("another fixturegen run")
        finally:
            os.sched_setaffinity(0, allowed)  # the next fixture chooses among all of them again

    def _inherited(self, pid: int) -> dict[str, object]:
        """Return what programs inherit, and the disturbances with what is unusual of it."""
        kept, now = self.context.inherited, inherited.inherited(pid)
        known = list(self.context.disturbances)
        for sentence in inherited.unusual(now, self._machine.memory_bytes):
            disturb.add(known, sentence)
        if self.done and (other := inherited.differing(kept, now)):
            disturb.add(known, f"resumed where programs inherit other things: {', '.join(other)}")
        return {"inherited": kept if self.done else now, "disturbances": tuple(known)}

    def _note(self, only: str = "") -> None:
        """Add the disturbances of now; while we run ourselves, our own load is not one."""
        known = list(self.context.disturbances)
        for disturbance in machine.disturbances(Path("/")):
            if only in disturbance:
                disturb.add(known, disturbance)
        self.context = replace(self.context, disturbances=tuple(known))

    def _finish(self, writer: record.Writer, execution: Execution) -> Measured:
        writer.insist_in_place()
        self._note()
        used, attached = profiling.finished(self.fixture, self.folder)
        told = replace(
            self.context,
            skipped=dict(sorted(execution.skipped.items())),
            unmeasured={**self.context.unmeasured, **execution.refused},
            disturbances=(*self.context.disturbances, *changed(self.context.rungs)[1]),
            walls_ns=self.summary.walls_ns(),
            perf=used,
            attachments=attached,
        )
        told = writer.finish(replace(told, lacking=states.lacking(told, self.summary)))
        stored = record.Stored(self.folder, told, self.project.shown(self.folder))
        return Measured(stored, self.summary)
