"""The states of a run and the moves between them, on real folders."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import fixturegen
from fixturegen import errors, files
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture
from fixturegen.runs import record, states
from fixturegen.runs.context import FORMAT, Asked
from fixturegen.runs.options import Options
from tests.recorded import context, fixture, lay, samples, store

NOW = "2026-12-01T08:00:00Z"


def begun(project: Project, of: Fixture, run: str) -> Path:
    """Put a run under way into its folder, interrupted after its second sample."""
    folder = states.unfinished_folder(project, of.name) / run
    writer = record.Writer(folder)
    for each in samples()[:2]:
        writer.add(each)
    writer.abandon()
    record.write_context(folder, context(of, run, lacking=None))
    return folder


def move(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def copy(folder: Path) -> None:
    """Put an equal folder in its place, to which nobody writes."""
    move(folder)
    shutil.copytree(folder.with_name("elsewhere"), folder)


@pytest.mark.parametrize("deed", [move, copy, shutil.rmtree])
@pytest.mark.parametrize("above", [False, True])
def test_a_folder_that_goes_away_under_its_writer_is_no_run(
    tmp_path: Path, deed: Callable[[Path], object], above: bool
) -> None:
    project, of = lay(tmp_path), fixture()
    folder = states.unfinished_folder(project, of.name) / "now"
    writer = record.Writer(folder)
    writer.add(samples()[0])
    record.write_context(folder, context(of, "now", lacking=None))
    writer.insist_in_place()
    deed(folder.parent if above else folder)
    for act in (writer.insist_in_place, lambda: writer.finish(context(of, "now"))):
        with pytest.raises(errors.FileError, match="was moved or removed while the run wrote"):
            act()
    writer.abandon()
    if deed is not copy:
        with pytest.raises(errors.FileError, match="cannot write"):
            record.write_context(folder, context(of, "now", lacking=None))
        assert record.kept(folder) is None and not folder.exists()


@pytest.mark.parametrize("deed", [move, shutil.rmtree])
def test_a_folder_that_goes_away_before_its_text_is_no_run(
    tmp_path: Path, deed: Callable[[Path], object]
) -> None:
    project, of = lay(tmp_path), fixture()
    run = measured(project, of, "run")
    deed(run.stored.folder)
    with pytest.raises(errors.FileError, match="was moved or removed"):
        states.settle(project, run, "text\n")
    assert text_of(project, of) is None and states.finished_runs(project, of.name) == []
    assert not run.stored.folder.exists()


def test_a_folder_of_which_something_is_missing_is_not_stored(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    run = measured(project, of, "run")
    (run.stored.folder / record.PACKED).unlink()
    with pytest.raises(errors.FileError, match="was moved or removed"):
        states.store(project, run)
    assert text_of(project, of) is None


def test_what_is_kept_is_counted_where_it_lies(tmp_path: Path) -> None:
    """Not what was counted: an interruption may come between the writing and the counting."""
    project, of = lay(tmp_path), fixture()
    folder = begun(project, of, "a")
    assert record.kept(folder) == 2
    with (folder / record.SAMPLES).open("ab") as lines:
        lines.write(b'{"torn')
    assert record.kept(folder) == len(record.take_up(folder)) == 2
    (folder / record.SAMPLES).unlink()
    assert record.kept(folder) == 0
    assert record.kept(measured(project, of, "b").stored.folder) == len(samples())


def measured(project: Project, of: Fixture, run: str, **changes: object) -> states.Measured:
    """Return a run whose last sample is there, still in build/runs/."""
    folder = states.unfinished_folder(project, of.name) / run
    shutil.move(store(project, of, run, **changes).folder, folder)
    found = states.as_left(project, of, run)
    assert isinstance(found, states.Measured)
    return found


def text_of(project: Project, of: Fixture) -> str | None:
    path = states.text_path(project, of.name)
    return path.read_text() if path.exists() else None


def test_a_run_is_called_as_the_time_or_as_its_label(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    assert states.begin(project, of.name, None, NOW) == states.New("20261201T080000Z", NOW)
    assert states.begin(project, of.name, "try", NOW).name == "try"
    begun(project, of, "20261201T080000Z")
    store(project, of, "noon")
    again = states.begin(project, of.name, None, NOW)
    assert (again.name, again.kept) == ("20261201T080000Z-2", "20261201T080000Z")
    with pytest.raises(errors.UsageError, match="has a run 'noon' already") as stored:
        states.begin(project, of.name, "noon", NOW)
    with pytest.raises(errors.UsageError, match="already") as under_way:
        states.begin(project, of.name, "20261201T080000Z", NOW)
    for label in ("Noon", "20261201t080000z"):
        with pytest.raises(errors.UsageError, match=f"{label!r} differs only in upper and lower"):
            states.begin(project, of.name, label, NOW)
    assert "--resume" not in stored.value.hint and "--resume it" in under_way.value.hint


def test_what_is_resumed_has_samples_to_come_or_only_its_text(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    assert states.resume(project, of, None) is None
    store(project, of, "stored")
    assert states.resume(project, of, None) is None
    folder = begun(project, of, "a")
    found = states.resume(project, of, None)
    assert isinstance(found, states.Interrupted)
    assert (found.name, found.context.samples) == ("a", None)
    assert record.kept(folder) == 2
    measured(project, of, "b", number=2)
    last = states.resume(project, of, None)
    assert isinstance(last, states.Measured) and last.context.run == "b"
    assert last.summary.measured == len(samples())
    first = states.resume(project, of, "a")
    assert isinstance(first, states.Interrupted)
    assert states.resume(project, of, "c") is None


def test_a_complete_run_becomes_the_text_and_ends_the_turn_of_older_ones(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    older = store(project, of, "older").folder / record.REPORT
    older.write_text("due")
    run = measured(project, of, "run", number=2)
    placed = states.settle(project, run, "text\n")
    assert placed == states.Placed(states.text_path(project, of.name), (), before=False)
    assert text_of(project, of) == "text\n"
    assert not run.stored.folder.exists() and not older.exists()
    assert states.finished_runs(project, of.name) == ["older", "run"]
    assert states.resume(project, of, None) is None


def test_an_incomplete_run_has_its_text_beside_it(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    run = measured(project, of, "short", lacking=("fewer rounds than declared: loop",))
    placed = states.settle(project, run, "short\n")
    assert placed.text == states.run_folder(project, of.name, "short") / record.REPORT
    assert (placed.lacking, placed.before) == (("fewer rounds than declared: loop",), False)
    assert placed.text.read_text() == "short\n" and text_of(project, of) is None
    assert states.resume(project, of, None) is None
    assert states.become_text(project, of.name, "short", "other\n")
    assert text_of(project, of) == "other\n" and not placed.text.exists()
    assert not states.become_text(project, of.name, "short", "other\n")


def test_whoever_is_killed_between_two_moves_finds_the_run_again(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    run = measured(project, of, "run")
    copied = states.run_folder(project, of.name, "run")
    shutil.copytree(run.stored.folder, copied)  # as between two file systems
    assert states.store(project, run) == copied and not run.stored.folder.exists()
    (copied / record.REPORT).write_text("text\n")  # the next step was to be the fixture's text
    again = states.resume(project, of, None)
    assert isinstance(again, states.Measured) and again.stored.folder == copied
    assert states.settle(project, again, "text\n").text == states.text_path(project, of.name)
    assert not (copied / record.REPORT).exists()


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    other = store(project, of, "run", number=9).folder
    other.rename(tmp_path / "other")  # `measured` makes its run there, and moves it
    run = measured(project, of, "run")
    (tmp_path / "other").rename(other)
    before = (other / record.CONTEXT).read_bytes()
    with pytest.raises(errors.UsageError, match="never overwritten"):
        states.settle(project, run, "text\n")
    assert (other / record.CONTEXT).read_bytes() == before


@pytest.mark.parametrize(("key", "what"), [*states.SAME, ("binaries", "binaries")])
def test_what_is_left_must_be_measured_as_the_beginning(
    tmp_path: Path, key: str, what: str
) -> None:
    project, kept = lay(tmp_path), context(fixture())
    states.insist_same(project, kept, kept)
    other = {
        "params": {"x": 1}, "rounds": {"loop": 99}, "seed": 2, "languages": ("c",),
        "cpus": {"loop": (7,)}, "boot": "b", "unmeasured": {"c": "why"},
    }  # fmt: skip
    from fixturegen.build.binary import Binary

    other["binaries"] = {"loop.c": Binary("0" * 64, "gcc")}
    with pytest.raises(errors.UsageError, match=f"other {re.escape(what)} than when it began"):
        states.insist_same(project, kept, replace(kept, **{key: other[key]}))


def test_the_options_of_a_run_are_those_it_began_with(tmp_path: Path) -> None:
    of = fixture()
    asked = Asked(rounds=3, seed=7, languages=("c",), cpu=1, allow=("drop-caches",))
    run = states.Interrupted("run", context(of, "run", asked=asked))
    allowed = Options(allow=("drop-caches",))
    found = states.options_of(of, run, allowed)
    assert found.asked == asked
    assert states.options_of(of, run, replace(allowed, seed=7)) == found
    with pytest.raises(errors.UsageError, match="other rounds than it began"):
        states.options_of(of, run, replace(allowed, rounds=4))
    with pytest.raises(errors.UsageError, match="differs from when it began") as error:
        states.options_of(of, run, Options())
    assert error.value.hint == "fixturegen run a-loop --resume --allow drop-caches"


def test_a_run_of_the_first_format_is_read(tmp_path: Path) -> None:
    project, of = lay(tmp_path), fixture()
    folder = store(project, of, "old").folder
    plain = re.sub(
        r'\n "(digest|number)": [^\n]*|\n  "packed": [^\n]*|\n "declared": {[^}]*},',
        "",
        (folder / record.CONTEXT).read_text().replace(f'"format": {FORMAT}', '"format": 1'),
    )
    (folder / record.CONTEXT).write_text(plain)
    found = states.stored(project, of.name, "old")
    assert (found.context.format, found.context.number, found.context.digest) == (1, 0, None)
    assert len([*found.samples()]) == len(samples())
    assert states.finished_runs(project, of.name) == ["old"]


def test_the_command_line_has_no_value_without_a_type() -> None:
    for path in (Path(fixturegen.__file__).parent / "cli").glob("*.py"):
        assert not re.search(r"\bAny\b", files.read_text(path)), path.name
