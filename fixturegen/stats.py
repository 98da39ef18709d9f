"""Median, quantiles, spreads, two groups: the same number on every machine.

Means and deviations are `statistics`' own, which adds exactly and rounds once, last. Integers stay
integers: a median or a mean of integers is an integer where it is one, however large. So nothing
here depends on the order of the values. Each function takes a sequence, leaves it as it is, and
raises ValueError for no values or for a NaN.
"""

from __future__ import annotations

import math
import operator
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeAlias

Number: TypeAlias = int | float
Values: TypeAlias = Sequence[Number]

GROUP_GAP = 4  # a gap of more than a quarter of the lower value separates two groups


class Groups(NamedTuple):
    """Two groups of processes; `indices` are the positions of the high one, in order."""

    low: int
    high: int
    low_median: Number
    high_median: Number
    indices: tuple[int, ...]


def _checked(values: Values, what: str) -> Values:
    """Return `values`, of which there are some, and none is a NaN."""
    if not values:
        raise ValueError(f"{what} of no values")
    check = sum(values)  # NaN is contagious, and one C loop costs less than a test a value
    if check != check and any(value != value for value in values):
        raise ValueError(f"{what}: a value is not a number")
    return values


def _middle(ordered: Values) -> Number:
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else statistics.mean((low, high))


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
    added = sum(values)
    return added if isinstance(added, int) else math.fsum(values)


def median(values: Values) -> Number:
    """Middle value, or the mean of the two middle ones."""
    return _middle(sorted(_checked(values, "median")))


def mean(values: Values) -> Number:
    """Arithmetic mean; an integer where it is one."""
    return statistics.mean(_checked(values, "mean"))


def minimum(values: Values) -> Number:
    """Smallest value."""
    return min(_checked(values, "minimum"))


def maximum(values: Values) -> Number:
    """Largest value."""
    return max(_checked(values, "maximum"))


def quantile(values: Values, q: Number | Fraction) -> Number:
    """Quantile `q` (0..1) by type 7 of Hyndman and Fan (1996), the default of numpy and R.

    It lies at (n - 1) q in the sorted values, linear between neighbours, computed as a fraction
    and rounded once. `quantile(values, 0.5)` is `median(values)`.
    """
    return _quantile(sorted(_checked(values, "quantile")), exact_share(q))


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
    plain, numbers = _checked(values, "quantile"), _checked(counts, "counts")
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
    ordered = sorted(_checked(values, "IQR"))
    quarter = Fraction(1, 4)
    return _quantile(ordered, 3 * quarter) - _quantile(ordered, quarter)


def mad(values: Values) -> Number:
    """Median absolute deviation from the median, not scaled to a normal distribution's sd."""
    ordered = sorted(_checked(values, "MAD"))
    twice = ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
    doubled = median([abs(2 * value - twice) for value in ordered])
    return statistics.mean((0, doubled))  # half of it


def sd(values: Values) -> float:
    """Sample standard deviation (n - 1). ValueError for one value alone or an infinite one."""
    if len(_checked(values, "sd")) < 2:
        raise ValueError("sd needs two values, there is one")
    if math.inf in values or -math.inf in values:
        raise ValueError("sd: a value is not finite")
    return statistics.stdev(values)


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
    plain = _checked(values, "groups")
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


def explained_by(values: Values, other: Values, split: Groups) -> Literal["yes", "no"]:
    """Say whether `other`, one number for each of `values`, explains the two groups `split`.

    It does if the ratio of its medians in the two groups, direct or inverse, accounts for at
    least half of the groups' ratio on a logarithmic scale: its square reaches that ratio.
    Numbers that are not positive have no ratio and explain nothing.
    """
    if len(values) != len(other):
        raise ValueError(f"{len(values)} values, but {len(other)} to explain them")
    plain, chosen = _checked(other, "explanation"), set(split.indices)
    low = median([value for index, value in enumerate(plain) if index not in chosen])
    high = median([value for index, value in enumerate(plain) if index in chosen])
    if min(low, high, split.low_median, split.high_median) <= 0:
        return "no"
    ratio = Fraction(max(low, high)) / Fraction(min(low, high))
    wanted = Fraction(split.high_median) / Fraction(split.low_median)
    return "yes" if ratio * ratio >= wanted else "no"
