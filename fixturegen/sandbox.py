"""Jinja on a short lead: plain values, few filters, bounded loops, sizes and recursion.

Jinja's own sandbox keeps a template from reaching Python. This one also keeps it from running
without end, from filling the memory, and from giving another text on another day.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.filters import FILTERS as DEFAULT_FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

STEPS = 1_000_000  # rounds of loops and calls in one text; a report of 3,000 samples needs 100,000
CALL = 4  # steps that a call counts for: it takes some 6 us, a round 1 us
LENGTH = 4_000_000  # of any text or list that a template makes
OUTPUT = 16 << 20  # characters of one rendered text
BITS = 128  # of any whole number
PIECE = 1000  # characters of what is put between or instead of others

# Left out: random (another text each time), attr, and what is about HTML.
KEPT = re.findall(
    r"\w+",
    """
    abs batch center count d default dictsort first float format groupby indent int items join last
    length list lower map max min reject rejectattr replace reverse round select selectattr slice
    sort string sum title trim truncate unique upper wordwrap
    """,
)
_SIZED = ("batch", "center", "indent", "slice", "truncate", "wordwrap")
# In a format: a width of five digits, or one that is taken from the arguments.
_WIDE = re.compile(r"[0-9]{5,}|%[-+ #0]*\*|\{[^{}]*\{")
_COUNTED, _MEASURED = "__counted", "__measured"


class LimitError(Exception):
    """A template that would run too long or grow too large."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Renders the templates of a fixture; `left` is reset for each text."""

    intercepted_binops = frozenset({"**", "*", "%", "+"})

    def __init__(self, **options: Any) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, **options)
        self.left = STEPS
        for name in ("lipsum", "cycler", "joiner"):
            del self.globals[name]
        self.filters = {name: _filter(name) for name in KEPT}
        self.filters |= {_COUNTED: self._counted, _MEASURED: measured}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Refuse an inline `if` without `else`: it would be '' without a word. Add the limits."""
        tree = super()._parse(source, name, filename)
        for inline in tree.find_all(nodes.CondExpr):
            if inline.expr2 is None:
                raise TemplateSyntaxError(
                    "an inline `if` needs an `else`", inline.lineno, name, filename
                )
        _Limits().visit(tree)
        tree.set_environment(self)
        return tree

    def step(self, count: int = 1) -> None:
        """Take `count` steps; raises LimitError when none are left."""
        self.left -= count
        if self.left < 0:
            raise LimitError(f"more than {STEPS} rounds of loops and calls")

    def _counted(self, values: Iterable[Any]) -> list[Any]:
        """Return the values of a loop, counted before its first round."""
        taken = list(itertools.islice(values, self.left + 1))
        self.step(len(taken))
        return taken

    def call(self, context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls; no method of a text may make it huge."""
        self.step(CALL)
        method = getattr(function, "__wrapped__", function)  # Jinja wraps str.format
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str):
            if method.__name__.startswith("format"):
                _check_format(owner)
            else:
                _check_sizes(args)
                _check_pieces(args)
        return measured(super().call(context, function, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Calculate `*`, `**`, `%` and `+` only where the result is small."""
        if operator == "%" and isinstance(left, str):
            _check_format(left)
        if operator == "*":
            for many, times in ((left, right), (right, left)):
                if isinstance(many, str | list | tuple) and isinstance(times, int):
                    _check_length(len(many) * times)
        whole = isinstance(left, int) and isinstance(right, int)
        if operator == "**" and whole and left.bit_length() * right > BITS:
            raise LimitError(f"a number of more than {BITS} bits")
        return measured(super().call_binop(context, operator, left, right))


class _Limits(NodeTransformer):
    """Puts the counting around the values of loops, the measuring around joined texts."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - Jinja finds it by this name
        self.generic_visit(node)
        node.iter = _through(_COUNTED, node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802 - as above
        self.generic_visit(node)
        return _through(_MEASURED, node)


def _through(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def pieces(made: Iterable[str]) -> Iterator[str]:
    """Yield the pieces of a text; raises LimitError when it grows beyond all use."""
    size = 0
    for piece in made:
        size += len(piece)
        if size > OUTPUT:
            raise LimitError(f"a text of more than {OUTPUT} characters")
        yield piece


def measured(value: Any) -> Any:
    """Return `value`; raises LimitError if it is huge."""
    if isinstance(value, str | list | tuple):
        _check_length(len(value))
    if isinstance(value, int) and value.bit_length() > BITS:
        raise LimitError(f"a number of more than {BITS} bits")
    return value


def _filter(name: str) -> Callable[..., Any]:
    """Return Jinja's filter, made to refuse huge widths and results."""
    function = DEFAULT_FILTERS[name]
    first = 2 if hasattr(function, "jinja_pass_arg") else 1  # behind environment and value

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = (*args[first:], *kwargs.values())
        if name == "format":
            _check_format(str(args[0]))
        elif name in _SIZED:
            _check_sizes(given)
        elif name in ("replace", "join"):
            _check_pieces(given)
        return measured(function(*args, **kwargs))

    return run


def _check_format(text: str) -> None:
    if _WIDE.search(text):
        raise LimitError(f"a width in {text[:80]!r}")


def _check_sizes(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, int):
            _check_length(value)


def _check_pieces(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, str) and len(value) > PIECE:
            raise LimitError(f"a piece of {len(value)} characters")


def _check_length(length: int) -> None:
    if length > LENGTH:
        raise LimitError(f"a text or list of {length} elements")
