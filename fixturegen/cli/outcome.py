"""What a run says at its end: its text in its place, a short table, the path of the fixture."""

from __future__ import annotations

import shlex

from fixturegen import errors, report
from fixturegen.cli.terminal import say
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture
from fixturegen.report.formats import number
from fixturegen.report.table import aligned
from fixturegen.report.told import listed
from fixturegen.report.view import statistics
from fixturegen.runs import states
from fixturegen.runs.context import Context
from fixturegen.runs.states import Measured, Placed
from fixturegen.runs.summary import ClaimResult, Summary, failing
from fixturegen.units import plural

ROWS = 24  # of the short table; the fixture has them all


def place(project: Project, fixture: Fixture, run: Measured) -> Placed:
    """Put raw data and text in their places; if there can be no text, the raw data all the same."""
    try:
        text = report.render_report(project, fixture, run.stored, run.summary, keep=True)
    except errors.FixturegenError as error:
        folder = states.store(project, run)
        error.hint = (
            f"{error.hint + '; ' if error.hint else ''}the raw data is kept in "
            f"{project.shown(folder)}; then: fixturegen report {fixture.name} --run "
            + shlex.quote(folder.name)
            + " --replace" * bool(run.lacking)
        )
        raise
    return states.settle(project, run, text)


def tell(project: Project, run: Measured, placed: Placed, *, strict: bool) -> int:
    """Say what was found and where its text is, and return the exit code."""
    say("", *short_table(run.summary), "")
    claims = run.summary.claims()
    bad = [r for r in claims if r.verdict.state != "holds"]
    told: dict[tuple[str, str], list[ClaimResult]] = {}
    for result in bad:
        told.setdefault((result.verdict.state, result.claim.text), []).append(result)
    for (state, text), results in told.items():
        labels = [result.label for result in results]
        say(f"claim {state}{f' for {listed(labels)}' if labels[0] else ''}: {text}")
        say(*(f"  {words}" for result in results for words in run.summary.broken(result)))
    if claims:
        open_ = sum(result.verdict.state == "undecided" for result in bad)
        undecided = f", {open_} undecided" if open_ else ""
        say(f"claims: {len(claims) - len(bad)} of {len(claims)} hold{undecided}")
    _say_leftovers(run.summary)
    _say_place(project, run.context, placed)
    if run.summary.failures:
        path, number_, _, detail = run.summary.failures[0]
        say(
            f"fixturegen: {plural(len(run.summary.failures), 'failed sample')}, the first: "
            f"{path}, round {number_}: {detail}",
            err=True,
        )
        return errors.ProgramError.exit_code
    return 1 if failing(claims, strict=strict) else 0


def _say_leftovers(summary: Summary) -> None:
    for path, case in summary.cases.items():
        if case.leftovers:
            left = plural(case.leftovers, "process")
            what = f"{left} outlived the program that started them ({path}), and were ended"
            say(what, err=True)


def _say_place(project: Project, run: Context, placed: Placed) -> None:
    shown = project.shown(placed.text)
    if not placed.lacking:
        say(f"fixture: {shown}")
        return
    current = project.shown(report.text_path(project, run.fixture))
    say(f"not the fixture's text, because: {'; '.join(placed.lacking)}")
    before = f"{current} is as it was" if placed.before else f"there is no {current} yet"
    say(f"  {before}; this run's text: {shown}")
    say(f"  to make it the text: fixturegen report {run.fixture} --run {run.run} --replace")


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
