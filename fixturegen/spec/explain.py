"""What msgspec found wrong, in the words of who wrote the file: place, key, value, known names."""

from __future__ import annotations

import re
import typing
from typing import Any

import msgspec

from fixturegen import errors
from fixturegen.spec import schema
from fixturegen.spec.near import nearest

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "date": "a date",
    "time": "a time",
    "datetime": "a date with time",
}
_SHOWN = 100  # characters of a value that a message shows


def explain(
    error: msgspec.ValidationError, raw: dict[str, Any], where: str, languages: typing.Iterable[str]
) -> errors.SpecError:
    """Return the error that names the file, the key, the value and what would be right."""
    message, _, position = str(error).partition(" - at `")
    of_key = position.startswith("key` in `")
    steps = re.findall(r"\[\.\.\.\]|\[\d+\]|[^.\[\]$`]+", position.removeprefix("key` in `"))
    spot = _Spot(raw)
    for step in steps:
        spot.enter(step)
    if of_key:
        spot.enter_key()
    at = spot.place(where)
    unknown = re.search(r"unknown field `(.*)`", message)
    if unknown:
        return errors.SpecError(
            f"{at}: unknown key {unknown[1]!r}", nearest(unknown[1], spot.keys(languages))
        )
    missing = re.search(r"missing required field `(.*)`", message)
    if missing:
        return errors.SpecError(f"{at}: lacks the key {missing[1]!r}")
    wanted, hint = _wanted(message, spot)
    if of_key:
        return errors.SpecError(f"{at}: the name is wrong: {wanted}")
    return errors.SpecError(f"{at}{_shown(spot.value)}: {wanted}", hint)


def _shown(value: Any) -> str:
    """Return ` = VALUE` as the author wrote it; nothing for a list or a table."""
    if isinstance(value, dict | list):
        return ""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    if not isinstance(value, bool | int | float | str):
        text = str(value)
    return f" = {text[:_SHOWN]}{'...' * (len(text) > _SHOWN)}"


def _wanted(message: str, spot: _Spot) -> tuple[str, str]:
    """Return what was expected, and a hint with the nearest of what is known."""
    if message.startswith("Invalid enum value"):
        known = [str(value) for value in _literals(spot.kind) if value]
        also = "a whole number or " if _has(spot.kind, int) else ""
        return f"expected {also}{' or '.join(known)}", nearest(str(spot.value), known)
    pattern = re.search(r"matching regex '(.*)'", message, re.DOTALL)
    if pattern:
        return f"expected {_pattern_words(pattern[1])}", ""
    if message.endswith("of length >= 1"):
        return "must not be empty", ""
    words = re.sub(r"`([^`]*)`", lambda found: _type_words(found[1]), message)
    words = words.replace(", got a number", ", got a number with a point")
    hint = f"write [[{spot.key}]]" if message == "Expected `array`, got `object`" else ""
    return f"{words[0].lower()}{words[1:]}".replace(", got ", ", not "), hint


def _pattern_words(pattern: str) -> str:
    plain = pattern.encode().decode("unicode_escape")
    return schema.WORDS.get(plain) or schema.WORDS.get(pattern) or f"text like {plain}"


def _type_words(written: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in written.split(" | "))


def _literals(kind: Any) -> list[Any]:
    if typing.get_origin(kind) is typing.Literal:
        return list(typing.get_args(kind))
    return [value for part in typing.get_args(kind) for value in _literals(part)]


def _has(kind: Any, wanted: type) -> bool:
    return kind is wanted or any(_has(part, wanted) for part in typing.get_args(kind))


def _bare(kind: Any) -> Any:
    """Return a type without what it is annotated with."""
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    return kind


class _Spot:
    """A place in the file: the value there, its type, and the words that lead to it."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.value: Any = raw
        self.kind: Any = schema.FixtureTable
        self.parts: list[str] = []
        self.key = ""

    def enter(self, step: str) -> None:
        """Follow one step of a msgspec path; `[...]` is the entry of a table that is wrong."""
        if step == "[...]":
            self._enter_entry(self._culprit(1))
        elif step.startswith("["):
            self._enter_item(int(step[1:-1]))
        else:
            fields = {f.encode_name: f.type for f in msgspec.structs.fields(self.kind)}
            self.kind = _bare(fields[step])
            self.value = self.value.get(step) if isinstance(self.value, dict) else None
            self._add(step)

    def enter_key(self) -> None:
        """Go to the entry whose name is wrong."""
        self._enter_entry(self._culprit(0))

    def _enter_entry(self, key: str) -> None:
        self.value, self.kind = self.value.get(key), _bare(typing.get_args(self.kind)[1])
        self._add(key)

    def _enter_item(self, index: int) -> None:
        self.value, self.kind = self.value[index], _bare(typing.get_args(self.kind)[0])
        if not isinstance(self.value, dict):
            self.key += f"[{index}]"
            return
        name = self.value.get("text" if self.key == "claim" else "name")
        shown = repr(name[:_SHOWN]) if isinstance(name, str) else str(index + 1)
        self.parts.append(f"{self.key} {shown}")
        self.key = ""

    def _add(self, name: str) -> None:
        if name != "(flags)":  # our own: authors write `c.ldflags`
            plain = re.fullmatch(r"[\w-]+", name, re.ASCII)
            self.key += f"{'.' if self.key else ''}{name if plain else repr(name)}"

    def _culprit(self, side: int) -> str:
        """Return the first key whose own name (side 0) or value (side 1) cannot be converted."""
        kind = typing.get_args(self.kind)[side]
        for entry in self.value.items():
            try:
                msgspec.convert(entry[side], kind)
            except msgspec.ValidationError:
                return str(entry[0])
        return ""

    def place(self, where: str) -> str:
        """Return file, tables and key, each told apart by a colon."""
        return ": ".join([where, *self.parts, *([self.key] if self.key else [])])

    def keys(self, languages: typing.Iterable[str]) -> list[str]:
        """Return the keys that the table here may have, as an author writes them."""
        names = [f.encode_name for f in msgspec.structs.fields(self.kind)]
        if "(flags)" in names:  # a build: `c.cflags`, `rust.rustflags`
            return [*languages, *(name for name in names if name != "(flags)")]
        return names
