"""What there is to make: one job a binary, with a key of everything that could change it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from fixturegen import files
from fixturegen.languages import LANGUAGES, Plan
from fixturegen.model import Build, Fixture, Program

RECORDED = 6  # another number when more is recorded of a binary: then all are made again


class Job(Struct, frozen=True):
    """One binary to make.

    source: the folder in which the plan's commands run; work: the one for what they make;
    sources: every rendered file that may go in, and the SHA-256 of its text; own: those that are no
    other program's; described: those that tell the tools what the folder is, and so always do.
    """

    program: Program
    language: str
    build: Build
    plan: Plan
    source: Path
    work: Path
    sources: dict[str, str]
    own: tuple[str, ...]
    described: tuple[str, ...]

    @property
    def name(self) -> str:
        """The binary's name in arguments and paths: `program.language[.build]`."""
        return self.program.binary(self.language, self.build)

    @property
    def compiler(self) -> str:
        """The compiler that the build names; empty for the default one."""
        return self.build.compiler(self.language)

    @property
    def target(self) -> Path:
        """Where the binary goes."""
        return self.work / "bin" / f"{self.program.name}-{self.language}-{self.build.name}"

    @property
    def label(self) -> str:
        """The name of its file, as messages call it."""
        return self.target.name

    @property
    def out(self) -> Path:
        """The folder of what the language's tools leave."""
        return out_folder(self.work, self.language)

    def key(self, toolchain: Sequence[str], tools: Mapping[str, str]) -> str:
        """Return what changes with what could change the binary, or what is recorded of it.

        Not with the sources: which of them the tools read is known only afterwards; with their
        names, since a header that joins may be found before the one that was read. tools: the
        tools themselves and their settings, each with its digest.
        """
        inputs = [
            RECORDED,
            sorted(self.own),
            tools,
            self.plan.commands,
            self.plan.environment,
            list(toolchain),
            self.program.kernel,
            self.program.symbols,
        ]
        # Where the project is changes no binary: a moved one is up to date.
        text = json.dumps(inputs, sort_keys=True).replace(str(self.work), "")
        return hashlib.sha256(text.encode()).hexdigest()


def jobs(
    fixture: Fixture, languages: Sequence[str], texts: Mapping[str, str], root: Path, work: Path
) -> Iterator[Job]:
    """Yield the jobs of a fixture in `languages`, in the order of declaration.

    texts: the rendered sources, path below `root` to text; work: the folder of the binaries.
    """
    digests = {path: files.digest(text.encode()) for path, text in texts.items()}
    layouts = {name: LANGUAGES[name].layout(fixture) for name in languages}
    for program in fixture.programs:
        others = {other.name for other in fixture.programs} - {program.name}
        for language in (name for name in program.languages if name in languages):
            of = {f"{language}/{fixture.name}/{e.target}": e for e in layouts[language]}
            sources = {path: digests[path] for path, entry in of.items() if not entry.for_readers}
            own = tuple(path for path in sources if PurePosixPath(path).stem not in others)
            described = tuple(path for path in own if of[path].dialect == "text")
            named = {path.rpartition("/")[2]: texts[path] for path in own}
            out, source = out_folder(work, language), root / language / fixture.name
            for build in program.builds_in(language):
                plan = LANGUAGES[language].plan(fixture, program, build, str(out), named)
                yield Job(program, language, build, plan, source, work, sources, own, described)


def out_folder(work: Path, language: str) -> Path:
    """Return the folder of what a language's tools leave, beside the binaries."""
    return work / "make" / language
