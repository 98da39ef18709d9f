"""What does the launcher cost beside a bare vfork + execve + wait4 loop? Paired and interleaved.

python tests/programs/launcher/compare.py [ROUNDS [SAMPLES [LONG_ROUNDS [LONG]]]]

Each of ROUNDS (30) starts an empty static program SAMPLES (500) times both ways, and compares the
medians of wall time; each of LONG_ROUNDS (10) does so LONG (20000) times, and compares the whole
duration, as Python sees it, with the loop's own. Needs two CPUs: one for Python, one for what is
measured.
"""

# ruff: noqa: T201 (run by hand, for its output)
from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fixturegen.launcher import Launcher, Start, build_launcher

HERE = Path(__file__).parent


def build(folder: Path, name: str, *flags: str) -> str:
    binary, source = str(folder / name), str(HERE / f"{name}.c")
    subprocess.run(["gcc", "-std=c11", "-O2", "-static", *flags, "-o", binary, source], check=True)
    return binary


def bare(loop: str, program: str, cpu: int, count: int, *flags: str) -> list[int]:
    command = [loop, *flags, str(cpu), str(count), program]
    return [int(word) for word in subprocess.run(command, stdout=-1, check=True).stdout.split()]


def launched(launcher: Launcher, case: int, count: int) -> tuple[list[int], int]:
    """Return the wall ns of each sample, and of the whole as seen from here."""
    began = time.monotonic_ns()
    outcomes = list(launcher.run([case] * count))
    took = time.monotonic_ns() - began
    assert all(outcome.status == "ok" for outcome in outcomes)
    return [outcome.usage.wall_ns for outcome in outcomes], took


def in_turns(rounds: int, mine: Callable[[], float], theirs: Callable[[], float]) -> str:
    """Measure both in each round, the first one in turns; return medians and their ratio."""
    pairs = []
    for turn in range(rounds):
        first = theirs() if turn % 2 else None
        own = mine()
        pairs.append((own, theirs() if first is None else first))
    low, middle, high = statistics.quantiles([own / other for own, other in pairs], n=4)
    own, other = (statistics.median(column) / 1e3 for column in zip(*pairs, strict=True))
    return (
        f"launcher {own:.1f} us, bare {other:.1f} us, "
        f"ratio {middle:.3f} (quartiles {low:.3f}, {high:.3f}; {rounds} rounds)"
    )


def main(rounds: int = 30, samples: int = 500, long_rounds: int = 10, long: int = 20_000) -> None:
    other, cpu = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, {other})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loop, program = build(folder, "bare_loop"), build(folder, "empty", "-nostdlib")
        with Launcher(build_launcher(folder), folder) as launcher:
            env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
            case = launcher.define(Start(program, (), env, "/", 5, (cpu,)))
            medians = in_turns(
                rounds,
                lambda: statistics.median(launched(launcher, case, samples)[0]),
                lambda: statistics.median(bare(loop, program, cpu, samples)),
            )
            print(f"median of {samples}: {medians}")
            totals = in_turns(
                long_rounds,
                lambda: launched(launcher, case, long)[1],
                lambda: bare(loop, program, cpu, long, "-q")[0],
            )
            print(f"all of {long}: {totals}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
