"""Claims over the processes of a run.

A bare path is the median over the processes; inside a function it is the vector of them. What was
not measured is unknown, and an unknown decides nothing: `a or b` holds if one side holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from fixturegen import stats
from fixturegen.expression.functions import FUNCTIONS
from fixturegen.expression.metric import Shapes, check_names, shape_of
from fixturegen.expression.nodes import (
    PARAMS,
    Call,
    Expression,
    ExpressionError,
    Node,
    Part,
    Path,
    children,
    rebuilt,
    type_of,
    walk,
)
from fixturegen.expression.values import Number, Processes, Scope, Unknown
from fixturegen.model import canonical

Measured: TypeAlias = Number | str | list[Number]
State: TypeAlias = Literal["holds", "fails", "undecided"]


class Broken(Struct, frozen=True):
    """A function over processes that a failed claim rests on, and what it is worth.

    value: of one that gives a number, else None; breaking: of an `each`, the processes of which
    its condition is not true, each with its place among those of the case and what it gave; of:
    all of them.
    """

    source: str
    value: Number | None
    breaking: tuple[tuple[int, tuple[tuple[str, Number], ...]], ...] = ()
    of: int = 0


class Verdict(Struct, frozen=True):
    """What a run says about a claim.

    `used` are the cited paths with processes: path, median, number of processes. `missing` are
    those without. `reason` says why it is undecided, else "". `broken` is of a failed claim what
    medians do not show.
    """

    state: State
    used: tuple[tuple[str, int | float, int], ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    broken: tuple[Broken, ...] = ()


def check_claim(expr: Expression, names: Collection[str]) -> None:
    """Check a claim against every path of the fixture; SpecError if it is not a condition."""
    check_names(expr, names)
    if type_of(expr.root) != "condition":
        advice = "compare it: a > 3 * b"
        raise ExpressionError("a claim is a condition, not a number", expr.text, 0, advice)
    for node in walk(expr.root):
        if isinstance(node, Call) and node.function.only == "metrics":
            what = f"{node.function.name}() is for metrics"
            raise ExpressionError(what, expr.text, node.at)
    shapes: Shapes = {path: "scalar" if is_param(path) else "vector" for path in expr.paths}
    shape_of(expr, _with_medians(expr, expr.root), shapes)
    for node in walk(expr.root):
        for argument in node.vectors if isinstance(node, Call) else ():
            _check_one_case(expr, argument)


def evaluate_claim(expr: Expression, measured: Mapping[str, Measured]) -> Verdict:
    """Judge a claim. `measured` maps a metric's path to its values, `params.*` to one number.

    A path that is absent or has no values was not measured.
    """
    scope = Scope({path: measured[path] for path in expr.paths if measured.get(path, []) != []})
    values = {path: scope.value(path) for path in expr.paths}
    used = tuple(
        (path, stats.median(value), len(value))
        for path, value in values.items()
        if isinstance(value, list)
    )
    missing = tuple(path for path, value in values.items() if isinstance(value, Unknown))
    result = _with_medians(expr, expr.root).value(scope)
    if isinstance(result, Unknown):
        return Verdict("undecided", used, missing, "; ".join(result.reasons))
    if not isinstance(result, bool):
        raise ExpressionError("a claim is a condition, not a number", expr.text, 0)
    if result:
        return Verdict("holds", used, missing)
    return Verdict("fails", used, missing, broken=tuple(_broken(expr.root, scope)))


def _broken(node: Node, scope: Scope) -> Iterator[Broken]:
    """Yield the functions over processes in a failed claim, but those that are true of all."""
    if not isinstance(node, Call) or not node.over_vectors:
        for child in children(node):
            yield from _broken(child, scope)
        return
    value = node.value(scope)
    if node.function.gives == "number" and isinstance(value, int | float):
        yield Broken(node.source, value)
    elif node.function.name == "each" and value is False:
        held = node.arguments[0].value(scope)
        assert isinstance(held, list)  # else it would be unknown
        of = held.of if isinstance(held, Processes) else range(len(held))
        vectors = {
            path.name: given
            for path in _processes(node.arguments[0])
            if isinstance(given := scope.value(path.name), list)
        }
        breaking = tuple(
            (place, tuple((name, given[i]) for name, given in vectors.items()))
            for i, place in enumerate(of)
            if not held[i]
        )
        yield Broken(node.source, None, breaking, len(held))


def evaluate_number(expr: Expression, measured: Mapping[str, Measured]) -> Number | None:
    """Return the number that an expression over processes gives; None if it is unknown.

    `measured` is that of `evaluate_claim`; raises ExpressionError for anything but a number.
    """
    if type_of(expr.root) == "condition":
        raise ExpressionError("a column is a number, not a condition", expr.text, 0)
    scope = Scope({path: measured[path] for path in expr.paths if measured.get(path, []) != []})
    shapes: Shapes = {path: "scalar" if is_param(path) else "vector" for path in expr.paths}
    root = _with_medians(expr, expr.root)
    shape_of(expr, root, shapes)
    result = root.value(scope)
    return None if isinstance(result, Unknown | list) else result


def is_param(path: str) -> bool:
    """Whether `path` names a parameter, which has one known value, and no processes."""
    return path.startswith(PARAMS)


def _with_medians(expr: Expression, node: Node, inside: bool = False) -> Node:
    """Return a claim with the medians that bare paths mean written out."""
    if isinstance(node, Part):
        raise ExpressionError("a claim has no indexes", expr.text, node.at)
    if isinstance(node, Path):
        if inside or is_param(node.name):
            return node
        return Call(node.at, node.source, FUNCTIONS["median"], (node,))
    over = inside or (isinstance(node, Call) and node.over_vectors)
    return rebuilt(node, lambda part: _with_medians(expr, part, over))


def _check_one_case(expr: Expression, argument: Node) -> None:
    cases = {canonical(path.name).rpartition(".")[0]: path for path in _processes(argument)}
    if len(cases) > 1:
        first, second = list(cases)[:2]
        raise ExpressionError(
            f"'{argument.source}' mixes the processes of '{first}' and '{second}'",
            expr.text,
            cases[second].at,
            "processes of two cases have no common order",
        )


def _processes(argument: Node) -> list[Path]:
    """Return the paths in `argument` that stand for the processes, one by one."""
    if isinstance(argument, Path):
        return [] if is_param(argument.name) else [argument]
    if isinstance(argument, Call) and argument.over_vectors:
        return []
    return [path for child in children(argument) for path in _processes(child)]
