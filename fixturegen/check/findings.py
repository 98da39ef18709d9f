"""Compares what is committed with what it must be; writes nothing and starts no process."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fixturegen import damage, errors, files, render, report
from fixturegen.check.made_of import differences, unproven
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture
from fixturegen.report import trial
from fixturegen.runs import record, states
from fixturegen.runs.context import DIGESTS, RESTORE, Context
from fixturegen.runs.summary import summarise


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not agree, with the command that repairs it.

    code: the exit code that it alone would give, 3 for what is not of the shape that it must have.
    """

    fixture: str
    kind: str  # "fixture" (itself wrong), "render", "run", "report", "claim", "data"
    what: str
    repair: str
    code: int = errors.CheckError.exit_code


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

    @property
    def code(self) -> int:
        """The exit code of all findings: the largest one, 0 if there is none."""
        return max((finding.code for finding in self.findings or []), default=0)

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
    except errors.FileError as error:  # hides nothing of the other fixtures
        checked.add(_damaged(name, "fixture", error))


def _wrong(name: str, error: errors.FixturegenError) -> Finding:
    more = error.hint or "".join(error.quoted[:1])  # the expression, without its caret
    hint = f"edit it: {more}" if more else "edit it"
    return Finding(name, "fixture", error.what, hint, errors.SpecError.exit_code)


def _damaged(name: str, kind: str, error: errors.FixturegenError) -> Finding:
    """Return the finding of what cannot be read, or is not what was kept."""
    shape = isinstance(error, errors.DataError | errors.LinkError)
    code = errors.DataError.exit_code if shape else errors.CheckError.exit_code
    return Finding(name, kind, error.what, error.hint or RESTORE, code)


def check_fixture(project: Project, fixture: Fixture, checked: Checked) -> None:
    """Check one fixture's programs, text, stored runs and claims."""
    texts = render.fixture_files(project, fixture, fixture.params, fixture.languages)
    _check_programs(project, fixture, texts, checked)
    check_runs(project, fixture, texts, checked)


def check_runs(
    project: Project, fixture: Fixture, texts: Mapping[str, str], checked: Checked
) -> None:
    """Check one fixture's text, stored runs and claims; texts: its sources, by path."""
    current = _check_text(project, fixture, checked)
    try:
        runs = states.finished_runs(project, fixture.name)
        strays = states.strays(project, fixture.name)
    except errors.FixturegenError as error:
        checked.add(_damaged(fixture.name, "data", error))
        return
    with contextlib.suppress(errors.FixturegenError):  # of build/, which proves nothing
        for unread in states.damaged(project, fixture.name).values():
            checked.notes.append(f"{unread.what}; {unread.hint}")
    for what in strays:
        checked.add(Finding(fixture.name, "data", f"{what}, so it is not a run", "remove it"))
    if not runs:
        trial.try_report(project, fixture)
    for run in runs:
        try:
            stored = states.stored(project, fixture.name, run)
            _check_run(project, fixture, texts, stored, run == current, checked)
        except errors.SpecError as error:
            if not isinstance(error, errors.LinkError):
                raise  # a template
            checked.add(_damaged(fixture.name, "data", error))
        except (errors.CheckError, errors.DataError, errors.FileError) as error:
            checked.add(_damaged(fixture.name, "data", error))


def kept_of_builtin(project: Project) -> list[str]:
    """Return the built-in fixtures of which the project has a text or runs, beside its own."""
    there = {name.removesuffix(".txt") for name in files.names(project.fixtures)}
    return [name for name in project.builtin if name in there]


def check_orphans(project: Project, checked: Checked) -> None:
    """Find texts and runs in fixtures/ that no fixture is the owner of: nobody compares them."""
    known = {*project.own, *project.builtin}
    for name in files.names(project.fixtures):
        owner = name.removesuffix(".txt")
        text = owner != name
        runs = not text and files.kind(project.fixtures / name) in ("folder", "link")
        if (text or runs) and owner not in known:
            what = f"{project.shown(project.fixtures / name)}: there is no fixture {owner!r}"
            checked.add(Finding(owner, "report", what, "remove it, or restore its fixture"))
    try:
        abandoned = render.abandoned(project, known)
    except errors.FileError as error:  # hides nothing of the rest
        checked.add(Finding("", "render", error.what, error.hint or "make it readable"))
        return
    for path in abandoned:
        owner = path.rpartition("/")[2]
        what = f"{path}/: was rendered from a fixture {owner!r}, which is not there"
        checked.add(Finding(owner, "render", what, "remove it, or restore its fixture"))


def _check_text(project: Project, fixture: Fixture, checked: Checked) -> str | None:
    """Return the run that the text is of; a text that names none is a finding."""
    try:
        return report.current_run(project, fixture.name)
    except (errors.CheckError, errors.DataError, errors.FileError, errors.LinkError) as error:
        if files.kind(report.text_path(project, fixture.name)):  # else of a run, checked itself
            checked.add(_damaged(fixture.name, "report", error))
        return None


def _check_programs(
    project: Project, fixture: Fixture, expected: Mapping[str, str], checked: Checked
) -> None:
    repair = f"fixturegen render {fixture.name}"
    checked.programs += len(expected)
    contents = {path: files.read_if_there(project.root / path) for path in expected}
    if expected and not any(content is not None for content in contents.values()):
        folders = ", ".join(dict.fromkeys(f"{path.rpartition('/')[0]}/" for path in expected))
        what = f"none of the {len(expected)} program files is there: {folders}"
        checked.add(Finding(fixture.name, "render", what, repair))
        expected = {}
    for path, text in expected.items():
        if contents[path] is None:
            checked.add(Finding(fixture.name, "render", f"{path} is missing", repair))
        elif (content := contents[path]) != text.encode():
            done = damage.difference(content or b"", text.encode())
            what = f"{path} {done or 'is not what the templates give'}"
            checked.add(Finding(fixture.name, "render", what, repair))
    for path in render.leftovers(project, fixture, expected):
        what = f"{path} is a program that the templates no longer give"
        checked.add(Finding(fixture.name, "render", what, repair))


def _check_run(
    project: Project,
    fixture: Fixture,
    texts: Mapping[str, str],
    stored: record.Stored,
    current: bool,
    checked: Checked,
) -> None:
    """Read a run, which compares its digests; compare the texts made of it, judge the claims."""
    run = stored.context.run
    checked.runs += 1
    for path in stored.strays():
        checked.add(Finding(fixture.name, "data", f"{path} is not of the run", "remove it"))
    summary = summarise(fixture, stored)
    beside = stored.folder / record.REPORT
    text = report.text_path(project, fixture.name)
    if not current and stored.context.format < DIGESTS:
        checked.notes.append(
            f"run {run} of {fixture.name} has an older format and no text: "
            "whether its context.json is unchanged cannot be told"
        )
    if not current and not files.exists(beside):
        return
    expected = report.render_report(project, fixture, stored, summary).encode()
    if files.exists(beside):
        _compare(project, fixture, stored, beside, expected, checked)
    if not current:
        return
    _compare(project, fixture, stored, text, expected, checked)
    _check_made_of(project, fixture, texts, stored.context, checked)
    lacks = [reason for reason in stored.context.lacking or () if "failed sample" not in reason]
    if lacks:
        whole = "is not what the fixture declares"
        checked.notes.append(
            f"{project.shown(text)} comes from run {run}, which {whole}: {'; '.join(lacks)}"
        )
    if failed := len(summary.failures):
        samples = "1 failed sample" if failed == 1 else f"{failed} failed samples"
        checked.notes.append(f"{project.shown(text)} comes from run {run}, which has {samples}")
    for result in summary.claims():
        checked.claims += 1
        checked.undecided += result.verdict.state == "undecided"
        if result.verdict.state == "fails":
            what = f"does not hold{result.about}: {result.claim.text} [{result.claim.holds}]"
            what = "; ".join([what, *summary.broken(result)])
            repair = (
                "the sentence or the program: this run shows the contrary, and stays as it is; "
                f"fixturegen run {fixture.name} measures a further one"
            )
            checked.add(Finding(fixture.name, "claim", f"run {run}: {what}", repair))


def _check_made_of(
    project: Project,
    fixture: Fixture,
    texts: Mapping[str, str],
    context: Context,
    checked: Checked,
) -> None:
    """Compare what the run behind the text was made of with what is there now."""
    repair = f"fixturegen run {fixture.name}"
    for what in differences(project, fixture, context, texts):
        newer = f" ({since})" if (since := _since(project, context, what.path)) else ""
        stale = f"run {context.run}, behind the text, {what.told}{newer}"
        checked.add(Finding(fixture.name, "run", stale, repair))
    if lacks := unproven(context):
        checked.notes.append(f"run {context.run} of {fixture.name}: {lacks}")


def _since(project: Project, context: Context, path: str) -> str:
    """Return which of a run and a source is newer, as far as the file's time tells."""
    if not path or not files.is_file(project.root / path):
        return ""
    changed = files.modified(project.root / path)
    began = datetime.strptime(context.started, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    newer, older = ("file", "run") if changed > began.timestamp() else ("run", "file")
    return f"the {newer} is newer than the {older}, by the file's time"


def _compare(
    project: Project,
    fixture: Fixture,
    stored: record.Stored,
    path: Path,
    expected: bytes,
    checked: Checked,
) -> None:
    """Compare a text with what the samples give."""
    checked.texts += 1
    repair = f"fixturegen report {fixture.name}"
    if not files.exists(path):
        what = f"{project.shown(path)} is missing"
    elif (content := files.read_bytes(path)) == expected:
        return
    else:
        done = damage.difference(content, expected)
        given = f"is not what the samples of run {stored.context.run} give"
        what = f"{project.shown(path)} {done or given}"
    checked.add(Finding(fixture.name, "report", what, repair))
