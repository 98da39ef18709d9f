"""Which stored run a fixture's text is of: what stands in the text's head."""

from __future__ import annotations

import re

from fixturegen import errors, files
from fixturegen.fixture.project import Project
from fixturegen.runs import record
from fixturegen.runs.context import NAME

LINES = 40  # the first ones of a text, in which its head must stand
_RUN = re.compile(rf"run        ({NAME}), [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}, seed [0-9]+")


def current_run(project: Project, fixture: str) -> str | None:
    """Return the run that the fixture's text names; without a text the newest complete one.

    None if there is neither. Raises errors.CheckError if the text names no stored run: then
    nobody knows whose text it is.
    """
    path = project.fixtures / f"{fixture}.txt"
    known = record.finished_runs(project, fixture)
    if not files.exists(path):
        stored = (record.stored(project, fixture, name) for name in reversed(known))
        return next((each.context.run for each in stored if each.context.complete), None)
    shown = project.shown(path)
    if not known:
        raise errors.CheckError(f"{shown} has no stored run behind it", f"fixturegen run {fixture}")
    hint = f"fixturegen report {fixture} --run {known[-1]} (stored: {', '.join(known[-5:])})"
    name = named(files.read_bytes(path).decode(errors="replace"), fixture)
    if name is None:
        raise errors.CheckError(f"{shown} does not say in its head which run it is of", hint)
    if name not in known:
        raise errors.CheckError(f"{shown} is of run {name}, which is not stored", hint)
    return name


def named(text: str, fixture: str) -> str | None:
    """Return the run named in the head of a fixture's text, None if none or more than one is.

    The head is the lines `fixture    NAME` and, right below, `run        NAME, DATE, seed N`.
    """
    lines = text.split("\n")
    found = [place for place, line in enumerate(lines) if line.startswith("run  ")]
    found = [place for place in found if lines[place - 1].startswith("fixture  ")]
    if len(found) != 1 or not 0 < found[0] < LINES:
        return None
    run = _RUN.fullmatch(lines[found[0]])
    return run[1] if run and lines[found[0] - 1] == f"fixture    {fixture}" else None
