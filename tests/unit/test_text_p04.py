"""The text of p04-first-run, of its reference run: every part that the article quotes is there."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fixturegen.fixture.project import Project
from tests.texts import (
    ENDING,
    ROOT,
    check_changes,
    check_claims,
    check_machine,
    flowed,
    sections,
    table,
    tables,
    text,
    text_of,
)

NAME = "p04-first-run"
MODES = [
    "natural",
    "prefault,evict",
    "prefault",
    "prefault,sleep",
    "prefault,spin",
    "prefault,spin,touch",
]
SHOWN = [1, 2, 3, 4, 5, 10, 50]  # iterations of one process
NS = r"[ \d]{6,}\d ns"
ITERATION = re.compile(r"iteration [ \d]\d: [ \d]{7,}\d ns [ \d]{4,}\d page faults")
PROCESS = re.compile(
    rf"\S+ +iter1 {NS}  faults [ \d]{{2,}}\d  iter2 {NS}  iter10 {NS}  steady {NS}"
)
CALLS = re.compile(
    r"random\(\): first call \d+ ns, second call \d+ ns, third call \d+ ns \(sink 4332913046\)"
)
FRESH = re.compile(
    r"(C|Rust) +20 fresh processes of first_run \((C|Rust)\) once: "
    r"first \d+ us, min \d+ us, median \d+ us, max \d+ us"
)
FLAGS = re.compile(
    r" 0x0{14}1e \(FLAGS\) {14}[A-Z_ ]+| 0x0{8}6ffffffb \(FLAGS_1\) {12}Flags: [A-Z_ ]+"
)
VERDICT = re.compile(
    r"    random: (R_\w+, (lazy|bound): \w.+|no relocation, static: no dynamic linking: .+)"
)


def number(cell: str) -> float:
    return float(cell.removesuffix("x"))


def check_one_process(body: str) -> None:
    for label in ("C", "Rust"):
        part = body.partition(f"\n{label}, natural, the first of round one:\n\n")[2]
        assert part, f"no process of {label}"
        *lines, detail = part.split("\n\n")[0].splitlines()
        assert [int(line[10:12]) for line in lines] == SHOWN
        assert all(ITERATION.fullmatch(line) for line in lines)
        assert PROCESS.fullmatch(detail)
        assert detail.startswith("natural,detail       iter1 ")


def check_every_process(body: str) -> None:
    for label in ("C", "Rust"):
        part = body.partition(f"\n{label}, in the order in which they ran:\n\n")[2]
        lines = part.split("\n\n")[0].splitlines()
        assert len(lines) == 60
        assert all(PROCESS.fullmatch(line) for line in lines)
        assert Counter(line.split()[0] for line in lines) == dict.fromkeys(MODES, 10)
        assert all(line[20:27] == " iter1 " for line in lines)
        assert [line.split()[0] for line in lines] != sorted(line.split()[0] for line in lines)


def check_medians(body: str) -> None:
    first = table(
        body,
        ["mode", "n", "C iter1", "IQR", "faults", "n", "Rust iter1", "IQR", "faults", "Rust/C"],
    )
    later = table(
        body, ["mode", "C iter2", "iter10", "within 10%", "Rust iter2", "iter10", "within 10%"]
    )
    spread = ["IQR", "iter1/steady"]
    steady = table(body, ["mode", "C steady", *spread, "Rust steady", *spread, "Rust/C"])
    for rows in (first, later, steady):
        assert [row[0] for row in rows] == MODES
        assert all(number(cell) >= 0 for row in rows for cell in row[1:])
    assert {(row[1], row[5]) for row in first} == {("10", "10")}
    for row, settled in zip(first, steady, strict=True):
        assert number(row[2]) / number(settled[1]) == pytest.approx(number(settled[3]), abs=0.06)
        assert number(row[6]) / number(row[2]) == pytest.approx(number(row[9]), abs=0.006)
    assert "within 10 percent of steady" in flowed(body)
    assert re.search(r"^C    the loop is \d+ instructions, ", body, re.MULTILINE)
    assert re.search(r"^Rust the loop is \d+ instructions, ", body, re.MULTILINE)
    if "No row falls into two groups of processes." not in body:
        groups = table(body, ["", "mode", "metric", "processes", "and", "clock explains it"])
        assert "fall into two groups" in flowed(body)
        for row in groups:
            assert re.fullmatch(r"\d+ around \d+ ns", row[3])
            assert re.fullmatch(r"\d+ around \d+ ns", row[4])
            assert row[5] in ("yes", "no")
    clock = table(body, ["", "one reading", "step", "core before", "core after", "min", "max"])
    assert [row[0] for row in clock] == ["C", "Rust"]


def check_where(body: str) -> None:
    rows = table(body, ["pages of", "C", "C unprimed", "Rust", "Rust unprimed"])
    assert [row[0] for row in rows] == [
        "output buffer", "input buffer", "array of samples", "clock page [vvar]", "stack", "libc",
        "other", "faults counted",
    ]  # fmt: skip
    for *pages, counted in zip(*(row[1:] for row in rows), strict=True):
        assert sum(map(int, pages)) == int(counted) > 0
    assert "/proc/self/pagemap" in body
    assert "huge pages: " in body


def check_pauses(body: str) -> None:
    header = ["mode", "", "n", "interrupts", "min", "max", "window ms"]
    rows = table(body, [*header, "voluntary switches", "involuntary switches"])
    modes = ["prefault,sleep", "prefault,spin", "prefault,spin,touch"]
    assert [row[:2] for row in rows] == [[m, label] for m in modes for label in ("C", "Rust")]
    assert {row[2] for row in rows} == {"10"}
    for row in rows:
        low, middle, high = number(row[4]), number(row[3]), number(row[5])
        assert low <= middle <= high
        assert int(row[6]) >= 300
        assert int(row[7]) == ("sleep" in row[0])
    assert "from the pause to the end of the measurement" in flowed(body)


def check_random(body: str) -> None:
    for words in ("C, -Wl,-z,lazy", "the same binary with LD_BIND_NOW=1", "Rust as it comes"):
        part = body.partition(f"\n{words}, the first five processes:\n\n")[2]
        lines = part.split("\n\n")[0].splitlines()
        assert len(lines) == 5
        assert all(CALLS.fullmatch(line) for line in lines)
    halves = ["n", "without fault", "n", "with fault"]
    rows = table(body, ["", "build", "mode", "n", "first", "IQR", *halves, "second", "third"])
    builds = {"C": ("lazy", "now", "default", "noplt", "static"), "Rust": ("lazy", "now")}
    builds["Rust"] += ("default", "static")
    modes = ("plain", "bind-now", "touched")
    expected = [[lang, b, mode] for lang, names in builds.items() for b in names for mode in modes]
    assert [row[:3] for row in rows] == expected
    for row in rows:
        assert row[3] == "100"
        assert int(row[6]) + int(row[8]) == 100
        assert [row[7] == "-", row[9] == "-"] == [row[6] == "0", row[8] == "0"]


def check_linked(body: str) -> None:
    blocks = {}
    for block in body.strip().split("\n\n")[1:]:
        head, *lines = block.splitlines()
        blocks[head] = lines
    probes = [f"random_probe, C {b}" for b in ("lazy", "now", "default", "noplt", "static")]
    probes += [f"random_probe, Rust {b}" for b in ("lazy", "now", "default", "static")]
    others = [f"{name}, {label}" for name in ("first_run", "launch") for label in ("C", "Rust")]
    empty = [f"empty, C {build}" for build in ("default", "static", "lazy", "now")]
    assert list(blocks) == [*probes, *others, "floor, C default", *empty, "empty, Rust default"]
    assert len(blocks) == 19
    for head, lines in blocks.items():
        rest = lines
        if head in probes:
            *rest, verdict = lines
            assert VERDICT.fullmatch(verdict), (head, verdict)
        assert rest == [" (neither FLAGS nor FLAGS_1)"] or (
            rest and all(FLAGS.fullmatch(line) for line in rest)
        ), (head, rest)
    assert ", lazy: " in blocks["random_probe, C lazy"][-1]
    assert ", bound: " in blocks["random_probe, C now"][-1]


def check_fresh(body: str) -> None:
    lines = [line for line in body.splitlines() if "fresh processes of" in line]
    pairs = [match.groups() for match in map(FRESH.fullmatch, lines) if match]
    assert pairs == [("C", "C"), ("C", "Rust"), ("Rust", "C"), ("Rust", "Rust")]
    drivers = ["n", "C driver", "IQR", "n", "Rust driver", "IQR", "n", "launcher", "faults"]
    rows = table(body, ["program", *drivers])
    assert len(rows) == 7
    for row in rows:
        assert (row[1], row[4]) == ("10", "10")
        own = not row[0].startswith("first_run")
        assert [cell == "-" for cell in row[7:]] == [not own] * 3
        assert row[7] == ("10" if own else "-")
    parts = table(body, ["part", "us", "IQRs", "difference"])
    assert len(parts) == 6
    assert all(re.fullmatch(r"\d+, \d+", row[2]) for row in parts[1:])
    assert "A difference smaller than these spreads, above or below 0, says nothing" in flowed(body)


CHECKS: dict[str, Callable[[str], None]] = {
    "One fresh process": check_one_process,
    "Every process of the 10 rounds": check_every_process,
    "Medians of the six modes": check_medians,
    "Where the page faults of the first iteration are": check_where,
    "What happened on the core during the pauses": check_pauses,
    "random(), lazily bound and bound at the start": check_random,
    "How the binaries are linked": check_linked,
    "Fresh processes": check_fresh,
    ENDING[0]: lambda body: check_claims(NAME, body),
    ENDING[1]: check_machine,
    ENDING[2]: check_changes,
}


def check_text(whole: str) -> None:
    found = sections(whole)
    assert list(found) == list(CHECKS)
    for title, check in CHECKS.items():
        check(found[title])


def test_every_part_that_the_article_quotes_is_there() -> None:
    check_text(text(NAME))


@pytest.mark.parametrize("title", CHECKS)
def test_each_part_has_the_shape_that_the_article_quotes(title: str) -> None:
    CHECKS[title](sections(text(NAME))[title])


def test_no_table_is_much_wider_than_a_page() -> None:
    wide = [head for head, _ in tables(text(NAME)) if len("  ".join(head)) > 120]
    assert wide == []


PIECES = re.compile(r"^\{\{ parts\.(?:rule\(|claims|machine|changes).*\n", re.MULTILINE)
TEMPLATE = (ROOT / "templates" / NAME / "report.txt.j2").read_text(encoding="utf-8")
PLACES = [match.span() for match in PIECES.finditer(TEMPLATE)]


def without(start: int, end: int) -> str:
    """Return the template without a part; the names that a later part needs stay known."""
    needed = "{% set ns = namespace(rows=[], later=[], steady=[], groups=[]) %}\n"
    return TEMPLATE[:start] + needed + TEMPLATE[end:]


MISSING = [
    (place, kept)
    for place, (start, end) in enumerate(PLACES)
    for kept in ("nothing", "the title")
    if kept == "nothing" or "parts.rule(" in TEMPLATE[start:end]
]


@pytest.mark.parametrize(("place", "kept"), MISSING)
def test_a_part_that_is_missing_is_noticed(tmp_path: Path, place: int, kept: str) -> None:
    assert len(PLACES) == len(CHECKS)
    start, title_ends = PLACES[place]
    end = PLACES[place + 1][0] if place + 1 < len(PLACES) else len(TEMPLATE)
    shutil.copytree(ROOT / "templates" / "_lib", tmp_path / "templates" / "_lib")
    folder = tmp_path / "templates" / NAME
    folder.mkdir()
    shutil.copy(ROOT / "templates" / NAME / "fixture.toml", folder)
    mutant = without(title_ends if kept == "the title" else start, end)
    (folder / "report.txt.j2").write_text(mutant, encoding="utf-8")
    whole = text_of(NAME, Project(tmp_path))
    with pytest.raises(AssertionError):
        check_text(whole)
