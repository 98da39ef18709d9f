"""Rows and columns to an aligned table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fixturegen import units
from fixturegen.render.mistakes import MisuseError
from fixturegen.report.cells import Cells
from fixturegen.report.columns import Column, auto, fill, join_range, written
from fixturegen.report.formats import ABSENT
from fixturegen.report.values import Number, Plain

Share = Callable[[str, str, Number | None], Number | None]


class Tables:
    """Makes the tables of one run.

    above: the share of a case's histogram that is above a limit (`Attached.above`).
    """

    def __init__(self, cells: Cells, above: Share) -> None:
        self._cells = cells
        self._above = above

    def table(
        self,
        columns: Sequence[Plain],
        rows: Sequence[Plain] | Mapping[str, str],
        align: str = "",
        absent: str = "",
    ) -> str:
        """Return an aligned table.

        columns: what `text`, `column`, `count` and `share_above` give, or only headings: then each
        row is a list of as many texts, and `align` has l or r for each (the first l, others r).
        rows: what `cases`, `metrics`, `groups` or `rounds` give; or dictionaries, texts (the
        fields `name` and `text`), or a mapping of the field `name` to the field `text`.
        absent: what stands in the first column of numbers, where the row's case was not measured;
        the others have `-`.
        """
        if all(isinstance(each, str) for each in columns):
            return aligned(list(columns), _checked(columns, rows, align), align)
        flat = [c for each in columns for c in (each if isinstance(each, list) else [each])]
        known = [written(each) for each in flat]
        if align:
            raise MisuseError("table(): align goes with headings", 'write column(..., align="l")')
        return aligned(
            [column.heading for column in known],
            [self._row(known, row, absent) for row in _fields(rows)],
            "".join(column.align for column in known),
        )

    def _row(self, columns: Sequence[Column], row: Mapping[str, Plain], absent: str) -> list[str]:
        if not absent or row.get("n") != 0:
            return [self._cell(column, row) for column in columns]
        first = next((column for column in columns if column.cells), None)
        return [
            self._cell(column, row) if column.text else absent if column is first else ABSENT
            for column in columns
        ]

    def _cell(self, column: Column, row: Mapping[str, Plain]) -> str:
        if column.text:
            marks = [mark for by, mark in column.marks.items() if self._cells.marked(row, by)]
            return (fill(column.text, row) or column.none) + "".join(marks)
        cells = [cell for each in column.cells if (cell := fill(each, row, path=True))]
        numbers = [self._cells.number(cell, row, column.where) for cell in cells]
        if column.histogram:
            numbers = [self._above(str(row.get("path", "")), column.histogram, numbers[0])]
        known = [number for number in numbers if number is not None]
        if not known:
            return column.none
        texts = [ABSENT if n is None else _digits(n, column, row) for n in numbers]
        unit = column.unit
        return join_range(texts, column.join) + (unit if unit in ("", "x", "%") else f" {unit}")


def _digits(number: Number, column: Column, row: Mapping[str, Plain]) -> str:
    decimals = column.decimals
    if isinstance(decimals, str):
        decimals = auto(number) if decimals == "auto" else _whole(fill(decimals, row))
    if column.unit == "%":
        return units.format_percent(number, decimals).removesuffix("%")
    return units.format_number(number, decimals)


def _whole(written: str) -> int:
    if written.isdecimal() and len(written) < 3:
        return int(written)
    raise MisuseError(f"decimals={written!r}", 'write a number of digits, or "auto"')


def _fields(rows: Sequence[Plain] | Mapping[str, str]) -> list[Mapping[str, Plain]]:
    if isinstance(rows, Mapping):
        return [{"name": name, "text": called} for name, called in rows.items()]
    fields: list[Mapping[str, Plain]] = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping | str):
            hint = "with columns a row is a case, or what has fields"
            raise MisuseError(f"table(): row {number} is a list", hint)
        fields.append({"name": row, "text": row} if isinstance(row, str) else row)
    return fields


def _checked(
    headings: Sequence[str], rows: Sequence[Plain] | Mapping[str, str], align: str
) -> list[list[str]]:
    """Return rows of texts; raises MisuseError for one that is not as long as the headings."""
    wanted = len(headings)
    made = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list | tuple):
            hint = "with headings alone each row is a list of texts"
            raise MisuseError(f"table(): row {number} is not a list", hint)
        wanted = wanted or len(row)
        if len(row) != wanted:
            what = f"row {number} has {len(row)} of {wanted} cells"
            raise MisuseError(f"table(): {what}", 'write "-" where there is nothing')
        made.append([str(cell) for cell in row])
    if align and ((made and len(align) != wanted) or {*align} - {*"lr"}):
        raise MisuseError(f"table(): align={align!r}", f"write l or r for each of {wanted} columns")
    return made


def aligned(headings: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return an aligned table; `align` has l or r for each column (the first l, others r).

    Cells are text already: nothing is parsed as a number, nothing depends on what is installed.
    """
    import tabulate

    tabulate.WIDE_CHARS_MODE = False
    width = len(headings) or max((len(row) for row in rows), default=0)
    letters = align or "l" + "r" * (width - 1)
    made: str = tabulate.tabulate(
        rows,
        headers=headings if any(headings) else (),
        tablefmt="simple" if any(headings) else "plain",
        colalign=["left" if letter == "l" else "right" for letter in letters[:width]]
        if rows
        else None,
        disable_numparse=True,
    )
    return "\n".join(line.rstrip() for line in made.splitlines())
