"""A report template is tried on made-up samples before a run begins, and where none is stored.

Twice: on a run in which every case was measured, and on one in which none was, for a template has
branches for that. What counts is a mistake that no data repairs: a name, a path, an argument. What
only fails for some data (arithmetic, a value that is not there) is none, for made-up data proves
nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from fixturegen import errors, expression, machine
from fixturegen.build.binary import Binary, Elf
from fixturegen.fixture.project import Project
from fixturegen.instruments.perf import Perf
from fixturegen.model import Case, Columns, Fixture, Mode, Program, Sample, Usage, Value
from fixturegen.render import tried
from fixturegen.render.mistakes import MisuseError
from fixturegen.report.text import render_report
from fixturegen.runs import record
from fixturegen.runs.context import FORMAT, ZEROS, Asked, Context, Kept, Reading
from fixturegen.runs.summary import Summary
from fixturegen.tune import KNOBS

PROCESSES = 4  # of a case: an even number, so that a median lies between two values
LINES = 64  # of each that a program prints
MADE_UP = "made up for a trial of the report"


def try_once(project: Project, fixture: Fixture, params: Mapping[str, Value], work: Path) -> None:
    """Try the report before a run, unless nothing has changed since it was found good.

    Raises errors.SpecError for a mistake. work: the fixture's folder for what is built.
    """
    if tried.due(project, fixture, params, work):
        try_report(project, fixture, keep=True)
        tried.note(project, fixture, params, work)


def try_report(project: Project, fixture: Fixture, *, keep: bool = False) -> None:
    """Raise errors.SpecError if the report template has a mistake that needs no data to be one."""
    for measured in (True, False) if tried.own(project, fixture.name) else ():
        try:
            _render(project, fixture, measured, keep)
        except errors.DataError:
            continue
        except errors.SpecError as error:
            if _mistaken(error, measured):
                raise


def _mistaken(error: errors.SpecError, measured: bool) -> bool:
    """Whether no data would repair what went wrong."""
    import jinja2

    cause, said = error.__cause__, str(error.__cause__)
    if isinstance(cause, jinja2.UndefinedError):
        return said.endswith("is undefined") or (measured and "there is no " in said)
    if isinstance(cause, ValueError):
        unplaceable = "cannot place" in said and "NoneType" not in said
        return " is a function: " in said or (measured and unplaceable)
    return cause is None or isinstance(cause, jinja2.TemplateError | MisuseError)


def _render(project: Project, fixture: Fixture, measured: bool, keep: bool) -> None:
    stored, summary = made_up(fixture, fixture.cases() if measured else [])
    render_report(project, fixture, stored, summary, keep=keep)


def made_up(fixture: Fixture, cases: Collection[Case]) -> tuple[record.Stored, Summary]:
    """Return a made-up run of a fixture in which only `cases` were measured."""
    summary = Summary(fixture, fixture.params)
    for place, case in enumerate(cases):
        program = fixture.program(case.program)
        lines = _lines(program, program.mode(case.mode))
        names = list(summary.cases[case.path].values)
        for number in range(1, PROCESSES + 1):
            values = {name: 100 * i + 10 * place + 3 * number for i, name in enumerate(names, 1)}
            made = Sample(
                case=case.path,
                round=number,
                position=PROCESSES * place + number,
                after="",
                status="ok",
                detail="",
                usage=Usage(wall_ns=1000),
                lines=lines,
            )
            summary.add(made, dict(values))
    context = _context(fixture, cases)
    return record.Stored(Path("/nonexistent"), context, MADE_UP), summary


def _lines(program: Program, mode: Mode) -> Columns:
    """Return what a process prints: what `lines` declares, and what metrics of the mode name."""
    made: Columns = {}
    for name, pattern in program.lines.items():
        for column in re.compile(pattern).groupindex:
            inner = re.search(rf"\(\?P<{column}>([^)]*)\)", pattern)
            decimal = inner is not None and r"\." in inner[1]
            entries: list[int | str] = [f"{i}.5" if decimal else i for i in range(1, LINES + 1)]
            made.setdefault(name, {})[column] = entries
    for metric in program.metrics_of(mode.name).values():
        for path in expression.parse(metric.value).paths:
            line, _, column = path.partition(".")
            if line not in ("params", "process") and line not in program.lines:
                made.setdefault(line, {})[column] = [1, 2]
    return made


def _context(fixture: Fixture, cases: Collection[Case]) -> Context:
    rounds = {program.name: PROCESSES for program in fixture.programs}
    knobs = dict.fromkeys(KNOBS, "as it was")
    measured = {case.path for case in cases}
    unmeasured = {case.path: MADE_UP for case in fixture.cases() if case.path not in measured}
    return Context(
        format=FORMAT,
        fixturegen="0",
        fixture=fixture.name,
        run="trial",
        started="2000-01-01T00:00:00Z",
        params=fixture.params,
        declared_params=fixture.params,
        seed=1,
        rounds=rounds,
        declared_rounds=rounds,
        languages=fixture.languages,
        declared_languages=fixture.languages,
        missing={},
        machine=machine.describe(Path("/nonexistent")),
        cpus={program.name: (1,) for program in fixture.programs},
        cpu_reason=MADE_UP,
        disturbances=(),
        toolchain=dict.fromkeys(fixture.languages, ("a compiler",)),
        binaries=_binaries(fixture) if measured else {},
        options=(),
        asked=Asked(rounds=None, seed=1, languages=(), cpu=None),
        resumed=(),
        unmeasured=unmeasured,
        storage={"build": "a disk"},
        rungs={
            program.name: {
                mode.name: (Reading(mode.tune, knobs, knobs),)
                for mode in program.modes
                if mode.tune
            }
            for program in fixture.programs
            if measured and program.order == "ladder"
        },
        perf=Perf("perf version 0", "2", 1, {}) if measured else None,
        lacking=(),
        samples=Kept(PROCESSES * len(cases), ZEROS, ZEROS),
        digest=ZEROS,
    )


def _binaries(fixture: Fixture) -> dict[str, Binary]:
    elf = Elf(
        path="a", machine="a", elf_class="ELF64", type="DYN", linking="dynamic", pie=True,
        relro="full", interpreter="a", needed=(), flags=(), flags_1=(), bind_now_tag=False,
        binds_now=False, build_id="", readelf_lines=("a line",),
    )  # fmt: skip
    cases = {case.path.rpartition(".")[0] for case in fixture.cases()}
    return {name: Binary(ZEROS, "a command", elf=elf, bindings={"plain": ()}) for name in cases}
