"""`fixturegen run`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import click

from fixturegen import build, errors, files
from fixturegen.cli.common import (
    language_option,
    names_argument,
    parse_sets,
    project_of,
    set_option,
)
from fixturegen.cli.progress import Progress
from fixturegen.model import Fixture
from fixturegen.project import Project


@click.command()
@names_argument
@click.option(
    "--rounds",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Fresh processes per case, instead of what each program declares.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="Decides the order of the cases within each round.",
)
@set_option
@language_option
@click.option("--label", metavar="NAME", help="Name of the run; default: the time in UTC.")
@click.option(
    "--cpu", type=click.IntRange(0), metavar="N", help="Pin programs of one CPU to CPU N."
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
    fixturegen run --rounds 2 --label try    a short run; the fixture's text stays as it is
    fixturegen run --set length=1024         other parameters; the text stays as it is
    fixturegen run --resume                  go on after Ctrl-C, a crash or a kill

    Every sample is kept as it comes, below build/runs/, and moves to fixtures/<fixture>/<run>/
    at the end. The run becomes the fixture's text only if it is complete: the declared rounds,
    parameters and languages, and no failed sample. Otherwise its text lies beside its raw data.
    """
    project = project_of(ctx)
    fixtures = [project.load(name) for name in project.choose(names)]
    _check_label(given["label"])
    options = _options(fixtures, given)
    if given["plan"]:
        from fixturegen.cli.planned import show

        show(fixtures, options, as_json=given["as_json"])
        return
    if given["as_json"]:
        raise errors.UsageError("--json goes with --plan")
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = given["label"] or started.replace(":", "").replace("-", "")
    owner = f"pid {os.getpid()}, run {name!r}, since {started}"
    with files.lock(project.build / "lock", owner, wait=given["wait"]):
        codes = [_run_one(project, fixture, options, name, started, given) for fixture in fixtures]
    if not any(code is not None for code in codes):
        raise errors.UsageError(
            "there is no interrupted run to resume", "start one: fixturegen run"
        )
    ctx.exit(max(code or 0 for code in codes))


def _check_label(label: str | None) -> None:
    import re

    if label is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", label):
        raise errors.UsageError(
            f"--label {label!r}: a run's name has letters, digits, '.', '_' and '-'"
        )


def _options(fixtures: list[Fixture], given: dict[str, Any]) -> Any:
    from fixturegen.runner.session import Options

    return Options(
        rounds=given["rounds"],
        seed=given["seed"],
        sets=parse_sets(fixtures, given["sets"]),
        languages=given["languages"],
        cpu=given["cpu"],
    )


def _run_one(
    project: Project, fixture: Fixture, options: Any, name: str, started: str, given: dict[str, Any]
) -> int | None:
    """Run one fixture; return its exit code, or None if there was nothing to resume."""
    from fixturegen.runner import session

    interrupted = session.unfinished(project, fixture.name)
    if given["resume"]:
        if given["label"]:
            interrupted = [entry for entry in interrupted if entry == given["label"]]
        if not interrupted:
            return None
        name = interrupted[-1]
        options = session.recorded_options(project, fixture, name, options)
    elif interrupted:
        click.echo(
            f"{fixture.name}: interrupted run {interrupted[-1]} is kept; --resume continues it",
            err=True,
        )
    params = options.parameters(fixture)
    built = build.make(project, fixture, params, options.chosen(fixture), click.echo)
    for reason in built.missing.values():
        click.echo(f"{fixture.name}: {reason}; the text will say so and replace no complete one")
    current = session.Session(project, fixture, options, built, name)
    context = current.resume() if given["resume"] else current.begin(started)
    total = current.done + len(current.steps)
    with Progress(fixture.name, total, current.done) as progress:
        try:
            ended = current.measure(context, progress.update)
        except KeyboardInterrupt as error:
            raise errors.InterruptedRunError(
                f"{fixture.name}: interrupted; {current.done} of {total} samples are kept in "
                f"{project.shown(current.folder)}",
                f"fixturegen run {fixture.name} --resume continues",
            ) from error
    from fixturegen.cli.outcome import conclude

    return conclude(project, fixture, ended, strict=given["strict"])
