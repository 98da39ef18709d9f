"""`fixturegen list`."""

from __future__ import annotations

import click
from msgspec import Struct

from fixturegen import errors
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_error, say_json
from fixturegen.fixture.claims import instances
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture, written
from fixturegen.runs import states
from fixturegen.units import plural

SHOWN = 3  # stored runs, the last ones


@click.command("list", context_settings=HELP_OPTIONS)
@names_argument
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Show the fixtures, their programs, cases, claims and stored runs; starts no process.

    \b
    fixturegen list                  every fixture in a few lines
    fixturegen list p04-first-run    its cases, metrics and parameters
    fixturegen list --json           the same for a script

    Names on the left of a metric are the paths that claims and reports use:
    program.language[.build].mode.metric. A fixture that is wrong is told, and the others are shown
    all the same; exit 3 then.
    """
    project = project_of(ctx)
    chosen = list(names) or [*project.own, *project.builtin]
    described: list[Listed] = []
    worst = 0
    for name in project.choose(tuple(chosen)):
        try:
            described.append(listed(project, project.load(name)))
        except (errors.SpecError, errors.FileError) as error:
            say_error(error)
            worst = errors.SpecError.exit_code
    if as_json:
        say_json([_plain(entry) for entry in described])
        ctx.exit(worst)
    for place, entry in enumerate(described):
        if not names and entry.builtin and not (place and described[place - 1].builtin):
            say(*([""] if place else []), "Built-in fixtures:")
        _show(entry, full=bool(names))
    ctx.exit(worst)


class Listed(Struct, frozen=True):
    """A fixture and what stands around it."""

    fixture: Fixture
    folder: str
    builtin: bool
    runs: list[str]


def listed(project: Project, fixture: Fixture) -> Listed:
    """Return one fixture with its place and its runs."""
    folder = project.shown(project.folder(fixture.name))
    runs = states.finished_runs(project, fixture.name)
    return Listed(fixture, folder, fixture.name not in project.own, runs)


def _plain(entry: Listed) -> dict[str, object]:
    """Return the object of --json."""
    fixture = entry.fixture
    return {
        "name": fixture.name,
        "title": fixture.title,
        "builtin": entry.builtin,
        "folder": entry.folder,
        "params": fixture.params,
        "programs": [
            {
                "name": p.name,
                "languages": list(p.languages),
                "rounds": p.rounds,
                "builds": [b.name for b in p.builds],
                "modes": [m.name for m in p.modes],
                "cases": [case.path for case in p.cases()],
                "metrics": [
                    {"name": name, "value": m.value, "unit": m.unit, "kind": m.kind}
                    for name, m in p.metrics.items()
                ],
            }
            for p in fixture.programs
        ],
        "claims": _claims(fixture),
        "runs": entry.runs,
    }


def _claims(fixture: Fixture) -> list[dict[str, str]]:
    """Return each claim, of a `for` each one by itself."""
    return [
        {"text": claim.text, "of": one.of, "holds": one.expression.text}
        for claim in fixture.claims
        for one in instances(fixture, claim)
    ]


def _show(entry: Listed, *, full: bool) -> None:
    fixture, runs = entry.fixture, entry.runs
    say(f"{fixture.name}  {fixture.title}  ({'built-in' if entry.builtin else entry.folder})")
    for program in fixture.programs:
        cases = [case.path for case in program.cases()]
        say(
            f"  {program.name:<14} {', '.join(program.languages)}; "
            f"{plural(len(cases), 'case')} x {plural(program.rounds, 'round')}"
        )
        if full:
            say(*(f"    {path}" for path in cases))
            for name, metric in program.metrics.items():
                say(f"      .{name} [{metric.unit}] = {metric.value}")
    if full and fixture.params:
        say("  parameters: " + ", ".join(f"{k}={written(v)}" for k, v in fixture.params.items()))
    last = f"{', the last' if len(runs) > SHOWN else ''}: {', '.join(runs[-SHOWN:])}"
    say(
        f"  {plural(len(_claims(fixture)), 'claim')}; {plural(len(runs), 'stored run')}"
        + (last if runs else "")
    )
