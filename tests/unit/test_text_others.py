"""The texts of the other fixtures, of their reference runs."""

from __future__ import annotations

import re

import pytest

from fixturegen.check import Checked, check_fixture
from fixturegen.fixture.claims import instances
from fixturegen.fixture.project import Project
from tests.texts import (
    ENDING,
    ROOT,
    check_changes,
    check_claims,
    check_machine,
    fixture,
    flowed,
    sections,
    table,
    tables,
    text,
)

TITLES = {
    "first-touch-tail": [
        "Latency",
        "What the kernel counted",
        "Which messages took a fault",
        "From a fault to late messages",
        "The worst messages, stage by stage",
        "What stamps cost",
    ],
    "noise-ladder": [
        "C, fast-math",
        "C, strict",
        "Rust, native",
        "The machine's knobs during each rung, as they were read back",
        "Every process",
    ],
    "page-cache": [
        "find /usr/share, three times",
        "The same walk in a program of our own",
        "What the kernel remembers",
        "The system calls, cold and warm",
        "Warm only: other commands over the same tree",
        "One file, through read() and through mmap()",
        "The first start of a large binary",
        "Where the files are",
    ],
    "profile-cost": [
        "From build flags to picture",
        "What it costs",
        "Counters, divided by messages",
        "Where the samples are",
        "Inside the hottest function",
        "Folded stacks and flame graphs",
    ],
}
FIXTURES = sorted(path.parent.name for path in ROOT.glob("templates/[!_]*/fixture.toml"))


def body(name: str, title: str) -> str:
    return sections(text(name))[title]


@pytest.mark.parametrize("name", TITLES)
def test_every_part_is_there_and_says_something(name: str) -> None:
    found = sections(text(name))
    assert list(found) == [*TITLES[name], *ENDING]
    assert all(part.strip() for part in found.values())


@pytest.mark.parametrize("name", TITLES)
def test_claims_machine_and_changes_are_told(name: str) -> None:
    claims, machine, changes = (body(name, title) for title in ENDING)
    check_claims(name, claims)
    check_machine(machine)
    check_changes(changes)


def test_the_tail_has_its_percentiles_beside_its_faults() -> None:
    name = "first-touch-tail"
    shares = ["p50", "p99", "p99.9", "max", "late", "service p50", "p99.9"]
    rows = table(body(name, "Latency"), ["", "mode", "n", *shares])
    modes = ["plain", "mlockall", "prefault", "plain,stamps"]
    assert [row[0] for row in rows] == ["C"] * 4 + ["Rust"] * 4
    assert [row[1].split(" (")[0] for row in rows] == modes * 2
    assert all(int(row[3]) <= int(row[4]) <= int(row[5]) <= int(row[6]) for row in rows)
    counts = ["first written", "predicted", "faults", "voluntary", "involuntary", "migrations"]
    counted = table(
        body(name, "What the kernel counted"), ["", "mode", "n", *counts, "interrupts", "in ms"]
    )
    for row in counted:
        assert abs(int(row[4]) - int(row[5])) <= 1, f"predicted and taken differ: {row}"


RUNGS = ("C, fast-math", "C, strict", "Rust, native")


@pytest.mark.parametrize("title", RUNGS)
def test_a_rung_has_numbers_or_says_why_not(title: str) -> None:
    header = ["rung", "n", "mean ns", "sd rep.", "CV rep.", "sd burst", "CV burst", "faster"]
    header += ["MHz before / after", "CPUs", "moves", "migrations", "read back"]
    part = body("noise-ladder", title)
    rows = table(part, header)
    absent = [row[0].removeprefix("+ ") for row in rows if row[1] == "not measured"]
    for row in rows:
        if row[1] == "not measured":
            assert set(row[2:]) == {"-"}
        else:
            assert int(row[1]) > 0
            assert all(re.fullmatch(r"\d+(\.\d+%)?", cell) for cell in row[2:7])
    reasons = part.partition(rows[-1][0] + " ")[2].split("\n\n")[1:]
    told = [
        name
        for names, why in (flowed(reason).split(": ", 1) for reason in reasons if ": " in reason)
        for name in names.split(", ")
        if why
    ]
    assert [name for name in absent if name not in told] == []


def test_the_page_cache_has_its_cold_and_warm_runs() -> None:
    counts = ["voluntary", "involuntary", "major", "minor", "read MiB"]
    times = ["n", "elapsed ms", "user ms", "system ms"]
    rows = table(body("page-cache", TITLES["page-cache"][0]), ["", *times, *counts])
    assert [row[0] for row in rows] == ["run 1, cold", "run 2, warm", "run 3, warm"]
    assert all(re.fullmatch(r"\d+(\.\d)?", cell) for row in rows for cell in row[1:])


def test_profiling_has_its_price_beside_its_messages() -> None:
    header = ["", "", "n", "p50", "p99", "p99.9", "max", "worst max", "later", "samples", "lost"]
    rows = table(body("profile-cost", "What it costs"), header)
    ways = [
        "alone, as usually built",
        "alone, to be profiled",
        "under perf stat",
        "under perf record",
    ]
    assert [row[:2] for row in rows] == [[label, way] for label in ("C", "Rust") for way in ways]


@pytest.mark.parametrize("name", TITLES)
def test_tables_have_as_many_cells_as_headings(name: str) -> None:
    for header, rows in tables(text(name)):
        assert all(len(row) == len(header) for row in rows)


@pytest.mark.parametrize("name", FIXTURES)
def test_what_is_committed_is_what_check_expects(name: str) -> None:
    checked = Checked()
    check_fixture(Project(ROOT), fixture(name), checked)
    assert checked.findings is None
    assert checked.runs >= 1
    of = fixture(name)
    assert checked.claims == sum(len(instances(of, claim)) for claim in of.claims)
