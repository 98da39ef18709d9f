"""What one process under `perf record` left: its samples as columns, stacks and an excerpt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from fixturegen import files, process
from fixturegen.instruments import flamegraph, perf, profile
from fixturegen.instruments.instrument import Subject, UnreadError
from fixturegen.instruments.perf import Perf
from fixturegen.instruments.perf_record import PerfRecord
from fixturegen.instruments.registry import used
from fixturegen.model import Case, Columns, Fixture

FLAT, STACKS = 10, 5  # functions of the flat profile, and whole stacks, that a report shows
FOLDED, FACTS, PICTURE = ".folded", ".profile.json", ".svg"


def stem(case: Case) -> str:
    """Return the name of a case's files without their endings: `book-c-profiled-flat`."""
    return case.path.replace(".", "-")


def read_samples(of: Subject) -> Columns:
    """Return the columns of a process, leave its files in the run's folder, and remove the data.

    The files of one case are those of its last process. Raises UnreadError if perf left nothing
    that can be read.
    """
    data = of.output
    if not files.is_file(data):
        raise UnreadError("perf recorded nothing")
    try:
        done = _perf(*perf.script_argv(data))
        recording = profile.read_script(done.stdout)
        if done.code != 0:
            said = done.stderr.strip().splitlines() or [f"exit code {done.code}"]
            raise UnreadError(f"perf cannot read what it recorded: {said[-1][:200]}")
        return _keep(recording, of)
    finally:
        files.remove(data)


def _keep(recording: profile.Recording, of: Subject) -> Columns:
    places = _inlined(recording, of.binary)
    thread = profile.chosen_thread(recording, of.function)
    stacks = [
        (taken, profile.expanded(taken, str(of.binary), places)) for taken in recording.samples
    ]
    chosen = [(taken, names) for taken, names in stacks if taken.thread == thread]
    text = profile.fold([(taken.comm, names) for taken, names in stacks])
    name = stem(of.case)
    files.write(of.run / (name + FOLDED), text, make=False)
    stacks_shown = profile.biggest([names for _, names in chosen], STACKS)
    facts = _facts(recording, [taken for taken, _ in chosen], of, stacks_shown)
    plain = json.dumps(msgspec.to_builtins(facts), indent=1, sort_keys=True)
    files.write(of.run / (name + FACTS), plain + "\n", make=False)
    own = _functions(recording, of.binary) | {n for names in places.values() for n in names}
    return {
        "profile": {
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
    lines, reason = _annotated(of.output, hottest)
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


def _perf(*arguments: str) -> process.Finished:
    argv = [process.find("perf") or "perf", *arguments]
    return process.run(argv, extra=perf.SETTINGS, timeout_s=120)


def stems(fixture: Fixture) -> list[str]:
    """Return the names, without their endings, of the files that a fixture's profiles leave."""
    return [
        stem(case)
        for program in fixture.programs
        for case in program.cases()
        if program.mode(case.mode).wrapper == PerfRecord.name
    ]


def finished(fixture: Fixture, folder: Path) -> tuple[Perf | None, dict[str, str]]:
    """Draw what was folded; return what the context says of perf, and of the files in `folder`.

    None and {} for a fixture that starts nothing under perf.
    """
    if all(instrument.tool is not perf.TOOL for instrument in used(fixture)):
        return None, {}
    own = stems(fixture)
    pictures = {
        name: _draw(name, folder) for name in own if files.is_file(folder / (name + FOLDED))
    }
    kept = [name + ending for name in own for ending in (FACTS, FOLDED, PICTURE)]
    return perf.facts(pictures), digests(folder, kept)


def _draw(name: str, folder: Path) -> str:
    """Draw a flame graph beside folded stacks; return "" or why there is none."""
    picture, reason = flamegraph.draw(folder / (name + FOLDED), name)
    if picture:
        files.write(folder / (name + PICTURE), picture, make=False)
    return reason


def digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each of the files that is there: what the context keeps of them."""
    return {name: files.sha256(folder / name) for name in names if files.is_file(folder / name)}
