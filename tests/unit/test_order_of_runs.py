"""Runs are in the order of their numbers, whatever the clock said."""

from __future__ import annotations

from pathlib import Path

from fixturegen import report
from fixturegen.runs import record, states
from tests.recorded import context, fixture, lay, rewrite, store


def test_a_clock_that_was_set_back_changes_no_order(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    for number, (name, year) in enumerate((("c", 2030), ("b", 2020), ("a", 2010)), 1):
        assert states.next_number(project, of.name) == number
        store(project, of, name, number=number, started=f"{year}-01-01T00:00:00Z")
    assert states.finished_runs(project, of.name) == ["c", "b", "a"]
    assert report.current_run(project, of.name) == "a"


def test_the_run_that_was_interrupted_last_is_the_last(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    home = states.unfinished_folder(project, of.name)
    for number, (name, year) in enumerate((("z", 2030), ("m", 2020), ("a", 2010)), 1):
        assert states.next_number(project, of.name) == number
        told = context(of, name, number=number, started=f"{year}-01-01T00:00:00Z", lacking=None)
        record.write_context(home / name, told, new=True)
    assert states.interrupted(project, of.name) == ["z", "m", "a"]
    # A run whose text is due takes its place among them by its number, not before or after all.
    textless = store(project, of, "t", number=2, started="2040-01-01T00:00:00Z")
    (textless.folder / record.REPORT).write_text("")
    assert states.interrupted(project, of.name) == ["z", "m", "t", "a"]


def test_runs_without_a_number_are_older_and_in_the_order_of_their_start(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()

    def first_format(plain: dict[str, object]) -> None:
        for key in ("number", "digest", "declared"):
            del plain[key]
        plain["format"] = 1
        samples = plain["samples"]
        assert isinstance(samples, dict)
        del samples["packed"]

    for name, year in (("x", 2031), ("y", 2030)):
        stored = store(project, of, name, started=f"{year}-01-01T00:00:00Z")
        rewrite(stored.folder, first_format)
    store(project, of, "new", started="2020-01-01T00:00:00Z")
    assert states.finished_runs(project, of.name) == ["y", "x", "new"]


def test_a_damaged_run_is_the_oldest_and_counts_nothing(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    store(project, of, "a", number=5)
    damaged = store(project, of, "b", number=9).folder / record.CONTEXT
    damaged.write_text("{")
    assert states.finished_runs(project, of.name) == ["b", "a"]
    assert states.next_number(project, of.name) == 6
