"""What a run says at its end: its text in its place, a short table, the path of the fixture."""

from __future__ import annotations

import shlex
from pathlib import Path

from fixturegen import errors, files, report
from fixturegen.cli.terminal import say
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture
from fixturegen.report.formats import number
from fixturegen.report.table import aligned
from fixturegen.report.view import statistics
from fixturegen.runs import record
from fixturegen.runs.ending import Ended, put_in_place, textless
from fixturegen.runs.summary import Summary, failing
from fixturegen.units import plural

ROWS = 24  # of the short table; the fixture has them all


def conclude(
    project: Project, fixture: Fixture, ended: Ended, target: Path, *, strict: bool
) -> int:
    """Say what was found and where its text is, `target`, and return the exit code."""
    say("", *short_table(ended.summary), "")
    claims = ended.summary.claims()
    bad = [r for r in claims if r.verdict.state != "holds"]
    for result in bad:
        say(f"claim {result.verdict.state}{result.about}: {result.claim.text}")
    if claims:
        open_ = sum(result.verdict.state == "undecided" for result in bad)
        undecided = f", {open_} undecided" if open_ else ""
        say(f"claims: {len(claims) - len(bad)} of {len(claims)} hold{undecided}")
    _say_leftovers(ended.summary)
    _say_place(project, fixture, ended, project.shown(target))
    if ended.summary.failures:
        path, number_, _, detail = ended.summary.failures[0]
        say(
            f"fixturegen: {plural(len(ended.summary.failures), 'failed sample')}, the first: "
            f"{path}, round {number_}: {detail}",
            err=True,
        )
        return errors.ProgramError.exit_code
    return 1 if failing(claims, strict=strict) else 0


def place_text(project: Project, fixture: Fixture, ended: Ended) -> Path:
    """Put raw data and text in their places, and return the text's.

    The text lies beside the raw data until it is the fixture's: so `--resume` finds a run that
    was killed between the two.
    """
    try:
        text = report.render_report(project, fixture, ended.stored, ended.summary, keep=True)
    except errors.FixturegenError as error:
        folder = put_in_place(project, ended)
        error.hint = (
            f"{error.hint + '; ' if error.hint else ''}the raw data is kept in "
            f"{project.shown(folder)}; then: fixturegen report {fixture.name} --run "
            + shlex.quote(folder.name)
        )
        raise
    files.write(ended.stored.folder / record.REPORT, text)
    folder = put_in_place(project, ended)
    if ended.lacking:
        return folder / record.REPORT
    target = report.text_path(project, fixture.name)
    files.write(target, text)
    for name in textless(project, fixture.name):  # older ones too: their turn is over
        files.remove(record.run_folder(project, fixture.name, name) / record.REPORT)
    return target


def _say_leftovers(summary: Summary) -> None:
    for path, case in summary.cases.items():
        if case.leftovers:
            words = "1 process" if case.leftovers == 1 else f"{case.leftovers} processes"
            say(
                f"{words} outlived the program that started them ({path}), and were ended", err=True
            )


def _say_place(project: Project, fixture: Fixture, ended: Ended, shown: str) -> None:
    if not ended.lacking:
        say(f"fixture: {shown}")
        return
    current = project.shown(report.text_path(project, fixture.name))
    say(f"not the fixture's text, because: {'; '.join(ended.lacking)}")
    has = files.is_file(report.text_path(project, fixture.name))
    words = f"{current} is as it was" if has else f"there is no {current} yet"
    say(f"  {words}; this run's text: {shown}")
    say(f"  to make it the text: fixturegen report {fixture.name} --run {ended.context.run}")


def short_table(summary: Summary) -> list[str]:
    """Return the medians of the first metrics of each case."""
    rows = []
    for path, case in summary.cases.items():
        metrics = summary.fixture.program(case.case.program).metrics_of(case.case.mode)
        for name, metric in list(metrics.items())[:1]:
            known = statistics(summary, f"{path}.{name}")
            if known.n or case.failed:
                rows.append(
                    [
                        path,
                        name,
                        number(known.median),
                        number(known.iqr),
                        metric.unit,
                        str(known.n),
                        str(len(case.failed) or ""),
                    ]
                )
    more = len(rows) - ROWS
    headings = ["case", "metric", "median", "IQR", "unit", "n", "failed"]
    text = aligned(headings, rows[:ROWS], "llrrlrr")
    return [*text.split("\n"), *([f"... and {more} more rows in the fixture"] if more > 0 else [])]
