"""Names and shapes, known before anything was measured; and metrics: one number a sample."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from fixturegen.errors import nearest
from fixturegen.expression.nodes import (
    Call,
    Expression,
    ExpressionError,
    Node,
    Part,
    Path,
    children,
    walk,
)
from fixturegen.expression.values import Number, Scope, Unknown

Shape: TypeAlias = Literal["vector", "scalar"]
Shapes: TypeAlias = Mapping[str, Shape]

RESULT_BITS = 1023  # of a metric's value; below what a float can hold


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
        if isinstance(node, Call) and node.function.only == "claims":
            what = f"{node.function.name}() is for claims"
            raise ExpressionError(what, expr.text, node.at, "in a metric write all()")
    if shape_of(expr, expr.root, names) == "vector":
        advice = "take one element [0], or median() of it"
        raise ExpressionError("a metric is one number, not a vector", expr.text, 0, advice)


def shape_of(expr: Expression, node: Node, names: Shapes) -> Shape:
    """Return whether `node` is a vector; SpecError where one is needed and the other stands."""
    match node:
        case Path(name=name):
            return names[name]
        case Part(base=base, single=single):
            _need_vector(expr, base, names, "[]")
            return "scalar" if single else "vector"
        case Call():
            return _shape_of_call(expr, node, names)
    shapes = [shape_of(expr, child, names) for child in children(node)]
    return "vector" if "vector" in shapes else "scalar"


def _shape_of_call(expr: Expression, node: Call, names: Shapes) -> Shape:
    if node.function.elementwise:
        return shape_of(expr, node.arguments[0], names)
    name, vectors = f"{node.function.name}()", node.vectors
    for argument in node.arguments[len(vectors) :]:
        if shape_of(expr, argument, names) == "vector":
            what = f"{name} of several arguments takes single numbers, not vectors"
            raise ExpressionError(what, expr.text, argument.at)
    for argument in vectors:
        if node.function.mixed and len(vectors) > 1:
            shape_of(expr, argument, names)
        else:
            _need_vector(expr, argument, names, name)
    return "scalar"


def _need_vector(expr: Expression, node: Node, names: Shapes, what: str) -> None:
    if shape_of(expr, node, names) != "vector":
        single = f"{what} needs a vector, '{node.source}' is one number"
        raise ExpressionError(single, expr.text, node.at)


def evaluate_metric(expr: Expression, scope: Scope) -> Number | Unknown:
    """Return the metric of one sample, or why it has none; a condition counts as 1 or 0."""
    result = expr.root.value(scope)
    if isinstance(result, list):
        return Unknown((f"'{expr.text}' is a vector, not one number",))
    if isinstance(result, int):
        if result.bit_length() > RESULT_BITS:
            return Unknown((f"'{expr.text}' is too large",))
        return int(result)
    return result
