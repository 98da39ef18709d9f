"""A report's template is tried on made-up samples: which mistakes count, and when it is tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixturegen import errors
from fixturegen.check import Checked, check_named
from fixturegen.fixture.project import Project
from fixturegen.render import tried
from fixturegen.report import trial
from tests.recorded import fixture, lay

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = sorted(path.parent.name for path in ROOT.glob("templates/[!_]*/report.txt.j2"))


def project_with(root: Path, template: str) -> Project:
    project = lay(root)
    (project.folder("a-loop") / "report.txt.j2").write_text(template + "\n")
    return project


@pytest.mark.parametrize(
    "template",
    [
        "{{ tabel([], []) }}",
        "{{ number(1, 2, 3) }}",
        '{{ stat("loop.c.natural.iter2").n }}',
        '{{ stat("loop.c.natural.iter1").medain }}',
        '{{ stat("loop.c.natural.iter1").median }}',
        '{{ printed("loop.c.natural").iteratoin.ns[0] }}',
        '{{ table(["a", "b"], [["x"]]) }}',
        "{{ [].append(1) }}",
        "{% if %}",
        '{% import "nothing.j2" as parts %}',
        "{{ nmber }}",
        '{% if not stat("loop.c.natural.iter1").n %}{{ nmber(1) }}{% endif %}',
        '{{ table([column("", "itr1")], cases("loop")) }}',
    ],
)
def test_a_mistake_that_no_data_repairs_counts(tmp_path: Path, template: str) -> None:
    project = project_with(tmp_path, template)
    with pytest.raises(errors.SpecError, match=r"^templates/a-loop/report\.txt\.j2(:1)?: "):
        trial.try_report(project, fixture())


@pytest.mark.parametrize(
    "template",
    [
        '{{ number(1 / (stat("loop.c.natural.iter1").iqr - 4.5)) }}',
        '{{ number(stat("loop.c.natural.iter1").median / 2) }}',
        '{{ printed("loop.c.natural").iteration.ns[1000] }}',
        '{{ processes("loop.c.natural")[0].iter1 }}',
        '{{ attachment("perf.profile.json").thread }}',
    ],
)
def test_what_only_fails_for_some_data_does_not(tmp_path: Path, template: str) -> None:
    trial.try_report(project_with(tmp_path, template), fixture())


@pytest.mark.parametrize("name", FIXTURES)
def test_the_reports_of_this_project_pass_to_their_end(name: str) -> None:
    """Both trials: a tolerated failure would end one early."""
    project = Project(ROOT)
    of = project.load(name)
    for cases in (of.cases(), []):
        stored, summary = trial.made_up(of, cases)
        text = trial.render_report(project, of, stored, summary)
        assert "\nChanged, skipped, failed\n" in text


def test_it_is_tried_again_only_after_a_change(tmp_path: Path) -> None:
    project, of, work = project_with(tmp_path, "good"), fixture(), tmp_path / "build" / "a-loop"
    trial.try_once(project, of, of.params, work)
    note = work / tried.NOTE
    before = (note.read_bytes(), note.stat().st_mtime_ns)
    trial.try_once(project, of, of.params, work)
    assert (note.read_bytes(), note.stat().st_mtime_ns) == before
    path = project.folder("a-loop") / "report.txt.j2"
    path.write_text("{{ nmber }}\n")
    for _ in range(2):  # a bad trial is remembered as nothing
        with pytest.raises(errors.SpecError, match="'nmber' is undefined"):
            trial.try_once(project, of, of.params, work)
    path.write_text("good again\n")
    trial.try_once(project, of, of.params, work)
    assert note.read_bytes() != before[0]


def test_a_fixture_without_a_report_of_its_own_is_not_tried(tmp_path: Path) -> None:
    project, of, work = lay(tmp_path), fixture(), tmp_path / "build" / "a-loop"
    trial.try_once(project, of, of.params, work)
    assert not work.exists()


def test_check_tries_the_report_of_a_fixture_that_has_no_run(tmp_path: Path) -> None:
    project = project_with(tmp_path, "{{ nmber(1) }}")
    for suffix in ("c", "rs"):
        (project.folder("a-loop") / f"loop.{suffix}.j2").write_text("//#\n")
    checked = Checked()
    check_named(project, "a-loop", checked)
    found = [f for f in checked.findings or [] if f.kind == "fixture"]
    assert [(f.code, f.repair) for f in found] == [(3, "edit it: did you mean 'number'?")]
    assert "templates/a-loop/report.txt.j2:1: 'nmber' is undefined" in found[0].what
