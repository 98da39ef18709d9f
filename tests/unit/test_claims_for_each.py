"""A claim with `for`: one claim for each language, build or program, each with its own verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixturegen.check.findings import Checked, check_runs
from fixturegen.errors import SpecError
from fixturegen.fixture.claims import instances
from fixturegen.report import stored_text, text_path
from fixturegen.runs.summary import ClaimResult, Summary, failing
from tests import recorded
from tests.recorded import fixture, lay, samples, store

PROGRAMS = """
title = "Two programs"
[params]
n = 3
[[program]]
name = "loop"
languages = ["c", "rust"]
metric.wall = { value = "process.wall_ns", unit = "ns" }
metric.faults = { value = "process.minor_faults", unit = "count" }
[[program.build]]
name = "default"
[[program.build]]
name = "no-plt"
c.cflags = ["-fno-plt"]
[[program.mode]]
name = "natural"
[[program.mode]]
name = "short"
languages = ["rust"]
[[program]]
name = "empty"
languages = ["c"]
metric.wall = { value = "process.wall_ns", unit = "ns" }
metric.faults = { value = "process.minor_faults", unit = "count" }
[[program.mode]]
name = "natural"
"""


def claim(holds: str, each: str, extra: str = "") -> str:
    lines = ["[[claim]]", 'text = "It is so."', f'holds = "{holds}"', extra]
    return "\n".join([*lines, f'for = "{each}"' if each else "", ""])


def asked(holds: str, each: str, extra: str = "") -> list[tuple[str, str]]:
    of = fixture(PROGRAMS + claim(holds, each, extra))
    return [(one.of, one.expression.text) for one in instances(of, of.claims[0])]


# ---- what it is for ----


def test_a_claim_without_for_is_one() -> None:
    assert asked("loop.c.natural.wall > 1", "") == [("", "loop.c.natural.wall > 1")]


def test_one_claim_for_each_language_that_has_the_paths() -> None:
    assert asked("loop.*.natural.wall > 1", "language") == [
        ("c", "loop.c.natural.wall > 1"),
        ("rust", "loop.rust.natural.wall > 1"),
    ]
    assert [of for of, _ in asked("loop.*.short.wall > 1", "language")] == ["rust"]


def test_for_each_build_and_program() -> None:
    assert asked("loop.c.*.natural.wall > 1", "build") == [
        ("default", "loop.c.default.natural.wall > 1"),
        ("no_plt", "loop.c.no_plt.natural.wall > 1"),
    ]
    assert asked("*.c.natural.wall > 1 and 2 *1 > 1", "program") == [
        ("loop", "loop.c.natural.wall > 1 and 2 *1 > 1"),
        ("empty", "empty.c.natural.wall > 1 and 2 *1 > 1"),
    ]


def test_default_may_stand_in_the_paths() -> None:
    assert [of for of, _ in asked("loop.*.default.natural.wall > 1", "language")] == ["c", "rust"]


def test_paths_without_a_star_are_the_same_in_each() -> None:
    found = asked("same(loop.c.natural.faults, loop.*.natural.faults, params.n)", "language")
    assert found[1] == ("rust", "same(loop.c.natural.faults, loop.rust.natural.faults, params.n)")


def test_only_restricts_it() -> None:
    assert [of for of, _ in asked("loop.*.natural.wall > 1", "language", 'only = ["rust"]')] == [
        "rust"
    ]
    found = asked("loop.c.*.natural.wall > 1", "build", 'only = ["no-plt"]')
    assert [of for of, _ in found] == ["no_plt"]


@pytest.mark.parametrize(
    ("holds", "each", "extra", "message"),
    [
        ("loop.*.natural.wall > 1", "", "", "'loop.*.natural.wall' has a '*' without for"),
        ("loop.c.natural.wall > 1", "", 'only = ["c"]', "only without for"),
        ("loop.c.natural.wall > 1", "language", "", "no path has a '*'"),
        (
            "loop.*.natural.walls > 1",
            "language",
            "",
            "no language has the path 'loop.*.natural.walls'\n  did you mean 'loop.c.natural.wall'",
        ),
        (
            "loop.*.natural.wall > loop.*.short.wall",
            "language",
            "",
            "for = 'language': c has no 'loop.c.short.wall'\n  only = [\"rust\"]",
        ),
        (
            "loop.*.natural.wall > loop.*.natural.faultss",
            "language",
            "",
            "c has no 'loop.c.natural.faultss'\n  did you mean 'loop.c.natural.faults'?",
        ),
        ("loop.*.short.wall > 1", "language", 'only = ["c"]', "c has no 'loop.c.short.wall'"),
        ("loop.*.natural.wall > 1", "language", 'only = ["rus"]', "unknown language 'rus'"),
        ("loop.*.natural.wall > 1", "mode", "", "expected language or build or program"),
        ("loop.*.natural.wall > lop.c.natural.wall", "language", "", "unknown name 'lop.c"),
        ("each(loop.*.natural.wall > empty.c.natural.wall)", "language", "", "mixes the processes"),
        ("loop.* > 1", "language", "", "not an expression"),
        ("params.n > 2", "language", "", "names nothing that is measured"),
    ],
)
def test_what_is_wrong_is_an_error_when_loaded(
    holds: str, each: str, extra: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        fixture(PROGRAMS + claim(holds, each, extra))
    assert message in str(caught.value)
    assert "fixture.toml: claim 'It is so.'" in caught.value.what


# ---- verdicts, and how they are told ----

FOR_EACH = recorded.TOML.replace(
    'holds = "loop.c.natural.iter1 > 2 * loop.c.natural.steady"',
    'for = "language"\nholds = "loop.*.natural.iter1 > LIMIT"',
)
REASON = 'for = "language"\notherwise = "the machine was busy"'


def results(toml: str) -> list[ClaimResult]:
    of = fixture(toml)
    return Summary(of, of.params).add_all(samples()).claims()


def test_each_has_its_own_verdict() -> None:
    found = results(FOR_EACH.replace("LIMIT", "950"))
    assert [(one.of, one.about, one.verdict.state) for one in found] == [
        ("c", " for C", "holds"),
        ("rust", " for Rust", "fails"),
        ("", "", "holds"),
    ]
    assert [one.label for one in failing(found, strict=True)] == ["Rust"]


def test_otherwise_is_asked_of_each() -> None:
    toml = FOR_EACH.replace("LIMIT", "950").replace('for = "language"', REASON)
    states = [(one.of, one.verdict.state, one.verdict.reason) for one in results(toml)]
    assert states[1] == ("rust", "undecided", "the machine was busy")
    assert states[0] == ("c", "holds", "")


def text(tmp_path: Path, toml: str) -> str:
    of = fixture(toml)
    where = lay(tmp_path, toml)
    return stored_text(where, of, store(where, of))


def test_one_sentence_with_several_verdicts(tmp_path: Path) -> None:
    body = text(tmp_path, FOR_EACH.replace("LIMIT", "800"))
    assert "claims     3 of 3 hold" in body
    assert (
        "holds for C and Rust: The first is slower.\n"
        "    loop.*.natural.iter1 > 800\n"
        "      loop.c.natural.iter1 = 1002 ns (median of 4)\n"
        "      loop.rust.natural.iter1 = 902 ns (median of 4)\n"
    ) in body


def test_verdicts_that_differ_are_told_apart(tmp_path: Path) -> None:
    body = text(tmp_path, FOR_EACH.replace("LIMIT", "950"))
    assert "claims     2 of 3 hold" in body
    assert "\nholds for C; DOES NOT HOLD for Rust: The first is slower.\n" in body


def test_a_language_that_was_not_measured_is_undecided_and_fails_nothing(tmp_path: Path) -> None:
    toml = FOR_EACH.replace("loop.*.natural.iter1 > LIMIT", "each(loop.*.pre_fault.faults == 128)")
    found = results(toml)
    assert [one.verdict.state for one in found] == ["undecided", "holds", "holds"]
    assert failing(found, strict=True) == []
    body = text(tmp_path, toml)
    assert "\nundecided for C; holds for Rust: The first is slower.\n" in body
    assert "\n    C: not measured: loop.c.pre_fault.faults\n" in body


@pytest.mark.parametrize(
    ("missing", "reason"),
    [({"c": "C left out: gcc is not on PATH"}, "C left out: gcc"), ({}, "the run has no C")],
)
def test_a_language_without_a_toolchain_is_undecided_with_the_reason(
    tmp_path: Path, missing: dict[str, str], reason: str
) -> None:
    toml = FOR_EACH.replace("LIMIT", "800").partition('[[claim]]\ntext = "It makes')[0]
    of, where = fixture(toml), lay(tmp_path, toml)
    rust = [each for each in samples() if ".rust." in each.case]
    body = stored_text(
        where, of, store(where, of, samples=rust, languages=("rust",), missing=missing)
    )
    assert "claims     1 of 2 hold, 1 undecided\n" in body
    assert "\nundecided for C; holds for Rust: The first is slower.\n" in body
    assert f"\n    C: not measured: {reason}" in body


def test_a_reason_of_several_is_said_once(tmp_path: Path) -> None:
    toml = FOR_EACH.replace("LIMIT", "5000").replace('for = "language"', REASON)
    assert "\n    C and Rust: the machine was busy\n" in text(tmp_path, toml)


def test_what_several_cite_is_shown_once(tmp_path: Path) -> None:
    toml = FOR_EACH.replace("> LIMIT", "< 9 * loop.c.natural.iter1")
    assert text(tmp_path, toml).count("      loop.c.natural.iter1 = ") == 1


def test_check_counts_each_and_names_the_one_that_fails(tmp_path: Path) -> None:
    toml = FOR_EACH.replace("LIMIT", "950")
    of, where = fixture(toml), lay(tmp_path, toml)
    stored = store(where, of)
    text_path(where, "a-loop").write_text(stored_text(where, of, stored))
    checked = Checked()
    check_runs(where, of, {}, checked)
    assert checked.claims == 3
    assert [one.what for one in checked.findings or () if one.kind == "claim"] == [
        "run noon: does not hold for Rust: The first is slower. [loop.*.natural.iter1 > 950]"
    ]
