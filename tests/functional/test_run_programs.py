"""Programs that crash, hang, flood, leave processes behind or print what no pattern knows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest
from tiny import OLDER, Tiny

pytestmark = pytest.mark.slow

# arguments, status of the sample, what the message must say
FAILING = {
    "crash": (["crash"], "signal", "killed by SIGABRT"),
    "exit": (["complain"], "exit", "exit code 3"),
    "hang": (["hang"], "timeout", "no end within 0.3 s"),
    "stop": (["stop"], "timeout", "no end within 0.3 s"),
    "flood": (["flood"], "flood", "more output than its limit"),
    "nonsense": (["nonsense"], "unread", r"fits no pattern: an unknown \x1b[31mline"),
    "exponent": (["value", "1.5e3"], "unread", "'1.5e3' is in exponent form"),
    "comma": (["value", "1,5"], "unread", "'1,5' uses a decimal comma"),
    "infinite": (["value", "inf"], "unread", "'inf' is not finite"),
}


@pytest.mark.parametrize("behaviour", FAILING)
def test_failing_program_is_said_kept_and_changes_no_older_text(
    tiny: Callable[..., Tiny], behaviour: str
) -> None:
    args, status, words = FAILING[behaviour]
    project = tiny(rounds=2, timeout_s=0.3, modes={"calm": ["value", "7"], "bad": args})
    project.plant_older()
    done = project("run", "--label", "now")
    assert done.code == 5, done.said
    assert words in done.err and "act.c.bad, round" in done.err
    assert project.text.read_text() == OLDER
    (folder,) = project.finished()
    bad = [s for s in project.samples(folder) if s["case"] == "act.c.bad"]
    assert [s["status"] for s in bad] == [status, status]
    assert words in bad[0]["detail"]
    text = (folder / "report.txt").read_text()
    assert "2 failed samples" in text and words in text
    project.assert_nothing_runs()


def test_failed_samples_keep_the_last_lines_and_enter_no_statistic(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=2, modes={"calm": ["value", "7"], "bad": ["complain"]})
    done = project("run")
    (folder,) = project.finished()
    bad = [s for s in project.samples(folder) if s["case"] == "act.c.bad"]
    assert all("stderr: first complaint / last complaint" in s["detail"] for s in bad)
    rows = [line.split() for line in done.out.splitlines() if line.startswith("act.c.")]
    assert ["act.c.bad", "n", "-", "-", "count", "0", "2"] in rows
    assert ["act.c.calm", "n", "7", "0", "count", "2"] in rows


def test_grandchild_that_outlives_its_program_is_ended_and_marked(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=2, modes={"calm": ["value", "7"], "parent": ["grandchild", "7"]})
    done = project("run")
    assert done.code == 0, done.said
    (folder,) = project.finished()
    left = {s["case"]: s["leftovers"] for s in project.samples(folder)}
    assert left == {"act.c.calm": 0, "act.c.parent": 1}
    assert "2 processes outlived the program that started them" in project.text.read_text()
    project.assert_nothing_runs(1)


def test_case_that_keeps_failing_is_given_up_and_the_rest_is_measured(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=40, modes={"calm": ["slow", "7"], "bad": ["crash"]})
    done = project("run")
    assert done.code == 5
    (folder,) = project.finished()
    samples = project.samples(folder)
    assert sum(s["case"] == "act.c.calm" for s in samples) == 40
    assert 3 <= sum(s["case"] == "act.c.bad" for s in samples) < 40
    assert "samples skipped after 3 failures of a case" in done.out


def test_program_that_ends_the_launcher_loses_nothing_that_was_measured(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=3, modes={"calm": ["slow", "7"], "killer": ["orphan"]})
    project.plant_older()
    done = project("run")
    assert done.code == 5, done.said
    assert "the launcher ended unexpectedly (killed by SIGKILL)" in done.err
    assert "samples are kept; fixturegen run tiny --resume continues" in done.err
    assert len(project.under_way()) == 1
    assert project.text.read_text() == OLDER
    project.assert_nothing_runs()


def test_only_the_first_failure_of_a_case_is_told_while_it_runs(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=3, modes={"bad": ["complain"]})
    done = project("run")
    told = [line for line in done.err.splitlines() if "act.c.bad, round" in line]
    assert len(list(islice(told, 3))) == 2  # once at once, once in the summary
