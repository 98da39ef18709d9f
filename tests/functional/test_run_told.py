"""What a run says at its end, what it records of what was asked, and what a text shows of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tiny import OLDER, Tiny, environment

from fixturegen.cli import permission
from fixturegen.fixture import load as load_fixture
from fixturegen.languages import LANGUAGES
from fixturegen.machine import disturb

pytestmark = pytest.mark.slow


def test_processes_that_outlived_their_program_are_told(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=2, modes={"calm": ["value", "7"], "child": ["grandchild"]})
    done = project("run")
    words = "outlived the program that started them (act.c.child), and were ended"
    assert f"2 processes {words}" in done.err, done.said
    assert "act.c.calm), and were ended" not in done.said


def test_what_only_a_report_needs_is_imported_while_programs_run(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny()
    assert project("run", "--rounds", "1").code == 0
    command = [sys.executable, "-X", "importtime", "-m", "fixturegen", "-C", str(project.root)]
    done = subprocess.run(
        [*command, "run", "--rounds", "1"], env=environment(), capture_output=True, text=True
    )
    before, _, after = done.stderr.partition("fresh processes to start\n")
    for module in ("jinja2", "tabulate"):
        assert f"| {module}\n" not in re.sub(" +", " ", before), module
    assert "| jinja2\n" in re.sub(" +", " ", after)


def test_a_text_that_never_was_is_not_said_to_be_as_it_was(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    done = project("run", "--rounds", "1")
    assert "there is no fixtures/tiny.txt yet" in done.out, done.said
    project.text.write_text(OLDER)
    done = project("run", "--rounds", "1")
    assert "fixtures/tiny.txt is as it was" in done.out, done.said


def test_a_report_made_by_hand_takes_the_place_of_the_one_beside_the_data(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1)
    assert project("run", "--label", "now").code == 0
    (folder,) = project.finished()
    beside = folder / "report.txt"
    beside.write_text("left by a run that was killed\n")
    assert project("report", "tiny", "--run", "now").code == 0
    assert not beside.exists()


def test_a_report_made_by_hand_of_failed_samples_is_noted(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=1, modes={"calm": ["value", "7"], "bad": ["complain"]})
    assert project("run", "--label", "now").code == 5
    refused = project("report", "tiny", "--run", "now")
    assert refused.code == 2 and "does not become fixtures/tiny.txt: 1 failed" in refused.err
    assert project("report", "tiny", "--run", "now", "--replace").code == 0
    done = project("check")
    assert done.code == 0, done.said
    assert "note    fixtures/tiny.txt comes from run now, which has 1 failed sample\n" in done.out
    assert "1 stored run, 1 text, 0 claims: all agree" in done.out
    assert json.loads(project("check", "--json").out)["notes"]


ASKING = """
title = "A"
[[program]]
name = "a"
languages = ["c"]
rounds = 1
order = "ladder"
metric.wall = { value = "process.wall_ns", unit = "ns" }
[[program.mode]]
name = "m"
ASKS
"""


@pytest.mark.parametrize(
    ("asks", "kept"),
    [
        ("", ()),
        ('tune = ["turbo"]', ("tune:turbo",)),
        ('allow = "drop-caches"\nprepare = ["drop-caches"]', ("drop-caches",)),
    ],
)
def test_only_what_a_fixture_asks_for_is_recorded(asks: str, kept: tuple[str, ...]) -> None:
    text = ASKING.replace("ASKS", asks)
    fixture = load_fixture(text.encode(), "p01", "fixture.toml", LANGUAGES)
    given = ("drop-caches", "tune:governor,turbo")
    assert permission.own(fixture, given) == kept
    assert permission.known(kept) == kept  # the printed command is not refused
    permission.need_asked([fixture], kept)


def test_other_runs_one_after_the_other_are_one_line() -> None:
    known = ["the machine runs on battery, which lowers clock limits"]
    for pids in ("7", "8", "7, 9"):
        disturb.add(known, f"another fixturegen run is measuring (launcher process {pids})")
    disturb.add(known, known[0])
    assert known[1:] == ["another fixturegen run is measuring (launcher process 7, 8, 9)"]


def test_a_parameter_of_another_fixture_is_not_in_the_command_that_repeats(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1)
    other = tiny(rounds=1, name="other")
    toml = other.templates / "fixture.toml"
    toml.write_text(toml.read_text().replace("step = 7", "stride = 7\nstep = 7"))
    assert project("run", "--set", "stride=9", "--label", "now").code == 0
    for name, options in (("tiny", []), ("other", ["--set stride=9"])):
        folder = project.root / "fixtures" / name / "now"
        assert json.loads((folder / "context.json").read_text())["options"] == options


def test_what_programs_inherit_is_recorded_and_what_cannot_be_reset_is_told(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1)
    command = [sys.executable, "-m", "fixturegen", "-C", str(project.root), "run", "--label"]

    def run(limits: str, label: str) -> tuple[dict[str, Any], str]:
        shell = ["/bin/sh", "-c", f'{limits}; exec "$@"', "sh", *command, label]
        subprocess.run(shell, env=environment(), check=True, capture_output=True, timeout=120)
        (folder,) = [each for each in project.finished() if each.name == label]
        return json.loads((folder / "context.json").read_text()), project.text.read_text()

    context, text = run("ulimit -Ss 2048; umask 077", "soft")
    assert context["inherited"]["limits"]["stack size"] == str(8 << 20)
    assert context["inherited"]["policy"] == "OTHER"
    assert "the stack size of programs" not in text
    context, text = run("ulimit -s 2048", "hard")
    assert context["inherited"]["limits"]["stack size"] == str(2 << 20)
    said = "the stack size of programs is limited to 2 MiB, which lays out addresses otherwise"
    assert said in context["disturbances"]
    assert said in " ".join(text.split())
