"""`fixturegen run`."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from fixturegen import build, errors, files
from fixturegen.build import toolchain
from fixturegen.cli import guarded, permission
from fixturegen.cli.common import (
    Whole,
    language_option,
    names_argument,
    parse_sets,
    project_of,
    set_option,
)
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.progress import Progress, TimeLeft
from fixturegen.cli.terminal import say
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture, Value
from fixturegen.render import tried
from fixturegen.runs.options import Options

if TYPE_CHECKING:
    from fixturegen.runs.states import Interrupted, Measured, New
    from fixturegen.tune import Guard


class Given(msgspec.Struct, frozen=True):
    """The command line."""

    names: tuple[str, ...]
    rounds: int | None
    seed: int
    sets: tuple[str, ...]
    languages: tuple[str, ...]
    label: str | None
    cpu: int | None
    allow: tuple[str, ...]
    as_root: bool
    sysfs: str | None
    plan: bool
    as_json: bool
    resume: bool
    strict: bool
    wait: bool


@click.command(context_settings=HELP_OPTIONS)
@names_argument
@click.option(
    "--rounds",
    type=Whole(1, 1_000_000),
    metavar="N",
    help="Fresh processes per case, instead of what each program declares.",
)
@click.option(
    "--seed",
    type=Whole(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="Decides the order of the cases within each round.",
)
@set_option
@language_option
@click.option("--label", metavar="NAME", help="Name of the run; default: the time in UTC.")
@click.option("--cpu", type=Whole(0), metavar="N", help="Pin programs of one CPU to CPU N.")
@click.option(
    "--allow",
    multiple=True,
    metavar="WHAT",
    help="What may be done to the machine, by root: drop-caches; tune:KNOB,KNOB. May be repeated.",
)
@click.option(
    "--as-root",
    is_flag=True,
    help="Under sudo: build and start programs as root, not as the user who typed it.",
)
@click.option(  # the machine and its knobs are those below DIR: what tests do, and no text comes of
    "--sysfs", metavar="DIR", type=click.Path(exists=True, file_okay=False), hidden=True
)
@click.option("--plan", is_flag=True, help="Print what would run, in order, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --plan: as JSON.")
@click.option("--resume", is_flag=True, help="Continue the run that was interrupted last.")
@click.option(
    "--strict", is_flag=True, help="Exit 1 if any claim does not hold, not only one on counts."
)
@click.option("--wait", is_flag=True, help="Wait for another run in this project to end first.")
@click.pass_context
def command(ctx: click.Context, /, **typed: object) -> None:
    """Build, start every case in fresh processes, and write fixtures/<fixture>.txt.

    \b
    fixturegen run                           all fixtures as they are declared
    fixturegen run p04-first-run --plan      what would run, in which order
    fixturegen run --rounds 2 --label try    a short run; the text stays as it is
    fixturegen run --set length=131072       other parameters; the text stays
    fixturegen run --resume                  go on after Ctrl-C, a crash or a kill

    Every sample is kept as it comes, below build/runs/, and moves to fixtures/<fixture>/<run>/
    at the end. The run becomes the fixture's text only if it is complete: the declared rounds,
    parameters and languages, and no failed sample. Otherwise its text lies beside its raw data.
    """
    given = msgspec.convert(typed, Given)
    if given.plan:
        guarded.guard(ctx)
    options = _options(given)
    # A plan starts nothing, so it needs nothing of root.
    wanted = replace(options, allow=(), as_root=False) if given.plan else options
    with permission.standby(
        wanted.allow, options.root, ctx.obj.aside, as_root=wanted.as_root
    ) as guard:
        project = project_of(ctx)
        fixtures = [project.load(name) for name in project.choose(given.names)]
        _check_label(given.label)
        permission.need_asked(fixtures, options.allow)
        options = replace(options, sets=parse_sets(fixtures, given.sets))
        if given.plan:
            from fixturegen.cli.planned import show

            show(fixtures, options, as_json=given.as_json)
            return
        if given.as_json:
            raise errors.UsageError("--json needs --plan")
        codes = _run_locked(project, fixtures, options, given, guard)
    if not any(code is not None for code in codes):
        raise errors.UsageError(
            "there is no interrupted run to resume", "start one: fixturegen run"
        )
    ctx.exit(max(code or 0 for code in codes))


def _options(given: Given) -> Options:
    """Return the options that can be read before the project is: all but --set."""
    return Options(
        rounds=given.rounds,
        seed=given.seed,
        languages=given.languages,
        cpu=given.cpu,
        allow=permission.known(given.allow),
        as_root=given.as_root,
        sysfs=given.sysfs or "",
    )


def _check_label(label: str | None) -> None:
    if label is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", label):
        raise errors.UsageError(
            f"--label {label!r}: a run's name has letters, digits, '.', '_' and '-'"
        )


def _run_locked(
    project: Project,
    fixtures: list[Fixture],
    options: Options,
    given: Given,
    guard: Guard | None,
) -> list[int | None]:
    """Run every fixture that can be, alone in this project."""
    if not given.resume:
        fixtures = _startable(fixtures, options.languages)
    for fixture in fixtures:
        files.names(project.fixtures / fixture.name)  # not behind a link, or it is said now
    owner = f"pid {os.getpid()}, since {_now()}" + (f", run {given.label!r}" if given.label else "")
    with (
        files.lock(project.build / "lock", owner, wait=given.wait, tell=_say_waiting),
        permission.holding(guard),
    ):
        return _run_all(project, fixtures, options, given, guard)


def _startable(fixtures: list[Fixture], languages: tuple[str, ...]) -> list[Fixture]:
    """Return the fixtures that can be run at all; say which of several cannot."""
    able = toolchain.startable(fixtures, languages)
    for fixture in fixtures:
        if fixture not in able:
            say(f"{fixture.name}: nothing to run in the languages asked for", err=True)
    return able


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _say_waiting(holder: str) -> None:
    say(f"waiting for the lock of this project: {holder}", err=True)


def _run_all(
    project: Project,
    fixtures: list[Fixture],
    options: Options,
    given: Given,
    guard: Guard | None,
) -> list[int | None]:
    """Run every fixture; an error in one says which of the others were not begun.

    Return their exit codes, None for one that had nothing to resume.
    """
    from fixturegen.runs import states

    codes: list[int | None] = []
    for fixture in fixtures:
        states.insist_writable(project, fixture.name, given.label)
        _try_report(project, fixture, options.parameters(fixture))
    for place, fixture in enumerate(fixtures):
        sets = {key: value for key, value in options.sets.items() if key in fixture.params}
        own = replace(options, allow=permission.own(fixture, options.allow), sets=sets)
        try:
            codes.append(Turn(project, fixture, own, given, guard).code())
        except errors.FixturegenError as error:
            rest = " ".join(later.name for later in fixtures[place + 1 :])
            if rest and not given.resume:
                error.hint += ("; " if error.hint else "") + f"not begun: {rest}"
            raise
    return codes


def _try_report(project: Project, fixture: Fixture, params: Mapping[str, Value]) -> None:
    """Try the fixture's report before its run begins, unless it was found good already."""
    work = build.work_folder(project, fixture, params)
    if tried.due(project, fixture, params, work):
        from fixturegen.report import trial  # takes a while

        trial.try_once(project, fixture, params, work)


class Turn(msgspec.Struct, frozen=True):
    """One fixture's turn. options: what of them concerns it, for so its run is recorded."""

    project: Project
    fixture: Fixture
    options: Options
    given: Given
    guard: Guard | None

    def code(self) -> int | None:
        """Begin a run or resume one; return its exit code, None if there was nothing to resume."""
        from fixturegen.runs import states

        if not self.given.resume:
            run = states.begin(self.project, self.fixture.name, self.given.label, _now())
            if run.kept:
                self._say(f"interrupted run {run.kept} is kept; --resume continues it", err=True)
            return self._measure(run, self.options)
        left = states.resume(self.project, self.fixture, self.given.label)
        if isinstance(left, states.Measured):
            self._say(f"all samples of run {left.context.run} are there", err=True)
            return self._conclude(left)
        if left is None:
            return None
        return self._measure(left, states.options_of(self.fixture, left, self.options))

    def _measure(self, run: New | Interrupted, options: Options) -> int:
        """Build and measure what there is to come."""
        from fixturegen.runs import record, session, states

        params = options.parameters(self.fixture)
        built = build.make(self.project, self.fixture, params, options.chosen(self.fixture), say)
        for name, reason in built.missing.items():
            less = " and will not replace a complete one" if name in self.fixture.required else ""
            self._say(f"{reason}; the text will say so{less}")
        current = session.Session(self.project, self.fixture, options, built, run, self.guard)
        self._say_unmeasured(current.unmeasured)
        if not current.steps:
            self._say("no case can be measured here; nothing is stored", err=True)
            return errors.UsageError.exit_code
        current.enter()
        total = current.done + len(current.steps)
        left = TimeLeft(current.steps, states.walls(self.project, self.fixture.name))

        def kept() -> str:
            count = record.kept(current.folder)
            return "" if count is None else f"{count} of {total} samples"

        with (
            self._kept(kept),
            Progress(self.fixture.name, total, current.done, left) as progress,
        ):
            measured = current.measure(progress.update, self._ahead())
        later = measured.context.unmeasured.items() - current.unmeasured.items()
        self._say_unmeasured(dict(later))
        return self._conclude(measured)

    def _ahead(self) -> Callable[[], None]:
        """Return what prepares the report piece by piece; its modules are not needed before."""
        prepared: list[Callable[[], None]] = []

        def next_piece() -> None:
            if prepared:
                prepared[0]()
            else:
                from fixturegen import report

                prepared.append(report.prepare(self.project, self.fixture))

        return next_piece

    def _conclude(self, measured: Measured) -> int:
        """Put the run in its place, and say what it found."""
        from fixturegen.runs import record, states

        places = (
            measured.stored.folder,
            states.run_folder(self.project, self.fixture.name, measured.context.run),
        )

        def kept() -> str:
            return "all samples" * any(files.exists(place / record.PACKED) for place in places)

        with self._kept(kept):
            from fixturegen.cli import outcome  # takes a while, and may be interrupted as well

            placed = outcome.place(self.project, self.fixture, measured)
        return outcome.tell(self.project, measured, placed, strict=self.given.strict)

    def _say(self, text: str, *, err: bool = False) -> None:
        say(f"{self.fixture.name}: {text}", err=err)

    def _say_unmeasured(self, reasons: Mapping[str, str]) -> None:
        for reason, count in sorted(Counter(reasons.values()).items()):
            cases = "1 case" if count == 1 else f"{count} cases"
            self._say(f"{cases} not measured: {reason}", err=True)

    @contextlib.contextmanager
    def _kept(self, done: Callable[[], str]) -> Iterator[None]:
        """Whatever ends the block before its time: say what is kept, and how to go on.

        done: what is kept, in words; empty if nothing is.
        """
        name = self.fixture.name
        again = f"fixturegen run {name} --resume"
        try:
            yield
        except KeyboardInterrupt as error:
            kept = done()
            what = f"{kept} are kept" if kept else "nothing is kept"
            raise errors.InterruptedRunError(
                f"{name}: interrupted; {what}", f"{again} continues" * bool(kept)
            ) from error
        except errors.SpecError:
            raise  # says itself where the raw data is
        except errors.FixturegenError as error:
            if kept := done():
                kept = f"{kept} are kept; {again} continues"
                error.hint = f"{error.hint}; {kept}" if error.hint else kept
            raise
        except OSError as error:
            kept = done()
            raise errors.FileError(
                f"{name}: {error}", f"{kept} are kept; {again} continues" * bool(kept)
            ) from error
