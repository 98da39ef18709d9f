"""What there is to make: one job a binary, with a key of everything that could change it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fixturegen.fixture.convert import binary_names
from fixturegen.languages import LANGUAGES, Plan
from fixturegen.model import Fixture, Program
from fixturegen.render import rendered

RECORDED = 3  # another number when more is recorded of a binary: then all are made again


class Job(Struct, frozen=True):
    """One binary to make, called `name` in arguments and paths: `program.language[.build]`.

    source: the folder in which the plan's commands run; work: the one for what they make;
    sources: every file that goes in and the SHA-256 of its text.
    """

    name: str
    program: Program
    language: str
    build: str
    plan: Plan
    source: Path
    work: Path
    sources: dict[str, str]

    @property
    def target(self) -> Path:
        """Where the binary goes."""
        return self.work / "bin" / f"{self.program.name}-{self.language}-{self.build}"

    @property
    def label(self) -> str:
        """The name of its file, as messages call it."""
        return self.target.name

    @property
    def out(self) -> Path:
        """The folder of what the language's tools leave."""
        return out_folder(self.work, self.language)

    def key(self, toolchain: Sequence[str]) -> str:
        """Return what changes with all that could change the binary, or what is recorded of it."""
        inputs = [
            RECORDED,
            self.sources,
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
    for name, (of, language, label) in binary_names(fixture).items():
        if language not in languages:
            continue
        program = fixture.program(of)
        own = rendered.needed(texts, fixture, program, language)
        files = {path.rpartition("/")[2]: text for path, text in own.items()}
        out = out_folder(work, language)
        plan = LANGUAGES[language].plan(fixture, program, program.build(label), str(out), files)
        digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in own.items()}
        source = root / language / fixture.name
        yield Job(name, program, language, label, plan, source, work, digests)


def out_folder(work: Path, language: str) -> Path:
    """Return the folder of what a language's tools leave, beside the binaries."""
    return work / "make" / language
