"""Names and shapes: what can be said of a metric or a claim before anything was measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from fixturegen.expression.functions import FUNCTIONS
from fixturegen.expression.nodes import (
    PARAMS,
    Call,
    Expression,
    ExpressionError,
    Index,
    Node,
    Path,
    Slice,
    children,
    nearest,
    type_of,
    walk,
)
from fixturegen.model import canonical

Shape: TypeAlias = Literal["vector", "scalar"]
Shapes: TypeAlias = Mapping[str, Shape]


def check_names(expr: Expression, known: Collection[str]) -> None:
    """Insist that every path is known, also behind an `or`."""
    for node in walk(expr.root):
        if isinstance(node, Path) and node.name not in known:
            what = f"unknown name '{node.name}'"
            raise ExpressionError(what, expr.text, node.at, nearest(node.name, known))


def check_metric(expr: Expression, names: Shapes) -> None:
    """Check a metric against the names of its program; SpecError if it cannot be one number."""
    check_names(expr, names)
    for node in walk(expr.root):
        if isinstance(node, Call) and not FUNCTIONS[node.function].metrics:
            what = f"{node.function}() is for claims"
            raise ExpressionError(what, expr.text, node.at, "in a metric write all()")
    if shape_of(expr, expr.root, names) == "vector":
        advice = "take one element [0], or median() of it"
        raise ExpressionError("a metric is one number, not a vector", expr.text, 0, advice)


def shape_of(expr: Expression, node: Node, names: Shapes) -> Shape:
    """Return whether `node` is a vector; SpecError where one is needed and the other stands."""
    match node:
        case Path(name=name):
            return names[name]
        case Index(base=base) | Slice(base=base):
            _need_vector(expr, base, names, "[]")
            return "scalar" if isinstance(node, Index) else "vector"
        case Call():
            return _shape_of_call(expr, node, names)
    shapes = [shape_of(expr, child, names) for child in children(node)]
    return "vector" if "vector" in shapes else "scalar"


def _shape_of_call(expr: Expression, node: Call, names: Shapes) -> Shape:
    first, *others = node.arguments
    vectors = FUNCTIONS[node.function].vectors
    several = node.function in ("min", "max") and others
    for argument in [first, *others] if several else node.arguments[vectors:]:
        if shape_of(expr, argument, names) == "vector":
            what = f"{node.function}() of several arguments takes single numbers, not vectors"
            raise ExpressionError(what, expr.text, argument.at)
    if several:
        return "scalar"
    if FUNCTIONS[node.function].elementwise:
        return shape_of(expr, first, names)
    for argument in node.arguments[:vectors]:
        _need_vector(expr, argument, names, f"{node.function}()")
    return "scalar"


def _need_vector(expr: Expression, node: Node, names: Shapes, what: str) -> None:
    if shape_of(expr, node, names) != "vector":
        single = f"{what} needs a vector, '{expr.source(node)}' is one number"
        raise ExpressionError(single, expr.text, node.at)


def is_param(path: str) -> bool:
    """Whether `path` names a parameter, which has one known value, and no processes."""
    return path.startswith(PARAMS)


def check_claim(expr: Expression, names: Collection[str]) -> None:
    """Check a claim against every path of the fixture; SpecError if it is not a condition."""
    check_names(expr, names)
    if type_of(expr.root) != "condition":
        raise ExpressionError(
            "a claim is a condition, not a number", expr.text, 0, "compare it: a > 3 * b"
        )
    for node in walk(expr.root):
        if isinstance(node, Index | Slice):
            raise ExpressionError("a claim has no indexes", expr.text, node.at)
        if isinstance(node, Call) and not FUNCTIONS[node.function].claims:
            raise ExpressionError(f"{node.function}() is for metrics", expr.text, node.at)
    _check_calls(expr, expr.root)


def over_processes(node: Node) -> bool:
    """Whether `node` is a function whose first argument takes the processes."""
    return (
        isinstance(node, Call)
        and not FUNCTIONS[node.function].elementwise
        and len(node.arguments) == FUNCTIONS[node.function].vectors + FUNCTIONS[node.function].extra
    )


def _check_calls(expr: Expression, node: Node) -> None:
    if not over_processes(node):
        for child in children(node):
            _check_calls(expr, child)
        return
    shape_of(expr, node, {p: "scalar" if is_param(p) else "vector" for p in expr.paths})
    for part in walk(node):
        if over_processes(part):
            _check_one_case(expr, children(part)[0])


def _check_one_case(expr: Expression, argument: Node) -> None:
    cases = {canonical(path.name).rpartition(".")[0]: path for path in _processes(argument)}
    if len(cases) > 1:
        first, second = list(cases)[:2]
        raise ExpressionError(
            f"'{expr.source(argument)}' mixes the processes of '{first}' and '{second}'",
            expr.text,
            cases[second].at,
            "processes of two cases have no common order",
        )


def _processes(node: Node) -> list[Path]:
    """Return the paths in `node` that stand for the processes, one by one."""
    if isinstance(node, Path):
        return [] if is_param(node.name) else [node]
    if over_processes(node):
        return []
    return [path for child in children(node) for path in _processes(child)]
