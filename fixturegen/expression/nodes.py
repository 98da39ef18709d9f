"""What an expression is made of, and the error that shows the place where it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias

from msgspec import Struct, field

from fixturegen.errors import SpecError
from fixturegen.expression.functions import FUNCTIONS, Type
from fixturegen.visible import escape

PARAMS = "params."
MAX_SHOWN = 100  # characters of an expression that an error shows


class Node(Struct, frozen=True):
    """A piece of an expression; it stands at text[at:end]."""

    at: int
    end: int


class Number(Node, frozen=True):
    """A constant."""

    value: int | float


class Truth(Node, frozen=True):
    """True or False."""

    value: bool


class Path(Node, frozen=True):
    """A dotted name."""

    name: str


class Index(Node, frozen=True):
    """One element of a vector."""

    base: Node
    index: Node


class Slice(Node, frozen=True):
    """Part of a vector."""

    base: Node
    start: Node | None
    stop: Node | None
    step: Node | None


class Unary(Node, frozen=True):
    """`-` of a number or `not` of a condition."""

    operator: str
    operand: Node


class Arithmetic(Node, frozen=True):
    """Two numbers, joined by one of + - * / // %."""

    operator: str
    left: Node
    right: Node


class Comparison(Node, frozen=True):
    """A chain of comparisons: as many operators as operands, less one."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]


class Logic(Node, frozen=True):
    """Conditions joined by `and` or `or`."""

    operator: str
    operands: tuple[Node, ...]


class Call(Node, frozen=True):
    """A named function and its arguments."""

    function: str
    arguments: tuple[Node, ...]


Run: TypeAlias = Callable[[Any], Any]


class Expression(Struct, frozen=True, eq=False):
    """A parsed expression. `text` is what was written, with every white space as one blank.

    `paths` and `functions` are the names in it, each once, in order. `compiled` is a cell that
    keeps what `evaluate_metric` compiled, so that a sample pays only for the evaluation.
    """

    text: str
    root: Node
    paths: tuple[str, ...]
    functions: tuple[str, ...]
    compiled: list[Run] = field(default_factory=list)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def source(self, node: Node) -> str:
        """Return the text of `node`."""
        return self.text[node.at : node.end]


class ExpressionError(SpecError):
    """An expression that is wrong: its text, the position of the fault, what to do next."""

    def __init__(self, what: str, text: str, at: int, advice: str = "") -> None:
        self.text, self.at = text, at
        super().__init__(what + (f"; {advice}" if advice else ""), quoted=_pointed(text, at))


def _pointed(text: str, at: int) -> tuple[str, str]:
    """Return the text and a caret below position `at`, cut around it if it is long."""
    start = max(0, at - MAX_SHOWN // 2) if len(text) > MAX_SHOWN else 0
    before, after = escape(text[start:at]), escape(text[at : start + MAX_SHOWN])
    dots = "..." if start else ""
    tail = "..." if start + MAX_SHOWN < len(text) else ""
    return f"{dots}{before}{after}{tail}", f"{' ' * len(dots + before)}^"


def nearest(name: str, known: Collection[str], few: int = 8) -> str:
    """Return advice for an unknown name: the nearest known one, else all if they are `few`."""
    import difflib

    near = difflib.get_close_matches(name, sorted(known), 1)
    if near:
        return f"did you mean '{near[0]}'?"
    if 0 < len(known) <= few:
        return "known: " + ", ".join(sorted(known))
    return ""


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly inside `node`, in the order in which they are written."""
    match node:
        case Index(base=base, index=index):
            return (base, index)
        case Slice(base=base, start=start, stop=stop, step=step):
            return tuple(part for part in (base, start, stop, step) if part)
        case Unary(operand=operand):
            return (operand,)
        case Arithmetic(left=left, right=right):
            return (left, right)
        case Comparison(operands=operands) | Logic(operands=operands):
            return operands
        case Call(arguments=arguments):
            return arguments
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything inside, in the order in which they are written."""
    yield node
    for child in children(node):
        yield from walk(child)


def type_of(node: Node) -> Type:
    """Return what `node` is: a number (or a vector of them) or a condition."""
    match node:
        case Truth() | Comparison() | Logic() | Unary(operator="not"):
            return "condition"
        case Call(function=function):
            return FUNCTIONS[function].gives
        case Slice(base=base) | Index(base=base):
            return type_of(base)
    return "number"
