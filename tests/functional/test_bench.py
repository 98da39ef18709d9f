"""`bench/bench.py` with tiny counts: the table, the verdicts, the exit codes; no figure."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "bench.py"

pytestmark = pytest.mark.slow


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH), *arguments], capture_output=True, text=True, check=False
    )


def row(table: str, name: str) -> list[str]:
    """Return the cells of a row; columns are two blanks apart."""
    (line,) = [line for line in table.splitlines() if line.startswith(f"{name} ")]
    return re.split(r" {2,}", line.strip())


def test_a_row_says_what_ran_how_often_and_its_ratio() -> None:
    done = bench("version", "--rounds", "3", "--at-most", "version=1000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("machine: ")
    name, what, _, against, _, rounds, ratio, interval, at_most, verdict = row(
        done.stdout, "version"
    )
    assert (name, what, against) == ("version", "fixturegen --version (s)", "python -c pass")
    assert (rounds, at_most, verdict) == ("3", "1000", "holds")
    low, high = map(float, interval.split(" - "))
    assert 0 < low <= float(ratio) <= high
    assert "1 rows in " in done.stdout and "above their figure: none" in done.stdout
    assert "round 3 of 3" in done.stderr


def test_a_row_fails_when_its_whole_interval_is_above_its_figure() -> None:
    done = bench("version", "--rounds", "3", "--at-most", "version=0.001")
    assert done.returncode == 1, done.stdout + done.stderr
    assert row(done.stdout, "version")[-2:] == ["0.001", "FAILS"]
    assert "above their figure: version" in done.stdout


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_rows_with_programs_are_measured_in_the_order_asked_for() -> None:
    wanted = ("--at-most", "memory=1000", "--at-most", "launch-loop=1000")
    done = bench("memory", "launch-loop", "--rounds", "1", *wanted)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.index("\nmemory ") < done.stdout.index("\nlaunch-loop ")
    assert float(row(done.stdout, "memory")[2]) > 1000  # KiB: a Python is not smaller
    assert float(row(done.stdout, "launch-loop")[4]) > 1  # us: nor a process faster


def test_an_unknown_row_is_wrong_usage_and_the_known_ones_are_told() -> None:
    done = bench("lunch-loop")
    assert done.returncode == 2
    assert "there is no row 'lunch-loop'" in done.stderr and "launch-loop" in done.stderr
