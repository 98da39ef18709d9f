"""A small fixture and recorded samples of it: the input of tests that start no process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fixturegen import files, machine
from fixturegen.fixture import load as load_fixture
from fixturegen.fixture.project import Project
from fixturegen.instruments.profiling import digests
from fixturegen.languages import LANGUAGES
from fixturegen.launcher.hello import Hello
from fixturegen.model import Fixture, Sample, Usage
from fixturegen.runs import record, states
from fixturegen.runs.context import FORMAT, ZEROS, Asked, Context
from fixturegen.runs.declared import declared

TOML = """
title = "A loop"
[params]
skip = 1
[[program]]
name = "loop"
languages = ["c", "rust"]
rounds = 4
lines.iteration = 'iteration +(?P<index>\\d+): +(?P<ns>\\d+) ns +(?P<faults>\\d+) page faults'
metric.iter1 = { value = "iteration.ns[0]", unit = "ns" }
metric.steady = { value = "median(iteration.ns[params.skip:])", unit = "ns" }
metric.faults = { value = "iteration.faults[0]", unit = "count" }
metric.wall = { value = "process.wall_ns", unit = "ns" }
[[program.mode]]
name = "natural"
[[program.mode]]
name = "pre-fault"
[[claim]]
text = "The first is slower."
holds = "loop.c.natural.iter1 > 2 * loop.c.natural.steady"
[[claim]]
text = "It makes 128 faults."
holds = "each(loop.c.natural.faults == 128)"
"""


def fixture(toml: str = TOML, name: str = "a-loop") -> Fixture:
    """Return the fixture of a fixture.toml's text."""
    return load_fixture(toml.encode(), name, "fixture.toml", LANGUAGES)


def sample(case: str, number: int, ns: list[int], **changes: Any) -> Sample:
    """Return an ok sample that printed one line for each of `ns`."""
    lines: dict[str, dict[str, list[int | str]]] = {
        "iteration": {
            "index": list(range(1, len(ns) + 1)),
            "ns": list(ns),
            "faults": [128] + [0] * (len(ns) - 1),
        }
    }
    given: dict[str, Any] = {
        "case": case, "round": number, "position": 4 * number, "after": "", "status": "ok",
        "detail": "", "usage": Usage(wall_ns=1000 + number), "lines": lines,
    }  # fmt: skip
    return Sample(**{**given, **changes})


def samples() -> list[Sample]:
    """Return four rounds of the natural mode in C and of both modes in Rust."""
    found = []
    for number in range(1, 5):
        found.append(sample("loop.c.natural", number, [1000 + number, 100, 101, 102]))
        found.append(sample("loop.rust.natural", number, [900 + number, 50, 51, 52]))
        slow = 200 if number % 2 else 400
        found.append(sample("loop.rust.pre_fault", number, [slow + number, 50, 51, 52]))
    return found


def context(of: Fixture, run: str = "noon", **changes: Any) -> Context:
    """Return the context of a complete run of the fixture on an unknown machine."""
    rounds = {program.name: program.rounds for program in of.programs}
    return replace(
        Context(
            format=FORMAT, fixturegen="0.1.0", fixture=of.name, run=run, number=1,
            started="2026-11-30T12:00:00Z", params=dict(of.params),
            declared_params=dict(of.params), seed=1, rounds=rounds, declared_rounds=rounds,
            languages=of.languages, declared_languages=of.languages, missing={},
            machine=machine.describe(Path("/nonexistent")),
            cpus={program.name: (1,) for program in of.programs}, cpu_reason="not on CPU 0",
            disturbances=(), toolchain={"c": ("gcc 12.2.0",)}, binaries={}, options=(),
            asked=Asked(rounds=None, seed=1, languages=(), cpu=None), resumed=(), lacking=(),
            declared=declared(of),
            launcher=Hello("clone", "gcc -static", "recorded", "walked"),
        ),
        **changes,
    )  # fmt: skip


def store(project: Project, of: Fixture, run: str = "noon", **changes: Any) -> record.Stored:
    """Put a run of `samples()` among the project's fixtures, and return it.

    attached: files to lie beside the samples, by name.
    """
    writer = record.Writer(states.unfinished_folder(project, of.name) / run)
    for each in changes.pop("samples", samples()):
        writer.add(each)
    attached = changes.pop("attached", {})
    for name, content in attached.items():
        files.write(writer.folder / name, content)
    changes.setdefault("attachments", digests(writer.folder, attached))
    writer.finish(context(of, run, **changes))
    files.move_folder(writer.folder, states.run_folder(project, of.name, run))
    return states.stored(project, of.name, run)


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a stored context as a stranger would who signs it again, where it has a digest."""
    path = folder / record.CONTEXT
    plain = json.loads(path.read_bytes())
    change(plain)
    blank = isinstance(plain, dict) and "digest" in plain
    if blank:
        plain["digest"] = ZEROS
    text = json.dumps(plain, indent=1, sort_keys=True) + "\n"
    if blank:
        text = text.replace(ZEROS, hashlib.sha256(text.encode()).hexdigest())
    path.write_text(text)


def lay(root: Path, toml: str = TOML, name: str = "a-loop") -> Project:
    """Return a project in `root` whose one fixture has the given fixture.toml."""
    folder = root / "templates" / name
    folder.mkdir(parents=True)
    (folder / "fixture.toml").write_text(toml, encoding="utf-8")
    return Project(root)
