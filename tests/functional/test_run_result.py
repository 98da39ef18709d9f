"""Which run becomes the text, how a run ends, and what is kept of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import OLDER, Tiny

from tests import recorded

pytestmark = pytest.mark.slow

WRONG_COUNT = {"It prints eight.": "each(act.c.calm.n == 8)"}
WRONG_TIME = {"It takes an hour.": "act.c.calm.wall > 3600 * 1000000000"}
RIGHT = {"It prints seven.": "each(act.c.calm.n == 7)"}


def edit_context(folder: Path, **changes: Any) -> None:
    recorded.rewrite(folder, lambda plain: plain.update(changes))


def test_fewer_rounds_never_replace_the_text(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    assert project("run", "--label", "whole").code == 0
    before = project.text.read_bytes(), project.text.stat().st_mtime_ns
    done = project("run", "--rounds", "1", "--label", "try")
    assert done.code == 0, done.said
    assert (project.text.read_bytes(), project.text.stat().st_mtime_ns) == before
    assert "not the fixture's text, because: fewer rounds than declared" in done.out
    assert "fixtures/tiny/try/report.txt" in done.out
    command = "fixturegen report tiny --run try --replace"
    assert command in done.out
    refused = project("report", "tiny", "--run", "try")
    assert refused.code == 2, refused.said
    lacks = "run try does not become fixtures/tiny.txt, which is of run whole: fewer rounds"
    assert lacks in refused.err and command in refused.err
    assert (project.text.read_bytes(), project.text.stat().st_mtime_ns) == before
    own = (project.root / "fixtures" / "tiny" / "try" / "report.txt").read_text()
    done = project(*command.split()[1:])
    assert done.code == 0 and "(run try, in place of run whole)" in done.out, done.said
    assert project.text.read_text() == own != before[0].decode()


def test_more_rounds_than_declared_are_complete(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=2)
    done = project("run", "--rounds", "3", "--label", "more")
    assert done.code == 0 and "run        more," in project.text.read_text()


def test_other_parameters_never_replace_the_text(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    project.plant_older()
    done = project("run", "--set", "step=9")
    assert done.code == 0 and "changed parameters: step=9" in done.out
    assert project.text.read_text() == OLDER


def test_run_is_never_overwritten(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    assert project("run", "--label", "same").code == 0
    (folder,) = project.finished()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = project("run", "--label", "same")
    assert done.code == 2
    assert "has a run 'same' already; runs are never overwritten" in done.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("claims", "strict", "code"),
    [
        (RIGHT, [], 0),
        (WRONG_COUNT, [], 1),
        (WRONG_TIME, [], 0),
        (WRONG_TIME, ["--strict"], 1),
    ],
)
def test_exit_code_of_claims(
    tiny: Callable[..., Tiny], claims: dict[str, str], strict: list[str], code: int
) -> None:
    project = tiny(rounds=1, claims=claims)
    done = project("run", *strict)
    assert done.code == code, done.said
    assert ("claims: 1 of 1 hold" in done.out) == (claims is RIGHT)
    assert claims is RIGHT or f"claim fails: {next(iter(claims))}" in done.out
    assert project.text.is_file(), "a claim that fails is told in the text, it does not prevent it"


def test_each_claim_of_a_for_counts_and_is_named(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=1, modes={"calm": ["value", "7"]})
    path = project.templates / "fixture.toml"
    more = (
        '\n[[claim]]\ntext = "It prints {}."\nfor = "program"\nholds = "each(*.c.calm.n == {})"\n'
    )
    path.write_text(path.read_text() + more.format("seven", 7) + more.format("eight", 8))
    done = project("run")
    assert done.code == 1, done.said
    broken = "  each(act.c.calm.n == 8): not in 1 of 1 process: round 1 (n = 7)\n"
    told = f"\nclaim fails for act: It prints eight.\n{broken}claims: 1 of 2 hold\n"
    assert told in done.out
    body = project.text.read_text()
    assert "\nholds for act: It prints seven.\n    each(*.c.calm.n == 7)\n" in body
    assert "\nDOES NOT HOLD for act: It prints eight.\n" in body
    (listed,) = json.loads(project("list", "tiny", "--json").out)
    assert [(one["of"], one["holds"]) for one in listed["claims"]] == [
        ("act", "each(act.c.calm.n == 7)"),
        ("act", "each(act.c.calm.n == 8)"),
    ]


def test_failed_samples_decide_the_exit_code_before_claims(tiny: Callable[..., Tiny]) -> None:
    project = tiny(
        rounds=1, modes={"calm": ["value", "7"], "bad": ["complain"]}, claims=WRONG_COUNT
    )
    assert project("run").code == 5


def test_unknown_format_is_refused_with_the_version_that_reads_it(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1)
    assert project("run", "--label", "newer").code == 0
    (folder,) = project.finished()
    edit_context(folder, format=99, fixturegen="9.1")
    for command in (["check"], ["report"]):
        done = project(*command)
        assert done.code == 1, done.said
        assert "format 99 is unknown to this version" in done.said
        assert "fixturegen 9.1 wrote it and can read it" in done.said
    assert project("run", "--label", "next").code == 0, "one foreign run hinders no new one"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "block type": lambda data: data[:10] + b"\xff" + data[11:],  # the error is zlib's own
    "cut": lambda data: data[:-20],
    "flipped": lambda data: data[:60] + bytes([data[60] ^ 0xFF]) + data[61:],
    "empty": lambda data: b"",
    "no gzip": lambda data: b"not gzip" + data,
    "twice": lambda data: data + data,
}


def test_damaged_data_is_found(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=2)
    assert project("run").code == 0
    (folder,) = project.finished()
    packed = folder / "samples.jsonl.gz"
    whole = packed.read_bytes()
    for name, damage in DAMAGES.items():
        packed.write_bytes(damage(whole))
        done = project("check")
        assert done.code == 1, f"{name}: {done.said}"
        assert "samples.jsonl.gz" in done.said and "restore it" in done.said, name
    assert project("report", "--check").code == 1
    packed.write_bytes(whole)
    edit_context(folder, samples=json.loads((folder / "context.json").read_text())["samples"])
    assert project("check").code == 0


def test_damaged_context_is_found(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=1)
    assert project("run").code == 0
    (folder,) = project.finished()
    for content in ("{", "[]", '{"format": 1}', "\0"):
        (folder / "context.json").write_text(content)
        done = project("check")
        assert done.code == 3 and "context.json" in done.said, done.said


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a second CPU")
def test_every_fixture_of_one_command_is_measured_on_the_same_cpu(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1)
    for name in ("second", "third"):
        Tiny(project.root, rounds=1, name=name).lay()
    assert project("run").code == 0
    contexts = [json.loads(p.read_text()) for p in project.root.glob("fixtures/*/*/context.json")]
    assert len(contexts) == 3
    assert len({tuple(context["cpus"]["act"]) for context in contexts}) == 1


def test_report_template_that_fails_leaves_the_data_and_the_command(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1)
    project.plant_older()
    report = project.templates / "report.txt.j2"
    report.write_text("{{ 1 / 0 }}\n")  # no mistake to a trial: arithmetic depends on data
    done = project("run", "--label", "now")
    assert done.code == 3, done.said
    assert "report.txt.j2" in done.err and project.text.read_text() == OLDER
    command = "fixturegen report tiny --run now"
    assert command in done.err
    report.unlink()
    assert project(*command.split()[1:]).code == 0
    assert "run        now," in project.text.read_text()
