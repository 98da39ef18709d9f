"""The text of an expression to nodes; whatever is not on the allow-list is refused here.

A dotted path is one name: it is taken out of the text before Python's parser sees it, so a path
may hold parts that Python would not accept (`copy.c.64k.first`, `p.rust.global.ns`), and an
attribute of a value can only be an error.
"""

from __future__ import annotations

import ast
import re
import warnings

from fixturegen.errors import nearest
from fixturegen.expression.functions import FUNCTIONS, Function, Type
from fixturegen.expression.nodes import (
    PARAMS,
    Binary,
    Call,
    Constant,
    Expression,
    ExpressionError,
    Logic,
    Node,
    Part,
    Path,
    Unary,
    type_of,
    walk,
)
from fixturegen.visible import escape

MAX_LENGTH = 2000
MAX_DEPTH = 50
LITERAL_BITS = 64

# `*` is a part of a path if another part follows the point after it: no number does
PATH = re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*|\*(?=\.[A-Za-z_*]))(?:\.(?:\w+|\*(?=\.)))+", re.ASCII)
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
    if foreign := FOREIGN.search(flat):
        what = f"character '{escape(foreign[0])}' is not allowed"
        raise ExpressionError(what, flat, foreign.start(), FOREIGN_HINTS.get(foreign[0], ""))
    root = _Reader(flat).read(_python(flat))
    paths = dict.fromkeys(node.name for node in walk(root) if isinstance(node, Path))
    return Expression(flat, root, tuple(paths))


def substituted(expr: Expression, value: str) -> Expression:
    """Return an expression with `value` where its paths have a `*`."""
    return parse(PATH.sub(lambda match: match[0].replace("*", value), expr.text))


def _python(flat: str) -> ast.expr:
    """Return Python's tree of `flat`, each path as a name of equal length."""
    masked = PATH.sub(lambda match: "_" * len(match[0]), flat)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "1and 2", "x is 1": wrong, not merely doubtful
            tree = ast.parse(masked, mode="eval").body
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
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [part for node in level for part in ast.iter_child_nodes(node)]
    for node in level:
        if isinstance(node, ast.expr):
            what = f"expression is nested more than {MAX_DEPTH} deep"
            raise ExpressionError(what, flat, node.col_offset)
    return tree


class _Reader:
    """Turns Python's nodes into ours; any other kind of node is an error."""

    def __init__(self, text: str) -> None:
        self.text = text

    def wrong(self, node: ast.expr | ast.keyword, what: str, advice: str = "") -> ExpressionError:
        return ExpressionError(what, self.text, node.col_offset, advice)

    def read(self, node: ast.expr) -> Node:
        at = node.col_offset
        source = self.text[at : node.end_col_offset]
        match node:
            case ast.Constant():
                return Constant(at, source, self.constant(node, source))
            case ast.Name():
                return Path(at, source, self.name(node, source))
            case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=step)):
                ends = (self.position(end) if end else None for end in (lower, upper, step))
                return Part(at, source, self.read(node.value), tuple(ends))
            case ast.Subscript():
                return Part(at, source, self.read(node.value), (self.position(node.slice),))
            case ast.UnaryOp():
                word, wanted = self.unary(node)
                return Unary(at, source, word, self.typed(node.operand, wanted, word))
            case ast.BinOp():
                word = self.operator(node)
                left, right = (self.typed(part, "number", word) for part in (node.left, node.right))
                return Binary(at, source, word, left, right)
            case ast.Compare():
                links = self.comparison(node, at, source)
                return links[0] if len(links) == 1 else Logic(at, source, "and", links)
            case ast.BoolOp():
                word = "and" if isinstance(node.op, ast.And) else "or"
                parts = (self.typed(part, "condition", word) for part in node.values)
                return Logic(at, source, word, tuple(parts))
            case ast.Call():
                return Call(at, source, *self.call(node))
        raise self.wrong(node, REFUSED.get(type(node), f"{type(node).__name__} is not allowed"))

    def typed(self, node: ast.expr, wanted: Type, what: str) -> Node:
        """Read `node` and insist on its type."""
        part = self.read(node)
        if wanted not in ("either", type_of(part)):
            kinds = {"number": "numbers", "condition": "conditions such as a > b"}
            advice = "sum() counts where a condition is true" if what == "count()" else ""
            raise self.wrong(node, f"{what} takes {kinds[wanted]}, not {type_of(part)}s", advice)
        return part

    def constant(self, node: ast.Constant, source: str) -> int | float:
        value = node.value
        if not isinstance(value, int | float):
            raise self.wrong(node, f"constant '{source}' is not a real number")
        if isinstance(value, int) and value.bit_length() > LITERAL_BITS:
            raise self.wrong(node, f"number does not fit in {LITERAL_BITS} bits")
        if value in (float("inf"), float("-inf")):
            raise self.wrong(node, "number is too large")
        return value

    def name(self, node: ast.Name, source: str) -> str:
        if source in FUNCTIONS:
            advice = f"write {source}(...)"
            raise self.wrong(node, f"function '{source}' without its arguments", advice)
        if "." not in source:
            raise self.wrong(node, f"unknown name '{source}'", "a path has at least two parts")
        return source

    def position(self, node: ast.expr) -> Node:
        """Read an index: whole constants, parameters and sums of them."""
        position = self.typed(node, "number", "an index")
        for part in walk(position):
            match part:
                case Constant(given=int()) | Unary() | Binary(operator="+" | "-" | "*" | "//"):
                    continue
                case Path(name=name) if name.startswith(PARAMS):
                    continue
            raise self.wrong(node, "an index is made of whole numbers and params")
        return position

    def unary(self, node: ast.UnaryOp) -> tuple[str, Type]:
        if isinstance(node.op, ast.Not):
            return "not", "condition"
        if isinstance(node.op, ast.USub):
            return "-", "number"
        raise self.wrong(node, "unary + is not allowed")

    def operator(self, node: ast.BinOp) -> str:
        word = ARITHMETIC.get(type(node.op))
        if word is None:
            kind = "powers" if isinstance(node.op, ast.Pow) else "bit operations"
            raise self.wrong(node, f"{kind} are not allowed")
        return word

    def comparison(self, node: ast.Compare, at: int, source: str) -> tuple[Node, ...]:
        operators = [COMPARISONS.get(type(operator), "") for operator in node.ops]
        if "" in operators:
            raise self.wrong(node, "'is' and 'in' are not allowed", "compare with ==")
        parts = [
            self.typed(part, "number", operators[0]) for part in (node.left, *node.comparators)
        ]
        links = zip(operators, parts, parts[1:], strict=False)
        return tuple(Binary(at, source, *link) for link in links)

    def call(self, node: ast.Call) -> tuple[Function, tuple[Node, ...]]:
        target, count = node.func, len(node.args)
        name = self.text[target.col_offset : target.end_col_offset]
        if not isinstance(target, ast.Name) or "." in name:
            raise self.wrong(target, "only a named function can be called")
        if name not in FUNCTIONS:
            raise self.wrong(target, f"unknown function '{name}'", nearest(name, FUNCTIONS))
        if node.keywords:
            raise self.wrong(node.keywords[0], f"{name}() takes no keyword arguments")
        function = FUNCTIONS[name]
        if not function.may_have(count):
            wanted = len(function.arguments)
            arguments = "1 argument" if wanted == 1 else f"{wanted} arguments"
            needed = "at least 1 argument" if function.mixed else arguments
            raise self.wrong(node, f"{name}() takes {needed}, not {count}")
        types: list[Type] = [function.takes] + ["number"] * (count - 1)
        pairs = zip(node.args, types, strict=True)
        given = tuple(self.typed(part, wants, f"{name}()") for part, wants in pairs)
        last = given[-1]
        if (
            function.arguments[-1] == "q"
            and isinstance(last, Constant)
            and not 0 <= last.given <= 1
        ):
            what = f"a quantile is between 0 and 1, not {last.source}"
            raise self.wrong(node.args[-1], what)
        return function, given
