"""The states of a run, and every move between them.

| state | is | on disk |
| --- | --- | --- |
| measuring | its samples are coming | in build/runs/, its lines uncompressed; the lock is held |
| interrupted | the same, and nobody measures | in build/runs/ |
| measured | its last sample is there, its text is not | in build/runs/, with a digest |
| stored | its text lies beside its raw data | among the fixtures |
| the text | the fixture's text names it | among the fixtures, no text beside |

`begin` makes a run; `resume` finds one that was interrupted, a measured one too; a session measures
either to its end. `settle` stores it with its text beside it or, if it is complete, makes that the
fixture's; `become_text` does so for any stored run. Whoever is killed in between finds the run in
one of these states.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from msgspec import Struct

from fixturegen import damage, errors, files
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture, written
from fixturegen.runs import record
from fixturegen.runs.context import NAME, RESTORE, Context
from fixturegen.runs.declared import differing, listed
from fixturegen.runs.options import Options
from fixturegen.runs.record import CONTEXT, REPORT, SAMPLES, Stored
from fixturegen.runs.rungs import changed
from fixturegen.runs.summary import Summary, summarise

GIVE_UP = 3  # failed samples of a case after which the rest of it is skipped
HEAD = 40  # the first lines of a text, in which its head must stand
_RUN = re.compile(rf"run        ({NAME}), [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}, seed [0-9]+")

# What must be as it was for a run to be resumed, and how it is called.
SAME = (
    ("params", "parameters"),
    ("rounds", "rounds"),
    ("seed", "seed"),
    ("languages", "languages"),
    ("cpus", "CPUs"),
    ("boot", "boot of the machine"),
    ("unmeasured", "cases that can be measured"),
)


class New(Struct, frozen=True):
    """A run that is to begin. kept: the newest interrupted run of the fixture, or ""."""

    name: str
    started: str
    kept: str = ""


class Interrupted(Struct, frozen=True):
    """A run with samples to come, and what was known when it began."""

    name: str
    context: Context


class Measured(Struct, frozen=True):
    """A run whose last sample is there: its raw data, wherever it is, and what it gave."""

    stored: Stored
    summary: Summary

    @property
    def context(self) -> Context:
        """What a reader needs to judge or repeat the run."""
        return self.stored.context

    @property
    def lacking(self) -> tuple[str, ...]:
        """Why it must not become the fixture's text; empty for a complete run."""
        return self.context.lacking or ()


class Placed(Struct, frozen=True):
    """Where the text of a run is. before: whether the fixture had a text before it."""

    text: Path
    lacking: tuple[str, ...]
    before: bool


# Where runs are


def unfinished_folder(project: Project, fixture: str) -> Path:
    """Return the folder of a fixture's runs under way."""
    return project.build / "runs" / fixture


def run_folder(project: Project, fixture: str, run: str) -> Path:
    """Return the folder of a stored run."""
    return project.fixtures / fixture / run


def text_path(project: Project, fixture: str) -> Path:
    """Return where the fixture's text is."""
    return project.fixtures / f"{fixture}.txt"


def finished_runs(project: Project, fixture: str) -> list[str]:
    """Return the names of the stored runs, oldest first."""
    return oldest_first(project, _runs(project.fixtures / fixture))


def unfinished_runs(project: Project, fixture: str) -> list[str]:
    """Return the names of a fixture's runs under way or interrupted, oldest first."""
    return oldest_first(project, _runs(unfinished_folder(project, fixture)))


def oldest_first(project: Project, folders: Iterable[Path]) -> list[str]:
    """Return the names of the runs in `folders`; one that cannot be read is there, as the oldest.

    So that one damaged run is found by its reader, and does not hide the others. The number
    decides, for a clock may be set back; runs without one (format 1) are older, by their start.
    """
    keyed = []
    for folder in folders:
        key = (0, "")
        with contextlib.suppress(errors.FixturegenError):
            known = record.read_context(project, folder)
            key = (known.number, known.started)
        keyed.append((key, folder.name))
    return [name for _, name in sorted(keyed)]


def next_number(project: Project, fixture: str) -> int:
    """Return the number of a new run: above those of all that are known of its fixture."""
    number = 0
    for parent in (project.fixtures / fixture, unfinished_folder(project, fixture)):
        for folder in _runs(parent):
            with contextlib.suppress(errors.FixturegenError):
                number = max(number, record.read_context(project, folder).number)
    return number + 1


def _runs(folder: Path) -> list[Path]:
    """Return the folders of runs in `folder`, by name; raises errors.LinkError behind a link."""
    return [folder / name for name in files.names(folder) if not _no_run(folder / name)]


def _no_run(path: Path) -> str:
    """Return why what lies among the runs is none, or ""."""
    if files.kind(path) != "folder":
        return "is not a folder"
    if not re.fullmatch(NAME, path.name):
        return "is not named like a run"
    return "" if files.kind(path / CONTEXT) == "file" else f"has no {CONTEXT}"


def strays(project: Project, fixture: str) -> list[str]:
    """Return what lies among the stored runs of a fixture and is none, each with the reason."""
    folder = project.fixtures / fixture
    if files.kind(folder) not in ("", "folder"):
        return [f"{project.shown(folder)} is not a folder"]
    reasons = ((folder / name, _no_run(folder / name)) for name in files.names(folder))
    return [f"{project.shown(path)} {reason}" for path, reason in reasons if reason]


def stored(project: Project, fixture: str, run: str) -> Stored:
    """Return the stored run `run`; raises errors.UsageError if there is none.

    Raises errors.DataError and errors.CheckError as `record.read_context` does.
    """
    folder = run_folder(project, fixture, run)
    if not re.fullmatch(NAME, run) or _no_run(folder):
        known = finished_runs(project, fixture)
        hint = f"stored: {', '.join(known)}" if known else f"fixturegen run {fixture} makes one"
        raise errors.UsageError(f"{fixture} has no run {run!r}", hint)
    return _finished(project, folder)


def _finished(project: Project, folder: Path) -> Stored:
    """Return the run in `folder`, whose last sample is there; raises errors.DataError if not."""
    stored = Stored(folder, record.read_context(project, folder), project.shown(folder))
    if stored.kept and stored.context.lacking is None:
        raise errors.DataError(f"{stored.shown}/{CONTEXT}: lacking: missing", RESTORE)
    return stored


def walls(project: Project, fixture: str) -> dict[str, float]:
    """Return the mean wall time in seconds of each case's processes in the newest stored run."""
    for name in reversed(finished_runs(project, fixture)):
        with contextlib.suppress(errors.FixturegenError):
            context = record.read_context(project, run_folder(project, fixture, name))
            return {case: ns / 1e9 for case, ns in context.walls_ns.items()}
    return {}


# Begin


def insist_writable(project: Project, fixture: str, run: str | None) -> None:
    """Raise errors.FileError if a run of the fixture could not be put in its place at its end.

    Makes nothing. run: its name, if it is known.
    """
    home = project.fixtures / fixture
    text = text_path(project, fixture)
    for path, wanted in ((project.fixtures, "folder"), (home, "folder"), (text, "file")):
        if files.kind(path) not in ("", wanted):
            raise _in_the_way(project, path, f"is no {wanted}")
    if run and files.exists(home / run) and (reason := _no_run(home / run)):
        raise _in_the_way(project, home / run, reason)
    for folder in (project.fixtures, home):  # the text goes to the first, the run to the second
        there = next(each for each in (folder, *folder.parents) if files.exists(each))
        files.insist_writable(there)


def _in_the_way(project: Project, path: Path, reason: str) -> errors.FileError:
    return errors.FileError(
        f"cannot write to {project.shown(path)}: it {reason}", "move it away, then run again"
    )


def begin(project: Project, fixture: str, label: str | None, started: str) -> New:
    """Return a run to begin: called `label`, or else as the time `started`.

    Raises errors.UsageError if there is a run of this name.
    """
    names = {
        name
        for folder in (unfinished_folder(project, fixture), project.fixtures / fixture)
        for name in files.names(folder)
        if {CONTEXT, SAMPLES} & {*files.names(folder / name)}
    }
    alike = [name for name in names if label and name.casefold() == label.casefold()]
    if alike and label not in names:  # on some file systems it is the same folder
        raise errors.UsageError(
            f"{fixture} has a run {alike[0]!r}, and {label!r} differs only in upper and lower case",
            "give another --label",
        )
    if label in names:
        known = label in unfinished_runs(project, fixture)
        unread = damaged(project, fixture).get(label)
        raise errors.UsageError(
            f"{fixture} has a run {label!r} already; runs are never overwritten",
            "give another --label"
            + (f"; {unread.hint}" if unread else ", or --resume it" if known else ""),
        )
    time = started.replace(":", "").replace("-", "")
    of_now = (f"{time}-{number}" if number > 1 else time for number in itertools.count(1))
    name = label or next(name for name in of_now if name not in names)
    lost = damaged(project, fixture)
    kept = [name for name in interrupted(project, fixture) if name not in lost]
    return New(name, started, kept[-1] if kept else "")


# Resume


def resume(project: Project, fixture: Fixture, label: str | None) -> Interrupted | Measured | None:
    """Return the run that was interrupted last (or the one called `label`), None if there is none.

    Raises what `as_left` does.
    """
    names = [n for n in interrupted(project, fixture.name) if label in (None, n)]
    return as_left(project, fixture, names[-1]) if names else None


def as_left(project: Project, fixture: Fixture, name: str) -> Interrupted | Measured:
    """Return a run as its interruption left it.

    Measured: only its text is to come; also if it was interrupted on its way among the fixtures.
    Raises errors.CheckError if its data is not what it kept, errors.DataError if it is not of a
    run's shape.
    """
    folder = unfinished_folder(project, fixture.name) / name
    if files.is_file(folder / CONTEXT):
        known = _under_way(project, folder)
        if known.samples is None:
            return Interrupted(name, known)
    else:
        folder = run_folder(project, fixture.name, name)
    stored = _finished(project, folder)
    return Measured(stored, summarise(fixture, stored))


def _under_way(project: Project, folder: Path) -> Context:
    """Return the context of a run under way; raises as `record.read_context`, with what helps."""
    try:
        return record.read_context(project, folder)
    except (errors.CheckError, errors.DataError) as error:
        if error.hint == RESTORE:  # no version control has it
            shown = quote(project.shown(folder))
            error.hint = f"rm -r {shown} removes this run, which cannot go on"
        raise


def damaged(project: Project, fixture: str) -> dict[str, errors.FixturegenError]:
    """Return the runs under way whose context cannot be read, by name, with why and what helps."""
    reasons: dict[str, errors.FixturegenError] = {}
    for folder in _runs(unfinished_folder(project, fixture)):
        try:
            _under_way(project, folder)
        except errors.FixturegenError as error:
            reasons[folder.name] = error
    return reasons


def interrupted(project: Project, fixture: str) -> list[str]:
    """Return the names of the runs that could be resumed, oldest first."""
    placed = [run_folder(project, fixture, name) for name in _textless(project, fixture)]
    home = unfinished_folder(project, fixture)
    under_way = [home / name for name in unfinished_runs(project, fixture)]
    return list(dict.fromkeys(oldest_first(project, [*placed, *under_way])))


def _textless(project: Project, fixture: str) -> list[str]:
    """Return the complete runs in their place whose text still lies beside them, oldest first."""
    return [
        name
        for name in finished_runs(project, fixture)
        if _is_textless(project, run_folder(project, fixture, name))
    ]


def _is_textless(project: Project, folder: Path) -> bool:
    try:
        beside = files.is_file(folder / REPORT)
        return beside and record.read_context(project, folder).complete
    except errors.FixturegenError:
        return False  # a damaged run is for `check` to tell, and hinders no new one


def options_of(fixture: Fixture, run: Interrupted, given: Options) -> Options:
    """Return the options that an interrupted run began with; `given` may only repeat them.

    Raises errors.UsageError if an option was given that differs.
    """
    sets = {k: v for k, v in run.context.params.items() if fixture.params.get(k) != v}
    recorded = Options.of(run.context.asked, sets)
    # Never taken from a file: the machine is not ours.
    if any(getattr(given, key) != getattr(recorded, key) for key in ("allow", "as_root", "sysfs")):
        typed = " ".join(
            ["--as-root"] * recorded.as_root + [f"--allow {quote(a)}" for a in recorded.allow]
        )
        raise errors.UsageError(
            f"cannot resume {fixture.name} run {run.name!r}: what may be done to the machine, "
            "or as whom, differs from when it began",
            f"fixturegen run {fixture.name} --resume {typed}".rstrip(),
        )
    default = Options()
    for key in ("rounds", "seed", "sets", "languages", "cpu"):
        wanted = getattr(given, key)
        if wanted != getattr(default, key) and wanted != getattr(recorded, key):
            raise errors.UsageError(
                f"cannot resume {fixture.name} run {run.name!r} with other {key} than it began "
                "with",
                "leave the option out, or start anew without --resume",
            )
    return recorded


def insist_same(project: Project, kept: Context, now: Context) -> None:
    """Raise errors.UsageError if what is left of a run would not be measured as its beginning."""
    other = next((what for key, what in SAME if getattr(kept, key) != getattr(now, key)), None)
    if other is None and kept.declared != now.declared:
        other = listed(differing(kept.declared, now.declared)) + " in fixture.toml"
    if other is None and _digests(kept) != _digests(now):
        other = "binaries"
    if other is not None:
        folder = unfinished_folder(project, kept.fixture) / kept.run
        raise errors.UsageError(
            f"cannot resume {kept.fixture} run {kept.run!r}: other {other} than when it began",
            f"start anew without --resume; the {project.shown(folder)} folder keeps what "
            "was measured",
        )


def _digests(context: Context) -> dict[str, str]:
    return {name: binary.sha256 for name, binary in context.binaries.items()}


# Finish


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


# To the text, or beside it


def settle(project: Project, run: Measured, text: str) -> Placed:
    """Put raw data and text in their places.

    The text lies beside the raw data until it is the fixture's: so `resume` finds a run that was
    killed between the two.
    """
    fixture = run.context.fixture
    if not files.is_file(run.stored.folder / record.PACKED):
        raise record.gone(run.stored.folder)
    files.write(run.stored.folder / REPORT, text, make=False)
    folder = store(project, run)
    path = text_path(project, fixture)
    before = files.is_file(path)
    if run.lacking:
        return Placed(folder / REPORT, run.lacking, before)
    files.write(path, text)
    for name in _textless(project, fixture):  # older ones too: their turn is over
        files.remove(run_folder(project, fixture, name) / REPORT)
    return Placed(path, (), before)


def store(project: Project, run: Measured) -> Path:
    """Move a measured run among the fixtures, where runs are never overwritten; return where."""
    source, context = run.stored.folder, run.context
    target = run_folder(project, context.fixture, context.run)
    if source == target:
        return target
    files.remove(source / SAMPLES)
    files.sweep(source)
    if files.exists(target) and record.read_context(project, target) == context:
        # It was copied between file systems, and interrupted before the first copy was removed.
        files.remove_folder(source)
    elif files.exists(target):
        raise errors.UsageError(f"{target} exists already; runs are never overwritten")
    else:
        files.move_folder(source, target)
    if not files.is_file(target / record.PACKED) or record.read_context(project, target) != context:
        raise record.gone(source)
    return target


def become_text(project: Project, fixture: str, run: str, text: str) -> bool:
    """Make `text` the fixture's, which is of the stored run; return whether it was another."""
    changed = files.write(text_path(project, fixture), text)
    files.remove(run_folder(project, fixture, run) / REPORT)  # it lay beside its data until now
    return changed


# Whose text it is


def current_run(project: Project, fixture: str) -> str | None:
    """Return the run that the fixture's text names; without a text the newest complete one.

    None if there is neither. Raises errors.CheckError if the text names no stored run: then
    nobody knows whose text it is.
    """
    path = text_path(project, fixture)
    known = finished_runs(project, fixture)
    if not files.exists(path):
        all_stored = (stored(project, fixture, name) for name in reversed(known))
        return next((each.context.run for each in all_stored if each.context.complete), None)
    shown = project.shown(path)
    content = files.read_bytes(path)
    name = named(content.decode(errors="replace"), fixture)
    if name is not None and name in known:
        return name
    if line := damage.marker(content):
        what = f"{shown}: line {line}: has a merge conflict that is not resolved"
        raise errors.CheckError(what, damage.RESOLVE)
    other = f"fixturegen report {fixture} --run NAME --replace makes another run's text of it"
    stored_ = f"{other} (stored: {', '.join(known[-5:])})" if known else f"fixturegen run {fixture}"
    if name is None:
        what = f"{shown} does not name its run in its head"
        raise errors.CheckError(what, f"{RESTORE}; or {stored_}")
    folder = project.shown(run_folder(project, fixture, name))
    raise errors.CheckError(
        f"{shown} comes from run {name}, which is not stored",
        f"restore {folder}/ from version control; or {stored_}",
    )


def named(text: str, fixture: str) -> str | None:
    """Return the run named in the head of a fixture's text, None if none or more than one is.

    The head is the lines `fixture    NAME` and, right below, `run        NAME, DATE, seed N`.
    """
    lines = re.split(r"\r*\n|\r", text.removeprefix("\ufeff"))
    places = [place for place, line in enumerate(lines) if line.startswith("run  ")]
    places = [place for place in places if lines[place - 1].startswith("fixture  ")]
    if len(places) != 1 or not 0 < places[0] < HEAD:
        return None
    run = _RUN.fullmatch(lines[places[0]])
    return run[1] if run and lines[places[0] - 1] == f"fixture    {fixture}" else None
