"""What is wrong with a template, in its author's words: where, and the nearest name there is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fixturegen import errors
from fixturegen.errors import nearest
from fixturegen.model import Value

Given: TypeAlias = tuple[tuple[Any, ...], Mapping[str, Any]]

LONGEST = 500  # characters: Python puts a whole key, however long, into a message


class Params(dict[str, Value]):
    """The parameters as a template sees them; a type of its own, so that messages can name it."""

    shown = f"'{__name__}.Params object' has no attribute "  # Jinja's words for a wrong key


class MisuseError(errors.SpecError):
    """A template asks for what there is not; it does not know itself in which line."""


class OutsideError(MisuseError):
    """A template asks for another that is outside."""


def said(error: Exception) -> str:
    """Return what went wrong in a template, in its author's words."""
    if isinstance(error, OverflowError):
        return f"too much for a template: {error}"
    if isinstance(error, RecursionError):
        return "includes or calls itself without end"
    message = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return message[:LONGEST]


def place(error: BaseException, shown: str) -> str:
    """Return template and line in which `error` arose: Jinja rewrites the traceback so."""
    place, step = shown, error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name.startswith(("templates/", "(")):  # as templates are called, and no module
            place = f"{name}:{step.tb_lineno}"
        step = step.tb_next
    return place


def near(message: str, values: Mapping[str, Any], functions: Mapping[str, Any]) -> str:
    """Return a hint for an unknown name; of a dict, which may be any, only a close one."""
    if parameter := re.search(r"params has no '(.*)'", message):
        return nearest(parameter[1], values.get("params", {}))
    attribute = re.search(r"attribute '(\w+)'", message)
    if attribute:
        hint = nearest(attribute[1], values.get("params", {}))
        return hint if hint.startswith("did") else ""
    name = re.search(r"'(\w+)' is undefined", message)
    if name and name[1] in values:
        return "an import sees no values unless it ends in `with context`"
    return nearest(name[1], {*values, *functions}) if name else ""


def instead(message: str) -> tuple[str, str]:
    """Return what was refused, and what to write instead of what would change a value."""
    changes = re.search(r"attribute '(append|extend|insert|update|add)' of '(list|dict)'", message)
    if not changes:
        return message, ""
    what = f"a template cannot change values: it cannot call {changes[1]}()"
    if changes[2] == "dict":
        return what, "write {% set d = dict(d, name=value) %}"
    return what, (
        "rows of a table come from cases(...), metrics(...) or per(...); "
        "else write {% set rows = rows + [row] %}"
    )


def arguments(error: TypeError, function: Callable[..., Any], name: str, given: Given) -> None:
    """Raise MisuseError if `error` came of other arguments than the function takes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*given[0], **given[1])
    except TypeError as wrong:
        shown = ", ".join(
            f"{'*' * (p.kind is p.VAR_POSITIONAL)}{p.name}"
            + (f"={p.default!r}" if p.default is not p.empty else "")
            for p in signature.parameters.values()
        )
        raise MisuseError(f"{name}(): {wrong}", f"write {name}({shown})") from error
