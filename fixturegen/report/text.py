"""The text of a run: a pure function of the templates and of what is stored."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fixturegen import errors, files, machine, render, visible
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture
from fixturegen.render import mistakes
from fixturegen.report.ahead import TEMPLATE, environment
from fixturegen.report.attached import Attached
from fixturegen.report.tuned import rungs
from fixturegen.report.view import View, label, plural, shown
from fixturegen.runs import record
from fixturegen.runs.context import Context
from fixturegen.runs.summary import ClaimResult, Summary, summarise

LINE = 1000  # most characters of what a text says of the machine in one line


def text_path(project: Project, fixture: str) -> Path:
    """Return where the fixture's text is."""
    return project.fixtures / f"{fixture}.txt"


def render_report(
    project: Project,
    fixture: Fixture,
    stored: record.Stored,
    summary: Summary,
    *,
    keep: bool = False,
) -> str:
    """Return the text of a run; raises errors.SpecError if the report template is wrong.

    keep: whether compiled templates may be written to the user's cache.
    """
    folders = [project.folder(fixture.name), *project.shared(fixture.name)]
    created = environment(project, fixture.name, keep=keep)
    created.globals.update(View(summary, stored.context).functions())
    created.globals.update(Attached(summary, stored).functions())
    created.globals["run"] = run_values(fixture, stored, summary)
    named = next(
        (project.shown(f / TEMPLATE) for f in folders if files.is_file(f / TEMPLATE)), TEMPLATE
    )
    values = {"params": mistakes.Params(summary.params)}
    text = render.render_text(created, TEMPLATE, values, named)
    stripped = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", stripped).lstrip("\n")


def run_values(fixture: Fixture, stored: record.Stored, summary: Summary) -> dict[str, Any]:
    """Return the plain values that every report shows of its run."""
    context = stored.context
    lines = [
        (name, visible.escape(value, LINE)) for name, value in machine.report_lines(context.machine)
    ]
    return {
        "title": fixture.title,
        "fixture": fixture.name,
        "name": context.run,
        "date": context.started[:10],
        "seed": context.seed,
        "params": shown(context.params),
        "rounds": shown(context.rounds),
        "languages": [label(name) for name in shown(context.languages)],
        "programs": [
            {
                "name": p.name,
                "builds": p.declares_builds,
                "metrics": [
                    {"name": name, "unit": m.unit, "modes": list(m.modes)}
                    for name, m in p.metrics.items()
                ],
            }
            for p in fixture.programs
        ],
        "samples": stored.kept.count,
        "digest": stored.digest(),
        "command": " ".join(["fixturegen run", fixture.name, *_typed(context.options)]),
        "machine": visible.escape(machine.one_line(context.machine), LINE),
        "facts": {name.lower().replace(" ", "_"): value for name, value in lines},
        "machine_lines": [list(pair) for pair in lines],
        "cpus": _cpus(context),
        "cpu_reason": visible.escape(context.cpu_reason, 300),
        "toolchain": _toolchain(context),
        "launcher": shown(msgspec.to_builtins(context.launcher)),
        "claims": [_claim(result, summary, context) for result in summary.claims()],
        "disturbances": shown(context.disturbances),
        "notes": _notes(context, summary),
        "perf": shown(msgspec.to_builtins(context.perf)) if context.perf else {},
        "rungs": shown(rungs(context.rungs)),
        "storage": shown(context.storage),
        "failures": [
            {
                "case": visible.escape(case, 300),
                "round": number,
                "status": status,
                "detail": visible.escape(detail, 300),
            }
            for case, number, status, detail in summary.failures
        ],
    }


def _typed(options: Sequence[str]) -> list[str]:
    """Return the options that repeat a run as a shell reads them, each word as one word.

    They come out of a file: without this a `;` in one would begin another command.
    """
    try:
        return [shlex.join(shlex.split(visible.escape(option))) for option in options]
    except ValueError as error:
        raise errors.DataError(f"context.json: options: {error}") from error


def _cpus(context: Context) -> str:
    words = [
        ("CPU " if len(c) == 1 else "CPUs ") + ", ".join(map(str, c))
        for c in sorted({*context.cpus.values()})
    ]
    return "; ".join(words)


def _toolchain(context: Context) -> list[dict[str, Any]]:
    return [
        {"language": label(name), "lines": [visible.escape(line, 200) for line in lines]}
        for name, lines in context.toolchain.items()
        if lines
    ]


def _claim(result: ClaimResult, summary: Summary, context: Context) -> dict[str, Any]:
    words = {"holds": "holds", "fails": "DOES NOT HOLD", "undecided": "undecided"}
    return {
        "text": result.claim.text,
        "holds": result.claim.holds,
        "kind": result.kind,
        "state": result.verdict.state,
        "words": words[result.verdict.state],
        "reason": visible.escape(_reason(result, context), 300),
        "used": [
            {"path": path, "median": middle, "n": count, "unit": summary.unit(path)}
            for path, middle, count in result.verdict.used
            if not path.startswith("params.")
        ],
    }


def _reason(result: ClaimResult, context: Context) -> str:
    """Return why a claim is undecided: for cases that could not be measured, why they could not."""
    absent = context.unmeasured
    cases = [path.rpartition(".")[0] for path in result.verdict.missing]
    reasons = list(dict.fromkeys(absent[case] for case in cases if case in absent))
    if result.verdict.state != "undecided" or not reasons:
        return result.verdict.reason
    return "not measured: " + "; ".join(reasons)


def _notes(context: Context, summary: Summary) -> list[str]:
    """Return what was changed, skipped or failed, each a sentence; empty for a plain run."""
    notes = list(context.missing.values())
    notes += [
        words for words in context.lacking or () if not words.startswith("languages left out")
    ]
    for reason, count in sorted(Counter(context.unmeasured.values()).items()):
        notes.append(f"{plural(count, 'case')} not measured: {reason}")
    notes += [
        f"{path}: the last {count} samples skipped, as it kept failing"
        for path, count in context.skipped.items()
    ]
    if context.resumed:
        after = ", ".join(str(count) for count in context.resumed)
        notes.append(f"interrupted and resumed after {after} samples")
    left = sum(case.leftovers for case in summary.cases.values())
    if left:
        processes = "1 process" if left == 1 else f"{left} processes"
        notes.append(f"{processes} outlived the program that started them, and were ended")
    notes += [
        f"{count} samples of {path}, which the fixture no longer has, are left out"
        for path, count in summary.foreign.items()
    ]
    return [visible.escape(note, 300) for note in notes]


def stored_text(
    project: Project, fixture: Fixture, stored: record.Stored, *, keep: bool = False
) -> str:
    """Return the text that a stored run gives; keep: see `render_report`."""
    return render_report(project, fixture, stored, summarise(fixture, stored), keep=keep)
