"""Metrics and claims: parsed, checked against an allow-list, evaluated over vectors.

Python's syntax, read with `ast` and turned into nodes of our own; nothing is ever handed to
`eval`, and no object with methods enters. One evaluator serves both: each node has a value, and
what cannot be known is a value too.
"""

from fixturegen.expression.claim import (
    Broken,
    Measured,
    Verdict,
    check_claim,
    evaluate_claim,
    evaluate_number,
)
from fixturegen.expression.functions import FUNCTIONS, Function
from fixturegen.expression.metric import check_metric, evaluate_metric
from fixturegen.expression.nodes import Expression, ExpressionError
from fixturegen.expression.syntax import parse, substituted
from fixturegen.expression.values import Given, Processes, Scope, Unknown

__all__ = [
    "FUNCTIONS",
    "Broken",
    "Expression",
    "ExpressionError",
    "Function",
    "Given",
    "Measured",
    "Processes",
    "Scope",
    "Unknown",
    "Verdict",
    "check_claim",
    "check_metric",
    "evaluate_claim",
    "evaluate_metric",
    "evaluate_number",
    "parse",
    "substituted",
]
