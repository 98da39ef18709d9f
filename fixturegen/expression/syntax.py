"""The text of an expression to nodes; whatever is not on the allow-list is refused here.

A dotted path is one name: it is taken out of the text before Python's parser sees it, so a path
may hold parts that Python would not accept (`copy.c.64k.first`, `p.rust.global.ns`), and an
attribute of a value can only be an error.
"""

from __future__ import annotations

import ast
import re
import warnings

from fixturegen.expression.functions import FUNCTIONS, Type
from fixturegen.expression.nodes import (
    PARAMS,
    Arithmetic,
    Call,
    Comparison,
    Expression,
    ExpressionError,
    Index,
    Logic,
    Node,
    Number,
    Path,
    Slice,
    Truth,
    Unary,
    nearest,
    type_of,
    walk,
)
from fixturegen.visible import escape

MAX_LENGTH = 2000
MAX_DEPTH = 50
MAX_BITS = 64

PATH = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)+", re.ASCII)
FOREIGN = re.compile(r"[^A-Za-z0-9_.+\-*/%()\[\],:<>=! ]")

ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
FOREIGN_HINTS = {
    '"': "there are no strings in expressions",
    "'": "there are no strings in expressions",
    "&": "write 'and'",
    "|": "write 'or'",
    "^": "there are no powers and no bit operations",
    "~": "write 'not'",
    "#": "there are no comments in expressions",
    "{": "there are no sets, dicts or placeholders in expressions",
}
REFUSED: dict[type[ast.expr], str] = {
    ast.Attribute: "a value has no attributes; a path is one name without spaces",
    ast.Lambda: "lambda is not allowed",
    ast.NamedExpr: "assignment is not allowed",
    ast.IfExp: "if-else is not allowed",
    ast.ListComp: "a comprehension is not allowed",
    ast.GeneratorExp: "a comprehension is not allowed",
    ast.Starred: "'*' before an argument is not allowed",
    ast.List: "a list is not allowed",
    ast.Tuple: "a tuple is not allowed",
    ast.Await: "await is not allowed",
    ast.Yield: "yield is not allowed",
    ast.YieldFrom: "yield is not allowed",
}


def parse(text: str) -> Expression:
    """Parse `text`; SpecError for everything that is not on the allow-list. Names come later."""
    if len(text) > MAX_LENGTH:
        what = f"expression of {len(text)} characters, {MAX_LENGTH} are allowed"
        raise ExpressionError(what, text, 0)
    flat = re.sub(r"[ \t\r\n]", " ", text).strip(" ")
    if not flat:
        raise ExpressionError("empty expression", flat, 0)
    if found := FOREIGN.search(flat):
        what = f"character '{escape(found[0])}' is not allowed"
        raise ExpressionError(what, flat, found.start(), FOREIGN_HINTS.get(found[0], ""))
    root = _Reader(flat).read(_python(flat), 0)
    nodes = tuple(walk(root))
    return Expression(
        flat,
        root,
        tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, Path))),
        tuple(dict.fromkeys(node.function for node in nodes if isinstance(node, Call))),
    )


def _python(flat: str) -> ast.expr:
    """Return Python's tree of `flat`, each path as a name of equal length."""
    masked = PATH.sub(lambda match: "_" * len(match[0]), flat)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "1and 2", "x is 1": wrong, not merely doubtful
            return ast.parse(masked, mode="eval").body
    except SyntaxError as error:
        at = min(error.offset - 1, len(flat)) if error.offset else len(flat)
        assignment = re.search(r"(?<![<>=!])=(?!=)", flat)
        if assignment and "(" not in flat[: assignment.start()]:
            at, advice = assignment.start(), "compare with =="
        else:
            advice = error.msg if "parenthes" in error.msg or "closed" in error.msg else ""
        raise ExpressionError("not an expression", flat, at, advice) from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError("expression is nested too deeply", flat, 0) from None


class _Reader:
    """Turns Python's nodes into ours; any other kind of node is an error."""

    def __init__(self, text: str) -> None:
        self.text = text

    def wrong(self, node: ast.expr | ast.keyword, what: str, advice: str = "") -> ExpressionError:
        return ExpressionError(what, self.text, node.col_offset, advice)

    def read(self, node: ast.expr, depth: int) -> Node:
        if depth >= MAX_DEPTH:
            raise self.wrong(node, f"expression is nested more than {MAX_DEPTH} deep")
        at, end = node.col_offset, node.end_col_offset or len(self.text)
        match node:
            case ast.Constant():
                return self.constant(node, at, end)
            case ast.Name():
                return self.name(node, at, end)
            case ast.Subscript():
                return self.subscript(node, at, end, depth + 1)
            case ast.UnaryOp():
                return self.unary(node, at, end, depth + 1)
            case ast.BinOp():
                return self.arithmetic(node, at, end, depth + 1)
            case ast.Compare():
                return self.comparison(node, at, end, depth + 1)
            case ast.BoolOp():
                return self.logic(node, at, end, depth + 1)
            case ast.Call():
                return self.call(node, at, end, depth + 1)
        raise self.wrong(node, REFUSED.get(type(node), f"{type(node).__name__} is not allowed"))

    def typed(self, node: ast.expr, depth: int, wanted: Type, what: str) -> Node:
        """Read `node` and insist on its type."""
        found = self.read(node, depth)
        if wanted not in ("either", type_of(found)):
            kinds = {"number": "numbers", "condition": "conditions such as a > b"}
            advice = "sum() counts where a condition is true" if what == "count()" else ""
            raise self.wrong(node, f"{what} takes {kinds[wanted]}, not {type_of(found)}s", advice)
        return found

    def constant(self, node: ast.Constant, at: int, end: int) -> Node:
        value = node.value
        if isinstance(value, bool):
            return Truth(at, end, value)
        if not isinstance(value, int | float):
            raise self.wrong(node, f"constant '{self.text[at:end]}' is not a real number")
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise self.wrong(node, f"number does not fit in {MAX_BITS} bits")
        if value in (float("inf"), float("-inf")):
            raise self.wrong(node, "number is too large")
        return Number(at, end, value)

    def name(self, node: ast.Name, at: int, end: int) -> Node:
        written = self.text[at:end]
        if written in FUNCTIONS:
            raise self.wrong(
                node, f"function '{written}' without its arguments", f"write {written}(...)"
            )
        if "." not in written:
            raise self.wrong(node, f"unknown name '{written}'", "a path has at least two parts")
        return Path(at, end, written)

    def subscript(self, node: ast.Subscript, at: int, end: int, depth: int) -> Node:
        base = self.read(node.value, depth)
        if not isinstance(node.slice, ast.Slice):
            return Index(at, end, base, self.position(node.slice, depth))
        lower, upper, step = (
            self.position(part, depth) if part else None
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        )
        return Slice(at, end, base, lower, upper, step)

    def position(self, node: ast.expr, depth: int) -> Node:
        """Read an index: whole constants, parameters and sums of them."""
        found = self.typed(node, depth, "number", "an index")
        for part in walk(found):
            match part:
                case Number(value=int()) | Unary() | Arithmetic(operator="+" | "-" | "*" | "//"):
                    continue
                case Path(name=name) if name.startswith(PARAMS):
                    continue
            raise self.wrong(node, "an index is made of whole numbers and params")
        return found

    def unary(self, node: ast.UnaryOp, at: int, end: int, depth: int) -> Node:
        if isinstance(node.op, ast.Not):
            return Unary(at, end, "not", self.typed(node.operand, depth, "condition", "not"))
        if not isinstance(node.op, ast.USub):
            raise self.wrong(node, "unary + is not allowed")
        return Unary(at, end, "-", self.typed(node.operand, depth, "number", "-"))

    def arithmetic(self, node: ast.BinOp, at: int, end: int, depth: int) -> Node:
        word = ARITHMETIC.get(type(node.op))
        if word is None:
            power = isinstance(node.op, ast.Pow)
            raise self.wrong(
                node, "powers are not allowed" if power else "bit operations are not allowed"
            )
        left = self.typed(node.left, depth, "number", word)
        return Arithmetic(at, end, word, left, self.typed(node.right, depth, "number", word))

    def comparison(self, node: ast.Compare, at: int, end: int, depth: int) -> Node:
        words = [COMPARISONS.get(type(operator), "") for operator in node.ops]
        if "" in words:
            raise self.wrong(node, "'is' and 'in' are not allowed", "compare with ==")
        operands = (
            self.typed(part, depth, "number", words[0]) for part in (node.left, *node.comparators)
        )
        return Comparison(at, end, tuple(words), tuple(operands))

    def logic(self, node: ast.BoolOp, at: int, end: int, depth: int) -> Node:
        word = "and" if isinstance(node.op, ast.And) else "or"
        operands = (self.typed(part, depth, "condition", word) for part in node.values)
        return Logic(at, end, word, tuple(operands))

    def call(self, node: ast.Call, at: int, end: int, depth: int) -> Node:
        target = node.func
        name = self.text[target.col_offset : target.end_col_offset]
        if not isinstance(target, ast.Name) or "." in name:
            raise self.wrong(target, "only a named function can be called")
        if name not in FUNCTIONS:
            raise self.wrong(
                target, f"unknown function '{name}'", nearest(name, FUNCTIONS, len(FUNCTIONS))
            )
        if node.keywords:
            raise self.wrong(node.keywords[0], f"{name}() takes no keyword arguments")
        function, several = FUNCTIONS[name], name in ("min", "max")
        wanted = function.vectors + function.extra
        if len(node.args) != wanted and not (several and len(node.args) > 1):
            raise self.wrong(
                node, f"{name}() takes {wanted} argument{'s'[: wanted > 1]}, not {len(node.args)}"
            )
        types: list[Type] = [function.takes] + ["number"] * (len(node.args) - 1)
        arguments = [
            self.typed(part, depth, wants, f"{name}()")
            for part, wants in zip(node.args, types, strict=True)
        ]
        if name in ("quantile", "hist_quantile"):
            self.quantile(node.args[-1], arguments[-1])
        return Call(at, end, name, tuple(arguments))

    def quantile(self, node: ast.expr, q: Node) -> None:
        if isinstance(q, Number) and not 0 <= q.value <= 1:
            raise self.wrong(node, f"a quantile is between 0 and 1, not {self.text[q.at : q.end]}")
