from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixturegen import stats

INTEGERS = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=60)
FLOATS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)
SUMMARIES = [stats.median, stats.mean, stats.minimum, stats.maximum, stats.iqr, stats.mad]


def test_a_median_of_integers_is_an_integer_or_an_exact_half() -> None:
    assert (stats.median([3, 1, 2]), type(stats.median([3, 1, 2]))) == (2, int)
    assert (stats.median([1, 3]), type(stats.median([1, 3]))) == (2, int)
    assert stats.median([1, 2]) == 1.5
    assert stats.median([2**64 - 1, 2**64 - 1]) == 2**64 - 1
    assert stats.median([2**64 - 1, 2**64 - 3]) == 2**64 - 2


def test_sums_and_means_of_integers_are_exact() -> None:
    large = [2**63, 2**63, -1, 2]
    assert stats.total(large) == 2**64 + 1
    assert stats.mean([2**63, 2**63 + 2]) == 2**63 + 1
    assert stats.mean([1, 2]) == 1.5
    assert stats.total([]) == 0
    assert stats.total([0.1] * 10) == 1.0


@given(INTEGERS)
def test_integer_summaries_agree_with_the_standard_library(values: list[int]) -> None:
    assert stats.median(values) == statistics.median(values)
    assert stats.mean(values) == sum(values) / len(values)
    if len(values) > 1:
        assert stats.sd(values) == statistics.stdev(values)


@given(FLOATS, st.randoms())
def test_the_order_of_the_values_never_matters(values: list[float], random: random.Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    for summary in [*SUMMARIES, *([stats.sd] if len(values) > 1 else [])]:
        assert summary(values) == summary(shuffled)
    assert stats.total(values) == stats.total(shuffled)


@given(INTEGERS)
def test_lists_and_tuples_give_the_same(values: list[int]) -> None:
    for summary in SUMMARIES:
        assert summary(values) == summary(tuple(values))
        assert type(summary(values)) is type(summary(tuple(values)))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=60), st.integers(2, 50))
def test_a_quantile_is_type_seven(values: list[int], parts: int) -> None:
    expected = statistics.quantiles(values, n=parts, method="inclusive")  # its name for type 7
    for part, value in enumerate(expected, 1):
        assert stats.quantile(values, Fraction(part, parts)) == pytest.approx(value, rel=1e-12)


@given(st.one_of(INTEGERS, FLOATS))
def test_the_half_quantile_is_the_median(values: list[float]) -> None:
    assert stats.quantile(values, 0.5) == stats.median(values)
    assert stats.quantile(values, 0) == min(values)
    assert stats.quantile(values, 1) == max(values)


def test_a_quantile_is_the_decimal_that_was_written() -> None:
    # as binary fractions 0.9 * 10 and 0.7 * 10 would not hit the elements exactly
    assert stats.quantile(list(range(11)), 0.9) == 9
    assert stats.quantile(list(range(11)), 0.7) == 7
    assert isinstance(stats.quantile(list(range(11)), 0.7), int)
    assert stats.quantile([1, 2, 3, 4], 0.9) == 3.7


@pytest.mark.parametrize("q", [-0.1, 1.1, 2, math.nan, math.inf])
def test_a_quantile_outside_the_unit_interval_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        stats.quantile([1], q)


def test_spreads() -> None:
    assert stats.iqr([1, 2, 3, 4, 5]) == 2
    assert stats.mad([1, 1, 2, 2, 4, 6, 9]) == 1
    assert stats.mad([1, 2, 3, 5]) == 1
    assert stats.sd([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx(math.sqrt(32 / 7))
    assert stats.sd([2**63, 2**63 + 2]) == pytest.approx(math.sqrt(2))
    assert stats.sd([0.5, 1.5]) == pytest.approx(math.sqrt(0.5))
    assert stats.cv([9, 10, 11]) == pytest.approx(0.1)


@pytest.mark.parametrize("summary", [*SUMMARIES, stats.sd, stats.cv, stats.groups])
def test_nothing_and_nan_are_refused(summary: object) -> None:
    assert callable(summary)
    with pytest.raises(ValueError, match="no values"):
        summary([])
    with pytest.raises(ValueError, match="not a number"):
        summary([1.0, math.nan, 2.0])


def test_undefined_spreads_are_refused() -> None:
    with pytest.raises(ValueError, match="two values"):
        stats.sd([1])
    with pytest.raises(ValueError, match="not finite"):
        stats.sd([1.0, math.inf])
    with pytest.raises(ValueError, match="mean is zero"):
        stats.cv([-1, 1])


@given(INTEGERS)
def test_the_input_is_left_alone(values: list[int]) -> None:
    before = list(values)
    for summary in SUMMARIES:
        summary(values)
    stats.groups(values)
    assert values == before


def test_two_groups() -> None:
    found = stats.groups([43, 90, 44, 91, 43])
    assert found == stats.Groups(3, 2, 43, 90.5, (1, 3))


def test_a_gap_of_exactly_a_quarter_is_no_boundary() -> None:
    assert stats.groups([100, 100, 125, 125]) is None
    assert stats.groups([100, 100, 126, 126]) == stats.Groups(2, 2, 100, 126, (2, 3))


@pytest.mark.parametrize(
    "values",
    [[5], [1, 100], [1, 1, 100], [1, 100, 100], [1, 1, 1, 100], [7] * 10, list(range(100, 110))],
)
def test_one_group(values: list[int]) -> None:
    assert stats.groups(values) is None


def test_an_outlier_does_not_hide_two_groups() -> None:
    found = stats.groups([43, 43, 43, 90, 90, 5000])
    assert found is not None
    assert (found.low, found.high, found.high_median) == (3, 3, 90)


def test_groups_of_counts_that_start_at_zero_and_of_negative_numbers() -> None:
    assert stats.groups([0, 1, 0, 1]) == stats.Groups(2, 2, 0, 1, (1, 3))
    assert stats.groups([-100, -100, -10, -10]) == stats.Groups(2, 2, -100, -10, (2, 3))


@given(INTEGERS)
def test_groups_split_the_sorted_values_in_two(values: list[int]) -> None:
    found = stats.groups(values)
    if found:
        high = [values[index] for index in found.indices]
        low = [value for index, value in enumerate(values) if index not in found.indices]
        assert (len(low), len(high)) == (found.low, found.high)
        assert min(found.low, found.high) >= 2
        assert min(high) - max(low) > abs(max(low)) / 4


def test_a_clock_explains_the_groups_it_follows() -> None:
    times = [100, 100, 200, 200]
    found = stats.groups(times)
    assert found is not None
    assert stats.explained_by(times, [3000, 3000, 1500, 1500], found) == "yes"  # inverse
    assert stats.explained_by(times, [10, 10, 20, 20], found) == "yes"  # direct
    assert stats.explained_by(times, [3000, 3000, 2900, 3000], found) == "no"
    assert stats.explained_by(times, [0, 0, 20, 20], found) == "no"
    with pytest.raises(ValueError, match="4 values, but 1"):
        stats.explained_by(times, [1], found)


def test_half_of_the_logarithm_is_the_boundary() -> None:
    times = [100, 100, 400, 400]
    found = stats.groups(times)
    assert found is not None
    assert stats.explained_by(times, [10, 10, 20, 20], found) == "yes"
    assert stats.explained_by(times, [1000, 1000, 1999, 1999], found) == "no"
