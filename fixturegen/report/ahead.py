"""Gets ready for a report in pieces, while programs run on another CPU and nothing else waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from fixturegen import render
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture

if TYPE_CHECKING:
    from fixturegen.render.sandbox import Sandbox

TEMPLATE = "report.txt.j2"
_NAMED = re.compile(r'\{%[-+]? *(?:import|include|extends|from) +"([^"]+)"')

_ready: dict[tuple[Project, str], Sandbox] = {}


def environment(project: Project, fixture: str, *, keep: bool) -> Sandbox:
    """Return the environment of one report: the one made ahead, which serves once, or a new one.

    keep: whether what it compiles may be written to the user's cache.
    """
    return _ready.pop((project, fixture), None) or _new(project, fixture, keep=keep)


def _new(project: Project, fixture: str, *, keep: bool) -> Sandbox:
    folders = [project.folder(fixture), *project.shared(fixture)]
    return render.environment(folders, None, keep=keep)


def prepare(project: Project, fixture: Fixture) -> Callable[[], None]:
    """Return what does the next piece each time it is called: imports and templates.

    It never raises: what is wrong with a template is said when the report is made.
    """
    pieces = _pieces(project, fixture.name)

    def next_piece() -> None:
        with suppress(Exception):
            next(pieces, None)

    return next_piece


def _pieces(project: Project, fixture: str) -> Iterator[None]:
    created = _new(project, fixture, keep=True)  # of a run, which writes anyway
    yield
    names = [TEMPLATE]
    for name in names:
        created.get_template(name)
        yield
        text, _ = render.read_template(name, [project.folder(fixture), *project.shared(fixture)])
        names += [piece for piece in _NAMED.findall(text) if piece not in names]
    _ready[project, fixture] = created
    import tabulate  # noqa: F401 - loaded for whoever needs it later
