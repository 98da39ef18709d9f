"""Claims over the processes of a run, in three-valued logic (Kleene 1938).

A bare path is the median over the processes; inside a function it is the vector of them. What was
not measured is unknown, and an unknown decides nothing: `a or b` holds if one side holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from fixturegen import stats
from fixturegen.expression.check import is_param, over_processes
from fixturegen.expression.metric import (
    UNARY,
    EvaluationError,
    apply_binary,
    column,
    compile_node,
    single,
)
from fixturegen.expression.nodes import (
    Arithmetic,
    Call,
    Comparison,
    Expression,
    ExpressionError,
    Logic,
    Node,
    Number,
    Path,
    Truth,
    Unary,
    walk,
)

State: TypeAlias = Literal["holds", "fails", "undecided"]

SCALAR: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}


class Verdict(Struct, frozen=True):
    """What a run says about a claim.

    `used` are the cited paths with processes: path, median, number of processes. `missing` are
    those without. `reason` says why it is undecided, else "".
    """

    state: State
    used: tuple[tuple[str, int | float, int], ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""


class _Unknown(Struct, frozen=True):
    """A value that was not measured or does not exist, and why."""

    reasons: tuple[str, ...]


def evaluate_claim(
    expr: Expression, processes: Mapping[str, Sequence[int | float] | int | float]
) -> Verdict:
    """Judge a claim. `processes` maps a metric's path to its values, `params.*` to one number.

    A path that is absent or has no values was not measured.
    """
    try:
        given = {path: _given(path, processes[path]) for path in expr.paths if path in processes}
    except EvaluationError as error:
        return Verdict("undecided", reason=str(error))
    values = {path: found for path, found in given.items() if found != []}
    measured = [path for path in expr.paths if path in values and not is_param(path)]
    used = tuple((path, stats.median(values[path]), len(values[path])) for path in measured)
    missing = tuple(path for path in expr.paths if path not in values)
    result = _Judge(expr, values).value(expr.root)
    if isinstance(result, _Unknown):
        return Verdict("undecided", used, missing, "; ".join(result.reasons))
    if not isinstance(result, bool):
        raise ExpressionError("a claim is a condition, not a number", expr.text, 0)
    return Verdict("holds" if result else "fails", used, missing)


def evaluate_number(
    expr: Expression, processes: Mapping[str, Sequence[int | float] | int | float]
) -> int | float | None:
    """Return the number that an expression over processes gives; None if it is unknown.

    `processes` is that of `evaluate_claim`; raises ExpressionError for a condition.
    """
    given = {path: _given(path, processes[path]) for path in expr.paths if path in processes}
    result = _Judge(expr, {p: v for p, v in given.items() if v != []}).value(expr.root)
    if isinstance(result, bool):
        raise ExpressionError("a column is a number, not a condition", expr.text, 0)
    return None if isinstance(result, _Unknown) else result


def _given(path: str, given: Any) -> Any:
    if not is_param(path):
        return column(given, path)
    one = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 1
    return single(given[0] if one else given, path)


class _Judge:
    """Evaluates nodes to a number, a truth, or unknown."""

    def __init__(self, expr: Expression, values: Mapping[str, Any]) -> None:
        self.expr, self.values = expr, values

    def value(self, node: Node) -> Any:
        match node:
            case Number(value=value) | Truth(value=value):
                return value
            case Path(name=name):
                return self.known([name], lambda: self.middle(name))
            case Unary(operator=word, operand=operand):
                return self.applied([operand], UNARY[word])
            case Arithmetic(operator=word, left=left, right=right):
                source = self.expr.source(node)
                return self.applied([left, right], lambda a, b: apply_binary(word, a, b, source))
            case Comparison():
                return self.comparison(node)
            case Logic(operator=word, operands=operands):
                return _joined(word, [self.value(operand) for operand in operands])
            case Call():
                return self.call(node)
        raise ExpressionError("a claim has no indexes", self.expr.text, node.at)

    def middle(self, name: str) -> int | float:
        found = self.values[name]
        return found if is_param(name) else stats.median(found)

    def known(self, paths: Sequence[str], evaluate: Callable[[], Any]) -> Any:
        """Evaluate what needs all of `paths`; unknown if one was not measured."""
        missing = tuple(f"not measured: {path}" for path in paths if path not in self.values)
        if missing:
            return _Unknown(missing)
        try:
            return evaluate()
        except EvaluationError as error:
            return _Unknown((str(error),))

    def applied(self, operands: Sequence[Node], apply: Callable[..., Any]) -> Any:
        found = [self.value(operand) for operand in operands]
        unknown = _gathered(found)
        return unknown or self.known([], lambda: apply(*found))

    def comparison(self, node: Comparison) -> Any:
        found, source = [self.value(operand) for operand in node.operands], self.expr.source(node)
        links = [
            _gathered([a, b]) or apply_binary(word, a, b, source)
            for word, a, b in zip(node.operators, found, found[1:], strict=False)
        ]
        return _joined("and", links)

    def call(self, node: Call) -> Any:
        if over_processes(node):
            paths = list(dict.fromkeys(n.name for n in walk(node) if isinstance(n, Path)))
            run = compile_node(self.expr, node)
            return self.known(paths, lambda: run(self.values))
        return self.applied(node.arguments, SCALAR[node.function])


def _gathered(values: Sequence[Any]) -> _Unknown | None:
    reasons = [reason for one in values if isinstance(one, _Unknown) for reason in one.reasons]
    return _Unknown(tuple(dict.fromkeys(reasons))) if reasons else None


def _joined(word: str, values: Sequence[Any]) -> Any:
    """Join truths: one that decides wins over unknowns, an unknown over the rest."""
    deciding = word == "or"
    if any(value is deciding for value in values):
        return deciding
    return _gathered(values) or not deciding
