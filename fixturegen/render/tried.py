"""Whether a report template was tried already, and nothing has changed since it was found good."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fixturegen import files
from fixturegen.fixture.project import Project, builtin_templates
from fixturegen.model import Fixture, Value
from fixturegen.render import rendered

NOTE = "tried"  # in the build folder: what the last good trial was of
TEMPLATE = "report.txt.j2"
ROOMS = ("expression", "runs", "report")  # what also decides how a trial ends


def own(project: Project, fixture: str) -> bool:
    """Whether a fixture's report is somebody's own: the built-in one has been tried."""
    folders = [project.folder(fixture), *project.shared(fixture)]
    first = next((folder for folder in folders if files.is_file(folder / TEMPLATE)), None)
    return first is not None and first != builtin_templates() / "_lib"


def due(project: Project, fixture: Fixture, params: Mapping[str, Value], work: Path) -> bool:
    """Whether the report is to be tried before a run. work: the folder of what is built."""
    if not own(project, fixture.name):
        return False
    key, noted = _key(project, fixture, params), work / NOTE
    return not (key and files.is_file(noted) and files.read_bytes(noted) == key.encode())


def note(project: Project, fixture: Fixture, params: Mapping[str, Value], work: Path) -> None:
    """Note that the report was found good."""
    if key := _key(project, fixture, params):
        files.write(work / NOTE, key)


def _key(project: Project, fixture: Fixture, params: Mapping[str, Value]) -> str:
    """Return a digest of all that decides how a trial ends; empty if it cannot be told."""
    return rendered.key(project, fixture, params, fixture.languages, ROOMS)
