"""Numbers to text and back: the only number formatting there is.

Rounding is half-even on exact decimals, in integer arithmetic, never in a locale. A float stands
for the shortest decimal that reads back as it (its repr), so 2.675 to two digits is 2.68.
A value below 1 has two significant digits at least, however many decimals were asked for: what is
not zero is never written as zero. None and NaN are written "-". No digit grouping anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from fixturegen.visible import escape

Number: TypeAlias = int | float | str | Decimal | Fraction | None

ABSENT = "-"
TIMES = ((1, "ns"), (1_000, "us"), (1_000_000, "ms"), (1_000_000_000, "s"))
SIZES = ((1, "B"), (1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB"), (1 << 40, "TiB"))

INTEGER = re.compile(r"-?[0-9]+")
DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")
LARGEST, SMALLEST = 2**64 - 1, -(2**63)
TWO = 2  # significant digits of what is below 1
GLUE = "\x1f"  # stands for a space at which no line is broken
WIDTH = 80  # columns of what is written for a terminal
LONGEST = 64  # characters of an exact decimal; a 64-bit integer has 20

# What is wrong with a number that a program printed; the first that matches is said.
REFUSALS = (
    (r"\s*", "is empty"),
    (r"(?s:\s.*|.*\s)", "has white space around it"),
    (r"[+-]?(inf|infinity|nan|-nan\(.*)", "is not finite"),
    (r"(?s:(?=.*[^\x00-\x7f]).*)", "has other characters than ASCII digits"),
    (r"\+.*", "has a leading plus sign"),
    (r"-?0[xob].*", "is not decimal"),
    (r"[0-9-]*_[0-9_.]*", "has an underscore"),
    (r"[+-]?[0-9.,]+e[+-]?[0-9]+", "is in exponent form"),
    (r"-?[0-9]+,[0-9]+", "uses a decimal comma"),
    (r"-?[0-9.]+(,[0-9.]+)+", "groups its digits with commas"),
    (r"-?\.[0-9]+", "has no digit before its point"),
    (r"-?[0-9]+\.", "has no digit after its point"),
)


def _read(value: Number) -> Fraction | str:
    """Return the number that `value` is, or the text of what has no digits."""
    if value is None:
        return ABSENT
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return ABSENT if math.isnan(value) else "inf" if value > 0 else "-inf"
    return Fraction(float.__repr__(value)) if isinstance(value, float) else to_exact(value)


def _digits(exact: Fraction, decimals: int) -> str:
    """Return a number with `decimals`, and more of them below 1 if its digits need them."""
    if not 0 < abs(exact) < 1:
        return _rounded(exact, decimals)
    needed = _decimals(exact, TWO)
    if needed > LONGEST:
        return f"{float(exact):.{TWO - 1}e}"
    return _trimmed(_rounded(exact, max(decimals, needed)), decimals)


def _decimals(exact: Fraction, digits: int) -> int:
    """Return the decimals with which a number other than 0 has so many significant digits."""
    above, below = abs(exact.numerator), exact.denominator
    power = len(str(above)) - len(str(below))  # of ten; the first digit is there, or one below
    lower = bool(above * 10 ** max(-power, 0) < below * 10 ** max(power, 0))
    return max(0, digits - 1 - power + lower)


def _trimmed(text: str, decimals: int) -> str:
    """Return a number without the zeros at its end that are beyond `decimals`."""
    whole, _, part = text.partition(".")
    part = part[:decimals] + part[decimals:].rstrip("0")
    return f"{whole}.{part}" if part else whole


def _rounded(exact: Fraction, decimals: int) -> str:
    scaled = round(exact * 10**decimals)  # half-even, on integers
    sign, digits = "-" if scaled < 0 else "", str(abs(scaled)).rjust(decimals + 1, "0")
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else sign + digits


def _with_unit(value: Number, decimals: int, unit: str, factor: int = 1) -> str:
    exact = _read(value)
    if isinstance(exact, str):
        return exact if exact == ABSENT else exact + unit
    return _digits(exact * factor, decimals) + unit


def plural(count: int, noun: str) -> str:
    """Return `1 CPU` or `2 CPUs`, `2 processes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'e' * noun.endswith('s')}s"


def wrapped(text: str, first: str = "") -> list[str]:
    """Return text in lines of a terminal's width, the first behind `first`, the others below it.

    What belongs together stays on one line: 16 MiB, L3 16 MiB, (no PMU).
    """
    import textwrap

    glued = re.sub(r"(?<=[0-9]) (?=[KMGT]iB|[0-9]|MHz|us|CPU)", GLUE, text)
    glued = re.sub(r"\(\w+ \w+\)", lambda match: match.group().replace(" ", GLUE), glued)
    margin = " " * len(first)
    lines = textwrap.wrap(
        glued, WIDTH, initial_indent=first, subsequent_indent=margin, break_on_hyphens=False
    )
    return [line.replace(GLUE, " ") for line in lines]


def format_number(value: Number, decimals: int = 0) -> str:
    """Return `value` with exactly `decimals` digits after the point, rounded half-even."""
    return str(value) if type(value) is int and not decimals else _with_unit(value, decimals, "")


def format_count(value: Number, decimals: int = 1) -> str:
    """Return a count: no point for a whole number, `decimals` digits for a median between two."""
    exact = _read(value)
    if isinstance(exact, str):
        return exact
    return _digits(exact, 0 if exact.denominator == 1 else decimals)


def format_ratio(value: Number, decimals: int = 1) -> str:
    """Return a ratio: 12.34 is "12.3x"."""
    return _with_unit(value, decimals, "x")


def format_percent(share: Number, decimals: int = 1) -> str:
    """Return a share as percent: 0.123 is "12.3%"; what is not all is never 100%."""
    exact = _read(share)
    if isinstance(exact, Fraction) and 0 < 1 - exact < 1:
        left = _decimals(100 * (1 - exact), 1)  # of 99.97% the rest, 0.03%, has one digit
        if _rounded(100 * exact, decimals).startswith("100"):
            decimals = max(decimals, left)
    return _with_unit(share, decimals, "%", factor=100)


def apart(values: Sequence[Number], beside: Iterable[Number] = (), digits: int = 3) -> list[str]:
    """Return numbers with so many significant digits, and more where two that differ look alike.

    beside: numbers that are written out elsewhere, from which these are told too.
    """
    exact = [_read(value) for value in values]
    others = {one for each in beside if isinstance(one := _read(each), Fraction)}
    known = {one for one in exact if isinstance(one, Fraction)} | others
    for more in range(digits, LONGEST):
        texts = {one: _significant(one, more) for one in known - others}
        alike = len({*texts.values()}) < len(texts)
        if not alike and not any(Fraction(texts[one]) in others - {one} for one in texts):
            break
    texts |= {one: _significant(one, LONGEST) for one in others}
    return [one if isinstance(one, str) else texts[one] for one in exact]


def _significant(exact: Fraction, digits: int) -> str:
    return _trimmed(_rounded(exact, _decimals(exact, digits) if exact else 0), 0)


def format_time_ns(ns: Number, decimals: int = 0) -> str:
    """Return nanoseconds as nanoseconds: 122784 is "122784 ns"."""
    return _with_unit(ns, decimals, " ns")


def short(ns: Number, decimals: int = 1) -> str:
    """Return nanoseconds in the unit that leaves fewer than four digits: 122784 is "122.8 us".

    Whole nanoseconds below 1000 show no point. From a second on the unit stays s.
    """
    return _in_largest(ns, decimals, TIMES, step=1000)


def format_bytes(size: Number, decimals: int = 1) -> str:
    """Return bytes in powers of 1024: 524288 is "512 KiB"; a point only where it is not exact."""
    return _in_largest(size, decimals, SIZES, step=1024, trim=True)


def _in_largest(
    value: Number,
    decimals: int,
    units: tuple[tuple[int, str], ...],
    step: int,
    trim: bool = False,
) -> str:
    """Write `value` in the first unit in which it is, once rounded, below `step`."""
    exact = _read(value)
    if isinstance(exact, str):
        return exact
    text = digits = ""
    for size, unit in units:
        scaled = exact / size
        whole = scaled.denominator == 1 and (trim or size == 1)
        digits = _digits(scaled, 0 if whole else decimals)
        text = f"{digits} {unit}"
        if abs(Fraction(digits)) < step:
            break
    return text


def format_duration(seconds: Number) -> str:
    """Return a duration for progress: "4 s", "1 min 05 s", "2 h 03 min"; half-even seconds."""
    exact = _read(seconds)
    if isinstance(exact, str):
        return exact
    whole = round(exact)
    minutes, rest = divmod(whole, 60)
    if minutes < 1:
        return f"{whole} s"
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def parse_number(text: str) -> int | str:
    """Return a number as a program printed it: an integer, or an exact decimal's text unchanged.

    ValueError says what else it is: exponent form, a decimal comma, inf or NaN, digits that are
    not ASCII, a plus sign, an underscore, an integer outside -2**63 .. 2**64 - 1.
    """
    if INTEGER.fullmatch(text):
        if len(text) > LONGEST or not SMALLEST <= int(text) <= LARGEST:
            raise ValueError(f"{_quoted(text)} does not fit in 64 bits")
        return int(text)
    if DECIMAL.fullmatch(text):
        if len(text) > LONGEST:
            raise ValueError(f"{_quoted(text)} has more than {LONGEST} characters")
        return text
    for pattern, said in REFUSALS:
        if re.fullmatch(pattern, text, re.IGNORECASE):
            raise ValueError(f"{_quoted(text)} {said}")
    raise ValueError(f"{_quoted(text)} is not a number")


def _quoted(text: str) -> str:
    return f"'{escape(text, 40)}'"


def to_exact(value: int | str | Decimal | Fraction) -> Fraction:
    """Return a value from `parse_number` as the fraction it is. ValueError for other text."""
    return Fraction(parse_number(value) if isinstance(value, str) else value)
