"""What a column of a table shows: words of its row, or a number that an expression gives.

A template writes `column("iter1", "median(iter1)")`; what it holds is plain data, and becomes a
`Column` again in `table`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from fixturegen.errors import nearest
from fixturegen.model import path_part
from fixturegen.render.mistakes import MisuseError
from fixturegen.report.values import Number, Plain

_FIELD = re.compile(r"\{([\w.-]+)\}")
_RANGE = "-"
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")  # as programs print them
MOST_DECIMALS = 20


class Column(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column. It has either a `text` or `cells`: expressions, written with `join` between."""

    heading: str
    text: str = ""
    marks: dict[str, str] = {}  # metric to the words behind the text where it is not 0
    cells: tuple[str, ...] = ()
    join: str = " / "
    unit: str = ""
    decimals: int | str = 0
    none: str = "-"
    where: str = ""
    histogram: str = ""  # a printed line: the cell is the limit, the column the share above it
    align: Literal["l", "r"] = "r"


def text(
    heading: str,
    text: str = "",
    none: str = "-",
    align: str = "l",
    marks: Mapping[str, str] | None = None,
) -> Plain:
    """Return a column of words: `{mode}` stands for that field of the row, `{rung.words}` for more.

    text: the field called as the heading, if it is not given; marks: metrics, and what stands
    behind the words of a case in which one of them is not 0.
    """
    wanted = text or ("{" + heading + "}")
    return _plain(
        Column(
            heading=heading, text=wanted, none=none, align=_side(align), marks=dict(marks or {})
        )
    )  # fmt: skip


def column(
    heading: str,
    *cells: str,
    unit: str = "",
    decimals: int | str = 0,
    none: str = "-",
    where: str = "",
    join: str = " / ",
    align: str = "r",
) -> Plain:
    """Return a column of numbers: each an expression as claims have them.

    A metric without a path is that of the row's case; a path may leave out what it shares with it.
    unit: `x` for a ratio, `%` for a share, any other is placed behind; decimals: "auto" shows some
    where they say something; none: what stands for a number that there is not; where: only the
    processes in which this metric is not 0, `not METRIC` the others; several cells stand in one
    column with `join` between, and with "-" between equal ones as one.
    """
    if not cells:
        raise MisuseError(f"column({heading!r}): no expression", 'write column("ns", "median(ns)")')
    if decimals is True or (isinstance(decimals, int) and not 0 <= decimals <= MOST_DECIMALS):
        raise MisuseError(f"decimals={decimals}", f'write 0 to {MOST_DECIMALS}, or "auto"')
    return _plain(
        Column(
            heading=heading, cells=cells, unit=unit, decimals=decimals, none=none, where=where,
            join=join, align=_side(align),
        )
    )  # fmt: skip


def count(cell: str, heading: str = "n", where: str = "") -> Plain:
    """Return the column that says how many processes a number is of; 0 if nothing was measured."""
    return column(heading, f"count({cell})", none="0", where=where)


def share_above(heading: str, line: str, limit: str, decimals: int = 1) -> Plain:
    """Return a column: the share of the histogram `line` that is above the number `limit`."""
    return _plain(
        Column(heading=heading, cells=(limit,), histogram=line, unit="%", decimals=decimals)
    )


def per(items: Sequence[Plain], template: Plain) -> list[Plain]:
    """Return `template` once for each item, `{label}` replaced by the item's field `label`.

    A template that is a list gives one list for all; an item that is a text has it as `name`.
    """
    made: list[Plain] = []
    for item in items:
        fields = item if isinstance(item, Mapping) else {"name": item, "text": item}
        filled = _filled(template, fields)
        made += filled if isinstance(filled, list) else [filled]
    return made


def _filled(template: Plain, fields: Mapping[str, Plain]) -> Plain:
    if isinstance(template, str):
        return _FIELD.sub(lambda m: str(fields.get(m[1], m[0])), template)
    if isinstance(template, Mapping):
        return {key: _filled(value, fields) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [_filled(value, fields) for value in template]
    return template


def fill(pattern: str, row: Mapping[str, Plain], *, path: bool = False) -> str:
    """Return a pattern with the row's fields in it; `path`: as parts of a path, and numbers.

    Raises MisuseError with the nearest field for one that the row does not have.
    """

    def value(match: re.Match[str]) -> str:
        of, inner = row, match[1]
        name, _, rest = inner.partition(".")
        while rest and name in of and isinstance(of[name], Mapping):
            of, (name, _, rest) = of[name], rest.partition(".")
        if name not in of:
            raise MisuseError(f"a row has no field {inner!r}", nearest(name, of))
        given = "" if of[name] is None else of[name]
        return _part(given) if path else str(given)

    return _FIELD.sub(value, pattern)


def _part(value: Plain) -> str:
    """Return a field as it stands in an expression: a number, a path or a part of one.

    A text in parentheses is an expression itself.
    """
    if not isinstance(value, str):
        return f"({value})" if isinstance(value, int | float) and value < 0 else str(value)
    if value.startswith("("):
        return value
    if _NUMBER.fullmatch(value):
        return f"({value})"
    return ".".join(path_part(part) for part in value.split("."))


def written(plain: Plain) -> Column:
    """Return the column that a template gave; raises MisuseError if it is none."""
    try:
        return msgspec.convert(plain, Column)
    except msgspec.ValidationError as error:
        hint = 'write text("mode") or column("ns", "median(ns)"), or only headings'
        raise MisuseError(f"table(): not a column: {str(plain)[:80]}", hint) from error


def join_range(cells: Sequence[str], join: str) -> str:
    """Return cells as one; both ends of a range that are equal are written once."""
    same = join == _RANGE and len({*cells}) == 1
    return cells[0] if same else join.join(cells)


def auto(value: Number) -> int:
    """Return the decimals that say something: none of a whole number, and none from 1000 on."""
    if value == int(value) or abs(value) >= 1000:
        return 0
    if abs(value) < 0.01:
        return min(MOST_DECIMALS, 1 - math.floor(math.log10(abs(value))))
    return 1 if abs(value) >= 10 or 10 * value == int(10 * value) else 2


def _side(align: str) -> Literal["l", "r"]:
    if align not in ("l", "r"):
        raise MisuseError(f"align={align!r}", "write l or r")
    return "l" if align == "l" else "r"


def _plain(column: Column) -> Plain:
    return msgspec.to_builtins(column)
