"""Numbers and words to the text that a report template places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fixturegen import units
from fixturegen.render.mistakes import MisuseError
from fixturegen.report.values import Number, Plain

ABSENT = "-"


def wrap(text: str, indent: int = 0, width: int = 100) -> str:
    """Return text broken between words at `width` columns, every line indented.

    Also a filter, around text that the template has in lines of its own.
    """
    import textwrap

    if not isinstance(text, str):
        raise MisuseError(f"wrap() of {text!r}"[:80], "write number(...) around a number")
    margin = " " * indent
    return textwrap.fill(
        " ".join(text.split()),
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def number(value: Number | None, decimals: int = 0) -> str:
    """Return a number with so many decimals, half-even; `-` for one that was not measured."""
    return ABSENT if value is None else units.format_number(value, decimals)


def pad(value: Number | str | None, width: int, decimals: int = 0) -> str:
    """Return a number, or text, right-aligned to `width`."""
    text = value if isinstance(value, str) else number(value, decimals)
    return text.rjust(width)


def short(ns: Number | None, decimals: int = 1) -> str:
    """Return nanoseconds in the unit that reads best."""
    return ABSENT if ns is None else units.short(ns, decimals)


def ratio(one: Number | None, other: Number | None, decimals: int = 1) -> str:
    """Return `one / other` as `12.3x`, or `-`."""
    return ABSENT if one is None or not other else units.format_ratio(one / other, decimals)


def histogram(values: Sequence[int], counts: Sequence[int], unit: str = "ns") -> str:
    """Return the lines of a histogram: two buckets an octave, and a `#` for each doubling.

    values and counts run parallel, as a program printed them. The bars are logarithmic so that one
    value in a million is seen; the count stands beside. Buckets between the ends that nothing fell
    into have a line too.
    """
    buckets: dict[int, int] = {}
    for value, count in zip(values, counts, strict=True):
        place = _bucket(value)
        buckets[place] = buckets.get(place, 0) + count
    filled = [place for place, count in buckets.items() if count]
    if not filled:
        return ABSENT
    rows = [
        (str(_start(place)), str(_start(place + 1) - 1), buckets.get(place, 0))
        for place in range(min(filled), max(filled) + 1)
    ]
    wide, long = len(rows[-1][1]), len(str(max(count for _, _, count in rows)))
    lines = [
        f"{low:>{wide}} - {high:>{wide}} {unit}  {count:>{long}}  {'#' * count.bit_length()}"
        for low, high, count in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def _bucket(value: int) -> int:
    """Return the place of a value among buckets that begin at 0, 1, 2, 3, 4, 6, 8, 12, 16, ..."""
    if value < 2:
        return max(value, 0)
    octave = value.bit_length() - 1
    return 2 * octave + (value >> (octave - 1) & 1)


def _start(place: int) -> int:
    return place if place < 2 else (2 + place % 2) << (place // 2 - 1)


def lines(columns: Mapping[str, Sequence[Plain]]) -> list[dict[str, Plain]]:
    """Return the columns of a printed line as one entry a line."""
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
