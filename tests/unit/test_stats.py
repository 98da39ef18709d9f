from __future__ import annotations

import math
import random
import statistics
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixturegen import stats

INTEGERS = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=60)
FLOATS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)
SUMMARIES = [stats.median, stats.mean, stats.minimum, stats.maximum, stats.iqr, stats.mad]


def test_importing_it_does_not_import_numpy() -> None:
    code = "import sys, fixturegen.stats as s; s.median([1, 2]); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
        assert stats.sd(values) == pytest.approx(statistics.stdev(values), rel=1e-12)


@given(FLOATS, st.randoms())
def test_the_order_of_the_values_never_matters(values: list[float], random: random.Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    for summary in [*SUMMARIES, *([stats.sd] if len(values) > 1 else [])]:
        assert summary(values) == summary(shuffled)
    assert stats.total(values) == stats.total(shuffled)


@given(INTEGERS)
def test_arrays_lists_and_tuples_give_the_same(values: list[int]) -> None:
    for summary in SUMMARIES:
        assert summary(np.array(values)) == summary(values) == summary(tuple(values))
        assert type(summary(np.array(values))) is type(summary(values))


@given(INTEGERS, st.fractions(0, 1))
def test_a_quantile_is_type_seven(values: list[int], q: Fraction) -> None:
    expected = np.quantile(np.array(values, dtype=float), float(q))
    assert stats.quantile(values, q) == pytest.approx(expected, rel=1e-9, abs=1e-3)


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
    with pytest.raises(ValueError, match="2 dimensions"):
        summary(np.zeros((2, 2)))


def test_undefined_spreads_are_refused() -> None:
    with pytest.raises(ValueError, match="two values"):
        stats.sd([1])
    with pytest.raises(ValueError, match="mean is zero"):
        stats.cv([-1, 1])


@given(INTEGERS)
def test_the_input_is_left_alone(values: list[int]) -> None:
    before, array = list(values), np.array(values)
    for summary in SUMMARIES:
        summary(values)
        summary(array)
    stats.groups(values)
    assert values == before == array.tolist()


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


def test_the_bootstrap_is_the_same_everywhere() -> None:
    # worked out once; a change here changes every report
    values = [(i * 7919) % 1009 for i in range(50)]
    assert stats.median_interval(values, seed=1) == (531.5, 378.5, 653.5)
    assert stats.ratio_interval(values[1:], [v + 1 for v in values[:-1]], 3) == (
        0.78,
        0.7184643510054844,
        0.8131067961165048,
    )


def test_the_index_stream_is_the_documented_one() -> None:
    words = np.random.PCG64(7).random_raw(15).tolist()
    indices = [((word >> 32) * 5) >> 32 for word in words]
    middles = [sorted(indices[start : start + 5])[2] for start in (0, 5, 10)]
    ranks = np.concatenate(list(stats._median_ranks(5, 7, 3)))
    assert ranks.tolist() == [[middle, middle] for middle in middles]


def test_the_size_of_the_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = list(range(100))
    whole = stats.median_interval(values, 5, resamples=300)
    for words in (1, 100, 999):
        monkeypatch.setattr(stats, "WORDS_AT_ONCE", words)
        assert stats.median_interval(values, 5, resamples=300) == whole


@given(INTEGERS, st.integers(0, 2**63))
def test_an_interval_lies_within_the_values(values: list[int], seed: int) -> None:
    found = stats.median_interval(values, seed, resamples=50)
    assert min(values) <= found.low <= found.high <= max(values)
    assert found.median == stats.median(values)
    assert found == stats.median_interval(sorted(values), seed, resamples=50)


def test_an_interval_covers_and_narrows() -> None:
    few, many = stats.median_interval(list(range(20)), 1), stats.median_interval([5] * 9, 1)
    assert few.low < few.median < few.high
    assert many == (5, 5, 5)
    wide = stats.median_interval(list(range(20)), 1, level=0.99)
    assert wide.low <= few.low
    assert few.high <= wide.high


def test_bad_intervals_are_refused() -> None:
    for resamples, level in ((0, 0.95), (10, 0), (10, 1)):
        with pytest.raises(ValueError, match="no interval"):
            stats.median_interval([1], 1, resamples, level)
    with pytest.raises(ValueError, match="no values"):
        stats.median_interval([], 1)
    with pytest.raises(ValueError, match="cannot be paired"):
        stats.ratio_interval([1, 2], [1], 1)
    with pytest.raises(ValueError, match="ratio to zero"):
        stats.ratio_interval([1, 2], [1, 0], 1)


def test_a_ratio_is_of_pairs() -> None:
    found = stats.ratio_interval([2, 20, 200], [1, 10, 100], 1)
    assert found == (2, 2, 2)


def test_whole_64_bit_values_survive_the_bootstrap() -> None:
    values = [2**64 - 1, 2**64 - 3, 2**64 - 5]
    assert set(stats.median_interval(values, 1)) <= set(values) | {2**64 - 2, 2**64 - 4}
