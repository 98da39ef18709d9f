from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixturegen.errors import SpecError
from fixturegen.expression import (
    ExpressionError,
    Processes,
    Verdict,
    check_claim,
    evaluate_claim,
    parse,
)

ITER1, STEADY = "run.rust.natural.iter1", "run.rust.natural.steady"
FAULTS, ABSENT = "run.c.natural.faults", "run.c.prefault_evict.faults"
RUN: dict[str, Any] = {
    ITER1: [100, 120, 110],
    STEADY: [30, 31, 32],
    FAULTS: [128, 128, 128, 129],
    ABSENT: [],
    "params.length": 65536,
    "params.factor": 3,
}


def judged(text: str, run: dict[str, Any] = RUN) -> Verdict:
    expr = parse(text)
    check_claim(expr, RUN)
    return evaluate_claim(expr, run)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f"{ITER1} == 110", "holds"),
        (f"{ITER1} > 3 * {STEADY}", "holds"),
        (f"{ITER1} > params.factor * {STEADY}", "holds"),
        (f"{ITER1} > 4 * {STEADY}", "fails"),
        (f"params.length * 8 / 4096 == {FAULTS}", "holds"),
        (f"min({ITER1}) == 100 and max({ITER1}) == 120", "holds"),
        (f"min({ITER1}) > max({STEADY})", "holds"),
        (f"min({ITER1}, {STEADY}, 7) == 7", "holds"),
        (f"max({ITER1}, {STEADY}) == 110", "holds"),
        (f"median({FAULTS}) == 128", "holds"),
        (f"mean({FAULTS}) == 128.25", "holds"),
        (f"quantile({ITER1}, 0.5) == 110", "holds"),
        (f"sd({ITER1}) == 10", "holds"),
        (f"count({FAULTS}) == 4", "holds"),
        (f"sum({STEADY}) == 93", "holds"),
        (f"each({FAULTS} == 128)", "fails"),
        (f"each(128 <= {FAULTS} <= 129)", "holds"),
        (f"any({FAULTS} == 129)", "holds"),
        (f"share({FAULTS} == 128) == 0.75", "holds"),
        (f"share({FAULTS} == 128) >= 0.9 or share({ITER1} > 105) > 0.6", "holds"),
        (f"each({ITER1} > params.factor * {STEADY})", "holds"),
        (f"each({ITER1} > 3 * {STEADY} and {STEADY} > 1)", "holds"),
        (f"share({ITER1} > median({FAULTS})) == 0", "holds"),
        (f"abs({STEADY} - {ITER1}) == 79", "holds"),
        (f"max(abs({STEADY} - 31)) == 1", "holds"),
        (f"not {ITER1} > 4 * {STEADY}", "holds"),
        (f"100 < {ITER1} < 111 < 112", "holds"),
        (f"-{ITER1} % 7 == 2", "holds"),
        (f"same({FAULTS})", "fails"),
        (f"same({FAULTS}, 128)", "fails"),
        (f"same({STEADY} - {STEADY}, 0)", "holds"),
        (f"same({STEADY} - {STEADY}, {FAULTS} - {FAULTS}, params.factor - 3)", "holds"),
        (f"same({STEADY} - {STEADY}, {FAULTS} - {FAULTS}, 1)", "fails"),
        ("same(params.factor, 3.0, 6 / 2)", "holds"),
        (f"same(median({ITER1}), 110)", "holds"),
        (f"not same({ITER1}, {STEADY})", "holds"),
        ("True", "holds"),
        ("params.factor == 3", "holds"),
    ],
)
def test_claims(text: str, state: str) -> None:
    verdict = judged(text)
    assert (verdict.state, verdict.reason) == (state, "")


def test_a_verdict_shows_what_it_used() -> None:
    verdict = judged(f"{ITER1} > params.factor * {STEADY} or {ITER1} > max({FAULTS})")
    assert verdict.used == ((ITER1, 110, 3), (STEADY, 31, 3), (FAULTS, 128.0, 4))
    assert verdict.missing == ()


def test_what_was_not_measured_is_undecided() -> None:
    verdict = judged(f"{ITER1} > {ABSENT}")
    assert verdict.state == "undecided"
    assert verdict.used == ((ITER1, 110, 3),)
    assert verdict.missing == (ABSENT,)
    assert verdict.reason == f"not measured: {ABSENT}"


@pytest.mark.parametrize(
    "text",
    [
        f"{ABSENT} > 1",
        f"not {ABSENT} > 1",
        f"each({ABSENT} == 1)",
        f"count({ABSENT}) == 0",
        f"min({ABSENT}, 1) == 1",
        f"0 * {ABSENT} == 0",
        f"-{ABSENT} < 0 < {ITER1}",
        f"share({ITER1} > median({ABSENT})) > 0",
        f"same({ABSENT})",
        f"same({ITER1}, {ABSENT})",
        f"same(1, 2, {ABSENT})",
        f"share({ABSENT} > 1 or params.factor == 3) == 1",
        f"each({ABSENT} > 1 and params.factor == 0)",
    ],
)
@pytest.mark.parametrize("run", [RUN, {k: v for k, v in RUN.items() if k != ABSENT}])
def test_the_unknown_spreads(text: str, run: dict[str, Any]) -> None:
    assert judged(text, run).state == "undecided"


def test_a_chain_can_fail_without_the_unknown() -> None:
    assert judged(f"{ITER1} < 1 < {ABSENT}").state == "fails"


def test_what_cannot_be_computed_is_undecided() -> None:
    verdict = judged(f"{ITER1} / (params.factor - 3) > 1")
    assert verdict.state == "undecided"
    assert verdict.reason == f"division by zero in '{ITER1} / (params.factor - 3)'"
    one = judged(f"sd({ITER1}) > 1", {**RUN, ITER1: [1]})
    assert one.reason == f"'sd({ITER1})': sd needs two values, there is one"
    unequal = judged(f"each({ITER1} > {STEADY})", {**RUN, STEADY: [1]})
    assert unequal.reason == f"'{ITER1} > {STEADY}': 3 values against 1"
    text = judged("params.factor > 1", {**RUN, "params.factor": "fast"})
    assert (text.state, text.reason) == ("undecided", "params.factor: 'fast' is not a number")
    nan = judged(f"{ITER1} > 1", {**RUN, ITER1: [1, float("nan")]})
    assert (nan.state, nan.reason) == ("undecided", f"{ITER1}: nan is not a finite number")


def test_a_parameter_that_was_not_given_is_unknown() -> None:
    assert judged("params.factor == 3", {}).reason == "not measured: params.factor"


def test_several_reasons_are_said_once_each() -> None:
    verdict = judged(f"{ABSENT} > 1 and {ABSENT} > 2 and 1 / (params.factor - 3) > {ITER1}")
    assert verdict.reason.split("; ") == [
        f"not measured: {ABSENT}",
        "division by zero in '1 / (params.factor - 3)'",
    ]


# ---- Kleene's tables ----

TRUTH = {True: "1 < 2", False: "2 < 1", None: f"{ABSENT} > 1"}
STATES = {True: "holds", False: "fails", None: "undecided"}


def kleene(word: str, parts: list[bool | None]) -> bool | None:
    deciding = word == "or"
    if deciding in parts:
        return deciding
    return None if None in parts else not deciding


@pytest.mark.parametrize("word", ["and", "or"])
@pytest.mark.parametrize("parts", list(itertools.product(TRUTH, repeat=3)))
def test_three_valued_and_or(word: str, parts: tuple[bool | None, ...]) -> None:
    text = f" {word} ".join(f"({TRUTH[part]})" for part in parts)
    assert judged(text).state == STATES[kleene(word, list(parts))]


def build(word: str, parts: list[tuple[str, bool | None]]) -> tuple[str, bool | None]:
    if word == "not":
        text, truth = parts[0]
        return f"not ({text})", None if truth is None else not truth
    text = f" {word} ".join(f"({part[0]})" for part in parts)
    return text, kleene(word, [part[1] for part in parts])


LOGIC = st.recursive(
    st.sampled_from([(text, truth) for truth, text in TRUTH.items()]),
    lambda inner: st.builds(
        build, st.sampled_from(["and", "or", "not"]), st.lists(inner, min_size=2, max_size=3)
    ),
    max_leaves=10,
)


@given(LOGIC)
def test_three_valued_logic(tree: tuple[str, bool | None]) -> None:
    text, truth = tree
    assert judged(text).state == STATES[truth]


@given(LOGIC)
def test_measuring_more_never_overturns_a_verdict(tree: tuple[str, bool | None]) -> None:
    text, _ = tree
    before = judged(text).state
    for value in (0, 5):
        after = judged(text, {**RUN, ABSENT: [value]}).state
        assert before in ("undecided", after)
        assert after != "undecided"


# ---- same() is what it says: every value of every argument equals every other ----

VALUES = st.lists(st.sampled_from([0, 1, 1.0, 2**64 - 1]), max_size=3)


@given(VALUES, VALUES, st.sampled_from([0, 1, 2**64 - 1]))
def test_same_is_equality_of_all_pairs(a: list[Any], b: list[Any], one: int) -> None:
    run = {ITER1: a, FAULTS: b, "params.factor": one}
    values = [*a, *b, one]
    state = "holds" if all(x == y for x in values for y in values) else "fails"
    if not a or not b:
        state = "undecided"
    assert judged(f"same({ITER1}, {FAULTS}, params.factor)", run).state == state


@given(VALUES, VALUES)
def test_same_replaces_the_pairs_of_min_and_max(a: list[Any], b: list[Any]) -> None:
    run = {ITER1: a, FAULTS: b}
    pairs = f"min({ITER1}) == max({FAULTS}) and max({ITER1}) == min({FAULTS})"
    assert judged(f"same({ITER1}, {FAULTS})", run).state == judged(pairs, run).state


def test_a_number_that_is_none_leaves_the_rest_to_decide() -> None:
    run = {**RUN, FAULTS: [1, float("nan")]}
    assert judged(f"{FAULTS} > 1 or {ITER1} > 1", run).state == "holds"
    assert judged(f"{FAULTS} > 1 and {ITER1} > 1", run).state == "undecided"


# ---- what a check refuses ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ITER1, "a claim is a condition, not a number; compare it"),
        (f"share({ITER1} > 1)", "a claim is a condition, not a number"),
        (
            "run.rust.natural.iter > 1",
            f"unknown name 'run.rust.natural.iter'; did you mean '{ITER1}'",
        ),
        (f"1 < 2 or {ITER1}s > 1", f"unknown name '{ITER1}s'; did you mean '{ITER1}'?"),
        (f"{ITER1}[0] > 1", "a claim has no indexes"),
        (f"max({ITER1}[1:]) > 1", "a claim has no indexes"),
        (f"first({ITER1} > 1) > 1", "first() is for metrics"),
        ("min(params.factor) > 1", "min() needs a vector, 'params.factor' is one number"),
        ("same(3)", "same() needs a vector, '3' is one number"),
        ("same()", "same() takes at least 1 argument, not 0"),
        (f"same({ITER1} > 1, 1)", "same() takes numbers, not conditions"),
        (f"same({ITER1} - {FAULTS}, 0)", "mixes the processes"),
        ("each(1 < 2)", "each() needs a vector, '1 < 2' is one number"),
        (f"each(median({ITER1}) > 1)", "each() needs a vector"),
        (f"share(min({ITER1}, {STEADY}) > 1) > 0", "takes single numbers, not vectors"),
        (
            f"each({ITER1} > {FAULTS})",
            f"'{ITER1} > {FAULTS}' mixes the processes of 'run.rust.natural' and 'run.c.natural'",
        ),
        (f"median(abs({ITER1} - {FAULTS})) > 1", "mixes the processes"),
        (f"share({ITER1} > median({STEADY} - {FAULTS})) > 1", "mixes the processes"),
    ],
)
def test_what_a_check_refuses(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        check_claim(parse(text), RUN)
    assert message in caught.value.what


def test_mixed_processes_are_pointed_at() -> None:
    text = f"each({ITER1} > {FAULTS})"
    with pytest.raises(ExpressionError) as caught:
        check_claim(parse(text), RUN)
    assert caught.value.at == text.index(FAULTS)


@pytest.mark.parametrize("text", [ITER1, f"{ITER1}[0] > 1"])
def test_what_was_not_checked_is_still_refused(text: str) -> None:
    with pytest.raises(SpecError):
        evaluate_claim(parse(text), RUN)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_counts_are_compared_exactly(a: int, b: int) -> None:
    verdict = judged(f"{ITER1} == {STEADY}", {ITER1: [a], STEADY: [b]})
    assert verdict.state == ("holds" if a == b else "fails")


@pytest.mark.parametrize(
    "text", ["each(p.a == p.b)", "each(abs(p.a - p.b) < 1)", "any(p.a == p.b)"]
)
def test_values_of_different_processes_are_not_compared(text: str) -> None:
    """One process lacks `a`, another `b`: as many values of each, and not of the same processes."""
    run = {"p.a": Processes([1, 3, 3], (0, 2, 3)), "p.b": Processes([1, 9, 3], (0, 1, 3))}
    verdict = evaluate_claim(parse(text), run)
    assert verdict.state == "undecided" and "not of the same processes" in verdict.reason
    same = {**run, "p.b": Processes([1, 3, 3], (0, 2, 3))}
    assert evaluate_claim(parse(text), same).state == "holds"
