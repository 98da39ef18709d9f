from __future__ import annotations

import pytest

from fixturegen.fixture.printed import Reader, UnreadableError

ITERATION = r"iteration +(?P<index>\d+): +(?P<ns>\S+) ns"


def test_each_line_goes_to_the_columns_of_the_pattern_that_knows_it() -> None:
    reader = Reader({"iteration": ITERATION, "checksum": r"checksum (?P<value>\d+)"})
    columns = reader.read(b"iteration  1:  144958 ns\niteration  2:   17957 ns\nchecksum 7\n")
    assert columns == {
        "iteration": {"index": [1, 2], "ns": [144958, 17957]},
        "checksum": {"value": [7]},
    }


def test_a_line_that_no_pattern_knows_is_shown() -> None:
    with pytest.raises(UnreadableError, match="line 2 of its output fits no pattern: surprise"):
        Reader({"iteration": ITERATION}).read(b"iteration 1: 5 ns\nsurprise\n")


def test_control_characters_of_an_unknown_line_are_escaped() -> None:
    with pytest.raises(UnreadableError) as caught:
        Reader({"iteration": ITERATION}).read(b"\x1b[2Jgone\r\n")
    assert "\x1b" not in str(caught.value)
    assert "\\x1b" in str(caught.value)


@pytest.mark.parametrize(("text", "said"), [("1e5", "exponent"), ("1,5", "comma"), ("nan", "nan")])
def test_a_number_in_another_form_is_refused_with_its_name(text: str, said: str) -> None:
    with pytest.raises(UnreadableError, match=f"line 1 of its output: ns: .*{said}"):
        Reader({"iteration": ITERATION}).read(f"iteration 1: {text} ns\n".encode())


def test_an_exact_decimal_keeps_its_text() -> None:
    assert Reader({"x": r"x (?P<v>\S+)"}).read(b"x 1.50\n") == {"x": {"v": ["1.50"]}}


def test_only_lf_ends_a_line() -> None:
    with pytest.raises(UnreadableError):
        Reader({"x": r"x (?P<v>\d+)"}).read(b"x 1\x0bx 2\n")


def test_a_group_that_took_no_part_leaves_its_column_empty() -> None:
    reader = Reader({"pause": r"(?:(?P<n>\d+)|unknown) interrupts in (?P<ms>\d+) ms"})
    assert reader.read(b"unknown interrupts in 300 ms\n") == {"pause": {"n": [], "ms": [300]}}


def test_a_last_line_without_its_end_counts() -> None:
    assert Reader({"x": r"x (?P<v>\d+)"}).read(b"x 1\nx 2") == {"x": {"v": [1, 2]}}


def test_no_output_is_no_lines() -> None:
    assert Reader({"x": r"x (?P<v>\d+)"}).read(b"") == {}
