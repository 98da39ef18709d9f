"""SIGINT, SIGTERM, SIGHUP and SIGKILL at many moments of a run, and --resume afterwards."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import laid
import pytest
from tiny import COMMAND, OLDER, Tiny, ended_at_last, environment, finish, shape, wait_until

pytestmark = pytest.mark.slow

SLOW = {"calm": ["slow", "7"], "other": ["slow", "8"]}

# A report that takes seconds to write, so that a signal falls into its writing.
LONG_REPORT = """\
{% import "report_parts.j2" as parts %}
{{ parts.head() }}
{% for i in range(300) %}
{% for j in range(10000) %}{% if j == -1 %}never{% endif %}{% endfor %}
{% endfor %}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_keeps_what_was_measured_and_resume_gives_the_same_text(
    tiny: Callable[..., Tiny], number: signal.Signals
) -> None:
    project = tiny(rounds=90, modes=SLOW)
    project.plant_older()
    with ended_at_last(project.start("run", "--label", "now")) as process:
        assert wait_until(lambda: project.measured() > 20)
        process.send_signal(number)
        done = finish(process)
    assert done.code == 130, done.said
    kept = project.measured()
    assert 20 < kept < project.total
    assert f"interrupted; {kept} of 180 samples are kept" in done.err
    assert "fixturegen run tiny --resume continues" in done.err
    assert project.text.read_text() == OLDER
    project.assert_nothing_runs(2)

    again = project("run", "--resume")
    assert again.code == 0, again.said
    assert f"tiny: {180 - kept} fresh processes to start" in again.err
    (folder,) = project.finished()
    project.assert_complete(folder)
    resumed = project.text.read_text()
    assert f"interrupted and resumed after {kept} samples" in resumed
    assert project.under_way() == [] and project("check").code == 0

    assert "run        now," in resumed
    if number != signal.SIGINT:
        return
    assert project("run", "--label", "whole").code == 0
    assert shape(project.text.read_text()) == shape(resumed)


def test_killed_at_random_moments_a_run_loses_nothing(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=80, modes=SLOW)
    project.plant_older()
    delays = random.Random(7)
    most = 0

    def begun() -> bool:
        """Whether there is a run: one that was killed before its context was written is none."""
        return any((folder / "context.json").exists() for folder in project.under_way())

    for _ in range(12):
        arguments = ["--resume"] if begun() else ["--label", "now"]
        if project.finished():
            break
        with ended_at_last(project.start("run", *arguments)) as process:
            try:
                process.wait(delays.uniform(0.15, 0.75))
            except subprocess.TimeoutExpired:
                process.kill()
            finish(process)
        if not project.finished():
            assert project.measured() >= most, "samples were lost"
            most = project.measured()
            assert project.text.read_text() == OLDER
        project.assert_nothing_runs()
    if project.under_way() or not project.finished():
        done = project("run", *(["--resume"] if begun() else ["--label", "now"]))
        assert done.code == 0, done.said
    (folder,) = project.finished()
    project.assert_complete(folder)
    project("run", "--resume")  # the text, if it was killed just before that
    assert "run        now," in project.text.read_text()
    assert project("check").code == 0


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to kill at a system call")
def test_killed_before_each_change_of_its_files_a_run_can_be_resumed(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1, modes={"calm": ["count", "7"], "other": ["count", "8"]})
    assert project("build").code == 0
    for when in range(1, 30):
        label = f"at-{when}"
        project.plant_older()
        if kill_at(project, "rename,renameat,renameat2", when, label) != -signal.SIGKILL:
            break
        assert f"run        {label}," in project.text.read_text() or not changed(project), label
        done = project("run", "--resume")
        if label not in [folder.name for folder in project.finished()]:
            assert "no interrupted run" in done.err  # it was killed before there was one
            done = project("run", "--label", label)
        assert f"run        {label}," in project.text.read_text(), f"{label}: {done.said}"
        assert changed(project) and project.under_way() == [], label
        assert project.starts() == 2 * when, f"{label}: what was measured was measured again"
        hidden = [p.name for p in project.root.glob("[cf]*/**/.*")]
        assert hidden == [], label
    assert when > 3, "no such call"
    assert len(project.finished()) == when
    for folder in project.finished():
        project.assert_complete(folder)
    assert project("check").code == 0
    project.assert_nothing_runs()


def changed(project: Tiny) -> bool:
    return project.text.read_text() != OLDER


def kill_at(project: Tiny, call: str, when: int, label: str) -> int:
    """Run with SIGKILL at the given call of `call` by Python itself; return how it ended."""
    trace = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    inject = ["-e", f"inject={call}:signal=KILL:when={when}"]
    done = subprocess.run(
        [*trace, *inject, *COMMAND, "run", "--label", label],
        cwd=project.root,
        env=environment({"PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True,
        timeout=60,
    )
    return done.returncode


def interrupted_after(seconds: float, project: Tiny, *words: str) -> laid.Done | None:
    """Run within this process, with Ctrl-C after so many seconds; None if it came outside."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return laid.call(project.root, *words)
    except KeyboardInterrupt:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_at_many_moments_tells_what_is_there(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=250)
    assert laid.call(project.root, "run", "--label", "whole").code == 0  # what it imports is there
    began = time.monotonic()
    assert laid.call(project.root, "run", "--label", "once").code == 0
    took = time.monotonic() - began
    moments, told = random.Random(7), 0
    for number in range(8):
        if project.under_way():
            shutil.rmtree(project.root / "build" / "runs")
        words = ("run", "--label", f"now-{number}")
        done = interrupted_after(moments.uniform(0.1, 1.0) * took, project, *words)
        if done is None or done.code == 0:
            continue
        assert done.code == 130, done.said
        kept = re.search(r"interrupted; ([0-9]+) of 500 samples are kept", done.err)
        if kept:
            assert int(kept[1]) == project.measured(), done.said
            told += 1
    assert told > 2, "no such moment"
    project.assert_nothing_runs()


def test_killed_while_building_it_leaves_nothing_and_starts_again(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny()
    with ended_at_last(project.start("run")) as process:
        assert wait_until((project.root / "build" / "tiny" / "make" / "c").exists)
        process.kill()
        finish(process)
    project.assert_nothing_runs()
    done = project("run")
    assert done.code == 0, done.said
    (folder,) = project.finished()
    project.assert_complete(folder)


def compiler(folder: Path, seconds: str) -> str:
    """Return a gcc that takes its time."""
    script = folder / "slow-gcc"
    script.write_text(f'#!/bin/sh\ncase "$*" in *-o*) sleep {seconds};; esac\nexec gcc "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_building_it_begins_no_further_compilation(
    tiny: Callable[..., Tiny], tmp_path: Path, number: signal.Signals
) -> None:
    project = tiny()
    toml = project.templates / "fixture.toml"
    builds = "".join(
        f'[[program.build]]\nname = "b{i}"\nc.cflags = ["-DB={i}"]\n' for i in range(9)
    )
    toml.write_text(toml.read_text() + builds)
    slow = compiler(tmp_path, "1.0")
    env = environment({"CC": slow})
    with ended_at_last(project.start("run", env=env, start_new_session=True)) as process:
        assert wait_until((project.root / "build" / "tiny" / "make" / "c").exists)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        done = finish(process)
    assert done.code == 130, done.said
    assert "interrupted" in done.err and "bug" not in done.err
    made = list((project.root / "build" / "tiny" / "make" / "c").iterdir())
    assert len([each for each in made if each.suffix != ".d"]) <= 2, done.said
    project.assert_nothing_runs(2)
    assert project.under_way() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ended_while_the_text_is_written_the_older_one_stays_and_resume_writes_it(
    tiny: Callable[..., Tiny], number: signal.Signals
) -> None:
    project = tiny(rounds=2)
    project.plant_older()
    report = project.templates / "report.txt.j2"
    report.write_text(LONG_REPORT)
    with ended_at_last(project.start("run", "--label", "now")) as process:
        context = project.root / "build" / "runs" / "tiny" / "now" / "context.json"
        assert wait_until(lambda: context.exists() and '"lacking"' in context.read_text())
        process.send_signal(number)
        done = finish(process)
    assert done.code in (130, -signal.SIGKILL), done.said
    assert number == signal.SIGKILL or "samples are kept" in done.err
    assert project.text.read_text() == OLDER
    report.unlink()
    again = project("run", "--resume")
    assert again.code == 0 and "all samples of run now are there" in again.err
    assert "fresh processes to start" not in again.err
    assert "run        now," in project.text.read_text()
    project.assert_complete(*project.finished())


def test_impatient_interruptions_end_a_run_as_one_does(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=100, modes={"calm": ["slow"], "hang": ["slow"]})
    with ended_at_last(project.start("run")) as process:
        assert wait_until(lambda: project.measured() > 3)
        for _ in range(5):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 130, done.said
    assert "Traceback" not in done.err
    project.assert_nothing_runs(3)


def test_under_nohup_a_closed_terminal_does_not_end_the_run(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=30, modes=SLOW)

    def ignore_hangup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with ended_at_last(project.start("run", preexec_fn=ignore_hangup)) as process:
        assert wait_until(lambda: project.measured() > 3)
        process.send_signal(signal.SIGHUP)
        done = finish(process)
    assert done.code == 0, done.said


def test_what_an_interrupted_run_had_not_begun_is_said(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=60, modes=SLOW)
    Tiny(project.root, name="unborn").lay()
    with ended_at_last(project.start("run")) as process:
        assert wait_until(lambda: project.measured() > 3)
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.code == 130 and "not begun: unborn" in done.err
