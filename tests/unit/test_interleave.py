"""One schedule over all programs: who runs when, on which stack, and what is told of it."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest

from fixturegen import report
from fixturegen.cli import planned
from fixturegen.errors import SpecError
from fixturegen.runs.declared import declared, differing
from fixturegen.runs.execute import starts
from fixturegen.runs.options import Options
from fixturegen.runs.schedule import Step, rounds_of, schedule
from tests.recorded import TOML, fixture, lay, store

BOTH = ("c", "rust")
HEAD = 'title = "Two programs"\ninterleave = {interleave}\n'
PROGRAM = """
[[program]]
name = "{name}"
languages = ["c", "rust"]
rounds = {rounds}
order = "{order}"
lines.value = 'value (?P<n>[0-9]+)'
metric.n = {{ value = "value.n[0]", unit = "count" }}
[[program.mode]]
name = "near"
[[program.mode]]
name = "far"
args = ["--distance=4096"]
env = {{ LD_BIND_NOW = "1" }}
"""


def written(*programs: tuple[str, int, str], interleave: str = "true") -> str:
    """Return a fixture.toml of programs, each a name, its rounds and its order."""
    tables = [PROGRAM.format(name=name, rounds=n, order=order) for name, n, order in programs]
    return HEAD.format(interleave=interleave) + "".join(tables)


def steps(
    *programs: tuple[str, int, str], rounds: int | None = None, seed: int = 1, **more: object
) -> list[Step]:
    of = fixture(written(*programs))
    languages, without = more.get("languages", BOTH), more.get("without", ())
    return schedule(of, languages, rounds_of(of, rounds), seed, without)  # type: ignore[arg-type]


A, B = ("walk", 4, "shuffled"), ("sort", 4, "shuffled")


def test_rounds_of_all_programs_are_one_round_shuffled_with_the_seed() -> None:
    of = steps(A, B)
    assert [s.position for s in of] == list(range(32))
    assert [s.round for s in of] == [number for number in range(1, 5) for _ in range(8)]
    assert set(Counter((s.case, s.round) for s in of).values()) == {1}
    # Sorted by SHA-256 of "1/<program>/1/<path>", across programs: known beforehand.
    paths = [f"{p}.{x}.{m}" for p in ("walk", "sort") for x in BOTH for m in ("near", "far")]
    told = {path: f"1/{path.split('.')[0]}/1/{path}".encode() for path in paths}
    expected = sorted(paths, key=lambda path: hashlib.sha256(told[path]).hexdigest())
    assert [s.case.path for s in of[:8]] == expected
    assert steps(A, B, seed=2) != of


def test_the_order_of_the_file_decides_nothing() -> None:
    assert steps(A, B) == steps(B, A)


def test_within_a_program_the_order_is_that_of_a_program_alone() -> None:
    of = fixture(written(A, B, interleave="false"))
    alone = schedule(of, BOTH, rounds_of(of, None), 1)
    together = steps(A, B)
    for name in ("walk", "sort"):
        one, other = ([s[:2] for s in all_ if s.case.program == name] for all_ in (alone, together))
        assert one == other


@pytest.mark.parametrize("left", [{"languages": ("c",)}, {"without": ("walk.rust.far",)}])
def test_what_is_not_measured_leaves_the_rest_in_its_order(left: dict[str, tuple[str]]) -> None:
    fewer = [(s.case, s.round) for s in steps(A, B, **left)]
    assert 0 < len(fewer) < 32
    assert fewer == [s[:2] for s in steps(A, B) if s[:2] in fewer]


@pytest.mark.parametrize("other", [1, 2, 3, 5, 7, 10, 64])
@pytest.mark.parametrize("order", ["shuffled", "fixed"])
def test_rounds_are_spread_evenly_whatever_their_number(other: int, order: str) -> None:
    of = steps(("walk", 10, "shuffled"), ("sort", other, order))
    assert len(of) == 4 * (10 + other)
    middle = {
        name: mean(s.position for s in of if s.case.program == name) for name in ("walk", "sort")
    }
    assert middle["walk"] == pytest.approx(middle["sort"], abs=4)
    for name, n in (("walk", 10), ("sort", other)):  # each round is a slice of the run, in place
        for s in (s for s in of if s.case.program == name):
            assert s.position / len(of) == pytest.approx((s.round - 0.5) / n, abs=8 / len(of))


def test_rounds_of_the_command_line_are_one_round_of_all() -> None:
    of = steps(("walk", 2, "shuffled"), ("sort", 50, "shuffled"), rounds=3)
    assert [s.round for s in of] == [1] * 8 + [2] * 8 + [3] * 8


def test_a_fixed_round_stays_together_and_in_its_order() -> None:
    of = steps(A, ("sort", 4, "fixed"))
    declared_order = ["sort.c.near", "sort.c.far", "sort.rust.near", "sort.rust.far"]
    for number in range(1, 5):
        own = [s for s in of if s.round == number and s.case.program == "sort"]
        assert [s.case.path for s in own] == declared_order
        assert [s.position - own[0].position for s in own] == [0, 1, 2, 3]
    assert len({s.position % 8 for s in of if s.case.path == "sort.c.near"}) > 1


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ([A], ["interleave: there is one program", "take it out"]),
        ([A, ("sort", 4, "ladder")], ["interleave: program 'sort'", 'order = "ladder"']),
    ],
)
def test_what_cannot_have_one_schedule_is_refused(
    programs: list[tuple[str, int, str]], said: list[str]
) -> None:
    with pytest.raises(SpecError) as caught:
        fixture(written(*programs))
    message = f"{caught.value}\n{caught.value.hint}"
    assert all(each in message for each in said), message
    fixture(written(*programs, interleave="false"))


def _stack(of: str) -> set[tuple[int, int]]:
    """Return how many bytes and strings the cases of a fixture put on their stacks."""
    given = fixture(of)
    paths = {name: Path(f"/build/{name}/a.out") for name in given.binaries()}
    cpus = {program.name: (1,) for program in given.programs}
    sizes = set()
    for way in starts(given, given.cases(), paths, cpus, Path("/")).values():
        variables = [f"{name}={value}" for name, value in way.env.items()]
        strings = [way.program, way.program, *way.args, *variables]
        sizes.add((sum(len(os.fsencode(each)) + 1 for each in strings), len(strings)))
    return sizes


def test_all_cases_that_are_compared_put_equally_much_on_the_stack() -> None:
    longer = written(A, ("sorting", 4, "shuffled")).replace("4096", "4096" * 20, 1)
    assert len(_stack(longer)) == 1
    assert len(_stack(longer.replace("interleave = true", "interleave = false"))) == 2


def test_a_run_tells_whether_it_was_interleaved_and_not_an_order_that_decides_nothing() -> None:
    one, other = fixture(written(A, B)), fixture(written(B, A))
    assert declared(one)["interleave"] == "true"
    assert differing(declared(one), declared(other)) == []
    blocks = fixture(written(A, B, interleave="false"))
    assert "interleave" in differing(declared(one), declared(blocks))
    assert "interleave" not in declared(blocks)


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        (TOML, ""),
        (written(A, B), "schedule   one schedule over all programs"),
        (written(A, B, interleave="false"), "schedule   programs one after the other"),
    ],
)
def test_the_head_says_the_schedule_in_words(tmp_path: Path, toml: str, line: str) -> None:
    project = lay(tmp_path, toml)
    of = project.load("a-loop")
    stored = store(project, of, samples=[])
    lines = report.stored_text(project, of, stored).splitlines()
    assert [each for each in lines if each.startswith("schedule")] == ([line] if line else [])


def test_the_plan_shows_the_first_processes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs = ("walk", 2, "shuffled"), ("sort", 4, "shuffled")
    planned.show([fixture(written(*programs))], Options(), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "a-loop: 24 fresh processes, seed 1, one schedule over all programs",
        "walk: 4 cases x 2 rounds, shuffled",
        "sort: 4 cases x 4 rounds, shuffled",
    ]
    shown = [line.split() for line in lines[7:]]
    assert shown == [[str(s.position + 1), s.case.path] for s in steps(*programs)[:8]]


def test_the_plan_of_millions_of_processes_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    programs = ("walk", 1_000_000, "shuffled"), ("sort", 999_999, "fixed")
    planned.show([fixture(written(*programs))], Options(), as_json=False)
    assert capsys.readouterr().out.startswith("a-loop: 7999996 fresh processes")
