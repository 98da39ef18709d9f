"""Sources that nothing has changed are not rendered again: what went in last time, what came out.

Only `build` uses this; what compares (`render --check`, `check`) renders.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fixturegen import errors, files, render
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture, Value

NOTE = "rendered.json"


def sources(
    project: Project,
    fixture: Fixture,
    params: Mapping[str, Value],
    languages: Sequence[str],
    root: Path,
    work: Path,
) -> dict[str, str]:
    """Return every source (path to text), written to its place below `root`.

    They are rendered only if anything has changed since the note in `work`.
    """
    wanted = key(project, fixture, params, languages)
    known = unchanged(work / NOTE, wanted, root)
    if known is not None:
        return known
    texts = render.fixture_files(project, fixture, params, languages, keep=True)
    for path, text in texts.items():
        files.write(root / path, text)
    remember(work / NOTE, wanted, texts)
    return texts


def key(
    project: Project,
    fixture: Fixture,
    params: Mapping[str, Value],
    languages: Sequence[str],
    rooms: Sequence[str] = (),
) -> str:
    """Return a digest of all that decides the rendered text; empty if it cannot be told.

    rooms: further folders of this package whose modules do.
    """
    digest = hashlib.sha256()
    folders = [project.folder(fixture.name), *project.shared(fixture.name)]
    folders += filter(None, (LANGUAGES[name].templates for name in languages))
    try:
        asked = [sys.version, *_programs(languages, rooms), sorted(params.items()), list(languages)]
        digest.update(json.dumps(asked).encode())
        for path in (each for folder in folders for each in _templates(folder)):
            content = files.read_bytes(path)
            digest.update(os.fsencode(path) + f" {len(content)}\n".encode())
            digest.update(content)
    except (OSError, errors.FixturegenError):
        return ""  # rendering says what is wrong
    return digest.hexdigest()


def _templates(folder: Path) -> Iterator[Path]:
    for name in files.names(folder):
        if files.kind(folder / name) == "folder":
            yield from _templates(folder / name)
        else:
            yield folder / name


def _programs(languages: Sequence[str], rooms: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield name, size and time of the modules that render: ours, languages', Jinja's first one."""
    jinja = importlib.util.find_spec("jinja2")
    own = Path(__file__).parents[1]
    sources = [own / "model.py", own / "errors.py"]
    for room in ("fixture", "render", *rooms):
        sources += sorted((own / room).glob("*.py"))
    sources += dict.fromkeys(path for name in languages for path in LANGUAGES.files(name))
    for path in [*sources, *([Path(jinja.origin)] if jinja and jinja.origin else [])]:
        status = path.stat()
        yield str(path), status.st_size, status.st_mtime_ns


def unchanged(note: Path, wanted: str, root: Path) -> dict[str, str] | None:
    """Return the sources below `root` (path to text) if they are what `wanted` gave, else None."""
    try:
        noted = json.loads(files.read_bytes(note))
        if not wanted or noted["key"] != wanted:
            return None
        contents = {path: files.read_bytes(root / path) for path in noted["sources"]}
        if {path: _digest(content) for path, content in contents.items()} != noted["sources"]:
            return None
        return {path: content.decode() for path, content in contents.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, errors.FixturegenError):
        return None


def remember(note: Path, wanted: str, texts: Mapping[str, str]) -> None:
    """Note that `wanted` gave `texts`, which are in their places."""
    sources = {path: _digest(text.encode()) for path, text in texts.items()}
    files.write(note, json.dumps({"key": wanted, "sources": sources}, indent=1) + "\n")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
