"""The histogram that a report draws in text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fixturegen.report.formats import _bucket, _start, histogram


@given(st.integers(0, 2**64))
def test_a_value_lies_in_its_bucket(value: int) -> None:
    place = _bucket(value)
    assert _start(place) <= value < _start(place + 1)


def test_buckets_are_half_octaves() -> None:
    assert [_start(place) for place in range(10)] == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24]


def test_bars_are_logarithmic_and_empty_buckets_are_seen() -> None:
    assert histogram([100, 110, 130, 600], [900, 100, 7, 1]).splitlines() == [
        " 96 - 127 ns  1000  ##########",
        "128 - 191 ns     7  ###",
        "192 - 255 ns     0",
        "256 - 383 ns     0",
        "384 - 511 ns     0",
        "512 - 767 ns     1  #",
    ]


def test_nothing_measured_is_a_dash() -> None:
    assert histogram([], []) == "-"
    assert histogram([5], [0]) == "-"


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 99)), min_size=1, max_size=50))
def test_no_message_is_lost(pairs: list[tuple[int, int]]) -> None:
    text = histogram([v for v, _ in pairs], [n for _, n in pairs])
    shown = [int(line.split(" ns ")[1].split()[0]) for line in text.splitlines()]
    assert sum(shown) == sum(n for _, n in pairs)
