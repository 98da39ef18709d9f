from __future__ import annotations

import math
import operator
import timeit
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixturegen.errors import SpecError
from fixturegen.expression import FUNCTIONS, Scope, Unknown, check_metric, evaluate_metric, parse

NAMES: Mapping[str, Any] = {
    "iteration.ns": "vector",
    "iteration.faults": "vector",
    "params.skip": "scalar",
    "process.wall_ns": "scalar",
}
VALUES: dict[str, Any] = {
    "iteration.ns": [122784, 90, 43, 44, 43],
    "iteration.faults": [130, 0, 0, 1, 0],
    "params.skip": 2,
    "process.wall_ns": 141_000,
}


def value(text: str, values: Mapping[str, Any] = VALUES) -> int | float | Unknown:
    expr = parse(text)
    check_metric(expr, NAMES)
    return evaluate_metric(expr, Scope(values))


def why(text: str, values: Mapping[str, Any]) -> str:
    unknown = evaluate_metric(parse(text), Scope(values))
    assert isinstance(unknown, Unknown)
    return "; ".join(unknown.reasons)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("iteration.ns[0]", 122784),
        ("iteration.ns[-1]", 43),
        ("iteration.ns[params.skip]", 43),
        ("iteration.ns[params.skip - 1]", 90),
        ("iteration.ns[1:][0]", 90),
        ("median(iteration.ns[params.skip:])", 43),
        ("median(iteration.ns)", 44),
        ("median(iteration.ns[1:])", 43.5),
        ("sum(iteration.ns[::2])", 122784 + 43 + 43),
        ("iteration.ns[::-1][0]", 43),
        ("mean(iteration.faults)", 26.2),
        ("min(iteration.ns)", 43),
        ("max(iteration.ns)", 122784),
        ("count(iteration.ns)", 5),
        ("count(iteration.ns[5:])", 0),
        ("sum(iteration.ns[5:])", 0),
        ("first(iteration.ns < 50)", 3),
        ("first(iteration.ns < 10)", 6),
        ("first(iteration.ns < 50 and iteration.faults == 1)", 4),
        ("share(iteration.faults == 0)", 0.6),
        ("share(iteration.faults >= 0)", 1),
        ("sum(iteration.faults > 0)", 2),
        ("sum(iteration.ns > 50 or not iteration.faults == 0)", 3),
        ("all(iteration.ns > 40)", 1),
        ("any(iteration.ns > 200000)", 0),
        ("all(40 < iteration.ns <= 122784)", 1),
        ("sum(40 < iteration.ns < 44 < 45)", 2),
        ("quantile(iteration.ns, 0.5)", 44),
        ("quantile(iteration.ns, 1)", 122784),
        ("iqr(iteration.ns)", 47),
        ("mad(iteration.ns)", 1),
        ("abs(min(-iteration.ns))", 122784),
        ("max(abs(iteration.faults - 130))", 130),
        ("min(process.wall_ns, params.skip, 7)", 2),
        ("max(1, 2.5)", 2.5),
        ("sum(iteration.ns * iteration.faults)", 122784 * 130 + 44),
        ("sum(2 * iteration.ns - 1)", 2 * (122784 + 90 + 43 + 44 + 43) - 5),
        ("process.wall_ns / 1000", 141),
        ("process.wall_ns // 1000 % 100", 41),
        ("-process.wall_ns", -141_000),
        ("1 < 2", 1),
        ("same(iteration.faults[1:3])", 1),
        ("same(iteration.faults)", 0),
        ("same(iteration.ns[2:3], iteration.ns[4:], 43)", 1),
        ("sum(params.skip == 2 or iteration.ns > 50)", 5),
        ("sum(iteration.ns > 50 and params.skip == 3)", 0),
        ("process.wall_ns / 0 > 1 or 2 > 1", 1),
        ("not 1 < 2", 0),
        ("True", 1),
        ("1 < 2 and (3 < 2 or params.skip == 2)", 1),
        ("2 > 1 or process.wall_ns / 0 > 1", 1),
        ("2 < 1 and process.wall_ns / 0 > 1", 0),
        ("18446744073709551615", 2**64 - 1),
        ("1_000 + 0x10", 1016),
    ],
)
def test_metrics(text: str, expected: float) -> None:
    found = value(text)
    assert found == expected
    assert type(found) in (int, float)


def test_spreads() -> None:
    assert value("sd(iteration.ns[2:])") == pytest.approx(math.sqrt(1 / 3))
    assert value("cv(iteration.ns[2:])") == pytest.approx(math.sqrt(1 / 3) / (130 / 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("iteraton.ns[0]", "unknown name 'iteraton.ns'; did you mean 'iteration.ns'?"),
        ("1 < 2 or max(iteration.nss) > 1", "unknown name 'iteration.nss'; did you mean"),
        ("iteration.ns[params.skp]", "unknown name 'params.skp'; did you mean 'params.skip'?"),
        ("x.y", "unknown name 'x.y'; known: iteration.faults, iteration.ns, params.skip"),
        ("iteration.ns", "a metric is one number, not a vector; take one element [0]"),
        ("iteration.ns > 3", "a metric is one number, not a vector"),
        ("abs(iteration.ns)", "a metric is one number, not a vector"),
        ("iteration.ns[1:]", "a metric is one number, not a vector"),
        ("median(params.skip)", "median() needs a vector, 'params.skip' is one number"),
        ("median(median(iteration.ns))", "median() needs a vector, 'median(iteration.ns)' is"),
        ("share(1 < 2)", "share() needs a vector, '1 < 2' is one number"),
        ("params.skip[0]", "[] needs a vector, 'params.skip' is one number"),
        ("iteration.ns[0][0]", "[] needs a vector, 'iteration.ns[0]' is one number"),
        ("min(iteration.ns, 3)", "min() of several arguments takes single numbers"),
        ("quantile(iteration.ns, iteration.ns)", "single numbers, not vectors"),
        ("each(iteration.ns > 3)", "each() is for claims; in a metric write all()"),
    ],
)
def test_what_a_check_refuses(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        check_metric(parse(text), NAMES)
    assert message in caught.value.what


EMPTY: dict[str, Any] = {**VALUES, "iteration.ns": [], "iteration.faults": []}


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("iteration.ns[7]", VALUES, "'iteration.ns[7]': index 7 of 5 values"),
        ("iteration.ns[0]", EMPTY, "'iteration.ns[0]': index 0 of 0 values"),
        ("median(iteration.ns)", EMPTY, "'median(iteration.ns)': median of no values"),
        ("quantile(iteration.ns, 0.5)", EMPTY, "quantile of no values"),
        ("min(iteration.ns)", EMPTY, "minimum of no values"),
        ("first(iteration.ns > 1)", EMPTY, "first() of no values"),
        ("share(iteration.ns > 1)", EMPTY, "share() of no values"),
        ("all(iteration.ns > 1)", EMPTY, "all() of no values"),
        ("any(iteration.ns > 1)", EMPTY, "any() of no values"),
        ("sd(iteration.ns[:1])", VALUES, "sd needs two values"),
        ("quantile(iteration.ns, params.skip)", VALUES, "a quantile is between 0 and 1, not 2"),
        ("1 / (params.skip - 2)", VALUES, "division by zero in '1 / (params.skip - 2)'"),
        ("1 % (params.skip - 2)", VALUES, "division by zero in"),
        ("max(iteration.ns // iteration.faults)", VALUES, "division by zero in"),
        ("1e308 * 10 * params.skip", VALUES, "'1e308 * 10' is too large"),
        ("max(iteration.ns * 1e308)", VALUES, "is not a finite number"),
        ("max(iteration.ns[1:] + iteration.faults)", VALUES, "4 values against 5"),
        ("median(iteration.ns[::params.skip - 2])", VALUES, "the step is zero"),
        ("iteration.ns[0]", {}, "not measured: iteration.ns"),
        ("iteration.ns[params.skip]", {**VALUES, "params.skip": 1.5}, "1.5, not a whole number"),
        ("params.skip + 1", {"params.skip": "fast"}, "params.skip: 'fast' is not a number"),
        ("params.skip + 1", {"params.skip": math.nan}, "nan is not a finite number"),
        ("max(iteration.ns)", {"iteration.ns": [1, math.nan]}, "nan is not a finite number"),
        ("max(iteration.ns)", {"iteration.ns": [1, "1,5"]}, "'1,5' uses a decimal comma"),
        ("iteration.ns[1]", {"iteration.ns": [1, "1e5"]}, "'1e5' is in exponent form"),
        ("max(iteration.ns)", {"iteration.ns": [[1], [2]]}, "is not a finite number"),
        ("iteration.ns[0]", {"iteration.ns": 3}, "'iteration.ns' is one number"),
        ("count(iteration.ns[1:])", {"iteration.ns": 3}, "'iteration.ns' is one number"),
        ("median(iteration.ns)", {"iteration.ns": 3}, "needs a vector"),
    ],
)
def test_a_sample_without_a_value_says_why(
    text: str, values: Mapping[str, Any], message: str
) -> None:
    check_metric(parse(text), NAMES)
    assert message in why(text, values)


def test_a_vector_is_no_metric_even_unchecked() -> None:
    assert why("iteration.ns", VALUES) == "'iteration.ns' is a vector, not one number"
    assert "takes single numbers" in why("min(iteration.ns, 1)", VALUES)


def test_numbers_do_not_grow_without_bound() -> None:
    text = "*".join(["params.skip"] * 30)
    assert value(text, {"params.skip": 2**30}) == 2**900
    assert "too large" in why(text, {"params.skip": 2**60})
    assert "too large" in why(text + " / 3", {"params.skip": 2**60})


def test_decimal_text_is_a_number() -> None:
    values = {"iteration.ns": ["1.50", 2, "0.25"]}
    assert value("iteration.ns[0]", values) == 1.5
    assert value("max(iteration.ns)", values) == 2
    assert value("median(iteration.ns)", values) == 1.5
    assert value("sum(iteration.ns == 0.25)", values) == 1


def test_only_the_part_that_is_taken_must_be_readable() -> None:
    assert value("iteration.ns[0] + sum(iteration.ns[:1])", {"iteration.ns": [1, "nan"]}) == 2


def test_comparing_integers_is_exact() -> None:
    large = {"params.skip": 2**64 - 1, "process.wall_ns": 2**64 - 2}
    assert value("params.skip > process.wall_ns", large) == 1
    assert value("params.skip == process.wall_ns + 1.0", {**large, "process.wall_ns": 0}) == 0


def test_the_columns_are_left_alone() -> None:
    before = {name: list(v) if isinstance(v, list) else v for name, v in VALUES.items()}
    value("median(iteration.ns) + max(-iteration.faults) + iteration.ns[0]")
    assert before == VALUES


# ---- against Python's own evaluation ----

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def joined(left: tuple[str, Any], word: str, right: tuple[str, Any]) -> tuple[str, Any]:
    text = f"({left[0]}) {word} ({right[0]})"
    if left[1] is None or right[1] is None:
        return text, None
    try:
        result = OPERATORS[word](left[1], right[1])
    except (ZeroDivisionError, OverflowError):
        return text, None
    return text, result if math.isfinite(result) else None


LEAVES = st.sampled_from(
    [("params.skip", 2), ("process.wall_ns", 141_000), ("iteration.ns[0]", 122784)]
)
TREES = st.recursive(
    st.one_of(LEAVES, st.integers(0, 1000).map(lambda n: (str(n), n))),
    lambda inner: st.builds(joined, inner, st.sampled_from(sorted(OPERATORS)), inner),
    max_leaves=12,
)


@given(TREES)
def test_arithmetic_is_pythons(tree: tuple[str, Any]) -> None:
    text, expected = tree
    found = value(text)
    assert isinstance(found, Unknown) if expected is None else found == expected


@given(
    st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=30), st.integers(0, 2**64 - 1)
)
def test_conditions_are_pythons(column: list[int], limit: int) -> None:
    values = {"iteration.ns": column}
    above = [one > limit for one in column]
    assert value(f"sum(iteration.ns > {limit})", values) == sum(above)
    assert value(f"any(iteration.ns > {limit})", values) == any(above)
    assert value(f"all(not iteration.ns > {limit})", values) == (not any(above))
    first = above.index(True) + 1 if True in above else len(above) + 1
    assert value(f"first(iteration.ns > {limit})", values) == first


# ---- vectors of conditions, element by element ----

BOOLS = st.lists(st.booleans(), min_size=3, max_size=3)


@given(BOOLS, BOOLS, st.sampled_from([True, False, None]), st.permutations([0, 1, 2]))
def test_vectors_are_joined_as_kleene_says(
    a: list[bool], b: list[bool], one: bool | None, order: list[int]
) -> None:
    single = {True: "1 < 2", False: "2 < 1", None: "1 / (params.skip - 2) > 0"}[one]
    values = {**VALUES, "iteration.ns": list(map(int, a)), "iteration.faults": list(map(int, b))}
    parts = ["iteration.ns > 0", "iteration.faults > 0", single]
    for word, decides in (("or", True), ("and", False)):
        text = f" {word} ".join(parts[i] for i in order)
        rows = [(x, y, one) for x, y in zip(a, b, strict=True)]
        joined = [
            decides if decides in row else None if None in row else not decides for row in rows
        ]
        found = value(f"sum({text})", values)
        if None in joined:
            assert isinstance(found, Unknown)
        else:
            assert found == joined.count(True)


# ---- the table of functions, from which the reference is made ----


def test_every_function_says_how_it_is_called_and_what_it_does() -> None:
    assert FUNCTIONS["quantile"].signature == "quantile(values, q)"
    assert FUNCTIONS["max"].signature == "max(values) or max(a, b, ...)"
    assert FUNCTIONS["same"].signature == "same(a, b, ...)"
    for function in FUNCTIONS.values():
        assert function.does and not function.does.endswith(".")
        assert function.signature.startswith(function.name + "(")


# ---- speed, as orders of magnitude ----


def seconds(text: str, values: Mapping[str, Any], times: int) -> float:
    expr = parse(text)
    return min(timeit.repeat(lambda: evaluate_metric(expr, Scope(values)), number=times)) / times


def test_an_element_costs_the_same_in_a_long_column() -> None:
    short = seconds("iteration.ns[0]", {"iteration.ns": [1] * 10}, 1000)
    assert seconds("iteration.ns[0]", {"iteration.ns": [1] * 1_000_000}, 1000) < 10 * short


def test_an_expression_is_parsed_once() -> None:
    text = "iteration.ns[0]"
    fresh = min(timeit.repeat(lambda: value(text), number=100, repeat=5)) / 100
    assert seconds(text, VALUES, 1000) < fresh / 5


def test_a_median_costs_little_more_than_sorting() -> None:
    column = [(i * 7919) % 100_003 for i in range(2050)]
    sorting = min(timeit.repeat(lambda: sorted(column[50:]), number=50, repeat=5)) / 50
    values = {"iteration.ns": column, "params.skip": 50}
    assert seconds("median(iteration.ns[params.skip:])", values, 50) < 10 * sorting
