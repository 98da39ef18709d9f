from __future__ import annotations

import math
import sys
import unicodedata
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fixturegen import units, visible


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (122784, 0, "122784"),
        (1234567, 0, "1234567"),
        (0, 2, "0.00"),
        (5, 2, "5.00"),
        (0.5, 0, "0.5"),
        (0.25, 0, "0.25"),
        (0.96, 1, "0.96"),
        (0.9997, 1, "1.0"),
        (-0.25, 0, "-0.25"),
        (0.004, 0, "0.004"),
        (0.0996, 2, "0.10"),
        (1e-70, 0, "1.0e-70"),
        (1.5, 0, "2"),
        (2.5, 0, "2"),
        (-2.5, 0, "-2"),
        (2.675, 2, "2.68"),  # the decimal that was written, not its binary neighbour
        (0.125, 2, "0.12"),
        ("6.10", 2, "6.10"),
        ("6.10", 1, "6.1"),
        ("0.05", 1, "0.05"),
        ("0.15", 1, "0.15"),
        (-0.001, 2, "-0.001"),
        (-0.0, 1, "0.0"),
        (Fraction(1, 3), 4, "0.3333"),
        (Decimal("1.25"), 1, "1.2"),
        (1e22, 0, "1" + "0" * 22),
        (1e-7, 3, "0.0000001"),
        (2**64 - 1, 1, "18446744073709551615.0"),
        (None, 2, "-"),
        (math.nan, 2, "-"),
        (Decimal("nan"), 0, "-"),
        (math.inf, 0, "inf"),
        (-math.inf, 0, "-inf"),
    ],
)
def test_a_number_is_rounded_half_even(value: units.Number, decimals: int, text: str) -> None:
    assert units.format_number(value, decimals) == text


@given(st.decimals(-(10**12), 10**12, places=6), st.integers(0, 6))
def test_rounding_agrees_with_decimal(value: Decimal, decimals: int) -> None:
    assume(not 0 < abs(value) < 1)
    context = Context(prec=60, rounding=ROUND_HALF_EVEN)
    expected = value.quantize(Decimal(1).scaleb(-decimals), context=context)
    assert Decimal(units.format_number(value, decimals)) == expected


@given(st.decimals(-1, 1, places=12), st.integers(0, 6))
def test_what_is_below_1_has_two_significant_digits(value: Decimal, decimals: int) -> None:
    assume(0 < abs(value) < 1)
    text = units.format_number(value, decimals)
    read = Decimal(text)
    assert abs(read - value) * 20 <= abs(value) and (read < 0) == (value < 0)
    assert len(text.partition(".")[2]) >= decimals


@pytest.mark.parametrize(
    ("values", "beside", "texts"),
    [
        ([0.25, 3.6], [], ["0.25", "3.6"]),
        ([3.61, 3.62, 122784.5, 7], [], ["3.61", "3.62", "122784", "7"]),
        ([3.601, 3.602], [], ["3.601", "3.602"]),
        ([0.9997, 0.9999], [], ["0.9997", "0.9999"]),
        ([0.9997], [1], ["0.9997"]),
        ([0.89996], [0.9], ["0.89996"]),
        ([1000, 1000.4], [], ["1000", "1000.4"]),
        ([0.0, 0.0004], [], ["0", "0.0004"]),
        ([2, 2.0, "2.00"], [2], ["2", "2", "2"]),
        ([Fraction(1, 3), None], [], ["0.333", "-"]),
        ([], [1], []),
    ],
)
def test_numbers_that_differ_do_not_look_alike(
    values: list[units.Number], beside: list[units.Number], texts: list[str]
) -> None:
    assert units.apart(values, beside) == texts


@given(st.lists(st.decimals(-100, 100, places=8), max_size=5))
def test_only_what_is_equal_looks_equal(values: list[Decimal]) -> None:
    texts = units.apart(values)
    for one, text in zip(values, texts, strict=True):
        for other, also in zip(values, texts, strict=True):
            assert (one == other) == (text == also)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.9997, "99.97%"), (0.99995, "99.995%"), (0.999, "99.9%"), (1, "100.0%"), (0, "0.0%"),
        (0.0004, "0.04%"), (0.0046, "0.46%"), (0.00001234, "0.0012%"), (0.45678, "45.7%"),
        (1.0003, "100.0%"),
    ],
)  # fmt: skip
def test_a_share_that_is_not_all_or_nothing_never_looks_it(share: float, text: str) -> None:
    assert units.format_percent(share) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (0.25, "0.25 ns"),
        (0.0004, "0.0004 ns"),
        (571, "571 ns"),
        (571.5, "571.5 ns"),
        (999, "999 ns"),
        (999.96, "1.0 us"),
        (1000, "1.0 us"),
        (122784, "122.8 us"),
        (999_949, "999.9 us"),
        (999_960, "1.0 ms"),
        (1_450_000_000, "1.4 s"),  # half-even
        (3_600_000_000_000, "3600.0 s"),
        (-1500, "-1.5 us"),
        (None, "-"),
        (math.nan, "-"),
    ],
)
def test_short_times(ns: units.Number, text: str) -> None:
    assert units.short(ns) == text


def test_plain_times() -> None:
    assert units.format_time_ns(122784) == "122784 ns"
    assert units.format_time_ns(122784.5) == "122784 ns"
    assert units.format_time_ns(40.5, 1) == "40.5 ns"
    assert units.format_time_ns(0.25) == "0.25 ns"
    assert units.format_time_ns(None) == "-"
    assert units.format_time_ns(math.inf) == "inf ns"


def test_counts_ratios_and_percent() -> None:
    assert units.format_count(130) == "130"
    assert units.format_count(128.5) == "128.5"
    assert units.format_count(128.0) == "128"
    assert units.format_count(None) == "-"
    assert units.format_ratio(12.34) == "12.3x"
    assert units.format_ratio(12.34, 2) == "12.34x"
    assert units.format_ratio(0.07) == "0.07x"
    assert units.format_ratio(math.nan) == "-"
    assert units.format_percent(0.123) == "12.3%"
    assert units.format_percent(Fraction(1, 3), 0) == "33%"
    assert units.format_percent(0.285, 0) == "28%"  # 0.285 * 100 is 28.499999999999996
    assert units.format_percent(None) == "-"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (524288, "512 KiB"),
        (64 << 20, "64 MiB"),
        (1 << 30, "1 GiB"),
        (3 << 50, "3072 TiB"),
        (None, "-"),
    ],
)
def test_bytes(size: int | None, text: str) -> None:
    assert units.format_bytes(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (4.2, "4 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (65, "1 min 05 s"),
        (7380, "2 h 03 min"),
        (360000, "100 h 00 min"),
        (None, "-"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert units.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("-42", -42),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("1.50", "1.50"),
        ("-0.5", "-0.5"),
        ("00.10", "00.10"),
    ],
)
def test_numbers_of_programs(text: str, value: int | str) -> None:
    found = units.parse_number(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,5", "'1,5' uses a decimal comma"),
        ("1,234,567", "'1,234,567' groups its digits with commas"),
        ("1e5", "'1e5' is in exponent form"),
        ("1.5E-3", "'1.5E-3' is in exponent form"),
        ("inf", "'inf' is not finite"),
        ("-Infinity", "'-Infinity' is not finite"),
        ("NaN", "'NaN' is not finite"),
        ("-nan", "'-nan' is not finite"),
        ("٣", "'٣' has other characters than ASCII digits"),
        ("1\u202e2", "'1\\u202e2' has other characters than ASCII digits"),
        ("1_000", "'1_000' has an underscore"),
        ("+5", "'+5' has a leading plus sign"),
        ("0x10", "'0x10' is not decimal"),
        ("", "'' is empty"),
        (" ", "' ' is empty"),
        (" 5", "' 5' has white space around it"),
        ("5\n", "'5\\n' has white space around it"),
        (".5", "'.5' has no digit before its point"),
        ("5.", "'5.' has no digit after its point"),
        ("18446744073709551616", "'18446744073709551616' does not fit in 64 bits"),
        ("-9223372036854775809", "'-9223372036854775809' does not fit in 64 bits"),
        ("--1", "'--1' is not a number"),
        ("1.2.3", "'1.2.3' is not a number"),
        ("12 ns", "'12 ns' is not a number"),
        ("1\x1b[0m", "'1\\x1b[0m' is not a number"),
    ],
)
def test_what_is_no_number_is_said(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # the whole text is compared
        units.parse_number(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["9" * 100_000, "0" * 100_000, "0." + "1" * 100_000, "x" * 10**6])
def test_long_text_is_refused_in_a_short_message(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # the length is what counts
        units.parse_number(text)
    assert len(str(caught.value)) < 100


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_a_value_error(text: str) -> None:
    try:
        value = units.parse_number(text)
    except ValueError as error:
        assert str(error).isprintable() or not text.isascii()
    else:
        assert text.isascii()
        assert value == text or int(text) == value


@given(st.integers(-(2**63), 2**64 - 1))
def test_every_64_bit_integer_is_read(value: int) -> None:
    assert units.parse_number(str(value)) == value


def test_exact_values() -> None:
    assert units.to_exact(7) == 7
    assert units.to_exact("0.10") == Fraction(1, 10)
    assert units.to_exact("12") == 12
    with pytest.raises(ValueError, match="exponent form"):
        units.to_exact("1e999999999")


def test_what_does_not_show_is_escaped() -> None:
    assert visible.escape("plain text, \\ and é, Ж, 表") == "plain text, \\ and é, Ж, 表"
    assert visible.escape("a\nb\tc\x1b[31m\x7f\x85") == "a\\nb\\x09c\\x1b[31m\\x7f\\x85"
    assert visible.escape("\u202eabc\u2066\u200b\ufeff") == "\\u202eabc\\u2066\\u200b\\ufeff"
    assert visible.escape("\ud800 \U000e0041") == "\\ud800 \\U000e0041"
    assert visible.escape("\xa0\u2028\u3000") == "\\xa0\\u2028\\u3000"


def test_every_control_format_surrogate_and_blank_is_escaped() -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"}
    codes = map(chr, range(sys.maxunicode + 1))
    text = "".join(c for c in codes if c != " " and unicodedata.category(c) in hidden)
    assert visible.HIDDEN.sub("", text) == ""


def test_every_printable_ascii_character_stays() -> None:
    text = "".join(map(chr, range(0x20, 0x7F)))
    assert visible.escape(text) == text


def test_a_limit_cuts_between_escapes() -> None:
    assert visible.escape("abcdef", 6) == "abcdef"
    assert visible.escape("abcdefg", 6) == "abc..."
    assert visible.escape("a\x1b\x1b", 8) == "a\\x1b..."
    assert visible.escape("a\x1b\x1b", 9) == "a\\x1b\\x1b"
    assert visible.escape("abc", 2) == ".."
    assert visible.escape("abc", 0) == ""


@given(st.text(), st.integers(0, 30))
def test_an_escaped_text_is_clean_and_bounded(text: str, limit: int) -> None:
    assert not visible.HIDDEN.search(visible.escape(text))
    cut = visible.escape(text, limit)
    assert len(cut) <= limit
    assert cut == visible.escape(text) or cut.endswith("..."[:limit])
