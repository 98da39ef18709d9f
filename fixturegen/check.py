"""Compares what is committed with what it must be; writes nothing and starts no process."""

from __future__ import annotations

from dataclasses import dataclass, field

from fixturegen import errors, files, record, render, report
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture, path_part
from fixturegen.project import Project


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not agree, with the command that repairs it."""

    fixture: str
    kind: str  # "fixture" (itself wrong), "render", "report", "claim", "data"
    what: str
    repair: str


@dataclass(slots=True)
class Checked:
    """What was compared, and what was found."""

    programs: int = 0
    texts: int = 0
    runs: int = 0
    claims: int = 0
    undecided: int = 0
    findings: list[Finding] | None = None
    notes: list[str] = field(default_factory=list)  # to be known, and nothing to repair

    def add(self, finding: Finding) -> None:
        """Take in one finding."""
        self.findings = [*(self.findings or []), finding]


def check_named(project: Project, name: str, checked: Checked) -> None:
    """Check the fixture `name`; one that is itself wrong is a finding like any other."""
    try:
        fixture = project.load(name)
    except (errors.SpecError, errors.FileError) as error:
        checked.add(_wrong(name, error))
        return
    try:
        check_fixture(project, fixture, checked)
    except errors.SpecError as error:  # one of its templates
        checked.add(_wrong(name, error))


def _wrong(name: str, error: errors.FixturegenError) -> Finding:
    more = error.hint or "".join(error.quoted[:1])  # the expression, without its caret
    return Finding(name, "fixture", error.what, f"edit it: {more}" if more else "edit it")


def check_fixture(project: Project, fixture: Fixture, checked: Checked) -> None:
    """Check one fixture's programs, text, stored runs and claims."""
    _check_programs(project, fixture, checked)
    current = report.current_run(project, fixture.name)
    for run in record.finished_runs(project, fixture.name):
        try:
            _check_run(project, fixture, run, run == current, checked)
        except errors.CheckError as error:
            checked.add(Finding(fixture.name, "data", error.what, error.hint))
    path = report.text_path(project, fixture.name)
    if path.is_file() and current is None:
        checked.add(
            Finding(
                fixture.name,
                "report",
                f"{project.shown(path)} has no stored run behind it",
                f"fixturegen run {fixture.name}",
            )
        )


def _check_programs(project: Project, fixture: Fixture, checked: Checked) -> None:
    repair = f"fixturegen render {fixture.name}"
    expected = render.fixture_files(project, fixture, fixture.params, fixture.languages)
    checked.programs += len(expected)
    if expected and not any((project.root / path).is_file() for path in expected):
        folders = ", ".join(dict.fromkeys(f"{path.rpartition('/')[0]}/" for path in expected))
        what = f"none of the {len(expected)} program files is there: {folders}"
        checked.add(Finding(fixture.name, "render", what, repair))
        expected = {}
    for path, text in expected.items():
        target = project.root / path
        if not target.is_file():
            checked.add(Finding(fixture.name, "render", f"{path} is missing", repair))
        elif files.read_bytes(target) != text.encode():
            what = f"{path} is not what the templates give"
            checked.add(Finding(fixture.name, "render", what, repair))
    for path in render.leftovers(project, fixture, expected):
        what = f"{path} is a program that the templates give no more"
        checked.add(Finding(fixture.name, "render", what, repair))


def _check_run(
    project: Project, fixture: Fixture, run: str, current: bool, checked: Checked
) -> None:
    """Read a run's samples (which compares their digest); compare the text and judge the claims."""
    stored = record.stored(project, fixture.name, run)
    checked.runs += 1
    stored.check_attachments()
    if not current:
        for _ in stored.samples():
            pass
        return
    for what in _other_programs(fixture, stored):
        words = f"run {run}, of which the text is, came from other {what} than the templates have"
        checked.add(Finding(fixture.name, "run", words, f"fixturegen run {fixture.name}"))
    summary = report.summarise(fixture, stored)
    path = report.text_path(project, fixture.name)
    repair = f"fixturegen report {fixture.name}"
    checked.texts += 1
    if not path.is_file():
        checked.add(Finding(fixture.name, "report", f"{project.shown(path)} is missing", repair))
    elif files.read_bytes(path) != report.render_report(project, fixture, stored, summary).encode():
        what = f"{project.shown(path)} is not what the samples of run {run} give"
        checked.add(Finding(fixture.name, "report", what, repair))
    if failed := len(summary.failures):
        samples = "1 failed sample" if failed == 1 else f"{failed} failed samples"
        checked.notes.append(f"{project.shown(path)} is of run {run}, which has {samples}")
    for result in summary.claims():
        checked.claims += 1
        checked.undecided += result.verdict.state == "undecided"
        if result.verdict.state == "fails":
            what = f"run {run}: does not hold: {result.claim.text} [{result.claim.holds}]"
            checked.add(Finding(fixture.name, "claim", what, f"fixturegen run {fixture.name}"))


def _other_programs(fixture: Fixture, stored: record.Stored) -> list[str]:
    """Return what a run was made from that the templates no longer say: parameters, builds."""
    found = []
    if stored.context["declared_params"] != fixture.params:
        found.append("parameters")
    declared = {
        f"{p.name}.{name}{f'.{path_part(b.name)}' if p.declares_builds else ''}": (
            LANGUAGES[name].shown(p, b)
        )
        for p in fixture.programs
        for name in p.languages
        for b in p.builds
        if name in b.flags
    }
    for binary, facts in stored.context["binaries"].items():
        if declared.get(binary) != facts.get("shown"):
            found.append(f"flags of {binary}")
    return found
