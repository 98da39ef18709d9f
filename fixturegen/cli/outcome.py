"""What a run says at its end: its text in its place, a short table, the path of the fixture."""

from __future__ import annotations

import click

from fixturegen import errors, files, report
from fixturegen.model import Fixture
from fixturegen.project import Project
from fixturegen.report.view import View, number, table
from fixturegen.runner.session import Ended
from fixturegen.summary import Summary, failing

ROWS = 24  # of the short table; the fixture has them all


def conclude(project: Project, fixture: Fixture, ended: Ended, *, strict: bool) -> int:
    """Write the text, say what was found, and return the exit code."""
    text = report.render_report(project, fixture, ended.context, ended.summary)
    target = report.text_path(project, fixture.name)
    if ended.lacking:
        target = ended.folder / "report.txt"
    files.write(target, text)
    click.echo()
    click.echo(short_table(ended.summary))
    click.echo()
    claims = ended.summary.claims()
    bad = [r for r in claims if r.verdict.state != "holds"]
    for result in bad:
        click.echo(f"claim {result.verdict.state}: {result.claim.text}")
    if claims:
        click.echo(f"claims: {len(claims) - len(bad)} of {len(claims)} hold")
    _say_place(project, fixture, ended, project.shown(target))
    if ended.summary.failures:
        path, number_, _, detail = ended.summary.failures[0]
        click.echo(
            f"fixturegen: {len(ended.summary.failures)} failed samples, the first: "
            f"{path}, round {number_}: {detail}",
            err=True,
        )
        return errors.ProgramError.exit_code
    return 1 if failing(claims, strict=strict) else 0


def _say_place(project: Project, fixture: Fixture, ended: Ended, shown: str) -> None:
    if not ended.lacking:
        click.echo(f"fixture: {shown}")
        return
    current = project.shown(report.text_path(project, fixture.name))
    click.echo(f"not the fixture's text, because: {'; '.join(ended.lacking)}")
    click.echo(f"  {current} is as it was; this run's text: {shown}")
    click.echo(
        f"  to make it the text: fixturegen report {fixture.name} --run {ended.context['run']}"
    )


def short_table(summary: Summary) -> str:
    """Return the medians of the first metrics of each case."""
    view = View(summary, {"binaries": {}})
    rows = []
    for path, case in summary.cases.items():
        for metric in summary.fixture.program(case.case.program).metrics_of(case.case.mode)[:1]:
            found = view.stat(f"{path}.{metric.name}")
            if found["n"] or case.failed:
                rows.append(
                    [
                        path,
                        metric.name,
                        number(found["median"]),
                        number(found["iqr"]),
                        metric.unit,
                        str(found["n"]),
                        str(len(case.failed) or ""),
                    ]
                )
    more = len(rows) - ROWS
    text = table(["case", "metric", "median", "IQR", "unit", "n", "failed"], rows[:ROWS], "llrrlrr")
    return text + (f"\n... and {more} more rows in the fixture" if more > 0 else "")
