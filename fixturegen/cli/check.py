"""`fixturegen check`."""

from __future__ import annotations

from dataclasses import asdict

import click

from fixturegen import check
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_json
from fixturegen.units import plural


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

    Compares the programs with the templates, every stored run with its digests, each text with the
    samples of the run that it names, and judges the claims. Needs no compiler. Each finding comes
    with the command that repairs it; exit 1 if there is one, 3 if a fixture or template itself is
    wrong (kind "fixture"), of which nothing else could be checked, or stored data is not of the
    shape that a run writes (kind "data").
    """
    project = project_of(ctx)
    checked = check.Checked()
    chosen = project.choose(names)
    beside = () if names else check.kept_of_builtin(project)
    for name in dict.fromkeys([*chosen, *beside]):
        check.check_named(project, name, checked)
    if not names:
        check.check_orphans(project, checked)
    findings = checked.findings or []
    code = checked.code
    if as_json:
        say_json({**asdict(checked), "findings": [asdict(f) for f in findings]})
        ctx.exit(code)
    for finding in findings:
        say(f"{finding.kind:<7} {finding.what}")
        say(f"        repair: {finding.repair}")
    for note in checked.notes:
        say(f"note    {note}")
    say(
        f"{plural(checked.programs, 'program file')}, {plural(checked.runs, 'stored run')}, "
        f"{plural(checked.texts, 'text')}, {plural(checked.claims, 'claim')}"
        + (f" ({checked.undecided} undecided)" if checked.undecided else "")
        + (f": {plural(len(findings), 'finding')}" if findings else ": all agree")
    )
    ctx.exit(code)
