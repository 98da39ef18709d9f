"""`fixturegen run`."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import click
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
from fixturegen.model import Fixture
from fixturegen.runs import record


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
def command(ctx: click.Context, /, names: tuple[str, ...], **given: Any) -> None:
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
    if given["plan"]:
        guarded.guard(ctx)
    options = _options(given)
    # A plan starts nothing, so it needs nothing of root.
    wanted = replace(options, allow=(), as_root=False) if given["plan"] else options
    with permission.standby(
        wanted.allow, options.root, ctx.obj.aside, as_root=wanted.as_root
    ) as guard:
        project = project_of(ctx)
        fixtures = [project.load(name) for name in project.choose(names)]
        _check_label(given["label"])
        permission.need_asked(fixtures, options.allow)
        options = replace(options, sets=parse_sets(fixtures, given["sets"]))
        if given["plan"]:
            from fixturegen.cli.planned import show

            show(fixtures, options, as_json=given["as_json"])
            return
        if given["as_json"]:
            raise errors.UsageError("--json goes with --plan")
        codes = _run_locked(project, fixtures, options, {**given, "guard": guard})
    if not any(code is not None for code in codes):
        raise errors.UsageError(
            "there is no interrupted run to resume", "start one: fixturegen run"
        )
    ctx.exit(max(code or 0 for code in codes))


def _run_locked(
    project: Project, fixtures: list[Fixture], options: Any, given: dict[str, Any]
) -> list[int | None]:
    """Run every fixture that can be, alone in this project."""
    if not given["resume"]:
        fixtures = _startable(fixtures, options.languages)
    for fixture in fixtures:
        files.names(project.fixtures / fixture.name)  # not behind a link, or it is said now
    owner = f"pid {os.getpid()}, since {_now()}" + (
        f", run {given['label']!r}" if given["label"] else ""
    )
    with (
        files.lock(project.build / "lock", owner, wait=given["wait"], tell=_say_waiting),
        permission.holding(given["guard"]),
    ):
        return _run_all(project, fixtures, options, given)


def _startable(fixtures: list[Fixture], languages: tuple[str, ...]) -> list[Fixture]:
    """Return the fixtures that can be run at all; say which of several cannot."""
    found = toolchain.startable(fixtures, languages)
    for fixture in fixtures:
        if fixture not in found:
            say(f"{fixture.name}: nothing to run in the languages asked for", err=True)
    return found


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _say_waiting(holder: str) -> None:
    say(f"waiting for the lock of this project: {holder}", err=True)


def _run_all(
    project: Project, fixtures: list[Fixture], options: Any, given: dict[str, Any]
) -> list[int | None]:
    """Run every fixture; an error in one says which of the others were not begun."""
    from fixturegen.report import trial

    codes: list[int | None] = []
    for fixture in fixtures:
        record.insist_writable(project, fixture.name, given["label"])
        params = _own(fixture, options).parameters(fixture)
        trial.try_once(project, fixture, params, build.work_folder(project, fixture, params))
    for place, fixture in enumerate(fixtures):
        try:
            codes.append(_run_one(project, fixture, _own(fixture, options), given))
        except errors.FixturegenError as error:
            rest = " ".join(later.name for later in fixtures[place + 1 :])
            if rest and not given["resume"]:
                error.hint += ("; " if error.hint else "") + f"not begun: {rest}"
            raise
    return codes


def _check_label(label: str | None) -> None:
    import re

    if label is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", label):
        raise errors.UsageError(
            f"--label {label!r}: a run's name has letters, digits, '.', '_' and '-'"
        )


def _options(given: dict[str, Any]) -> Any:
    """Return the options that can be read before the project is: all but --set."""
    from fixturegen.runs.options import Options

    return Options(
        rounds=given["rounds"],
        seed=given["seed"],
        languages=given["languages"],
        cpu=given["cpu"],
        allow=permission.known(given["allow"]),
        as_root=given["as_root"],
        sysfs=given["sysfs"] or "",
    )


def _own(fixture: Fixture, options: Any) -> Any:
    """Return what of the options concerns the fixture: its run is recorded and repeated so."""
    sets = {key: value for key, value in options.sets.items() if key in fixture.params}
    return replace(options, allow=permission.own(fixture, options.allow), sets=sets)


def _run_one(project: Project, fixture: Fixture, options: Any, given: dict[str, Any]) -> int | None:
    """Run one fixture; return its exit code, or None if there was nothing to resume."""
    from fixturegen.runs import ending

    known = ending.interrupted(project, fixture.name)
    if given["resume"]:
        wanted = [name for name in known if given["label"] in (None, name)]
        return _resume(project, fixture, options, wanted[-1], given) if wanted else None
    started = _now()
    name = _free_name(project, fixture, given["label"], started)
    if known:
        say(f"{fixture.name}: interrupted run {known[-1]} is kept; --resume continues it", err=True)
    return _measure(project, fixture, options, name, started, given)


def _free_name(project: Project, fixture: Fixture, label: str | None, started: str) -> str:
    """Return the run's name: `label`, which must be free, or one that tells the time."""
    names = {
        name
        for folder in (
            record.unfinished_folder(project, fixture.name),
            project.fixtures / fixture.name,
        )
        for name in files.names(folder)
        if {record.CONTEXT, record.SAMPLES} & {*files.names(folder / name)}
    }
    if label in names:
        known = label in record.unfinished_runs(project, fixture.name)
        raise errors.UsageError(
            f"{fixture.name} has a run {label!r} already; runs are never overwritten",
            "give another --label" + (", or --resume it" if known else ""),
        )
    time = started.replace(":", "").replace("-", "")
    names_of_now = (f"{time}-{number}" if number > 1 else time for number in itertools.count(1))
    return label or next(name for name in names_of_now if name not in names)


def _resume(
    project: Project, fixture: Fixture, options: Any, name: str, given: dict[str, Any]
) -> int:
    """Take up an interrupted run: the samples to come, or only its text."""
    from fixturegen.runs import ending
    from fixturegen.runs.options import recorded_options

    ended = ending.measured(project, fixture, name)
    if ended is not None:
        say(f"{fixture.name}: all samples of run {name} are there", err=True)
        return _conclude(project, fixture, ended, given)
    options = recorded_options(project, fixture, name, options)
    return _measure(project, fixture, options, name, None, given)


def _measure(
    project: Project,
    fixture: Fixture,
    options: Any,
    name: str,
    started: str | None,
    given: dict[str, Any],
) -> int:
    """Build and measure, from the start or (`started` is None) from where it was interrupted."""
    from fixturegen import report
    from fixturegen.runs import ending, session

    params = options.parameters(fixture)
    built = build.make(project, fixture, params, options.chosen(fixture), say)
    for name, reason in built.missing.items():
        less = " and replace no complete one" if name in fixture.required else ""
        say(f"{fixture.name}: {reason}; the text will say so{less}")
    current = session.Session(project, fixture, options, built, name, given["guard"])
    _say_unmeasured(fixture, current.unmeasured)
    if not current.steps:
        say(f"{fixture.name}: no case can be measured here; nothing is stored", err=True)
        return errors.UsageError.exit_code
    if started is None:
        current.resume()
    else:
        current.begin(started)
    total = current.done + len(current.steps)
    left = TimeLeft(current.steps, ending.walls(project, fixture.name))

    def kept() -> str:
        there = record.under_way(current.folder)
        count = current.done if there is None else there
        return f"{count} of {total} samples" * files.exists(current.folder)

    with (
        _kept(fixture, kept),
        Progress(fixture.name, total, current.done, left) as progress,
    ):
        ended = current.measure(progress.update, report.prepare(project, fixture))
    later = ended.context.unmeasured.items() - current.unmeasured.items()
    _say_unmeasured(fixture, dict(later))
    return _conclude(project, fixture, ended, given)


def _say_unmeasured(fixture: Fixture, reasons: Mapping[str, str]) -> None:
    for reason, count in sorted(Counter(reasons.values()).items()):
        cases = "1 case" if count == 1 else f"{count} cases"
        say(f"{fixture.name}: {cases} not measured: {reason}", err=True)


def _conclude(project: Project, fixture: Fixture, ended: Any, given: dict[str, Any]) -> int:
    with _kept(fixture, lambda: "all samples"):
        from fixturegen.cli import outcome  # takes a while, and may be interrupted as well

        target = outcome.place_text(project, fixture, ended)
    return outcome.conclude(project, fixture, ended, target, strict=given["strict"])


@contextlib.contextmanager
def _kept(fixture: Fixture, done: Callable[[], str]) -> Iterator[None]:
    """Whatever ends the block before its time: say what is kept, and how to go on.

    done: what is kept, in words; empty if nothing is.
    """
    again = f"fixturegen run {fixture.name} --resume"
    try:
        yield
    except KeyboardInterrupt as error:
        raise errors.InterruptedRunError(
            f"{fixture.name}: interrupted; {done()} are kept", f"{again} continues"
        ) from error
    except errors.SpecError:
        raise  # says itself where the raw data is
    except errors.FixturegenError as error:
        if done():
            kept = f"{done()} are kept; {again} continues"
            error.hint = f"{error.hint}; {kept}" if error.hint else kept
        raise
    except OSError as error:
        raise errors.FileError(
            f"{fixture.name}: {error}", f"{done()} are kept; {again} continues"
        ) from error
