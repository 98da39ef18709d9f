"""What comes after the last sample: whether the run may be the text, and its place on disk.

A run goes through these states, and whoever is killed in between finds it in one of them:
under way (build/runs/, samples.jsonl), measured (build/runs/, its context tells the samples'
digest), in its place (fixtures/, with its text beside it), and the fixture's text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from fixturegen import errors, files, record
from fixturegen.model import Fixture, written
from fixturegen.project import Project
from fixturegen.runner.rungs import changed
from fixturegen.summary import Summary

GIVE_UP = 3  # failed samples of a case after which the rest of it is skipped


class Ended(Struct, frozen=True):
    """A run whose last sample is there: where its raw data is, and what it gave."""

    folder: Path
    context: dict[str, Any]
    summary: Summary

    @property
    def stored(self) -> record.Stored:
        """The run as it lies on disk, wherever it is on its way."""
        return record.Stored(self.folder, self.context)

    @property
    def lacking(self) -> list[str]:
        """Why it must not become the fixture's text; empty for a complete run."""
        return list(self.context["lacking"])


def lacking(context: Mapping[str, Any], summary: Summary) -> list[str]:
    """Return why a run must not become the fixture's text; empty if it is complete."""
    reasons = ["the knobs of a folder (--sysfs)"] if context["asked"].get("sysfs") else []
    if context["params"] != context["declared_params"]:
        other = {k: v for k, v in context["params"].items() if v != context["declared_params"][k]}
        reasons.append(
            "changed parameters: " + ", ".join(f"{k}={written(v)}" for k, v in other.items())
        )
    short = [name for name, n in context["declared_rounds"].items() if context["rounds"][name] < n]
    if short:
        reasons.append(f"fewer rounds than declared: {', '.join(short)}")
    absent = [n for n in context["declared_languages"] if n not in context["languages"]]
    if absent:
        reasons.append(f"languages left out: {', '.join(absent)}")
    if summary.failures:
        count = len(summary.failures)
        reasons.append("1 failed sample" if count == 1 else f"{count} failed samples")
    if context["skipped"]:
        reasons.append(
            f"{sum(context['skipped'].values())} samples skipped after {GIVE_UP} failures of a case"
        )
    return reasons + changed(context.get("rungs", {}))[0]


def measured(project: Project, fixture: Fixture, name: str) -> Ended | None:
    """Return an interrupted run that only wants its text, or None if it has samples to come.

    Also one that was interrupted on its way among the fixtures. Raises errors.CheckError if its
    data is not what it kept.
    """
    folder = record.unfinished_folder(project, fixture.name) / name
    if not (folder / record.CONTEXT).is_file():
        folder = record.run_folder(project, fixture.name, name)
    context = record.read_context(folder)
    if "samples" not in context:
        return None
    summary = Summary(fixture, {**fixture.params, **context["params"]})
    return Ended(folder, context, summary.add_all(record.Stored(folder, context).samples()))


def walls(project: Project, fixture: str) -> dict[str, float]:
    """Return the mean wall time in seconds of each case's processes in the newest stored run."""
    for name in reversed(record.finished_runs(project, fixture)):
        with contextlib.suppress(errors.FixturegenError):
            found = record.read_context(record.run_folder(project, fixture, name)).get("walls_ns")
            if isinstance(found, dict):
                return {case: ns / 1e9 for case, ns in found.items()}
    return {}


def interrupted(project: Project, fixture: str) -> list[str]:
    """Return the names of the runs that --resume would take up, oldest first."""
    return textless(project, fixture) + record.unfinished_runs(project, fixture)


def textless(project: Project, fixture: str) -> list[str]:
    """Return the complete runs in their place whose text still lies beside them, oldest first."""
    return [
        name
        for name in record.finished_runs(project, fixture)
        if _is_textless(record.run_folder(project, fixture, name))
    ]


def _is_textless(folder: Path) -> bool:
    if not (folder / record.REPORT).is_file():
        return False
    try:
        return not record.read_context(folder).get("lacking", True)
    except errors.FixturegenError:
        return False  # a damaged run is for `check` to tell, and hinders no new one


def put_in_place(project: Project, ended: Ended) -> Path:
    """Move a measured run among the fixtures, where runs are never overwritten; return where."""
    context = ended.context
    target = record.run_folder(project, context["fixture"], context["run"])
    if ended.folder == target:
        return target
    files.remove(ended.folder / record.SAMPLES)
    files.sweep(ended.folder)
    if target.exists() and record.read_context(target) == context:
        # It was copied between file systems, and interrupted before the first copy was removed.
        files.remove_folder(ended.folder)
    elif target.exists():
        raise errors.UsageError(f"{target} exists already; runs are never overwritten")
    else:
        files.move_folder(ended.folder, target)
    return target
