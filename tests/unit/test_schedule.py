from __future__ import annotations

from collections import Counter

from fixturegen.runs.schedule import rounds_of, schedule
from tests.recorded import TOML, fixture

BOTH = ("c", "rust")


def paths(seed: int = 1, languages: tuple[str, ...] = BOTH, toml: str = TOML) -> list[str]:
    of = fixture(toml)
    return [s.case.path for s in schedule(of, languages, rounds_of(of, None), seed)]


def test_every_case_has_each_round_once() -> None:
    of = fixture()
    steps = schedule(of, BOTH, rounds_of(of, None), 1)
    counts = Counter((s.case.path, s.round) for s in steps)
    assert set(counts.values()) == {1}
    assert len(steps) == 4 * 4
    assert [s.position for s in steps] == list(range(16))


def test_rounds_follow_each_other_and_are_shuffled_inside() -> None:
    of = fixture()
    steps = schedule(of, BOTH, rounds_of(of, None), 1)
    assert [s.round for s in steps] == sorted(s.round for s in steps)
    orders = {tuple(s.case.path for s in steps if s.round == r) for r in range(1, 5)}
    assert len(orders) > 1


def test_the_order_is_the_seeds_and_the_same_everywhere() -> None:
    assert paths(seed=1) == paths(seed=1)
    assert paths(seed=1) != paths(seed=2)
    # Sorted by SHA-256 of "1/loop/1/<path>": known beforehand, not computed by the code under test.
    import hashlib

    cases = ["loop.c.natural", "loop.c.pre_fault", "loop.rust.natural", "loop.rust.pre_fault"]
    expected = sorted(cases, key=lambda p: hashlib.sha256(f"1/loop/1/{p}".encode()).hexdigest())
    assert paths()[:4] == expected


def test_a_fixed_order_is_that_of_the_file() -> None:
    toml = TOML.replace("rounds = 4", 'rounds = 2\norder = "fixed"')
    once = ["loop.c.natural", "loop.c.pre_fault", "loop.rust.natural", "loop.rust.pre_fault"]
    assert paths(toml=toml) == once * 2


def test_a_ladder_is_climbed_once_rung_by_rung() -> None:
    toml = TOML.replace("rounds = 4", 'rounds = 2\norder = "ladder"')
    first, second = (
        ["loop.c.natural", "loop.rust.natural"],
        ["loop.c.pre_fault", "loop.rust.pre_fault"],
    )
    assert paths(toml=toml) == first * 2 + second * 2
    of = fixture(toml)
    steps = schedule(of, BOTH, rounds_of(of, None), 1)
    assert [s.position for s in steps] == list(range(8))
    assert [s.round for s in steps] == [1, 1, 2, 2] * 2


def test_rounds_of_the_command_line_are_for_all_programs() -> None:
    of = fixture()
    assert rounds_of(of, 2) == {"loop": 2}
    assert len(schedule(of, BOTH, rounds_of(of, 2), 1)) == 8


def test_cases_that_need_a_missing_language_are_left_out_also_in_arguments() -> None:
    toml = (
        TOML
        + """
[[program]]
name = "start"
languages = ["c"]
rounds = 1
[[program.mode]]
name = "own"
args = ["{loop.c}"]
[[program.mode]]
name = "other"
args = ["20", "{loop.rust}", "once"]
"""
    )
    assert [p for p in paths(languages=("c",), toml=toml) if p.startswith("start")] == [
        "start.c.own"
    ]
    assert "start.c.other" in paths(toml=toml)
