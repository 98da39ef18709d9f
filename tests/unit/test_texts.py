"""The committed texts are what check expects of them; p04's also with other languages in the run.

What stands in a committed text is proved by it: no test says it again.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixturegen import report
from fixturegen.check import Checked, check_fixture
from fixturegen.fixture.claims import instances
from fixturegen.fixture.project import Project
from fixturegen.model import Build, Fixture, Mode, Program
from fixturegen.report.trial import made_up

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Project(ROOT)
FIXTURES = sorted(path.parent.name for path in ROOT.glob("templates/[!_]*/fixture.toml"))
P04 = "p04-first-run"
FOUR = ("c", "cpp", "go", "rust")


@pytest.mark.parametrize("name", FIXTURES)
def test_what_is_committed_is_what_check_expects(name: str) -> None:
    checked = Checked()
    check_fixture(PROJECT, PROJECT.load(name), checked)
    assert checked.findings is None
    assert checked.runs >= 1
    of = PROJECT.load(name)
    assert checked.claims == sum(len(instances(of, claim)) for claim in of.claims)


@pytest.mark.parametrize("path", [*ROOT.glob("templates/*/report*")], ids=lambda p: p.parent.name)
def test_no_report_has_a_list_of_languages_or_builds_rows_by_hand(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"""\[ *"(?:c|rust|cpp|go)" *,|rows *= *(?:ns\.)?rows *\+""", text) == []
    assert max(len(line) for line in text.splitlines()) <= 300


def program_in(program: Program, languages: tuple[str, ...]) -> Program:
    """Return a program of p04 in more languages, as the fixture would declare it in them."""
    if program.languages == ("c",):
        return program
    builds = [build_in(build, languages) for build in program.declared_builds]
    modes = [m for m in program.declared_modes if not m.name.startswith(("first-run-", "empty-"))]
    if program.name == "launch":
        targets = [f"first-run-{name}" for name in languages]
        targets += ["empty-c-static", "empty-c-lazy", "empty-c-now"]
        targets += [f"empty-{name}" for name in languages[1:]]
        modes = [*modes, *(Mode(name) for name in targets)]
    return replace(
        program,
        languages=languages,
        declared_builds=tuple(builds),
        declared_modes=tuple(modes),
    )


def build_in(build: Build, languages: tuple[str, ...]) -> Build:
    own = {name: value for name, value in build.settings.items() if name in languages}
    if build.name == "default":
        own |= {name: own.get(name, {}) for name in languages}
    return replace(build, settings=own)


def p04(languages: tuple[str, ...]) -> Fixture:
    of = PROJECT.load(P04)
    return replace(of, programs=tuple(program_in(p, languages) for p in of.programs), claims=())


def text_of(of: Fixture, present: tuple[str, ...], **changes: object) -> str:
    """Return the text of a made-up run that had only `present`."""
    gone = {*of.languages} - {*present}
    cases = [
        case
        for case in of.cases()
        if case.language in present and not gone & {*case.mode.split("-")}
    ]
    stored, summary = made_up(of, cases)
    context = replace(stored.context, languages=present, **changes)
    return report.render_report(PROJECT, of, replace(stored, context=context), summary)


def below(text: str, heading: str) -> list[list[str]]:
    """Return the rows of the table that begins with a heading line, cells by their columns."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split() == heading.split())
    rows = lines[start + 2 : lines.index("", start)]
    return [row.split() for row in rows]


def test_p04_reads_well_in_four_languages() -> None:
    of = p04(FOUR)
    text = text_of(of, FOUR)
    rows = below(text, "mode n iter1 IQR faults to C")
    labels = [report.view.label(name) for name in FOUR]
    assert [row[:2] for row in rows[:5]] == [
        *(["natural", label] for label in labels),
        ["prefault,evict", "C"],
    ]
    assert len(rows) == 6 * 4
    assert all(row[-1].endswith("x") for row in rows)
    assert [row[-1] for row in rows if row[1] == "C"] == ["1.00x"] * 6
    tables = [line for line in text.splitlines() if re.fullmatch(r"-+(?:  -+)+", line)]
    assert len(tables) >= 10
    assert max(len(line) for line in tables) <= 120
    for label in labels:
        assert f"\n{label}, in the order in which they ran:\n" in text
        assert f"\nfirst_run, {label}\n" in text
    for label in labels[1:]:
        assert f"\n{label}'s runtime and its larger binary " in text
    assert len(re.findall(r" 4 of \d+|fresh processes of first-run-", text)) == 16


def test_p04_lacks_the_rows_of_a_language_without_toolchain_and_says_why() -> None:
    text = text_of(p04(FOUR), ("c", "rust"), missing={"go": "Go left out: no go", "cpp": "no g++"})
    assert "NOTE       Go left out: no go\n" in text
    rows = below(text, "mode n iter1 IQR faults to C")
    assert {row[1] for row in rows} == {"C", "Rust"}
    assert "Go, in the order" not in text
    assert "- Go left out: no go\n" in text
    (empty,) = [line for line in text.splitlines() if line.startswith("empty-go ")]
    assert empty.split()[1:3] == ["not", "measured"]


def test_p04_in_one_language_is_compared_with_itself() -> None:
    text = text_of(p04(("c", "rust")), ("rust",))
    rows = below(text, "mode n iter1 IQR faults to Rust")
    assert [row[-1] for row in rows] == ["1.00x"] * 6
