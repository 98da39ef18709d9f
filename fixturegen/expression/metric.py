"""Expressions over the lines of one sample: compiled once to closures, then run per sample."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fixturegen.expression.functions import FUNCTIONS
from fixturegen.expression.nodes import (
    Arithmetic,
    Call,
    Comparison,
    Expression,
    Index,
    Logic,
    Node,
    Number,
    Path,
    Run,
    Slice,
    Truth,
    Unary,
)
from fixturegen.units import to_exact
from fixturegen.visible import escape

Binary: TypeAlias = Callable[[Any, Any], Any]

MAX_BITS = 1023  # of a metric's value; below what a float can hold

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
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}
UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "not": operator.not_}


class EvaluationError(ValueError):
    """A metric has no value for this sample: no lines, a division by zero, an index too far."""


def evaluate_metric(expr: Expression, values: Mapping[str, Any]) -> int | float:
    """Return the metric of one sample; a condition counts as 1 or 0.

    `values` maps paths to columns (lists, or arrays of numpy) and single numbers; exact decimal
    text in them is read as a float. EvaluationError says why a sample has no value.
    """
    if not expr.compiled:
        expr.compiled.append(compile_node(expr, expr.root))
    result = expr.compiled[0](values)
    if isinstance(result, float) and math.isfinite(result):
        return result
    if not isinstance(result, int):
        kind = "a vector, not one number" if isinstance(result, list) else "not finite"
        raise EvaluationError(f"'{expr.text}' is {kind}")
    if result.bit_length() > MAX_BITS:
        raise EvaluationError(f"'{expr.text}' is too large")
    return int(result)


def single(value: Any, path: str) -> int | float:
    """Return a scalar as a Python number; EvaluationError if it is not a finite one."""
    if hasattr(value, "item"):
        value = value.item()
    try:
        number = float(to_exact(value)) if isinstance(value, str) else value
    except ValueError as error:
        raise EvaluationError(f"{path}: {error}") from None
    if not isinstance(number, int | float) or number - number != 0:
        raise EvaluationError(f"{path}: {escape(repr(value), 40)} is not a finite number")
    return number


def column(values: Any, path: str) -> list[int | float]:
    """Return a vector as a list of finite Python numbers."""
    plain = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(plain, list):
        plain = list(plain)
    try:
        added = sum(plain)  # one C loop finds text, NaN and infinities
        if added - added == 0:
            return plain
    except (TypeError, OverflowError):
        pass
    return [single(value, path) for value in plain]


def compile_node(expr: Expression, node: Node) -> Run:
    """Return a function of the values that gives the value of `node`."""
    match node:
        case Number(value=value) | Truth(value=value):
            return lambda values: value
        case Path(name=name):
            return _path(name)
        case Index() | Slice():
            return _part(expr, node)
        case Unary(operator=word, operand=operand):
            return _elementwise(UNARY[word], compile_node(expr, operand))
        case Arithmetic(operator=word, left=left, right=right):
            return _binary(expr, node, word, compile_node(expr, left), compile_node(expr, right))
        case Comparison():
            return _comparison(expr, node)
        case Logic(operator=word, operands=operands):
            return _logic(expr, node, word, [compile_node(expr, part) for part in operands])
        case Call():
            return _call(expr, node)
    raise TypeError(node)


def _raw(name: str) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        try:
            return values[name]
        except KeyError:
            raise EvaluationError(f"'{name}' was not measured") from None

    return run


def _path(name: str) -> Run:
    fetch = _raw(name)

    def run(values: Mapping[str, Any]) -> Any:
        value = fetch(values)
        if value.__class__ is int:
            return value
        one = isinstance(value, str) or not hasattr(value, "__len__")
        return single(value, name) if one else column(value, name)

    return run


def _whole(expr: Expression, node: Node | None) -> Run:
    if node is None:
        return lambda values: None
    evaluate = compile_node(expr, node)
    if isinstance(node, Number):
        return evaluate

    def run(values: Mapping[str, Any]) -> int:
        position = evaluate(values)
        if isinstance(position, float) and position.is_integer():
            return int(position)
        if not isinstance(position, int):
            raise EvaluationError(f"index '{expr.source(node)}' is {position}, not a whole number")
        return position

    return run


def _part(expr: Expression, node: Index | Slice) -> Run:
    source, base = expr.source(node), node.base
    name = base.name if isinstance(base, Path) else expr.source(base)
    # of a plain path only the part that is taken is looked at: a column may be long
    fetch = _raw(base.name) if isinstance(base, Path) else compile_node(expr, base)
    if isinstance(node, Index):
        position = _whole(expr, node.index)

        def element(values: Mapping[str, Any]) -> Any:
            vector, index = fetch(values), position(values)
            try:
                value = vector[index]
            except IndexError:
                said = f"'{source}': index {index} of {len(vector)} values"
                raise EvaluationError(said) from None
            except TypeError:
                raise EvaluationError(f"'{source}': '{name}' is one number") from None
            return value if value.__class__ in (int, bool) else single(value, name)

        return element
    ends = [_whole(expr, end) for end in (node.start, node.stop, node.step)]

    def part(values: Mapping[str, Any]) -> Any:
        start, stop, step = (end(values) for end in ends)
        if step == 0:
            raise EvaluationError(f"'{source}': the step is zero")
        try:
            return column(fetch(values)[start:stop:step], name)
        except TypeError:
            raise EvaluationError(f"'{source}': '{name}' is one number") from None

    return part


def _binary(expr: Expression, node: Node, word: str, left: Run, right: Run) -> Run:
    source = expr.source(node)
    return lambda values: apply_binary(word, left(values), right(values), source)


def apply_binary(word: str, a: Any, b: Any, source: str) -> Any:
    """Apply an operator to two numbers, two vectors of equal length, or one of each."""
    apply = BINARY[word]
    try:
        if a.__class__ is list:
            if b.__class__ is not list:
                result = [apply(one, b) for one in a]
            elif len(a) != len(b):
                raise EvaluationError(f"'{source}': {len(a)} values against {len(b)}")
            else:
                result = list(map(apply, a, b))
        elif b.__class__ is list:
            result = [apply(a, one) for one in b]
        else:
            result = apply(a, b)
            if result.__class__ is float and not math.isfinite(result):
                raise OverflowError
            return result
        return column(result, f"'{source}'")
    except ZeroDivisionError:
        raise EvaluationError(f"division by zero in '{source}'") from None
    except OverflowError:
        raise EvaluationError(f"'{source}' is too large") from None


def _comparison(expr: Expression, node: Comparison) -> Run:
    operands = [compile_node(expr, operand) for operand in node.operands]
    pairs = list(zip(node.operators, operands, operands[1:], strict=False))
    links = [_binary(expr, node, *pair) for pair in pairs]
    return links[0] if len(links) == 1 else _logic(expr, node, "and", links)


def _logic(expr: Expression, node: Node, word: str, parts: list[Run]) -> Run:
    first, *others = parts
    decided, source = word == "or", expr.source(node)

    def run(values: Mapping[str, Any]) -> Any:
        result = first(values)
        for part in others:
            if result is decided:
                return result
            result = apply_binary(word, result, part(values), source)
        return result

    return run


def _call(expr: Expression, node: Call) -> Run:
    name, source = node.function, expr.source(node)
    function = FUNCTIONS[name]
    arguments = [compile_node(expr, argument) for argument in node.arguments]
    if name in ("min", "max") and len(arguments) > 1:
        return _extreme(source, max if name == "max" else min, arguments)
    if function.elementwise:
        return _elementwise(function.run, arguments[0])
    apply, first, others = function.run, arguments[0], arguments[1:]

    def run(values: Mapping[str, Any]) -> Any:
        vector = first(values)
        if vector.__class__ is not list:
            raise EvaluationError(f"'{source}' needs a vector")
        try:
            return apply(vector, *[other(values) for other in others])
        except EvaluationError:
            raise
        except (ValueError, OverflowError) as error:
            raise EvaluationError(f"'{source}': {error}") from None

    return run


def _extreme(source: str, apply: Callable[[list[Any]], Any], arguments: list[Run]) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        found = [argument(values) for argument in arguments]
        if any(isinstance(one, list) for one in found):
            raise EvaluationError(f"'{source}' of several arguments takes single numbers")
        return apply(found)

    return run


def _elementwise(apply: Callable[[Any], Any], operand: Run) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        value = operand(values)
        return [apply(one) for one in value] if value.__class__ is list else apply(value)

    return run
