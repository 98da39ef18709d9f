"""Sentences of the built-in texts, under data that makes them read otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixturegen import report
from fixturegen.expression.values import Number
from fixturegen.fixture.project import Project
from fixturegen.runs import record, states
from fixturegen.runs.summary import Summary, summarise

ROOT = Path(__file__).parents[2]


class Reference:
    """A built-in fixture's stored run, of which values may be changed before its text is made."""

    def __init__(self, name: str) -> None:
        self.project = Project(ROOT)
        self.fixture = self.project.load(name)
        self.stored: record.Stored = states.stored(self.project, name, "reference")
        self.summary: Summary = summarise(self.fixture, self.stored)

    def set(self, path: str, *values: Number) -> None:
        """Give a path other values: one for all processes, or one for each."""
        case, _, metric = path.rpartition(".")
        known = self.summary.cases[case].values
        count = len(known[metric])
        known[metric] = list(values) if len(values) == count else [values[0]] * count

    def text(self) -> str:
        """Return the text on one line."""
        whole = report.render_report(self.project, self.fixture, self.stored, self.summary)
        return " ".join(whole.split())

    def state(self, text: str) -> set[str]:
        """Return the states of the claim whose sentence begins so."""
        results = [r for r in self.summary.claims() if r.claim.text.startswith(text)]
        assert results
        return {result.verdict.state for result in results}


# ------------------------------------------------------------------------------------ page-cache


def test_why_du_asks_more_often_than_find_is_told_only_if_the_counts_show_it() -> None:
    run = Reference("page-cache")
    for name in ("c", "rust"):
        run.set(f"walk.{name}.warm.entries", 60000)
        run.set(f"walk.{name}.warm.directories", 4000)
    run.set("find.system.counted_warm.stats", 8000)
    run.set("du.system.counted_warm.stats", 61000)
    text = run.text()
    assert "find asks for the status of a file 8000 times, du 61000 times" in text
    assert "2.0x the directories for find" in text and "1.0x the entries for du" in text
    run.set("find.system.counted_warm.stats", 61000)
    text = run.text()
    assert "not told apart here" in text and "which learns from them" not in text


def test_the_program_s_own_faults_are_its_own_only_if_the_warmed_run_has_none() -> None:
    run = Reference("page-cache")
    run.set("find.system.cold_unwarmed.major", 7)
    run.set("find.system.cold.major", 0)
    assert "a cold run makes 7 major page faults: those of its own file" in run.text()
    assert run.state("If it is not, it arrives") == {"holds"}
    run.set("find.system.cold.major", 3)
    assert "a cold run makes 7 major page faults." in run.text()
    run.set("find.system.cold_unwarmed.major", 0)
    assert "a cold run makes 0 major page faults." in run.text()
    assert run.state("If it is not, it arrives") == {"undecided"}


# ---------------------------------------------------------------------------------- noise-ladder


def test_a_rung_that_was_not_climbed_holds_nothing() -> None:
    run = Reference("noise-ladder")
    for text in ("The performance governor", "Without SMT", "Without turbo"):
        assert run.state(text) == {"undecided"}
    assert " 7 of 11 hold, 4 undecided" in run.text()


def test_pinning_alone_holds_only_if_it_halves_the_variation() -> None:
    run = Reference("noise-ladder")
    for rung, mean, cv in (("untuned", 100, 0.03), ("pinned", 60, 0.01)):
        run.set(f"burst_sum.c.fast_math.{rung}.mean", mean)
        run.set(f"burst_sum.c.fast_math.{rung}.cv_repetitions", cv)
    assert run.state("Pinned to one core") == {"holds"}
    run.set("burst_sum.c.fast_math.pinned.cv_repetitions", 0.02)
    assert run.state("Pinned to one core") == {"undecided"}
    assert "is not told apart" in run.text()


def test_huge_pages_are_said_not_to_matter_only_for_a_small_array() -> None:
    run = Reference("noise-ladder")
    small = "smaller than any huge page of 2 MiB"
    assert small in run.text()
    run.stored = record.Stored(
        run.stored.folder,
        replace(run.stored.context, params={**run.stored.context.params, "length": 1 << 20}),
        run.stored.shown,
    )
    run.summary.params["length"] = 1 << 20
    assert small not in run.text()


# ------------------------------------------------------------------------------ first-touch-tail


@pytest.mark.parametrize(
    ("service", "said", "unsaid"),
    [
        (184, "the median one takes 184 ns, so that bursts queue by themselves", "what made these"),
        (90, "what made these is not told apart here", "queue by themselves"),
    ],
)
def test_late_runs_have_a_cause_only_if_messages_take_longer_than_their_spacing(
    service: int, said: str, unsaid: str
) -> None:
    run = Reference("first-touch-tail")
    for name in ("c", "rust"):
        run.set(f"book.{name}.default.plain.service_p50", service)
    text = run.text()
    assert said in text and unsaid not in text
    assert "have other causes" not in text
    assert "runs were led by a message" not in text  # only the first of them are printed


def test_a_few_disturbed_writes_are_told_from_many_slow_ones() -> None:
    run = Reference("first-touch-tail")
    for name in ("c", "rust"):
        run.set(f"book.{name}.default.plain.first_service", 10000)
        run.set(f"book.{name}.default.plain.pages", 13)
        run.set(f"book.{name}.default.plain.first_total", 130000)
    assert "the median of one is 130.0 us." in run.text()
    run.set("book.c.default.plain.first_total", 505000)
    assert "130.0 us: a few that were held up by something else make up the rest." in run.text()


def test_what_stamps_cost_is_explained_by_readings_or_called_unexplained() -> None:
    run = Reference("first-touch-tail")
    run.set("book.c.default.flat.clock_cost", 20)
    run.set("book.c.default.flat.each", 100)
    run.set("book.c.default.flat_stamps.each", 170)
    assert "C: three readings in the strategy are 60 ns of the 70.0 ns" in run.text()
    run.set("book.c.default.flat_stamps.each", 275)
    assert "60 ns of the 175.0 ns that stamps cost a message; the rest is not expl" in run.text()


@pytest.mark.parametrize(("feed", "fed", "waited"), [(900, 100, 0), (10, 0, 100)])
def test_messages_that_the_feed_sent_late_are_not_called_waiting(
    feed: int, fed: int, waited: int
) -> None:
    run = Reference("first-touch-tail")
    lines = run.summary.cases["book.c.default.plain_stamps"].kept[0]
    count = 100
    lines["worst"] = {
        "rank": list(range(1, count + 1)), "message": list(range(count)), "latency": [1000] * count,
        "feed": [feed] * count, "hop": [1000 - feed - 20] * count, "decode": [10] * count,
        "think": [10] * count,
    }  # fmt: skip
    text = run.text()
    assert f"C: of the worst 100, {fed} spent more than half of their latency in the feed" in text
    assert f"which sent them late, {waited} waiting in the ring, 0 in decode" in text


# ---------------------------------------------------------------------------------- profile-cost


@pytest.mark.parametrize(
    ("plain", "alone", "counted", "sampled", "state"),
    [
        (5000, 5200, 5300, 9000, "holds"),
        (5000, 9000, 5300, 9500, "undecided"),  # two plain builds differ by more
        (5000, 5200, 9900, 9000, "undecided"),  # perf stat moves it as much
        (5000, 5200, 5100, 4000, "undecided"),
    ],
)
def test_a_profile_makes_the_tail_later_only_if_nothing_else_does_as_much(
    plain: int, alone: int, counted: int, sampled: int, state: str
) -> None:
    run = Reference("profile-cost")
    for name in ("c", "rust"):
        run.set(f"book.{name}.default.alone.p99", plain)
        run.set(f"book.{name}.profiled.alone.p99", alone)
        run.set(f"book.{name}.profiled.perf_stat.p99", counted)
        run.set(f"book.{name}.profiled.perf_record.p99", sampled)
    assert run.state("A profiled run's p99") == {state}
