"""Quantiles of what a program printed as an exact histogram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixturegen import stats
from fixturegen.errors import SpecError
from fixturegen.expression import Scope, Unknown, check_claim, check_metric, evaluate_metric, parse

NAMES: Mapping[str, Any] = {
    "latency.ns": "vector",
    "latency.count": "vector",
    "latency.behind": "vector",
    "params.q": "scalar",
}
VALUES = {
    "latency.ns": [300, 290, 5000],
    "latency.count": [90, 900, 10],
    "latency.behind": [0, 0, 9],
    "params.q": 0.5,
}


def value(text: str) -> int | float | Unknown:
    expr = parse(text)
    check_metric(expr, NAMES)
    return evaluate_metric(expr, Scope(VALUES))


@given(
    st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 9)), min_size=1, max_size=30),
    st.sampled_from([0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1]),
)
def test_it_is_the_quantile_of_the_values_one_by_one(
    pairs: list[tuple[int, int]], q: float
) -> None:
    values, counts = [v for v, _ in pairs], [n for _, n in pairs]
    one_by_one = [v for v, n in pairs for _ in range(n)]
    if not one_by_one:
        with pytest.raises(ValueError, match="no values"):
            stats.counted_quantile(values, counts, q)
    else:
        assert stats.counted_quantile(values, counts, q) == stats.quantile(one_by_one, q)


@pytest.mark.parametrize("counts", [[1], [1, -1], [1, 0.5]])
def test_counts_that_are_none_are_refused(counts: list[float]) -> None:
    with pytest.raises(ValueError, match="count"):
        stats.counted_quantile([1, 2], counts, 0.5)


def test_a_metric_takes_two_columns_and_a_share() -> None:
    assert value("hist_quantile(latency.ns, latency.count, 0.5)") == 290
    assert value("hist_quantile(latency.ns, latency.count, params.q)") == 290
    assert value("hist_quantile(latency.ns, latency.behind, 0.5)") == 5000
    assert value("hist_quantile(latency.ns, latency.count - latency.behind, 1)") == 5000
    assert value("hist_quantile(latency.ns[1:], latency.count[1:], 0.5)") == 290


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hist_quantile(latency.ns, 0.5)", "takes 3 arguments, not 2"),
        ("hist_quantile(latency.ns, latency.count, 1.5)", "between 0 and 1"),
        ("hist_quantile(latency.ns, 0.5, 0.5)", "needs a vector"),
        ("hist_quantile(0.5, latency.ns, 0.5)", "needs a vector"),
        ("hist_quantile(latency.ns, latency.count, latency.ns)", "single numbers"),
    ],
)
def test_other_arguments_are_refused_before_anything_runs(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        value(text)


def test_columns_of_two_lengths_say_so() -> None:
    text = "hist_quantile(latency.ns, latency.count[1:], 0.5)"
    assert value(text) == Unknown((f"'{text}': 3 values, but 2 counts",))


def test_it_is_for_metrics() -> None:
    text = "hist_quantile(a.c.m.x, a.c.m.y, 0.5) > 1"
    with pytest.raises(SpecError, match="is for metrics"):
        check_claim(parse(text), {"a.c.m.x", "a.c.m.y"})
