"""A mode may have other CPUs than its program."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixturegen.errors import SpecError
from fixturegen.launcher import Start
from fixturegen.runs.execute import crowded, starts
from tests.recorded import TOML, fixture

PLACE = '[[program.mode]]\nname = "natural"\n'


def test_a_mode_without_the_key_has_its_program_s() -> None:
    assert [mode.cpus for mode in fixture().program("loop").modes] == [None, None]


@pytest.mark.parametrize(("written", "expected"), [('"all"', "all"), ("2", 2)])
def test_a_mode_says_a_number_or_all(written: str, expected: object) -> None:
    toml = TOML.replace(PLACE, f"{PLACE}cpus = {written}\n")
    assert fixture(toml).program("loop").mode("natural").cpus == expected


@pytest.mark.parametrize("written", ["0", '"some"', "-1", "1.5"])
def test_anything_else_is_refused(written: str) -> None:
    with pytest.raises(SpecError, match="cpus"):
        fixture(TOML.replace(PLACE, f"{PLACE}cpus = {written}\n"))


def test_its_processes_start_on_them_and_the_other_modes_on_the_program_s() -> None:
    of = fixture()
    paths = {f"loop.{language}": Path("/bin/true") for language in ("c", "rust")}
    cpus = {"loop": (1,), "loop.pre_fault": (0, 1, 2)}
    found = {
        case.mode: start.cpus
        for case, start in starts(of, of.cases(), paths, cpus, Path("/")).items()
    }
    assert found == {"natural": (1,), "pre-fault": (0, 1, 2)}


@pytest.mark.parametrize(
    ("cpus", "mine", "expected"),
    [
        ((0, 1), {0, 1}, True),  # both threads measured, and nowhere to go
        ((0, 1), {1}, True),
        ((0, 1), {0, 1, 2}, False),
        ((0, 1), {2, 3}, False),
        ((0,), {0}, False),  # one CPU for everything: a process ahead costs less than a pause
    ],
)
def test_nothing_is_done_beside_a_process_that_has_every_cpu(
    cpus: tuple[int, ...], mine: set[int], expected: bool
) -> None:
    start = Start(program="/bin/true", args=(), env={}, cwd="/", timeout_s=1, cpus=cpus)
    assert crowded(start, mine) is expected
