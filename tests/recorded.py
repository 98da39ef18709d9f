"""A small fixture and recorded samples of it: the input of tests that start no process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fixturegen import files, machine, record, spec
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture, Sample, Usage
from fixturegen.project import Project

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
    return spec.load(toml.encode(), name, "fixture.toml", LANGUAGES)


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


def context(of: Fixture, run: str = "noon", **changes: Any) -> dict[str, Any]:
    """Return the context of a complete run of the fixture on an unknown machine."""
    rounds = {program.name: program.rounds for program in of.programs}
    values: dict[str, Any] = {
        "format": record.FORMAT, "fixturegen": "0.1.0", "fixture": of.name, "run": run,
        "started": "2026-11-30T12:00:00Z", "params": dict(of.params),
        "declared_params": dict(of.params), "seed": 1, "rounds": rounds,
        "declared_rounds": rounds, "languages": list(of.languages),
        "declared_languages": list(of.languages), "missing": {},
        "machine": machine.to_json(machine.describe(Path("/nonexistent"))),
        "cpus": {program.name: [1] for program in of.programs}, "cpu_reason": "not on CPU 0",
        "disturbances": [], "toolchain": {"c": ["gcc 12.2.0"]}, "binaries": {}, "options": [],
        "asked": {"rounds": None, "seed": 1, "languages": [], "cpu": None},
        "boot": "", "resumed": [], "skipped": {}, "lacking": [],
        "launcher": {
            "start": "clone", "linked": "gcc -static", "rcu": "recorded", "tree": "walked",
        },
    }  # fmt: skip
    return {**values, **changes}


def store(project: Project, of: Fixture, run: str = "noon", **changes: Any) -> record.Stored:
    """Put a run of `samples()` among the project's fixtures, and return it."""
    writer = record.Writer(record.unfinished_folder(project, of.name) / run)
    for each in changes.pop("samples", samples()):
        writer.add(each)
    writer.finish(context(of, run, **changes))
    files.move_folder(writer.folder, record.run_folder(project, of.name, run))
    return record.stored(project, of.name, run)


def lay(root: Path, toml: str = TOML, name: str = "a-loop") -> Project:
    """Return a project in `root` whose one fixture has the given fixture.toml."""
    folder = root / "templates" / name
    folder.mkdir(parents=True)
    (folder / "fixture.toml").write_text(toml, encoding="utf-8")
    return Project(root)
