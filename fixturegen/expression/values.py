"""What an expression is worth: a number, a vector of numbers, or unknown, with the reasons.

An unknown decides nothing. Arithmetic and comparisons with one are unknown; `and`, `or` and `not`
follow Kleene (1938): `a or b` is true if one side is, whatever the other may be.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import TypeAlias, TypeGuard

from msgspec import Struct

from fixturegen.units import parse_number
from fixturegen.visible import escape

Number: TypeAlias = int | float  # of a condition True or False
Given: TypeAlias = int | float | str | Sequence[int | float | str]  # text: exact decimals
Unary: TypeAlias = Callable[[Number], Number]
Binary: TypeAlias = Callable[[Number, Number], Number]


class Unknown(Struct, frozen=True):
    """The value of what was not measured or cannot be computed, and why: each reason once."""

    reasons: tuple[str, ...]


Value: TypeAlias = Number | list[Number] | Unknown

UNARY: dict[str, Unary] = {"-": operator.neg, "not": operator.not_}
BINARY: dict[str, Binary] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class Processes(list[Number]):
    """The values of a path that some processes did not give. of: which processes gave them."""

    def __init__(self, values: Iterable[Number], of: tuple[int, ...]) -> None:
        super().__init__(values)
        self.of = of


class Scope:
    """The names that expressions may use, with what was given for each; a column is read once."""

    def __init__(self, given: Mapping[str, Given]) -> None:
        self._given = given
        self._read: dict[str, Value] = {}

    def raw(self, name: str) -> Given | Unknown:
        """Return what was given; of a long column a part may be all that is needed."""
        given = self._given.get(name)
        return Unknown((f"not measured: {name}",)) if given is None else given

    def value(self, name: str) -> Value:
        """Return the value of a name."""
        raw = self.raw(name)
        if isinstance(raw, int):
            return raw
        known = self._read.get(name)
        if known is None:
            if isinstance(raw, Unknown):
                known = raw
            else:
                known = number(raw, name) if isinstance(raw, float | str) else column(raw, name)
            self._read[name] = known
        return known


def number(given: int | float | str, name: str) -> Number | Unknown:
    """Return a finite number; text is read as the float nearest to the exact decimal."""
    if isinstance(given, int):
        return given
    try:
        read = float(parse_number(given)) if isinstance(given, str) else given
    except ValueError as error:
        return Unknown((f"{name}: {error}",))
    if not isinstance(read, int | float) or read - read != 0:
        return Unknown((f"{name}: {escape(repr(read), 40)} is not a finite number",))
    return read


def column(given: Sequence[int | float | str], name: str) -> list[Number] | Unknown:
    """Return finite numbers; unknown with the first that is none."""
    plain = given if isinstance(given, list) else list(given)
    if _finite(plain):
        return plain
    read: list[Number] = []
    for entry in plain:
        one = number(entry, name)
        if isinstance(one, Unknown):
            return one
        read.append(one)
    return read


def _finite(values: list[int | float | str]) -> TypeGuard[list[Number]]:
    """Whether all are finite numbers: one C loop sees text, NaN and infinities."""
    try:
        added: Number = sum(values)  # type: ignore[arg-type] # text is the TypeError below
    except (TypeError, OverflowError):
        return False
    return added - added == 0


def merged(*values: object) -> Unknown:
    """Return the unknowns among `values` as one, each reason once."""
    reasons = [reason for one in values if isinstance(one, Unknown) for reason in one.reasons]
    return Unknown(tuple(dict.fromkeys(reasons)))


def mapped(apply: Unary, value: Value) -> Value:
    """Apply a function to a number or to each of a vector."""
    if isinstance(value, Unknown):
        return value
    return _like([value], map(apply, value)) if isinstance(value, list) else apply(value)


def combined(word: str, left: Value, right: Value, source: str) -> Value:
    """Apply an operator to two numbers, two vectors of equal length, or one of each."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return merged(left, right)
    apply = BINARY[word]
    try:
        if isinstance(left, list) or isinstance(right, list):
            sides = [side if isinstance(side, list) else repeat(side) for side in (left, right)]
            return _unequal([left, right], source) or column(
                _like([left, right], map(apply, *sides)), f"'{source}'"
            )
        result = apply(left, right)
        if result.__class__ is not float or math.isfinite(result):
            return result
    except ZeroDivisionError:
        return Unknown((f"division by zero in '{source}'",))
    except OverflowError:
        pass
    return Unknown((f"'{source}' is too large",))


def _unequal(values: Sequence[Value], source: str) -> Unknown | None:
    lengths = list(dict.fromkeys(len(value) for value in values if isinstance(value, list)))
    if len(lengths) > 1:
        return Unknown((f"'{source}': {lengths[0]} values against {lengths[1]}",))
    # Of as many processes, and yet not of the same: one lacks what another gave.
    if len({getattr(value, "of", None) for value in values if isinstance(value, list)}) > 1:
        return Unknown((f"'{source}': the values are not of the same processes",))
    return None


def _like(operands: Sequence[Value], values: Iterable[Number]) -> list[Number]:
    """Return the values that came of vectors, of the processes that those are of."""
    of = next((value.of for value in operands if isinstance(value, Processes)), None)
    return list(values) if of is None else Processes(values, of)


def joined(word: str, values: Sequence[Value], source: str) -> Value:
    """Join conditions by `and` or `or`: what decides wins over an unknown, that over the rest.

    Vectors are joined element by element; one with an unknown element is unknown.
    """
    decides = word == "or"
    unknown = merged(*values)
    single: bool | Unknown = unknown if unknown.reasons else not decides
    if any(value is decides for value in values):
        single = decides
    vectors = [value for value in values if isinstance(value, list)]
    if not vectors:
        return single
    if unequal := _unequal(vectors, source):
        return unequal
    if single is decides:
        return _like(vectors, [decides] * len(vectors[0]))
    vector = list(map(any if decides else all, zip(*vectors, strict=True)))
    certain = isinstance(single, bool) or vector.count(decides) == len(vector)
    return _like(vectors, vector) if certain else single
