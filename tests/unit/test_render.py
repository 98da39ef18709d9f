"""Templates to text: which values may stand where, and what a template may not do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixturegen import errors, render
from fixturegen.languages import LANGUAGES
from fixturegen.render import sandbox


@pytest.fixture
def rendered(tmp_path: Path) -> Callable[..., str]:
    """Return a renderer of one template's text, as C unless `language` is None."""

    def make(text: str, language: str | None = "c", **values: Any) -> str:
        (tmp_path / "x.j2").write_bytes(text.encode())
        literal = LANGUAGES[language].literal if language else None
        created = render.environment([tmp_path], literal)
        return render.render_text(created, "x.j2", {"params": values}, "templates/p/x.j2")

    return make


@pytest.mark.parametrize(
    ("value", "c", "rust"),
    [
        (7, "7", "7"),
        (-7, "(-7)", "-7"),
        (2**64 - 1, "18446744073709551615u", "18446744073709551615"),
        (-(2**63), "(-9223372036854775807 - 1)", "-9223372036854775808"),
        (True, "1", "true"),
        (1.5, "1.5", "1.5"),
        (-0.0, "(-0.0)", "-0.0"),
        (1e300, "1e+300", "1e+300"),
        ('a"b', r'"a\"b"', r'"a\"b"'),
        ("??/", r'"\?\?/"', '"??/"'),
        ("\\n", r'"\\n"', r'"\\n"'),
        ("é", r'"\303\251"', r'"\u{e9}"'),
        ("{}", '"{}"', '"{}"'),
    ],
)
def test_a_value_is_a_literal_of_its_language(
    rendered: Callable[..., str], value: Any, c: str, rust: str
) -> None:
    assert rendered("/*{ params.x }*/", "c", x=value) == f"{c}\n"
    assert rendered("/*{ params.x }*/", "rust", x=value) == f"{rust}\n"


@pytest.mark.parametrize(
    "value", [None, [1], {"a": 1}, 2**64, -(2**63) - 1, float("inf"), float("nan"), "a\0", "\ud800"]
)
def test_a_value_without_a_literal_is_refused(rendered: Callable[..., str], value: Any) -> None:
    with pytest.raises(errors.SpecError, match=r"^templates/.*x\.j2:2: "):
        rendered("\n/*{ params.x }*/", x=value)


@pytest.mark.parametrize("value", [True, 1.5, None, [1]])
def test_text_takes_strings_and_whole_numbers_alone(
    rendered: Callable[..., str], value: Any
) -> None:
    """A float has as many digits as a report decides, so a template must say how many."""
    assert rendered("{{ params.a }}{{ params.b }}", None, a=1, b="x") == "1x\n"
    with pytest.raises(errors.SpecError, match="cannot place"):
        rendered("{{ params.x }}", None, x=value)


@pytest.mark.parametrize(
    "text", ["a", "a\n", "a\n\n\n", "//% if true\na\n//% endif\n", "//% if true\na\n//% endif"]
)
def test_one_final_newline(rendered: Callable[..., str], text: str) -> None:
    assert rendered(text) == "a\n"


def test_every_filter_that_is_left_gives_the_same_every_day() -> None:
    assert not {"random", "attr", "safe", "pprint"} & set(sandbox.KEPT)


def test_an_undefined_value_is_told_also_where_it_is_not_placed(
    rendered: Callable[..., str],
) -> None:
    for text in (
        "//% if params.y\n//% endif",
        "//% for i in params.y\n//% endfor",
        "/*{ 1 + z }*/",
    ):
        with pytest.raises(errors.SpecError, match=r"x\.j2:1: .*'[yz]'"):
            rendered(text, x=1)


def test_a_recursive_loop_and_its_own_variables_work(rendered: Callable[..., str]) -> None:
    text = "{% for i in [3, 1] if i > 1 %}{{ loop.length }}{{ loop.last|string }}{% endfor %}"
    assert rendered(text, None) == "1True\n"


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("//# of the template\na", "\na"),
        (" \t//#\tof the template\na", "\na"),
        ("//#\na", "\na"),
        ("//% if true\n//# of the template\na\n//% endif\nb", "\na\nb"),
        ('join("irc://#x");', 'join("irc://#x");'),
        ('join("irc://# x");', 'join("irc://# x");'),
        ("a; //# of the program", "a; //# of the program"),
        ("//#define A 1\n  //#endif", "//#define A 1\n  //#endif"),
        ('printf("//%d", 1);', 'printf("//%d", 1);'),
        ('/*{ params.x }*/ "//# /*{ params.x }*/"', '1 "//# 1"'),
    ],
)
def test_only_a_line_that_begins_so_is_a_comment_of_the_template(
    rendered: Callable[..., str], text: str, becomes: str
) -> None:
    assert rendered(text, x=1) == becomes + "\n"


def test_a_mistake_below_a_comment_has_its_line(rendered: Callable[..., str]) -> None:
    with pytest.raises(errors.SpecError, match=r"x\.j2:3: "):
        rendered("//# one\n//#define TWO\n/*{ params.y }*/")


def test_jinjas_own_delimiters_know_no_such_comment(rendered: Callable[..., str]) -> None:
    assert rendered("//# a", None) == "//# a\n"
