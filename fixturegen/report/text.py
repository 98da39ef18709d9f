"""The text of a run: a pure function of the templates and of what is stored."""

from __future__ import annotations

import re

from fixturegen import files, render
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture
from fixturegen.render import mistakes
from fixturegen.report.ahead import TEMPLATE, environment
from fixturegen.report.formats import wrap
from fixturegen.report.told import run_values
from fixturegen.report.values import plain
from fixturegen.report.view import Functions, View
from fixturegen.runs import record
from fixturegen.runs.summary import Summary, summarise


def render_report(
    project: Project,
    fixture: Fixture,
    stored: record.Stored,
    summary: Summary,
    *,
    keep: bool = False,
) -> str:
    """Return the text of a run; raises errors.SpecError if the report template is wrong.

    keep: whether compiled templates may be written to the user's cache.
    """
    folders = [project.folder(fixture.name), *project.shared(fixture.name)]
    created = environment(project, fixture.name, keep=keep)
    created.globals.update(callables(summary, stored))
    created.filters["wrap"] = wrap
    created.globals["run"] = plain(run_values(fixture, stored, summary))
    named = next(
        (project.shown(f / TEMPLATE) for f in folders if files.is_file(f / TEMPLATE)), TEMPLATE
    )
    values = {"params": mistakes.Params(summary.params)}
    text = render.render_text(created, TEMPLATE, values, named)
    stripped = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", stripped).lstrip("\n")


def callables(summary: Summary, stored: record.Stored) -> Functions:
    """Return what a report template may call, by name."""
    return View(summary, stored).functions()


def stored_text(
    project: Project, fixture: Fixture, stored: record.Stored, *, keep: bool = False
) -> str:
    """Return the text that a stored run gives; keep: see `render_report`."""
    return render_report(project, fixture, stored, summarise(fixture, stored), keep=keep)
