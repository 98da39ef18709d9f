"""`fixturegen check`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from fixturegen import check
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS


@click.command(context_settings=HELP_OPTIONS)
@names_argument
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Prove that programs, samples, texts and claims still agree; starts no process.

    \b
    fixturegen check                  all of the project
    fixturegen check p04-first-run    one fixture
    fixturegen check --json           the findings for a script

    Compares c/ and rust/ with the templates, every stored run with its digest, each text with the
    samples of the run that it names, and judges the claims. Needs no compiler. Each finding comes
    with the command that repairs it; exit 1 if there is one.
    """
    project = project_of(ctx)
    checked = check.Checked()
    for name in project.choose(names):
        check.check_fixture(project, project.load(name), checked)
    findings = checked.findings or []
    if as_json:
        click.echo(
            json.dumps({**asdict(checked), "findings": [asdict(f) for f in findings]}, indent=1)
        )
        ctx.exit(1 if findings else 0)
    for finding in findings:
        click.echo(f"{finding.kind:<7} {finding.what}")
        click.echo(f"        repair: {finding.repair}")
    click.echo(
        f"{checked.programs} program files, {checked.runs} stored runs, {checked.texts} texts, "
        f"{checked.claims} claims"
        + (f" ({checked.undecided} undecided)" if checked.undecided else "")
        + (f": {len(findings)} findings" if findings else ": all agree")
    )
    ctx.exit(1 if findings else 0)
