"""Metrics and claims: parsed, checked against an allow-list, evaluated over vectors.

Python's syntax, read with `ast` and turned into nodes of our own; nothing is ever handed to
`eval`, and no object with methods enters.
"""

from fixturegen.expression.check import check_claim, check_metric
from fixturegen.expression.claim import Verdict, evaluate_claim, evaluate_number
from fixturegen.expression.functions import FUNCTIONS
from fixturegen.expression.metric import EvaluationError, evaluate_metric
from fixturegen.expression.nodes import Expression, ExpressionError
from fixturegen.expression.syntax import parse

__all__ = [
    "FUNCTIONS",
    "EvaluationError",
    "Expression",
    "ExpressionError",
    "Verdict",
    "check_claim",
    "check_metric",
    "evaluate_claim",
    "evaluate_metric",
    "evaluate_number",
    "parse",
]
