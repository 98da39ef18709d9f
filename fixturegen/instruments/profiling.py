"""What one process under `perf record` left: its samples as columns, stacks and an excerpt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from fixturegen import files, process
from fixturegen.fixture.conditions import PERF_RECORD, PERFS, PROFILE
from fixturegen.instruments import flamegraph, perf, profile
from fixturegen.instruments.perf import Perf
from fixturegen.model import Case, Columns, Fixture

FLAT, STACKS = 10, 5  # functions of the flat profile, and whole stacks, that a report shows
FOLDED, FACTS, PICTURE = ".folded", ".profile.json", ".svg"


class Subject(Struct, frozen=True):
    """What was profiled: its binary, and the function whose thread is looked at."""

    name: str
    binary: Path
    function: str


def subject(case: Case, binary: Path, function: str) -> Subject:
    """Return the subject of a case; its name is that of its files: `book-c-profiled-flat`."""
    return Subject(case.path.replace(".", "-"), binary, function)


def read_samples(data: Path, of: Subject, folder: Path) -> Columns:
    """Return the columns of the last process, leave its files in `folder`, and remove the data.

    {} if perf left nothing that can be read. The files of one case are those of its last process.
    """
    if not files.is_file(data):
        return {}
    try:
        done = _perf(*perf.script_words(data))
        recording = profile.read_script(done.stdout)
        if done.code != 0:
            return {}
        return _keep(recording, data, of, folder)
    finally:
        files.remove(data)


def _keep(recording: profile.Recording, data: Path, of: Subject, folder: Path) -> Columns:
    places = _inlined(recording, of.binary)
    thread = profile.chosen_thread(recording, of.function)
    stacks = [
        (taken, profile.expanded(taken, str(of.binary), places)) for taken in recording.samples
    ]
    chosen = [(taken, names) for taken, names in stacks if taken.thread == thread]
    text = profile.fold([(taken.comm, names) for taken, names in stacks])
    files.write(folder / (of.name + FOLDED), text)
    stacks_shown = profile.biggest([names for _, names in chosen], STACKS)
    facts = _facts(recording, [taken for taken, _ in chosen], data, of, stacks_shown)
    plain = json.dumps(msgspec.to_builtins(facts), indent=1, sort_keys=True)
    files.write(folder / (of.name + FACTS), plain + "\n")
    own = _functions(recording, of.binary) | {n for names in places.values() for n in names}
    return {
        PROFILE: {
            "samples": [len(recording.samples)],
            "lost": [recording.lost],
            "thread": [len(chosen)],
        },
        **profile.counted([names for _, names in chosen], own.__contains__),
    }


def _functions(recording: profile.Recording, binary: Path) -> set[str]:
    return {
        frame.name
        for taken in recording.samples
        for frame in taken.frames
        if frame.where == str(binary)
    }


def _facts(
    recording: profile.Recording,
    chosen: Sequence[profile.Taken],
    data: Path,
    of: Subject,
    stacks: list[profile.Stack],
) -> profile.Profile:
    """Return what a report shows of a profile, without any path."""
    own = [
        taken.frames[0].name
        for taken in chosen
        if taken.frames and taken.frames[0].where == str(of.binary)
    ]
    hottest = max(sorted(set(own)), key=own.count, default="")
    lines, reason = _annotated(data, hottest)
    return profile.Profile(
        event=recording.event,
        frequency=perf.FREQUENCY,
        samples=len(recording.samples),
        lost=recording.lost,
        thread=len(chosen),
        flat=profile.flat(chosen, FLAT),
        hottest=hottest,
        annotated=lines,
        unannotated=reason,
        stacks=stacks,
    )


def _annotated(data: Path, function: str) -> tuple[list[profile.Line], str]:
    """Return the excerpt of the hottest function, and "" or why there is none."""
    if not function:
        return [], "no sample is in a function of the program"
    done = _perf("annotate", "-i", str(data), "--stdio", "--stdio-color", "never", "-s", function)
    lines = profile.excerpt(done.stdout) if done.code == 0 else []
    said = (done.stderr.strip().splitlines() or ["perf annotate shows no instruction"])[0]
    return lines, "" if lines else said.replace(str(data), "perf.data")


def _inlined(recording: profile.Recording, binary: Path) -> dict[int, list[str]]:
    """Return the functions at each address of the binary, the innermost first.

    {} where addr2line is missing: then a stack shows only what the linker calls a function.
    """
    from fixturegen import elf

    virtual = elf.addresses(binary, profile.own_addresses(recording, str(binary)))
    if not virtual:
        return {}
    wanted = sorted({*virtual.values()})
    argv = ["addr2line", "-aifpC", "-e", str(binary), *(f"{address:#x}" for address in wanted)]
    done = process.run(argv, timeout_s=60)
    places = profile.read_places(done.stdout, wanted) if done.code == 0 else {}
    return {address: places.get(there, []) for address, there in virtual.items()}


def _perf(*words: str) -> process.Finished:
    argv = [process.find("perf") or "perf", *words]
    return process.run(argv, extra=perf.SETTINGS, timeout_s=120)


def names(fixture: Fixture) -> list[str]:
    """Return the names, without their endings, of the files that a fixture's profiles leave."""
    return [
        subject(case, Path(), "").name
        for program in fixture.programs
        for case in program.cases()
        if program.mode(case.mode).wrapper == PERF_RECORD
    ]


def finished(fixture: Fixture, folder: Path, build: Path) -> tuple[Perf | None, dict[str, str]]:
    """Draw what was folded; return what the context says of perf, and of the files in `folder`.

    None and {} for a fixture that starts nothing under perf.
    """
    modes = [mode for program in fixture.programs for mode in program.modes]
    if not any(mode.wrapper in PERFS for mode in modes):
        return None, {}
    stems = names(fixture)
    pictures = {
        stem: _draw(stem, folder) for stem in stems if files.is_file(folder / (stem + FOLDED))
    }
    kept = [stem + ending for stem in stems for ending in (FACTS, FOLDED, PICTURE)]
    return perf.facts(perf.trial(build), pictures), digests(folder, kept)


def _draw(stem: str, folder: Path) -> str:
    """Draw a flame graph beside folded stacks; return "" or why there is none."""
    picture, reason = flamegraph.draw(folder / (stem + FOLDED), stem)
    if picture:
        files.write(folder / (stem + PICTURE), picture)
    return reason


def digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each of the files that is there: what the context keeps of them."""
    return {name: files.sha256(folder / name) for name in names if files.is_file(folder / name)}
