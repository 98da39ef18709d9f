from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixturegen.errors import SpecError
from fixturegen.expression import ExpressionError, check_claim, check_metric, parse

PIECES = re.findall(
    r"\S+",
    """a.b params.n median( first( min( each( ( ) [ ] [0] : , + - * / // % ** < <= == != > and or
    not if else lambda x 1 2.5 1e9 0x1f 1_0 True None ... := = ! . is in for await yield f( é ' " #
    \\ { } @ & | ^ ~ ;""",
)


def refused(text: str) -> ExpressionError:
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert isinstance(caught.value, ExpressionError)
    return caught.value


def test_what_an_expression_names() -> None:
    found = parse("median(b.x[params.skip:]) > 1 or a.y < 2 or count(b.x) == 3 or median(a.y) > 1")
    assert found.paths == ("b.x", "params.skip", "a.y")


def test_white_space_is_one_blank_and_lines_may_be_broken() -> None:
    assert parse("\n  a.b >\n\t3 \r\n").text == "a.b >  3"
    assert parse("a.b > 3") == parse(" a.b > 3 ")
    assert parse("a.b > 3") != parse("a.b > 4")
    assert hash(parse("a.b")) == hash(parse("a.b"))


@pytest.mark.parametrize(
    "path", ["copy.c.64k.first", "p.rust.global.ns", "p.rust.is.in", "not.a.b", "p._1.2", "A.b_c.d"]
)
def test_a_path_may_have_parts_that_python_would_not_take(path: str) -> None:
    assert parse(path).paths == (path,)
    assert parse(f"-median({path}[1:]) * 2").paths == (path,)


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("", 0, "empty expression"),
        (" \n ", 0, "empty expression"),
        ("10**9**9", 0, "powers are not allowed"),
        ("a.b // 2 ** 2", 7, "powers are not allowed"),
        ("a.b << 2", 0, "bit operations are not allowed"),
        ("a.b & 2", 4, "character '&' is not allowed; write 'and'"),
        ("a.b | 2", 4, "character '|' is not allowed; write 'or'"),
        ("~a.b", 0, "character '~' is not allowed; write 'not'"),
        ("a.b @ 2", 4, "character '@' is not allowed"),
        ("'a'", 0, "character ''' is not allowed; there are no strings in expressions"),
        ('f"{a.b}"', 1, "character '\"' is not allowed; there are no strings in expressions"),
        ("a.b # c", 4, "character '#' is not allowed; there are no comments in expressions"),
        ("{a.b}", 0, None),
        ("a.b\\", 3, "character '\\' is not allowed"),
        ("a.b\0", 3, "character '\\x00' is not allowed"),
        ("a.b\x0c", 3, "character '\\x0c' is not allowed"),
        ("a.b\xa0", 3, "character '\\xa0' is not allowed"),
        ("a.b\u202e", 3, "character '\\u202e' is not allowed"),
        ("é.b", 0, "character 'é' is not allowed"),
        ("\uff41.b", 0, "character '\uff41' is not allowed"),  # NFKC would make it an a
        ("a.b + ٣", 6, "character '٣' is not allowed"),
        ("a.b = 3", 4, "not an expression; compare with =="),
        ("(y := 3)", 1, "assignment is not allowed"),
        ("a.b > ", 5, "not an expression"),
        ("median(a.b", 6, "not an expression; '(' was never closed"),
        ("1and 2", 0, "not an expression"),
        ("1 2", 2, "not an expression"),
        ("a.b; a.c", 3, "character ';' is not allowed"),
        ("a.b is 1", 0, "'is' and 'in' are not allowed; compare with =="),
        ("1 < 2 in a.b", 0, "'is' and 'in' are not allowed; compare with =="),
        ("a.b if True else 2", 0, "if-else is not allowed"),
        ("lambda: 1", 0, "lambda is not allowed"),
        ("[a.b]", 0, "a list is not allowed"),
        ("(a.b, 1)", 0, "a tuple is not allowed"),
        ("a.b[0, 1]", 4, "a tuple is not allowed"),
        ("[x for x in a.b]", 0, "a comprehension is not allowed"),
        ("sum(x for x in a.b)", 3, "a comprehension is not allowed"),
        ("sum(*a.b)", 4, "'*' before an argument is not allowed"),
        ("median(a.b, q=1)", 12, "median() takes no keyword arguments"),
        ("median(**a.b)", 7, "median() takes no keyword arguments"),
        ("(await a.b)", 1, "await is not allowed"),
        ("(yield)", 1, "yield is not allowed"),
        ("a.b[0].real", 0, "a value has no attributes; a path is one name without spaces"),
        ("(1).real", 0, "a value has no attributes; a path is one name without spaces"),
        ("a . b", 0, "a value has no attributes; a path is one name without spaces"),
        ("median(a.b).tofile(1)", 0, "only a named function can be called"),
        ("a.b.tofile(1)", 0, "only a named function can be called"),
        ("median(a.b)(1)", 0, "only a named function can be called"),
        ("medain(a.b)", 0, "unknown function 'medain'; did you mean 'median'?"),
        ("eval(1)", 0, None),
        ("iter1", 0, "unknown name 'iter1'; a path has at least two parts"),
        ("__import__", 0, "unknown name '__import__'; a path has at least two parts"),
        ("___", 0, "unknown name '___'; a path has at least two parts"),
        ("median", 0, "function 'median' without its arguments; write median(...)"),
        ("median()", 0, "median() takes 1 argument, not 0"),
        ("quantile(a.b)", 0, "quantile() takes 2 arguments, not 1"),
        ("median(a.b, 1)", 0, "median() takes 1 argument, not 2"),
        ("quantile(a.b, 1.5)", 14, "a quantile is between 0 and 1, not 1.5"),
        ("None", 0, "constant 'None' is not a real number"),
        ("...", 0, "constant '...' is not a real number"),
        ("2j", 0, "constant '2j' is not a real number"),
        ("1e999", 0, "number is too large"),
        ("18446744073709551616", 0, "number does not fit in 64 bits"),
        ("+a.b", 0, "unary + is not allowed"),
        ("a.b[1.5]", 4, "an index is made of whole numbers and params"),
        ("a.b[c.d]", 4, "an index is made of whole numbers and params"),
        ("a.b[:params.n / 2]", 5, "an index is made of whole numbers and params"),
        ("a.b[a.b > 1]", 4, "an index takes numbers, not conditions"),
        ("(a.b > 1) + 1", 1, "+ takes numbers, not conditions"),
        ("-(a.b > 1)", 2, "- takes numbers, not conditions"),
        ("(a.b > 1) == True", 1, "== takes numbers, not conditions"),
        ("a.b and 1 < 2", 0, "and takes conditions such as a > b, not numbers"),
        ("1 < 2 or a.b", 9, "or takes conditions such as a > b, not numbers"),
        ("not a.b", 4, "not takes conditions such as a > b, not numbers"),
        ("share(a.b)", 6, "share() takes conditions such as a > b, not numbers"),
        ("median(a.b > 1)", 7, "median() takes numbers, not conditions"),
        (
            "count(a.b > 1)",
            6,
            "count() takes numbers, not conditions; sum() counts where a condition is true",
        ),
    ],
)
def test_what_is_refused_is_named_and_pointed_at(text: str, at: int, message: str | None) -> None:
    error = refused(text)
    assert message in (None, error.what)
    assert error.at == at
    assert error.exit_code == 3


def test_the_caret_stands_below_the_fault() -> None:
    text = "median(a.b) > meen(a.b)"
    lines = str(refused(text)).splitlines()
    assert lines[0] == "unknown function 'meen'; did you mean 'mean'?"
    assert lines[1] == "  " + text
    assert lines[2].index("^") == 2 + text.index("meen")


def test_an_unknown_function_without_a_neighbour_lists_all() -> None:
    assert "known: abs, all, any, count" in refused("eval(1)").what


def test_a_long_expression_is_shown_around_the_fault() -> None:
    text = "1 + " * 20 + "foo(1)" + " + 1" * 20
    what, shown, caret = str(refused(text)).splitlines()
    assert what.startswith("unknown function 'foo'")
    assert len(shown) < 120
    assert shown[caret.index("^") :].startswith("foo(1)")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 900 + "1" + ")" * 900,
        "(" * 60 + "1" + ")" * 60 + ".a" * 500,
        "-" * 1999 + "1",
        "not " * 490 + "True",
        "1" + "+1" * 900,
        "1" + "<1" * 60 + "+1" * 60,
        "abs(" * 100 + "1" + ")" * 100,
        "a.b" + "[0]" * 300,
        "[" * 1000,
        "a.b[" * 199 + "0" + "]" * 199,
        "9" * 2000,
        "0x" + "f" * 1990,
        "1e" + "9" * 1990,
        "x" * 10**6,
        "a." * 999 + "b" + "(",
        "lambda:" * 280 + "1",
    ],
)
def test_bombs_are_refused(text: str) -> None:
    error = refused(text)
    assert len(str(error)) < 600


def test_fifty_deep_is_the_limit() -> None:
    assert parse("1" + "+1" * 49).paths == ()
    assert "nested more than 50 deep" in refused("1" + "+1" * 50).what
    # parentheses alone make nothing deeper
    assert parse("(" * 100 + "1" + ")" * 100).paths == ()


@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from([*PIECES, " ", "\n", "\t", "\0"])).map("".join),
    )
)
def test_any_text_is_an_expression_or_a_spec_error(text: str) -> None:
    try:
        found = parse(text)
    except SpecError:
        return
    names: dict[str, str] = {}
    for check in (check_metric, check_claim):
        with contextlib.suppress(SpecError):
            check(found, names)  # type: ignore[operator] # either takes an empty dict
