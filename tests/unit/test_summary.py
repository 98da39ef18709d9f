from __future__ import annotations

import pytest

from fixturegen.model import Usage
from fixturegen.runs.summary import MetricError, Summary, failing
from tests.recorded import TOML, fixture, sample, samples


def summary() -> Summary:
    of = fixture()
    return Summary(of, of.params).add_all(samples())


def test_a_metric_is_one_number_a_process_in_order() -> None:
    assert summary().values("loop.c.natural.iter1") == [1001, 1002, 1003, 1004]
    assert summary().values("loop.c.natural.steady") == [101, 101, 101, 101]
    assert summary().values("loop.c.natural.wall") == [1001, 1002, 1003, 1004]


def test_a_case_that_was_not_measured_has_no_values() -> None:
    assert summary().values("loop.c.pre_fault.iter1") == []


def test_a_path_that_the_fixture_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        summary().values("loop.c.natural.iter3")


def test_failed_samples_are_told_and_enter_no_statistic() -> None:
    of = fixture()
    found = Summary(of, of.params)
    found.add(sample("loop.c.natural", 1, [7, 7], status="timeout", detail="no end within 1 s"))
    found.add(sample("loop.c.natural", 2, [9, 8]))
    assert found.values("loop.c.natural.iter1") == [9]
    assert found.failures == [("loop.c.natural", 1, "timeout", "no end within 1 s")]
    assert found.measured == 1


def test_a_sample_without_its_lines_has_failed_and_names_the_metric() -> None:
    of = fixture()
    found = Summary(of, of.params)
    empty = sample("loop.c.natural", 1, [5, 5], lines={})
    with pytest.raises(MetricError, match="metric iter1"):
        found.metrics(empty)
    found.add(empty)
    assert found.failures[0][2] == "unread"


def test_an_optional_metric_may_be_absent() -> None:
    steady = "\nmetric.steady"
    toml = TOML.replace('unit = "ns" }' + steady, 'unit = "ns", optional = true }' + steady)
    toml = toml.replace('"median(iteration.ns[params.skip:])"', '"process.wall_ns"')
    of = fixture(toml.replace('"iteration.faults[0]"', '"process.minor_faults"'))
    found = Summary(of, of.params)
    found.add(sample("loop.c.natural", 1, [5], lines={}))
    found.add(sample("loop.c.natural", 2, [6]))
    assert found.values("loop.c.natural.iter1") == [6]
    assert found.cases["loop.c.natural"].values["iter1"] == [None, 6]


def test_a_sample_of_a_case_that_is_gone_is_counted_not_dropped() -> None:
    of = fixture()
    found = Summary(of, of.params)
    found.add(sample("loop.c.gone", 1, [5]))
    assert found.foreign == {"loop.c.gone": 1}


def test_claims_have_a_verdict_and_a_kind() -> None:
    verdicts = [(r.kind, r.verdict.state) for r in summary().claims()]
    assert verdicts == [("time", "holds"), ("count", "holds")]


def test_only_claims_on_counts_fail_a_run_unless_strict() -> None:
    of = fixture(TOML.replace("> 2 *", "< 2 *"))
    results = Summary(of, of.params).add_all(samples()).claims()
    assert failing(results, strict=False) == []
    assert [r.claim.text for r in failing(results, strict=True)] == ["The first is slower."]
    of = fixture(TOML.replace("== 128", "== 127"))
    results = Summary(of, of.params).add_all(samples()).claims()
    assert [r.claim.text for r in failing(results, strict=False)] == ["It makes 128 faults."]


def test_a_claim_on_what_was_not_measured_is_undecided() -> None:
    of = fixture(TOML.replace("each(loop.c.natural", "each(loop.c.pre_fault"))
    result = Summary(of, of.params).add_all(samples()).claims()[1]
    assert result.verdict.state == "undecided"
    assert "loop.c.pre_fault.faults" in result.verdict.reason


def test_the_kernels_accounting_has_names() -> None:
    of = fixture(TOML.replace("process.wall_ns", "process.maxrss_kb + process.minor_faults"))
    found = Summary(of, of.params)
    found.add(sample("loop.c.natural", 1, [5, 5], usage=Usage(maxrss_kb=40, minor_faults=2)))
    assert found.values("loop.c.natural.wall") == [42]
