"""What --resume takes up, what it measures again, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import OLDER, Done, Tiny, ended_at_last, finish, wait_until

from tests import recorded

pytestmark = pytest.mark.slow


def interrupted(project: Tiny, *more: str) -> Path:
    """Interrupt a run in its middle; return its folder."""
    with ended_at_last(project.start("run", *more)) as process:
        assert wait_until(lambda: project.measured() > 4)
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 130
    return project.under_way()[-1]


@pytest.fixture
def project(tiny: Callable[..., Tiny]) -> Tiny:
    made = tiny(rounds=60, modes={"calm": ["slow", "7"], "other": ["slow", "8"]})
    made.plant_older()
    return made


def edit_context(folder: Path, **changes: Any) -> None:
    recorded.rewrite(folder, lambda plain: plain.update(changes))


def assert_refused(project: Tiny, folder: Path, done: Done, what: str) -> None:
    """Refused with the thing that differs; what was measured, and the text, stay."""
    assert done.code == 2, done.said
    assert f"cannot resume tiny run 'now': other {what} than when it began" in done.err
    assert (folder / "samples.jsonl").is_file()
    assert project.text.read_text() == OLDER


def test_torn_last_line_is_dropped_and_measured_again(project: Tiny) -> None:
    folder = interrupted(project)
    path = folder / "samples.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    whole = content.count(b"\n") - 1
    done = project("run", "--resume")
    assert done.code == 0, done.said
    assert f"tiny: {project.total - whole} fresh processes to start" in done.err
    project.assert_complete(*project.finished())


def test_damaged_line_in_the_middle_costs_only_itself(project: Tiny) -> None:
    folder = interrupted(project)
    path = folder / "samples.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b"\0\xff" + lines[1][2:]
    path.write_bytes(b"".join(lines))
    done = project("run", "--resume")
    assert done.code == 0, done.said
    assert f"{project.total - len(lines) + 1} fresh processes to start" in done.err
    project.assert_complete(*project.finished())


def test_other_binaries_are_refused(project: Tiny) -> None:
    folder = interrupted(project, "--label", "now")
    source = project.templates / "act.c.j2"
    source.write_text(source.read_text().replace("usleep(4000)", "usleep(4001)"))
    assert_refused(project, folder, project("run", "--resume"), "binaries")
    shutil.copy(Path(__file__).parents[1] / "programs" / "running" / "act.c.j2", source)
    assert project("run", "--resume").code == 0


def test_another_boot_is_refused(project: Tiny) -> None:
    folder = interrupted(project, "--label", "now")
    edit_context(folder, boot="00000000-0000-0000-0000-000000000000")
    assert_refused(project, folder, project("run", "--resume"), "boot of the machine")


def test_another_declaration_is_refused(project: Tiny) -> None:
    folder = interrupted(project, "--label", "now")
    project.modes["third"] = ["slow", "9"]
    project.lay()
    what = "act.mode.third in fixture.toml"
    assert_refused(project, folder, project("run", "--resume"), what)


def test_other_parameters_are_refused(project: Tiny) -> None:
    interrupted(project, "--label", "now", "--set", "step=9")
    done = project("run", "--resume", "--set", "step=10")
    assert done.code == 2 and "with other sets than it began with" in done.err
    done = project("run", "--resume")
    assert done.code == 0, done.said
    (folder,) = project.finished()
    assert json.loads((folder / "context.json").read_text())["params"] == {"step": 9}
    project.assert_complete(folder)
    assert project.text.read_text() == OLDER


def test_options_of_the_interrupted_run_are_in_force_again(project: Tiny) -> None:
    interrupted(project, "--rounds", "50", "--seed", "5")
    project.rounds = 50
    done = project("run", "--resume")
    assert done.code == 0, done.said
    (folder,) = project.finished()
    context = json.loads((folder / "context.json").read_text())
    assert (context["seed"], context["rounds"]) == (5, {"act": 50})
    project.assert_complete(folder)


def test_the_run_that_was_interrupted_last_is_resumed_or_the_one_that_is_named(
    project: Tiny,
) -> None:
    first = interrupted(project, "--label", "z-first")
    edit_context(first, started="2020-01-01T00:00:00Z")
    with ended_at_last(project.start("run", "--label", "a-second")) as process:
        second = first.with_name("a-second") / "samples.jsonl"
        assert wait_until(lambda: second.exists() and second.stat().st_size > 2000)
        process.send_signal(signal.SIGTERM)
        said = finish(process).err
    assert "interrupted run z-first is kept; --resume continues it" in said
    assert project("run", "--resume").code == 0
    assert [f.name for f in project.finished()] == ["a-second"]
    assert project("run", "--resume", "--label", "z-first").code == 0
    assert [f.name for f in project.finished()] == ["a-second", "z-first"]


def test_nothing_to_resume_is_said(project: Tiny) -> None:
    done = project("run", "--resume")
    assert done.code == 2
    assert "there is no interrupted run to resume" in done.err


def test_label_of_a_run_that_was_killed_before_it_began_is_free(project: Tiny) -> None:
    folder = project.root / "build" / "runs" / "tiny" / "now"
    folder.mkdir(parents=True)
    for pid in (999_999_999, os.getpid()):  # nobody's, and by now another process's
        (folder / f".context.json.{pid}.tmp").write_text("{")
    project.rounds = 2
    project.lay()
    done = project("run", "--label", "now")
    assert done.code == 0, done.said
    project.assert_complete(*project.finished())


def test_unknown_format_under_way_is_refused_with_the_version_that_reads_it(
    project: Tiny,
) -> None:
    folder = interrupted(project)
    edit_context(folder, format=99, fixturegen="42.0")
    done = project("run", "--resume")
    assert done.code == 1
    assert "format 99 is unknown to this version" in done.err
    assert "fixturegen 42.0 wrote it and can read it" in done.err
    assert (folder / "samples.jsonl").stat().st_size > 0
