"""The functions that expressions may call, with what they take and give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from fixturegen import stats
from fixturegen.expression.values import Number

Type = Literal["number", "condition", "either"]

VALUES, CONDITIONS, EITHER = "values", "conditions", "values or conditions"


class Function(Struct, frozen=True):
    """One function over vectors.

    `arguments` names what it takes, as an author reads it; the first `vectors` are vectors, the
    others single numbers. `does` is one line for the reference. `only`: where it may stand, else
    anywhere. `elementwise`: it gives a vector for a vector. `several`: what it is of two or more
    single numbers. `mixed`: it takes one or more arguments, each a vector or a number.
    """

    name: str
    arguments: tuple[str, ...]
    does: str
    run: Callable[..., Number]
    gives: Type = "number"
    vectors: int = 1
    only: Literal["", "metrics", "claims"] = ""
    elementwise: bool = False
    several: Callable[..., Number] | None = None
    mixed: bool = False

    @property
    def signature(self) -> str:
        """How it is called: `quantile(values, q)`."""
        also = f" or {self.name}(a, b, ...)" if self.several else ""
        return f"{self.name}({', '.join(self.arguments)}){also}"

    @property
    def takes(self) -> Type:
        """What its first argument is."""
        kinds: dict[str, Type] = {CONDITIONS: "condition", EITHER: "either"}
        return kinds.get(self.arguments[0], "number")

    def may_have(self, count: int) -> bool:
        """Whether it can be called with `count` arguments."""
        exact = count == len(self.arguments) and not self.mixed
        return exact or (count > 1 and self.several is not None) or (count > 0 and self.mixed)

    def over_vectors(self, count: int) -> bool:
        """Whether a call with `count` arguments takes vectors, and gives one number."""
        return not self.elementwise and (self.mixed or count == len(self.arguments))


def _first(conditions: Sequence[Number]) -> int:
    _some(conditions, "first()")
    return conditions.index(True) + 1 if True in conditions else len(conditions) + 1


def _share(conditions: Sequence[Number]) -> Number:
    _some(conditions, "share()")
    share = Fraction(conditions.count(True), len(conditions))
    return share.numerator if share.denominator == 1 else float(share)


def _all(conditions: Sequence[Number]) -> bool:
    _some(conditions, "all()")
    return all(conditions)


def _any(conditions: Sequence[Number]) -> bool:
    _some(conditions, "any()")
    return any(conditions)


def _same(*given: Number | Sequence[Number]) -> bool:
    values: list[Number] = []
    for one in given:
        part = [one] if isinstance(one, int | float) else one
        _some(part, "same()")
        values += part
    return values.count(values[0]) == len(values)


def _some(values: Sequence[Number], what: str) -> None:
    if not values:
        raise ValueError(f"{what} of no values")


_ALL = (
    Function("abs", ("x",), "`x` without its sign; of a vector each value", abs, elementwise=True),
    Function("all", (CONDITIONS,), "whether each of them is true", _all, "condition"),
    Function("any", (CONDITIONS,), "whether one of them is true", _any, "condition"),
    Function("count", (VALUES,), "how many there are", len),
    Function("cv", (VALUES,), "coefficient of variation, `sd` over `mean`", stats.cv),
    Function(
        "each",
        (CONDITIONS,),
        "whether it is true of each process",
        _all,
        "condition",
        only="claims",
    ),
    Function(
        "first",
        (CONDITIONS,),
        "place of the first that is true, from 1 on; if none is, one more than their number",
        _first,
        only="metrics",
    ),
    Function(
        "hist_quantile",
        (VALUES, "counts", "q"),
        "quantile `q` of a histogram, in which each value stands as often as its count says",
        stats.counted_quantile,
        vectors=2,
        only="metrics",
    ),
    Function("iqr", (VALUES,), "interquartile range, quantile 0.75 - quantile 0.25", stats.iqr),
    Function("mad", (VALUES,), "median absolute deviation from the median, not scaled", stats.mad),
    Function("max", (VALUES,), "the largest", stats.maximum, several=max),
    Function("mean", (VALUES,), "arithmetic mean", stats.mean),
    Function("median", (VALUES,), "the middle one, or the mean of the two", stats.median),
    Function("min", (VALUES,), "the smallest", stats.minimum, several=min),
    Function("quantile", (VALUES, "q"), "quantile `q`, 0 to 1 (type 7)", stats.quantile),
    Function(
        "same",
        ("a", "b", "..."),
        "whether all numbers, and all values of all vectors, are equal",
        _same,
        "condition",
        mixed=True,
    ),
    Function("sd", (VALUES,), "sample standard deviation (n - 1)", stats.sd),
    Function("share", (CONDITIONS,), "share of them that is true, 0 to 1", _share),
    Function("sum", (EITHER,), "their sum; of conditions, how many are true", stats.total),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _ALL}
