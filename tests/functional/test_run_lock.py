"""Two runs at once: in one project, and in two."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Callable

import pytest
from tiny import Tiny, ended_at_last, finish, processes_of, wait_until

pytestmark = pytest.mark.slow

SLOW = {"calm": ["slow", "7"], "other": ["slow", "8"]}


def test_second_run_says_who_holds_the_lock(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=200, modes=SLOW)
    with ended_at_last(project.start("run", "--label", "first")) as first:
        assert wait_until(lambda: project.measured() > 0)
        for command in (["run"], ["build"], ["run", "--resume"]):
            done = project(*command)
            assert done.code == 7, done.said
            assert re.search(rf"another run holds the lock.*pid {first.pid}, since 2", done.err)
        assert "run 'first'" in project("run").err
        assert "--wait" in done.err
        assert first.poll() is None
        first.send_signal(signal.SIGTERM)
        assert finish(first).code == 130


def test_lock_of_a_killed_run_is_free(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=100, modes=SLOW)
    with ended_at_last(project.start("run")) as first:
        assert wait_until(lambda: project.measured() > 0)
        first.kill()
        finish(first)
    assert project("run", "--resume").code == 0


def test_with_wait_the_second_run_begins_when_the_first_has_ended(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=60, modes=SLOW)
    with ended_at_last(project.start("run", "--label", "first")) as first:
        assert wait_until(lambda: project.measured() > 0)
        with ended_at_last(project.start("run", "--wait", "--rounds", "1")) as second:
            done = finish(second)
            assert first.poll() == 0, "the second one did not wait"
            assert finish(first).code == 0
    assert done.code == 0, done.said
    assert f"waiting for the lock of this project: pid {first.pid}" in done.err
    assert len(project.finished()) == 2
    assert "run        first," in project.text.read_text()


def test_waiting_can_be_interrupted(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=200, modes=SLOW)
    with ended_at_last(project.start("run")) as first:
        assert wait_until(lambda: project.measured() > 0)
        with ended_at_last(project.start("run", "--wait")) as second:
            assert second.stderr and "waiting" in second.stderr.readline()
            second.send_signal(signal.SIGINT)
            assert finish(second).code == 130
        assert first.poll() is None
        assert len(project.under_way()) == 1


def test_run_in_another_project_is_named_as_a_disturbance(tiny: Callable[..., Tiny]) -> None:
    other = tiny("other", rounds=2000, modes=SLOW)
    project = tiny(rounds=2)
    with ended_at_last(other.start("run")) as disturbing:
        assert wait_until(lambda: other.measured() > 0)
        launcher = next(line for line in processes_of(other.root) if "--parent" in line).split()[0]
        assert project("run").code == 0
        disturbing.send_signal(signal.SIGTERM)
        finish(disturbing)
    named = rf"disturbed: another fixturegen run is measuring \(launcher process.*\b{launcher}\b"
    assert re.search(named, project.text.read_text())
    assert project("run", "--label", "alone").code == 0
    assert not re.search(named, project.text.read_text())


def test_runs_in_the_same_second_have_names_of_their_own(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=1)
    assert project("build").code == 0
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(ended_at_last(project.start("run", "--wait"))) for _ in range(4)
        ]
        assert [finish(process).code for process in started] == [0] * 4
    assert len(project.finished()) == 4
