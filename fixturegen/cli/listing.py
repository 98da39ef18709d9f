"""`fixturegen list`."""

from __future__ import annotations

import json
from typing import Any

import click

from fixturegen import record
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.model import Fixture
from fixturegen.project import Project


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
    program.language[.build].mode.metric.
    """
    project = project_of(ctx)
    chosen = list(names) or [*project.own, *project.builtin]
    described = [describe(project, project.load(name)) for name in project.choose(tuple(chosen))]
    if as_json:
        click.echo(json.dumps(described, indent=1))
        return
    for entry in described:
        _show(entry, full=bool(names))


def describe(project: Project, fixture: Fixture) -> dict[str, Any]:
    """Return one fixture as plain values."""
    return {
        "name": fixture.name,
        "title": fixture.title,
        "builtin": fixture.name not in project.own,
        "folder": project.shown(project.folder(fixture.name)),
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
                    {"name": m.name, "value": m.value, "unit": m.unit, "kind": m.kind}
                    for m in p.metrics
                ],
            }
            for p in fixture.programs
        ],
        "claims": [{"text": c.text, "holds": c.holds} for c in fixture.claims],
        "runs": record.finished_runs(project, fixture.name),
    }


def _show(entry: dict[str, Any], *, full: bool) -> None:
    origin = "built-in" if entry["builtin"] else entry["folder"]
    click.echo(f"{entry['name']}  {entry['title']}  ({origin})")
    for program in entry["programs"]:
        cases = len(program["cases"])
        click.echo(
            f"  {program['name']:<14} {', '.join(program['languages'])}; "
            f"{cases} case{'s'[: cases != 1]} x {program['rounds']} rounds"
        )
        if full:
            for path in program["cases"]:
                click.echo(f"    {path}")
            for metric in program["metrics"]:
                click.echo(f"      .{metric['name']} [{metric['unit']}] = {metric['value']}")
    if full and entry["params"]:
        click.echo("  parameters: " + ", ".join(f"{k}={v}" for k, v in entry["params"].items()))
    runs = entry["runs"]
    click.echo(
        f"  {len(entry['claims'])} claims; {len(runs)} stored runs"
        + (f": {', '.join(runs)}" if runs else "")
    )
