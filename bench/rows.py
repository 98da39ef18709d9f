"""The rows: what each one runs, against what, and the figure that it must not exceed."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pairs import Row, interleaved
from place import FIXTUREGEN, HERE, LINES, Place, printed, quietly, seconds

from fixturegen import launcher, stats

EMPTY_START_S = 10.0
_labels = count(1)


@dataclass(frozen=True)
class Entry:
    """A row before it is measured. `needs` is a tool without which it cannot be."""

    what: str
    against: str
    at_most: float
    rounds: int
    run: Callable[[Place, str, int], list[tuple[list[float], list[float]]]]
    needs: str = ""
    parts: tuple[str, ...] = ("",)

    def rows(self, place: Place, name: str, rounds: int, at_most: float) -> Iterator[Row]:
        """Measure and yield one row for each part."""
        found = self.run(place, name, rounds)
        for part, (ours, theirs) in zip(self.parts, found, strict=True):
            yield Row(f"{name}{part}", self.what, self.against, at_most, ours, theirs)


Columns = list[tuple[list[float], list[float]]]


def _start(place: Place, program: str, *args: str) -> launcher.Start:
    return launcher.Start(program, args, launcher.environment({}), "/", EMPTY_START_S, (place.cpu,))


def _launches(place: Place, name: str, rounds: int, theirs: Callable[[], float]) -> Columns:
    """Compare the medians of 300 launches of the empty program, one kept launcher."""
    os.sched_setaffinity(0, place.others)
    with launcher.Launcher(place.launcher, place.folder) as started:
        case = started.define(_start(place, place.empty_program))

        def ours() -> tuple[float]:
            outcomes = list(started.run([case] * 300))
            return (stats.median([outcome.usage.wall_ns for outcome in outcomes]) / 1000,)

        return interleaved(name, ours, lambda: (theirs(),), rounds)


def launch_loop(place: Place, name: str, rounds: int) -> Columns:
    """Compare a launch with one of the bare loop."""
    command = [place.loop, str(place.cpu), "300", place.empty_program]
    return _launches(place, name, rounds, lambda: stats.median(printed(command)) / 1000)


def launch_hyperfine(place: Place, name: str, rounds: int) -> Columns:
    """Compare a launch with one of hyperfine on the same CPU."""
    export = place.folder / "hyperfine.json"
    pinned = ["taskset", "-c", str(place.cpu)]
    command = [*pinned, *_hyperfine(place, 300, "--export-json", str(export))]

    def theirs() -> float:
        quietly(command)
        return float(json.loads(export.read_text())["results"][0]["median"]) * 1e6

    return _launches(place, name, rounds, theirs)


def _hyperfine(place: Place, runs: int, *more: str) -> list[str]:
    return ["hyperfine", "-N", "-r", str(runs), *more, place.empty_program]


def _run(root: Path, *words: str) -> list[str]:
    """Return a command that makes a new run, the only one; its raw data has the label's name."""
    shutil.rmtree(root / "fixtures", ignore_errors=True)
    return [FIXTUREGEN, "-C", str(root), "run", *words, "--label", f"bench{next(_labels)}"]


def run_hyperfine(place: Place, name: str, rounds: int) -> Columns:
    """Compare whole commands of 2,000 samples."""
    root, theirs = place.empty, _hyperfine(place, 2000)
    return interleaved(
        name,
        lambda: (seconds(_run(root, "--rounds", "2000")),),
        lambda: (seconds(theirs),),
        rounds,
    )


def run_loop(place: Place, name: str, rounds: int) -> Columns:
    """Compare whole commands of 20,000 samples."""
    root, theirs = place.empty, [place.loop, "-q", str(place.cpu), "20000", place.empty_program]
    return interleaved(name, lambda: (seconds(_run(root)),), lambda: (seconds(theirs),), rounds)


def run_samples(place: Place, name: str, rounds: int) -> Columns:
    """Compare whole runs of p04-first-run with the wall times that their samples had."""
    from fixturegen.fixture import project
    from fixturegen.runs import states

    root, ours, theirs = place.first_run, [], []
    for number in range(1, rounds + 1):
        sys.stderr.write(f"\r{name}: round {number} of {rounds} ")
        sys.stderr.flush()
        command = _run(root, "p04-first-run")
        ours.append(seconds(command))
        kept = states.stored(project.Project(root), "p04-first-run", command[-1])
        theirs.append(sum(sample.usage.wall_ns for sample in kept.samples()) / 1e9)
    sys.stderr.write("\n")
    return [(ours, theirs)]


def first_run(place: Place, name: str, rounds: int) -> Columns:
    """Compare the rendered first_run with the loop written by hand, one process of each a round."""
    binary = place.first_run / "build" / "p04-first-run" / "bin" / "first_run-c-default"
    by_hand = place.compiled("first_run")
    os.sched_setaffinity(0, place.others)
    with launcher.Launcher(place.launcher, place.folder) as started:
        starts = [_start(place, str(binary), "natural"), _start(place, by_hand)]
        rendered, plain = map(started.define, launcher.padded_environments(starts))

        def output(case: int) -> bytes:
            (outcome,) = started.run([case])
            return outcome.stdout

        def ours() -> tuple[float, float]:
            lines = [line.split() for line in output(rendered).splitlines()]
            times = [int(words[2]) for words in lines if words[0] == b"iteration"]
            return times[0], stats.median(times[50:])

        def theirs() -> tuple[float, float]:
            first, steady = map(int, output(plain).split())
            return first, steady

        return interleaved(name, ours, theirs, rounds)


def build(place: Place, name: str, rounds: int) -> Columns:
    """Compare a build with nothing to do with cargo's, both of p04-first-run."""
    root = place.first_run
    cargo = ["cargo", "build", "--release", "--offline", "--locked"]
    package = root / "rust" / "p04-first-run"
    quietly(cargo, package)
    ours = [FIXTUREGEN, "-C", str(root), "build", "p04-first-run"]
    return interleaved(name, lambda: (seconds(ours),), lambda: (seconds(cargo, package),), rounds)


def report(place: Place, name: str, rounds: int) -> Columns:
    """Compare the report of a million printed lines with a script that only reads them."""
    root = place.project("lines", LINES)
    made = _run(root)
    quietly(made)
    samples = root / "fixtures" / "lines" / made[-1] / "samples.jsonl.gz"
    script = [sys.executable, str(HERE / "read_lines.py"), str(samples)]
    if printed(script) != [1_000_000]:
        raise SystemExit(f"bench: {samples} does not hold a million lines")
    ours = [FIXTUREGEN, "-C", str(root), "report", "lines"]
    return interleaved(name, lambda: (seconds(ours),), lambda: (seconds(script),), rounds)


def check(place: Place, name: str, rounds: int) -> Columns:
    """Compare `render --check` and `check` of a thousand fixtures with listing them."""
    root = str(place.thousand)
    listed, rendered, checked = (
        [FIXTUREGEN, "-C", root, *words] for words in (["list"], ["render", "--check"], ["check"])
    )

    def ours() -> tuple[float, float]:
        return seconds(rendered), seconds(checked)

    def theirs() -> tuple[float, float]:
        taken = seconds(listed)
        return taken, taken

    return interleaved(name, ours, theirs, rounds)


def version(place: Place, name: str, rounds: int) -> Columns:
    """Compare the shortest command with Python's own start."""
    ours, theirs = [FIXTUREGEN, "--version"], [sys.executable, "-c", "pass"]
    return interleaved(name, lambda: (seconds(ours),), lambda: (seconds(theirs),), rounds)


def memory(place: Place, name: str, rounds: int) -> Columns:
    """Compare the peaks of memory of a long and of a short run, in KiB."""
    peak, root = place.compiled("peak"), place.empty

    def measured(samples: str) -> tuple[float]:
        return (float(printed([peak, *_run(root, "--rounds", samples)])[0]),)

    return interleaved(name, lambda: measured("20000"), lambda: measured("200"), rounds)


# fmt: off
ROWS = {
    "launch-loop": Entry(
        "launcher, an empty static program (us)", "vfork + execve + wait4 in C",
        1.05, 30, launch_loop),
    "launch-hyperfine": Entry(
        "launcher, an empty static program (us)", "hyperfine -N", 0.7, 30, launch_hyperfine,
        "hyperfine"),
    "run-hyperfine": Entry(
        "fixturegen run, 2,000 samples (s)", "hyperfine -N -r 2000", 0.75, 30, run_hyperfine,
        "hyperfine"),
    "run-loop": Entry(
        "fixturegen run, 20,000 samples (s)", "the C loop, 20,000 times", 1.25, 10, run_loop),
    "run-samples": Entry(
        "fixturegen run p04-first-run (s)", "the wall times of its samples", 1.10, 2, run_samples),
    "first-run": Entry(
        "first_run natural, rendered C (ns)", "the same loop by hand", 1.05, 100, first_run,
        parts=(" iter1", " steady")),
    "build": Entry(
        "fixturegen build, nothing to do (s)", "cargo build, nothing to do", 4, 30, build, "cargo"),
    "report": Entry(
        "fixturegen report, 1,000,000 lines (s)", "gzip and json.loads", 4, 10, report),
    "check": Entry(
        "checks of 1,000 fixtures (s)", "fixturegen list", 4, 10, check,
        parts=(" render --check", " check")),
    "version": Entry("fixturegen --version (s)", "python -c pass", 5, 30, version),
    "memory": Entry(
        "peak of a run, 20,000 samples (KiB)", "of 200 samples", 1.5, 3, memory),
}
# fmt: on


def lacking(entry: Entry) -> bool:
    """Return whether a tool that the row needs is not on PATH."""
    return bool(entry.needs) and shutil.which(entry.needs) is None
