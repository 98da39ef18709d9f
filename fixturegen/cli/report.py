"""`fixturegen report`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from msgspec import Struct

from fixturegen import bounds, damage, errors, files, render, report
from fixturegen.check.made_of import differences
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_difference, say_error
from fixturegen.fixture.project import Project
from fixturegen.report import trial
from fixturegen.runs import record, states
from fixturegen.units import plural


@click.command(context_settings=HELP_OPTIONS)
@names_argument
@click.option(
    "--run",
    "run_name",
    metavar="NAME",
    help="Make this stored run the text; default: the run that the text names, else the "
    "newest complete one.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="With --run: also if that run is not what the fixture declares, or had failed samples.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit 1 and show the difference if a text is not what its stored "
    "samples give.",
)
@click.pass_context
def command(
    ctx: click.Context, names: tuple[str, ...], run_name: str | None, replace: bool, check: bool
) -> None:
    """Write the fixtures' texts again from stored samples; starts no process.

    \b
    fixturegen report                    every text again, from the run it names
    fixturegen report p04 --run quiet    another stored run becomes the text
    fixturegen report --check            byte for byte the same, on any machine?
    """
    project = project_of(ctx)
    chosen = project.choose(names)
    _insist_one(run_name, chosen, replace=replace)
    made, codes = [], [0]  # all texts before the first is written, so that an error leaves nothing
    for name in chosen:
        try:
            _insist_replaceable(project, name, run_name, check or replace)
            made += _made(project, name, run_name, keep=not check, told=bool(names))
        except (errors.CheckError, errors.DataError) as error:  # hinders no other fixture
            say_error(error)
            codes.append(error.exit_code)
    drift = 0
    for each in made:
        if each.text is None:
            say(f"{'no run':<9}  {each.fixture}: fixturegen run {each.fixture}", err=check)
            codes.append(errors.CheckError.exit_code if check else 0)  # nothing was compared
        elif not check:
            _write(project, each)
        elif _differs(project, each.path, each.text):
            drift += 1
    if drift:
        typed = shlex.join(
            ["fixturegen", "report", *names, *(["--run", run_name] if run_name else [])]
        )
        differ = f"{plural(drift, 'text')} differ{'s' * (drift == 1)} from what the samples give"
        say(f"{differ}; repair: {typed}", err=True)
        codes.append(errors.CheckError.exit_code)
    ctx.exit(max(codes))


def _insist_one(run_name: str | None, chosen: list[str], *, replace: bool) -> None:
    if run_name == "" or (replace and run_name is None):
        raise errors.UsageError("which run?", "--run NAME; fixturegen list FIXTURE shows them")
    if run_name and len(chosen) > 1:
        raise errors.UsageError("--run takes one FIXTURE", f"one of: {', '.join(chosen)}")


def _insist_replaceable(project: Project, name: str, run: str | None, replace: bool) -> None:
    """Raise errors.UsageError if the text that there is must not become that of `run`."""
    if run is None or replace:
        return
    fixture, stored = project.load(name), states.stored(project, name, run)
    texts = render.fixture_files(project, fixture, fixture.params, fixture.languages)
    reasons = [*(stored.context.lacking or ())]
    reasons += [each.told for each in differences(project, fixture, stored.context, texts)]
    path = states.text_path(project, name)
    there = files.is_file(path)
    before = states.named(files.read_text(path), name) if there else None
    if not reasons or before == run:
        return
    shown = project.shown(path)
    instead = f"{shown}, which is of run {before or '(unknown)'}" if there else shown
    raise errors.UsageError(
        f"run {run} does not become {instead}: {'; '.join(reasons)}",
        f"{shlex.join(['fixturegen', 'report', name, '--run', run])} --replace does it anyway",
    )


class Made(Struct, frozen=True):
    """A text and its place; without a text its fixture has no run.

    run: whose text it is, "" if it lies beside the data of a run that is not the fixture's text.
    """

    fixture: str
    path: Path
    text: str | None = None
    run: str = ""


def _made(
    project: Project, name: str, run_name: str | None, *, keep: bool, told: bool
) -> list[Made]:
    """Return the texts of a fixture: its own, and those beside the data of other runs."""
    run = run_name or report.current_run(project, name)
    if run is None and told:
        raise errors.UsageError(f"{name} has no complete run", f"fixturegen run {name}")
    target = report.text_path(project, name)
    if run is None:
        if not keep:
            trial.try_report(project, project.load(name))
        return [Made(name, target)]
    fixture, made = project.load(name), []
    for each in (run, *(other for other in states.finished_runs(project, name) if other != run)):
        beside = states.run_folder(project, name, each) / record.REPORT
        if each == run or files.is_file(beside):
            stored = states.stored(project, name, each)
            if not keep and (strays := stored.strays()):  # as `check` has it; nothing is written
                raise errors.CheckError(f"{strays[0]} is not of the run", "remove it")
            text = report.stored_text(project, fixture, stored, keep=keep)
            bounds.spend(f"{name}'s text", len(text))
            made.append(Made(name, target, text, run) if each == run else Made(name, beside, text))
    return made


def _write(project: Project, made: Made) -> None:
    text = made.text or ""
    before = files.read_if_there(made.path) or b""
    if made.run:
        changed = states.become_text(project, made.fixture, made.run, text)
    else:
        changed = files.write(made.path, text)
    if made.run or changed:
        old = states.named(before.decode(errors="replace"), made.fixture) or made.run
        instead = f", in place of run {old}" if old != made.run else ""
        of = f"  (run {made.run}{instead})" if made.run else ""
        say(f"{'update' if changed else 'identical':<9}  {project.shown(made.path)}{of}")


def _differs(project: Project, path: Path, text: str) -> bool:
    old = files.read_bytes(path) if files.is_file(path) else b""
    if done := damage.difference(old, text.encode()):
        say(f"{project.shown(path)} {done}")
    elif old != text.encode():
        say_difference(old, text, project.shown(path))
    return old != text.encode()
