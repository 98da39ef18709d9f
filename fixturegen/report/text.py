"""The text of a run: a pure function of the templates and of what is stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fixturegen import files, machine, mistakes, record, render, units
from fixturegen.model import Fixture
from fixturegen.project import Project
from fixturegen.report.ahead import TEMPLATE, environment
from fixturegen.report.attached import Attached, shown
from fixturegen.report.tuned import rungs
from fixturegen.report.view import View, label, plural
from fixturegen.summary import ClaimResult, Summary


def text_path(project: Project, fixture: str) -> Path:
    """Return where the fixture's text is."""
    return project.fixtures / f"{fixture}.txt"


def current_run(project: Project, fixture: str) -> str | None:
    """Return the run that the fixture's text names, else the newest complete one, else None."""
    path = text_path(project, fixture)
    if path.is_file():
        text = files.read_bytes(path).decode(errors="replace")
        found = re.search(r"^run +([^\s,]+)", text, re.MULTILINE)
        if found and (record.run_folder(project, fixture, found[1]) / record.CONTEXT).is_file():
            return found[1]
    complete = [
        name
        for name in record.finished_runs(project, fixture)
        if not record.stored(project, fixture, name).context["lacking"]
    ]
    return complete[-1] if complete else None


def summarise(fixture: Fixture, stored: record.Stored) -> Summary:
    """Return the summary of a stored run, under the parameters that it ran with."""
    params = {**fixture.params, **stored.context["params"]}
    return Summary(fixture, params).add_all(stored.samples())


def render_report(
    project: Project, fixture: Fixture, stored: record.Stored, summary: Summary
) -> str:
    """Return the text of a run; raises errors.SpecError if the report template is wrong."""
    folders = [project.folder(fixture.name), *project.shared(fixture.name)]
    created = environment(project, fixture.name)
    context = stored.context
    created.globals.update(View(summary, context).functions())
    created.globals.update(Attached(summary, context, stored.folder).functions())
    created.globals["run"] = run_values(fixture, context, summary)
    shown = next(
        (project.shown(f / TEMPLATE) for f in folders if (f / TEMPLATE).is_file()), TEMPLATE
    )
    values = {"params": mistakes.Params(summary.params)}
    text = render.render_text(created, TEMPLATE, values, shown)
    stripped = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", stripped).lstrip("\n")


def run_values(fixture: Fixture, context: Mapping[str, Any], summary: Summary) -> dict[str, Any]:
    """Return the plain values that every report shows of its run."""
    samples = context["samples"]
    options = context["options"]
    return {
        "title": fixture.title,
        "fixture": fixture.name,
        "name": context["run"],
        "date": context["started"][:10],
        "seed": context["seed"],
        "params": dict(context["params"]),
        "rounds": dict(context["rounds"]),
        "languages": [label(name) for name in context["languages"]],
        "programs": [
            {
                "name": p.name,
                "builds": p.declares_builds,
                "metrics": [
                    {"name": m.name, "unit": m.unit, "modes": list(m.modes)} for m in p.metrics
                ],
            }
            for p in fixture.programs
        ],
        "samples": samples["count"],
        "digest": samples["sha256"],
        "command": " ".join(["fixturegen run", fixture.name, *options]),
        "machine": machine.one_line(context["machine"]),
        "facts": _facts(context),
        "machine_lines": [list(pair) for pair in machine.report_lines(context["machine"])],
        "cpus": _cpus(context),
        "cpu_reason": context["cpu_reason"],
        "toolchain": _toolchain(context),
        "launcher": {"start": "", "linked": "", "rcu": "", **context.get("launcher", {})},
        "claims": [_claim(result, summary, context) for result in summary.claims()],
        "disturbances": [units.escape(words, 300) for words in context["disturbances"]],
        "notes": _notes(context, summary),
        "perf": shown(context.get("perf", {})),
        "rungs": rungs(context.get("rungs", {})),
        "storage": {
            where: units.escape(words, 160) for where, words in context.get("storage", {}).items()
        },
        "failures": [
            {"case": case, "round": number, "status": status, "detail": units.escape(detail, 300)}
            for case, number, status, detail in summary.failures
        ],
    }


def _cpus(context: Mapping[str, Any]) -> str:
    distinct = {tuple(cpus) for cpus in context["cpus"].values()}
    words = [
        ("CPU " if len(c) == 1 else "CPUs ") + ", ".join(map(str, c)) for c in sorted(distinct)
    ]
    return "; ".join(words)


def _facts(context: Mapping[str, Any]) -> dict[str, str]:
    """Return the machine's lines under names that a template can use: `page_size`."""
    pairs = machine.report_lines(context["machine"])
    return {name.lower().replace(" ", "_"): value for name, value in pairs}


def _toolchain(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"language": label(name), "lines": [units.escape(line, 200) for line in lines]}
        for name, lines in context["toolchain"].items()
    ]


def _claim(result: ClaimResult, summary: Summary, context: Mapping[str, Any]) -> dict[str, Any]:
    words = {"holds": "holds", "fails": "DOES NOT HOLD", "undecided": "undecided"}
    return {
        "text": result.claim.text,
        "holds": result.claim.holds,
        "kind": result.kind,
        "state": result.verdict.state,
        "words": words[result.verdict.state],
        "reason": units.escape(_reason(result, context), 300),
        "used": [
            {"path": path, "median": middle, "n": count, "unit": summary.unit(path)}
            for path, middle, count in result.verdict.used
            if not path.startswith("params.")
        ],
    }


def _reason(result: ClaimResult, context: Mapping[str, Any]) -> str:
    """Return why a claim is undecided: for cases that could not be measured, why they could not."""
    absent = context.get("unmeasured", {})
    cases = [path.rpartition(".")[0] for path in result.verdict.missing]
    reasons = list(dict.fromkeys(absent[case] for case in cases if case in absent))
    if result.verdict.state != "undecided" or not reasons:
        return result.verdict.reason
    return "not measured: " + "; ".join(reasons)


def _notes(context: Mapping[str, Any], summary: Summary) -> list[str]:
    """Return what was changed, skipped or failed, each a sentence; empty for a plain run."""
    notes = [f"{reason}" for reason in context["missing"].values()]
    notes += [words for words in context["lacking"] if not words.startswith("languages left out")]
    for reason, count in sorted(Counter(context.get("unmeasured", {}).values()).items()):
        notes.append(f"{plural(count, 'case')} not measured: {reason}")
    notes += [
        f"{path}: the last {count} samples skipped, as it kept failing"
        for path, count in context["skipped"].items()
    ]
    if context["resumed"]:
        after = ", ".join(str(count) for count in context["resumed"])
        notes.append(f"interrupted and resumed after {after} samples")
    left = sum(case.leftovers for case in summary.cases.values())
    if left:
        processes = "1 process" if left == 1 else f"{left} processes"
        notes.append(f"{processes} outlived the program that started them, and were ended")
    notes += [
        f"{count} samples of {path}, which the fixture no longer has, are left out"
        for path, count in summary.foreign.items()
    ]
    return [units.escape(note, 300) for note in notes]


def stored_text(project: Project, fixture: Fixture, stored: record.Stored) -> str:
    """Return the text that a stored run gives."""
    return render_report(project, fixture, stored, summarise(fixture, stored))
