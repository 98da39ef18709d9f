"""Median, quantiles, spreads, two groups, bootstrap: the same number on every machine.

Integers stay integers: sums are exact, a median of integers is an integer or a half (exact below
2**53, above it the nearest float), and every division happens once, last, correctly rounded.
Floats are added with `math.fsum`. So nothing here depends on the order of the values or the width
of a vector unit. Each function takes a sequence or a one-dimensional numpy array, changes neither,
and raises ValueError for no values or for a NaN. numpy itself is imported by the bootstrap alone.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Number: TypeAlias = int | float
Values: TypeAlias = "Sequence[Number] | NDArray[Any]"

WORDS_AT_ONCE = 1 << 18  # 2 MiB of raw words: stays in a cache, and bounds the memory
GROUP_GAP = 4  # a gap of more than a quarter of the lower value separates two groups


class Groups(NamedTuple):
    """Two groups of processes; `indices` are the positions of the high one, in order."""

    low: int
    high: int
    low_median: Number
    high_median: Number
    indices: tuple[int, ...]


class Interval(NamedTuple):
    """A median and the two ends of its bootstrap interval."""

    median: Number
    low: Number
    high: Number


def _plain(values: Values, what: str) -> list[Number]:
    """Return `values` as a list of Python numbers, none of them a NaN."""
    plain: list[Number] = values if isinstance(values, list) else _listed(values)
    if not plain:
        raise ValueError(f"{what} of no values")
    check = sum(plain)  # NaN is contagious, and one C loop costs less than a test a value
    if check != check and any(value != value for value in plain):
        raise ValueError(f"{what}: a value is not a number")
    return plain


def _listed(values: Values) -> list[Number]:
    if isinstance(values, Sequence):
        return list(values)
    if values.ndim != 1:
        raise ValueError(f"values have {values.ndim} dimensions, not one")
    return list(values.tolist())


def _halved(twice: Number) -> Number:
    """Half of `twice`: an integer where it is one, else correctly rounded."""
    if isinstance(twice, int) and twice % 2 == 0:
        return twice // 2
    return twice / 2


def _middle(ordered: Sequence[Number]) -> Number:
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else _halved(low + high)


def _divided(exact: Fraction) -> Number:
    return exact.numerator if exact.denominator == 1 else float(exact)


def exact_share(q: Number | Fraction) -> Fraction:
    """Return `q` as the decimal that was written: 0.9 is nine tenths. ValueError outside 0..1."""
    if not isinstance(q, Fraction) and not math.isfinite(q):
        raise ValueError(f"a quantile is between 0 and 1, not {q}")
    exact = Fraction(str(q)) if isinstance(q, float) else Fraction(q)
    if not 0 <= exact <= 1:
        raise ValueError(f"a quantile is between 0 and 1, not {q}")
    return exact


def total(values: Values) -> Number:
    """Sum: exact for integers, correctly rounded once there is a float. 0 for no values."""
    plain = values if isinstance(values, list) else _listed(values)
    added = sum(plain)
    return added if isinstance(added, int) else math.fsum(plain)


def median(values: Values) -> Number:
    """Middle value, or the mean of the two middle ones."""
    return _middle(sorted(_plain(values, "median")))


def mean(values: Values) -> Number:
    """Arithmetic mean; an integer where it is one."""
    plain = _plain(values, "mean")
    added = total(plain)
    if isinstance(added, int) and added % len(plain) == 0:
        return added // len(plain)
    return added / len(plain)


def minimum(values: Values) -> Number:
    """Smallest value."""
    return min(_plain(values, "minimum"))


def maximum(values: Values) -> Number:
    """Largest value."""
    return max(_plain(values, "maximum"))


def quantile(values: Values, q: Number | Fraction) -> Number:
    """Quantile `q` (0..1) by type 7 of Hyndman and Fan (1996), the default of numpy and R.

    It lies at (n - 1) q in the sorted values, linear between neighbours, computed as a fraction
    and rounded once. `quantile(values, 0.5)` is `median(values)`.
    """
    return _quantile(sorted(_plain(values, "quantile")), exact_share(q))


def _quantile(ordered: Sequence[Number], q: Fraction) -> Number:
    place = (len(ordered) - 1) * q
    index = math.floor(place)
    low, rest = ordered[index], place - index
    high = ordered[index + 1] if rest else low
    if low == high:
        return low
    return _divided(Fraction(low) + rest * (Fraction(high) - Fraction(low)))


def counted_quantile(values: Values, counts: Values, q: Number | Fraction) -> Number:
    """Quantile `q` (type 7, as `quantile`) of a histogram: `values[i]` stands `counts[i]` times.

    The values are neither repeated in memory nor rounded. ValueError for counts that are negative
    or not whole, for two lengths, or where every count is 0.
    """
    plain, numbers = _plain(values, "quantile"), _plain(counts, "counts")
    if len(plain) != len(numbers):
        raise ValueError(f"{len(plain)} values, but {len(numbers)} counts")
    if min(numbers) < 0 or {*map(type, numbers)} - {int, bool}:
        raise ValueError("a count is a whole number from 0 on")
    if not all(map(operator.le, plain, plain[1:])):  # most programs print them in order
        pairs = sorted(zip(plain, numbers, strict=True))
        plain, numbers = [value for value, _ in pairs], [count for _, count in pairs]
    ends = list(accumulate(numbers))  # a value stands at the places before its end
    if not ends[-1]:
        raise ValueError("quantile of no values")
    place = int(ends[-1] - 1) * exact_share(q)
    index = math.floor(place)
    low, rest = plain[bisect_right(ends, index)], place - index
    high = plain[bisect_right(ends, index + 1)] if rest else low
    return low if low == high else _divided(Fraction(low) + rest * (Fraction(high) - Fraction(low)))


def iqr(values: Values) -> Number:
    """Interquartile range: quantile 0.75 minus quantile 0.25."""
    ordered = sorted(_plain(values, "IQR"))
    quarter = Fraction(1, 4)
    return _quantile(ordered, 3 * quarter) - _quantile(ordered, quarter)


def mad(values: Values) -> Number:
    """Median absolute deviation from the median, not scaled to a normal distribution's sd."""
    plain = _plain(values, "MAD")
    ordered = sorted(plain)
    twice = ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
    return _halved(median([abs(2 * value - twice) for value in plain]))


def sd(values: Values) -> float:
    """Sample standard deviation (n - 1). ValueError for fewer than two values."""
    plain = _plain(values, "sd")
    n = len(plain)
    if n < 2:
        raise ValueError("sd needs two values, there is one")
    added = sum(plain)
    if isinstance(added, int):
        squares = n * sum(value * value for value in plain) - added * added
        return math.sqrt(squares / (n * (n - 1)))
    centre = mean(plain)
    return math.sqrt(math.fsum((value - centre) * (value - centre) for value in plain) / (n - 1))


def cv(values: Values) -> float:
    """Coefficient of variation: sd (n - 1) over mean. ValueError for a mean of zero."""
    spread, centre = sd(values), mean(values)
    if centre == 0:
        raise ValueError("cv is undefined, the mean is zero")
    return spread / centre


def groups(values: Values) -> Groups | None:
    """Return the two groups that `values` fall into, or None.

    Of the gaps between sorted neighbours with two or more values on either side (so that a lone
    outlier hides none), the largest must exceed 25% of its lower value: above zero any gap does.
    """
    plain = _plain(values, "groups")
    order = sorted(range(len(plain)), key=plain.__getitem__)
    ordered = [plain[index] for index in order]
    pairs = enumerate(pairwise(ordered[1:-1]), 2)
    gaps = [at for at, (low, high) in pairs if GROUP_GAP * (high - low) > abs(low)]
    split, largest = 0, 0.0
    for at in gaps:
        lower = ordered[at - 1]
        relative = (ordered[at] - lower) / abs(lower) if lower else math.inf
        if relative > largest:
            split, largest = at, relative
    if not split:
        return None
    low, high = ordered[:split], ordered[split:]
    return Groups(len(low), len(high), _middle(low), _middle(high), tuple(sorted(order[split:])))


def explained_by(values: Values, other: Values, found: Groups) -> Literal["yes", "no"]:
    """Say whether `other`, one number for each of `values`, explains the two groups `found`.

    It does if the ratio of its medians in the two groups, direct or inverse, accounts for at
    least half of the groups' ratio on a logarithmic scale: its square reaches that ratio.
    Numbers that are not positive have no ratio and explain nothing.
    """
    if len(values) != len(other):
        raise ValueError(f"{len(values)} values, but {len(other)} to explain them")
    plain, chosen = _plain(other, "explanation"), set(found.indices)
    low = median([value for index, value in enumerate(plain) if index not in chosen])
    high = median([value for index, value in enumerate(plain) if index in chosen])
    if min(low, high, found.low_median, found.high_median) <= 0:
        return "no"
    ratio = Fraction(max(low, high)) / Fraction(min(low, high))
    wanted = Fraction(found.high_median) / Fraction(found.low_median)
    return "yes" if ratio * ratio >= wanted else "no"


def _median_ranks(n: int, seed: int, resamples: int) -> Iterator[NDArray[np.uint64]]:
    """Yield, in pieces, the two middle ranks of each resample of n sorted values.

    Index i of the stream is ((w >> 32) * n) >> 32 for the i-th raw word w of PCG64(seed): the
    multiply-shift of Lemire (2019) without his rejection, so that the number of words does not
    depend on their values; its bias is below n / 2**32. A piece holds whole resamples, hence the
    size of the pieces changes no result.
    """
    import numpy as np

    generator = np.random.PCG64(seed)
    rows, half = max(1, WORDS_AT_ONCE // n), np.uint64(32)
    middle = sorted({(n - 1) // 2, n // 2})
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        words: NDArray[np.uint64] = generator.random_raw(count * n)
        ranks = (((words >> half) * np.uint64(n)) >> half).reshape(count, n)
        ranks.partition(middle, axis=1)
        yield ranks[:, [(n - 1) // 2, n // 2]]


def median_interval(
    values: Values, seed: int, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """Percentile bootstrap interval of the median (Efron 1979), a pure function of its arguments.

    The ends are quantiles (type 7) of the medians of `resamples` resamples drawn with the raw
    words of PCG64(seed), whose stream numpy guarantees.
    """
    ordered = sorted(_plain(values, "median interval"))
    if resamples < 1 or not 0 < level < 1 or len(ordered) >= 1 << 32:
        raise ValueError(f"no interval of {resamples} resamples at level {level}")
    medians: list[Number] = []
    for ranks in _median_ranks(len(ordered), seed, resamples):
        medians += [
            ordered[i] if ordered[i] == ordered[j] else _halved(ordered[i] + ordered[j])
            for i, j in ranks.tolist()
        ]
    medians.sort()
    tail = (1 - exact_share(level)) / 2
    return Interval(_middle(ordered), _quantile(medians, tail), _quantile(medians, 1 - tail))


def ratio_interval(
    a: Values, b: Values, seed: int, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """Bootstrap interval of the median of the paired ratios a[i] / b[i] (pairs of one round)."""
    above, below = _plain(a, "ratio"), _plain(b, "ratio")
    if len(above) != len(below):
        raise ValueError(f"{len(above)} values cannot be paired with {len(below)}")
    if 0 in below:
        raise ValueError("a ratio to zero is undefined")
    ratios = [x / y for x, y in zip(above, below, strict=True)]
    return median_interval(ratios, seed, resamples, level)
