"""What a run was made of, beside what is there now: parameters, places of fixture.toml, sources.

Compared are texts alone: what a compiler here makes of the sources is another question, which
another machine answers otherwise. docs/proof.md says what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fixturegen import files
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES, same_flags
from fixturegen.model import Fixture
from fixturegen.runs.context import DECLARED, Context
from fixturegen.runs.declared import declared, differing, listed


class Difference(Struct, frozen=True):
    """What differs, as the end of a sentence on the run; path: the source that does, or ""."""

    told: str
    path: str = ""


def differences(
    project: Project, fixture: Fixture, context: Context, texts: Mapping[str, str]
) -> Iterator[Difference]:
    """Yield what the run was made of and the project no longer says.

    texts: what its templates give now, by path; a header of the project's own is read.
    """
    before, after = context.declared_params, fixture.params
    names = sorted(n for n in {*before, *after} if before.get(n) != after.get(n))
    if names:
        yield Difference(f"was made with other parameters: {listed(names)}")
    known = context.format >= DECLARED
    if places := differing(context.declared, declared(fixture)) if known else []:
        yield Difference(f"was made with another fixture.toml: {listed(places)}")
    else:
        yield from _flags(fixture, context)
    yield from _sources(project, context, texts)


def _flags(fixture: Fixture, context: Context) -> Iterator[Difference]:
    now = {
        p.binary(name, b): LANGUAGES[name].shown(p, b)
        for p in fixture.programs
        for name in p.languages
        for b in p.builds_in(name)
    }
    for binary, facts in context.binaries.items():
        if binary not in now:
            yield Difference(f"has {binary}, which the fixture no longer has")
        elif facts.inherited and facts.shown.endswith(f" {now[binary].partition(' ')[2]}"):
            continue  # the compiler is another, which the text names and repeats
        elif not same_flags(facts.shown, now[binary]):
            yield Difference(f"used other flags of {binary}: {facts.shown}")


def _sources(project: Project, context: Context, texts: Mapping[str, str]) -> Iterator[Difference]:
    recorded: dict[str, str] = {}
    for binary in context.binaries.values():
        besides = {**binary.settings, **(binary.outside.files if binary.outside else {})}
        recorded |= {path: digest for path, digest in besides.items() if _of_project(path)}
        recorded |= binary.sources
    for path, digest in sorted(recorded.items()):
        own = files.read_if_there(project.root / path) if _of_project(path) else None
        content = texts[path].encode() if path in texts else own
        if content is None:
            yield Difference(f"is of {path}, which is no longer there", path)
        elif files.digest(content) != digest:
            yield Difference(f"is of another {path.rpartition('/')[2]}: {path}", path)


def _of_project(path: str) -> bool:
    """Return whether a recorded path is one below the project, and not in its build folder."""
    parts = path.split("/")
    return parts[0] not in ("", "~", "build") and ".." not in parts


def unproven(context: Context) -> str:
    """Return what a run does not tell, as older formats do not, so that it cannot be compared."""
    built = [b for b in context.binaries.values() if b.elf or b.commands]
    lacking = ["its sources"] if any(not binary.sources for binary in built) else []
    lacking += ["its programs, modes and lines"] if context.format < DECLARED else []
    if not lacking:
        return ""
    return (
        f"has format {context.format} and does not tell {' and '.join(lacking)}: "
        "whether these are still the same cannot be told"
    )
