"""Jinja on a short lead: plain values, few filters, and the same text on any day.

Jinja's own sandbox keeps a template from reaching Python. This one also keeps it from giving
another text on another day: no chance, and no text of a thing whose text is its address. How long
a template runs and how large it grows is the business of `bounds`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.filters import FILTERS as DEFAULT_FILTERS
from jinja2.parser import Parser
from jinja2.runtime import Context as JinjaContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fixturegen.errors import nearest
from fixturegen.render import mistakes

# What a comment of a template begins with, once `preprocess` has seen that a line begins with it;
# no file has the first character.
COMMENT = "\x00//#"

# Left out: random (another text each time), attr, and what is about HTML.
KEPT = re.findall(
    r"\w+",
    """
    abs batch center count d default dictsort first float format groupby indent int items join last
    length list lower map max min reject rejectattr replace reverse round select selectattr slice
    sort string sum title trim truncate unique upper wordwrap
    """,
)


class Function:
    """What a template may call, under its name. It has no text: Python's would be an address."""

    __slots__ = ("function", "name")

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return _steady(self.function(*args, **kwargs), self.name)

    def __repr__(self) -> str:
        raise ValueError(f"{self.name} is a function: write {self.name}(...)")


_PLAIN = frozenset({str, int, float, bool, list, dict, tuple, type(None)})


def _steady(value: Any, name: str) -> Any:
    """Return a value of which every text is the same each time."""
    kind = type(value)
    if kind in _PLAIN or kind is StrictUndefined:
        return value
    if callable(value) and kind is not Function:
        return Function(value, name)
    return list(value) if hasattr(kind, "__next__") else value


def _filter(name: str) -> Callable[..., Any]:
    """Return Jinja's filter, which gives lists instead of generators."""
    function = DEFAULT_FILTERS[name]

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return _steady(function(*args, **kwargs), name)

    return run


FILTERS = {name: _filter(name) for name in KEPT}


class Context(JinjaContext):
    """Gives a template its names."""

    def resolve_or_missing(self, key: str) -> Any:
        """Return the value of a name."""
        return _steady(super().resolve_or_missing(key), key)

    def super(self, name: str, current: Callable[..., Any]) -> Any:
        """Return the block that this one replaces."""
        return _steady(super().super(name, current), "super")


class _Parser(Parser):
    """Refuses an inline `if` without `else`: it would be '' without a word."""

    def parse_condexpr(self) -> nodes.Expr:
        """Return an expression that may have inline `if`s, each in the one after it."""
        whole = inner = super().parse_condexpr()
        while isinstance(inner, nodes.CondExpr):
            if inner.expr2 is None:
                self.fail("an inline `if` needs an `else`", inner.lineno)
            inner = inner.expr1
        return whole


class Sandbox(ImmutableSandboxedEnvironment):
    """Renders the templates of a fixture."""

    context_class = Context

    def __init__(self, **options: Any) -> None:
        # Not optimized: what is constant would be calculated, however large, and put in the code.
        super().__init__(undefined=StrictUndefined, autoescape=False, optimized=False, **options)
        for name in ("lipsum", "cycler", "joiner"):
            del self.globals[name]
        self.filters = dict(FILTERS)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return _Parser(self, source, name, filename).parse()

    def preprocess(self, source: str, name: str | None = None, filename: str | None = None) -> str:
        """Return the source in which only a line that begins with `//#` and a space is a comment.

        Jinja's own rule takes it anywhere: of "irc://#x" it leaves half a string.
        """
        marked = re.sub(r"^([ \t]*)//#(?=[ \t]|$)", rf"\1{COMMENT}", source, flags=re.MULTILINE)
        return super().preprocess(marked if self.line_comment_prefix else source, name, filename)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return `obj.attribute`."""
        owner = obj.function if type(obj) is Function else obj
        value = super().getattr(owner, attribute)
        if type(value) is StrictUndefined and type(owner) is dict and not hasattr(owner, attribute):
            hint = f"there is no {attribute!r} here; {nearest(attribute, map(str, owner))}"
            return self.undefined(hint.removesuffix("; "))
        return _steady(value, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return `obj[argument]`."""
        owner = obj.function if type(obj) is Function else obj
        return _steady(super().getitem(owner, argument), str(argument))

    def call(self, context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls."""
        named = type(function) is Function
        called = function.function if named else function
        try:
            made = super().call(context, called, *args, **kwargs)
        except TypeError as error:
            if named:
                mistakes.arguments(error, called, function.name, (args, kwargs))
            raise
        return _steady(made, function.name if named else "it")
