"""The functions that expressions may call, with what they take and give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct

from fixturegen import stats

Type = Literal["number", "condition", "either"]


class Function(Struct, frozen=True):
    """One function over a vector.

    `takes` and `gives` are types of values; `vectors` counts the vectors, which come first, `extra`
    the numbers after them; `metrics` and `claims` say where it may stand. `elementwise` gives a
    vector for a vector.
    """

    run: Callable[..., Any]
    takes: Type = "number"
    gives: Type = "number"
    vectors: int = 1
    extra: int = 0
    metrics: bool = True
    claims: bool = True
    elementwise: bool = False


def _first(conditions: Sequence[bool]) -> int:
    """1-based position of the first true element; one more than their number if none is."""
    _some(conditions, "first()")
    return conditions.index(True) + 1 if True in conditions else len(conditions) + 1


def _share(conditions: Sequence[bool]) -> int | float:
    """Share of the elements that are true."""
    _some(conditions, "share()")
    share = Fraction(conditions.count(True), len(conditions))
    return share.numerator if share.denominator == 1 else float(share)


def _all(conditions: Sequence[bool]) -> bool:
    """Whether every element is true; of none it says nothing."""
    _some(conditions, "all()")
    return all(conditions)


def _any(conditions: Sequence[bool]) -> bool:
    """Whether some element is true; of none it says nothing."""
    _some(conditions, "any()")
    return any(conditions)


def _some(values: Sequence[Any], what: str) -> None:
    if not values:
        raise ValueError(f"{what} of no values")


FUNCTIONS: dict[str, Function] = {
    "abs": Function(abs, elementwise=True),
    "all": Function(_all, "condition", "condition"),
    "any": Function(_any, "condition", "condition"),
    "count": Function(len),
    "cv": Function(stats.cv),
    "each": Function(_all, "condition", "condition", metrics=False),
    "first": Function(_first, "condition", claims=False),
    "hist_quantile": Function(stats.counted_quantile, vectors=2, extra=1, claims=False),
    "iqr": Function(stats.iqr),
    "mad": Function(stats.mad),
    "max": Function(stats.maximum),
    "mean": Function(stats.mean),
    "median": Function(stats.median),
    "min": Function(stats.minimum),
    "quantile": Function(stats.quantile, extra=1),
    "sd": Function(stats.sd),
    "share": Function(_share, "condition"),
    "sum": Function(stats.total, "either"),
}
