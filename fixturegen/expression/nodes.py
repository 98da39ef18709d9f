"""What an expression is made of, what each piece is worth, and the error that shows a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, structs

from fixturegen.errors import SpecError
from fixturegen.expression.functions import Function, Type
from fixturegen.expression.values import (
    UNARY,
    Number,
    Scope,
    Unknown,
    Value,
    column,
    combined,
    joined,
    mapped,
    merged,
    number,
)
from fixturegen.visible import escape

PARAMS = "params."
MAX_SHOWN = 100  # characters of an expression that an error shows


class Node(Struct, frozen=True):
    """A piece of an expression: `source` is its text, which begins at `at`."""

    at: int
    source: str

    def value(self, scope: Scope) -> Value:
        """Return what it is worth."""
        raise NotImplementedError

    def unknown(self, why: str) -> Unknown:
        """Return that it has no value."""
        return Unknown((f"'{self.source}': {why}",))


class Constant(Node, frozen=True):
    """A number, True or False."""

    given: Number

    def value(self, scope: Scope) -> Value:
        return self.given


class Path(Node, frozen=True):
    """A dotted name."""

    name: str

    def value(self, scope: Scope) -> Value:
        return scope.value(self.name)


class Part(Node, frozen=True):
    """Of a vector: the element at one end, or the slice of three: start, stop, step."""

    base: Node
    ends: tuple[Node | None, ...]

    @property
    def single(self) -> bool:
        """Whether it is one element."""
        return len(self.ends) == 1

    def value(self, scope: Scope) -> Value:
        # of a plain path only the part that is taken is read: a column may be long
        base = self.base
        vector = scope.raw(base.name) if isinstance(base, Path) else base.value(scope)
        ends = [None if end is None else _whole(end, scope) for end in self.ends]
        whole = [end for end in ends if not isinstance(end, Unknown)]
        if isinstance(vector, Unknown) or len(whole) < len(ends):
            return merged(vector, *ends)
        if isinstance(vector, int | float | str):
            return self.unknown(f"'{base.source}' is one number")
        if not self.single:
            if whole[-1] == 0:
                return self.unknown("the step is zero")
            return column(vector[slice(*whole)], base.source)
        try:
            return number(vector[whole[0] or 0], base.source)
        except IndexError:
            return self.unknown(f"index {whole[0]} of {len(vector)} values")


def _whole(node: Node, scope: Scope) -> int | Unknown:
    position = node.value(scope)
    if isinstance(position, float) and position.is_integer():
        return int(position)
    if isinstance(position, int | Unknown):
        return position
    return Unknown((f"index '{node.source}' is {position}, not a whole number",))


class Unary(Node, frozen=True):
    """`-` of a number or `not` of a condition."""

    operator: str
    operand: Node

    def value(self, scope: Scope) -> Value:
        return mapped(UNARY[self.operator], self.operand.value(scope))


class Binary(Node, frozen=True):
    """Two numbers with one of + - * / // % or a comparison between them."""

    operator: str
    left: Node
    right: Node

    def value(self, scope: Scope) -> Value:
        left, right = self.left.value(scope), self.right.value(scope)
        return combined(self.operator, left, right, self.source)


class Logic(Node, frozen=True):
    """Conditions, joined by `and` or `or`; `a < b < c` is `a < b and b < c`."""

    operator: str
    operands: tuple[Node, ...]

    def value(self, scope: Scope) -> Value:
        return joined(self.operator, [part.value(scope) for part in self.operands], self.source)


class Call(Node, frozen=True):
    """A function and its arguments."""

    function: Function
    arguments: tuple[Node, ...]

    @property
    def over_vectors(self) -> bool:
        """Whether it takes vectors, and gives one number."""
        return self.function.over_vectors(len(self.arguments))

    @property
    def vectors(self) -> tuple[Node, ...]:
        """The arguments that must be vectors, or may be if the function is `mixed`."""
        count = len(self.arguments) if self.function.mixed else self.function.vectors
        return self.arguments[:count] if self.over_vectors else ()

    def value(self, scope: Scope) -> Value:
        function, values = self.function, [part.value(scope) for part in self.arguments]
        if any(isinstance(value, Unknown) for value in values):
            return merged(*values)
        if function.elementwise:
            return mapped(function.run, values[0])
        run, lists = function.run, [isinstance(value, list) for value in values]
        if function.several and not self.over_vectors:
            run = function.several
            if any(lists):
                return Unknown((f"'{self.source}' of several arguments takes single numbers",))
        elif not function.mixed and not all(lists[: function.vectors]):
            # `True or x > 1` with an unknown `x` is true, but of how many?
            paths = merged(*(part.value(scope) for part in walk(self) if isinstance(part, Path)))
            return paths if paths.reasons else Unknown((f"'{self.source}' needs a vector",))
        try:
            return run(*values)
        except (ValueError, OverflowError) as error:
            return self.unknown(str(error))


class Expression(Struct, frozen=True, eq=False):
    """A parsed expression. `text` is what was written, with every white space as one blank.

    `paths` are the names in it, each once, in order.
    """

    text: str
    root: Node
    paths: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


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


def children(node: Node) -> list[Node]:
    """Return the nodes directly inside `node`, in the order in which they are written."""
    parts: list[Node] = []
    for name in node.__struct_fields__:
        part = getattr(node, name)
        parts += [
            one for one in (part if isinstance(part, tuple) else (part,)) if isinstance(one, Node)
        ]
    return parts


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return `node` with each node directly inside replaced."""
    parts: dict[str, object] = {}
    for name in node.__struct_fields__:
        part = getattr(node, name)
        if isinstance(part, Node):
            parts[name] = change(part)
        elif isinstance(part, tuple):
            parts[name] = tuple(change(one) if isinstance(one, Node) else one for one in part)
    return structs.replace(node, **parts)


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything inside, in the order in which they are written."""
    yield node
    for child in children(node):
        yield from walk(child)


def type_of(node: Node) -> Type:
    """Return what `node` is: a number (or a vector of them) or a condition."""
    match node:
        case Part(base=part) | Unary(operand=part):
            return type_of(part)
        case Call(function=function):
            return function.gives
        case (
            Logic()
            | Constant(given=bool())
            | Binary(operator="<" | "<=" | ">" | ">=" | "==" | "!=")
        ):
            return "condition"
    return "number"
