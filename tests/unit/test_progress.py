from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from fixturegen.cli.progress import TimeLeft
from fixturegen.model import Case
from fixturegen.runs.schedule import Step

FAST = Case("loop", "c", "default", "fast")
SLOW = Case("loop", "c", "default", "slow")
STEPS = [Step(FAST, 1, 0), Step(SLOW, 1, 1), Step(FAST, 2, 2), Step(SLOW, 2, 3)]


def shares(expected: dict[str, float]) -> list[float]:
    """Return how the time left relates to the time spent after each step."""
    left = TimeLeft(STEPS, expected)
    left._began -= 100  # as if a while had passed, so that the clock's own step is nothing
    found = []
    for step in STEPS:
        left.take(step)
        found.append(round(left.seconds() / 100, 2))
    return found


def test_what_an_earlier_run_took_weighs_each_case() -> None:
    assert shares({FAST.path: 1.0, SLOW.path: 9.0}) == [19.0, 1.0, 0.82, 0.0]


def test_without_an_earlier_run_all_processes_count_the_same() -> None:
    assert shares({}) == [3.0, 1.0, 0.33, 0.0]


def test_a_case_that_the_earlier_run_lacks_counts_as_the_mean() -> None:
    assert shares({SLOW.path: 5.0}) == [3.0, 1.0, 0.33, 0.0]


def test_before_the_first_sample_nothing_is_promised() -> None:
    assert TimeLeft(STEPS, {}).seconds() == 0.0


def test_what_a_process_said_does_nothing_to_the_bar() -> None:
    code = (
        "from fixturegen.cli.progress import Progress, TimeLeft\n"
        "from fixturegen.model import Case, Sample, Usage\n"
        "from fixturegen.runs.schedule import Step\n"
        "step = Step(Case('loop', 'c', 'default', 'fast'), 1, 0)\n"
        "detail = 'x' + chr(0x1b) + ']0;t' + chr(7) + chr(0x202e) + chr(10) + 'all agree'\n"
        "sample = Sample(step.case.path, 1, 0, '', 'exit', detail, Usage(*[0] * 10), {})\n"
        "with Progress('tiny', 1, 0, TimeLeft([step], {})) as progress:\n"
        "    progress.update(step, sample, 1)\n"
    )
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=theirs) as done:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # EIO: it has ended
            while piece := os.read(ours, 65536):
                said += piece
    os.close(ours)
    assert done.returncode == 0
    assert b"x\\x1b]0;t\\x07\\u202e\\nall agree" in said
    assert b"\x1b]0;" not in said and "\u202e".encode() not in said
