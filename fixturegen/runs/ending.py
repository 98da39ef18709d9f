"""What comes after the last sample: whether the run may be the text, and its place on disk.

A run goes through these states, and whoever is killed in between finds it in one of them:
under way (build/runs/, samples.jsonl), measured (build/runs/, its context tells the samples'
digest), in its place (fixtures/, with its text beside it), and the fixture's text.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from msgspec import Struct

from fixturegen import errors, files
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture, written
from fixturegen.runs import record
from fixturegen.runs.context import Context
from fixturegen.runs.rungs import changed
from fixturegen.runs.summary import Summary, summarise

GIVE_UP = 3  # failed samples of a case after which the rest of it is skipped


class Ended(Struct, frozen=True):
    """A run whose last sample is there: its raw data, wherever it is, and what it gave."""

    stored: record.Stored
    summary: Summary

    @property
    def context(self) -> Context:
        """What a reader needs to judge or repeat the run."""
        return self.stored.context

    @property
    def lacking(self) -> list[str]:
        """Why it must not become the fixture's text; empty for a complete run."""
        return list(self.context.lacking or ())


def lacking(context: Context, summary: Summary) -> tuple[str, ...]:
    """Return why a run must not become the fixture's text; empty if it is complete."""
    reasons = ["the knobs of a folder (--sysfs)"] if context.asked.sysfs else []
    other = {k: v for k, v in context.params.items() if v != context.declared_params.get(k)}
    if other:
        reasons.append(
            "changed parameters: " + ", ".join(f"{k}={written(v)}" for k, v in other.items())
        )
    short = [name for name, n in context.declared_rounds.items() if context.rounds[name] < n]
    if short:
        reasons.append(f"fewer rounds than declared: {', '.join(short)}")
    can_do_without = {*context.missing} - {*summary.fixture.required}  # no toolchain is there
    absent = [
        n for n in context.declared_languages if n not in {*context.languages, *can_do_without}
    ]
    if absent:
        reasons.append(f"languages left out: {', '.join(absent)}")
    if summary.failures:
        count = len(summary.failures)
        reasons.append("1 failed sample" if count == 1 else f"{count} failed samples")
    if context.skipped:
        reasons.append(
            f"{sum(context.skipped.values())} samples skipped after {GIVE_UP} failures of a case"
        )
    return (*reasons, *changed(context.rungs)[0])


def measured(project: Project, fixture: Fixture, name: str) -> Ended | None:
    """Return an interrupted run that only wants its text, or None if it has samples to come.

    Also one that was interrupted on its way among the fixtures. Raises errors.CheckError if its
    data is not what it kept, errors.DataError if it is not of a run's shape.
    """
    folder = record.unfinished_folder(project, fixture.name) / name
    if not files.is_file(folder / record.CONTEXT):
        folder = record.run_folder(project, fixture.name, name)
    elif record.read_context(project, folder).samples is None:
        return None
    stored = record.finished(project, folder)
    return Ended(stored, summarise(fixture, stored))


def walls(project: Project, fixture: str) -> dict[str, float]:
    """Return the mean wall time in seconds of each case's processes in the newest stored run."""
    for name in reversed(record.finished_runs(project, fixture)):
        with contextlib.suppress(errors.FixturegenError):
            found = record.read_context(project, record.run_folder(project, fixture, name))
            return {case: ns / 1e9 for case, ns in found.walls_ns.items()}
    return {}


def interrupted(project: Project, fixture: str) -> list[str]:
    """Return the names of the runs that --resume would take up, oldest first."""
    placed = [record.run_folder(project, fixture, name) for name in textless(project, fixture)]
    home = record.unfinished_folder(project, fixture)
    under_way = [home / name for name in record.unfinished_runs(project, fixture)]
    return list(dict.fromkeys(record.oldest_first(project, [*placed, *under_way])))


def textless(project: Project, fixture: str) -> list[str]:
    """Return the complete runs in their place whose text still lies beside them, oldest first."""
    return [
        name
        for name in record.finished_runs(project, fixture)
        if _is_textless(project, record.run_folder(project, fixture, name))
    ]


def _is_textless(project: Project, folder: Path) -> bool:
    try:
        beside = files.is_file(folder / record.REPORT)
        return beside and record.read_context(project, folder).complete
    except errors.FixturegenError:
        return False  # a damaged run is for `check` to tell, and hinders no new one


def put_in_place(project: Project, ended: Ended) -> Path:
    """Move a measured run among the fixtures, where runs are never overwritten; return where."""
    source, context = ended.stored.folder, ended.context
    target = record.run_folder(project, context.fixture, context.run)
    if source == target:
        return target
    files.remove(source / record.SAMPLES)
    files.sweep(source)
    if files.exists(target) and record.read_context(project, target) == context:
        # It was copied between file systems, and interrupted before the first copy was removed.
        files.remove_folder(source)
    elif files.exists(target):
        raise errors.UsageError(f"{target} exists already; runs are never overwritten")
    else:
        files.move_folder(source, target)
    return target
