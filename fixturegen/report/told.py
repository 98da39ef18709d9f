"""What every report shows of its run: the values of `run`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from fixturegen import errors, machine, units, visible
from fixturegen.build.binary import OnPath
from fixturegen.model import SYSTEM, Fixture, canonical
from fixturegen.report.tuned import rungs
from fixturegen.report.values import (
    NO_PERF,
    TEXT,
    Claim,
    Failure,
    Language,
    Metric,
    Plain,
    Program,
    Run,
    Sentence,
    Toolchain,
    Used,
    shown,
)
from fixturegen.report.view import label
from fixturegen.runs import record
from fixturegen.runs.context import Context
from fixturegen.runs.declared import INTERLEAVE
from fixturegen.runs.declared import listed as few
from fixturegen.runs.schedule import SCHEDULES
from fixturegen.runs.summary import ClaimResult, Summary, constants
from fixturegen.units import plural

LINE = 1000  # most characters of what a text says of the machine in one line
WORDS = {"holds": "holds", "fails": "DOES NOT HOLD", "undecided": "undecided"}


def run_values(fixture: Fixture, stored: record.Stored, summary: Summary) -> Run:
    """Return the values that every report shows of its run."""
    context = stored.context
    claims = [_claim(result, summary, context) for result in summary.claims()]
    lines = [
        (name, visible.escape(value, LINE)) for name, value in machine.report_lines(context.machine)
    ]
    return Run(
        title=fixture.title,
        fixture=fixture.name,
        name=context.run,
        date=context.started[:10],
        seed=context.seed,
        params=shown(context.params),
        rounds=shown(context.rounds),
        schedule=SCHEDULES[INTERLEAVE in context.declared] if len(context.rounds) > 1 else "",
        languages=tuple(
            Language(name, label(name)) for name in shown(context.languages) if name != SYSTEM
        ),
        programs=tuple(
            Program(
                p.name,
                p.builds_differ,
                tuple(Metric(name, m.unit, tuple(m.modes)) for name, m in p.metrics.items()),
            )
            for p in fixture.programs
        ),
        samples=stored.kept.count,
        digest=stored.digest(),
        command=" ".join(
            [*_chosen(context), "fixturegen run", fixture.name, *_typed(context.options)]
        ),
        machine=visible.escape(machine.one_line(context.machine), LINE),
        facts={name.lower().replace(" ", "_"): value for name, value in lines},
        folios=summary.folios,
        machine_lines=tuple(lines),
        cpus=_cpus(context),
        cpu_reason=visible.escape(context.cpu_reason, TEXT),
        toolchain=_toolchain(fixture, context),
        c_library=visible.escape(context.c_library, TEXT),
        output=visible.escape(_output(context), TEXT),
        launcher=_escaped(context.launcher),
        claims=tuple(claims),
        sentences=_sentences(claims),
        disturbances=shown(context.disturbances),
        notes=_notes(context, summary),
        perf=_escaped(context.perf or NO_PERF),
        rungs=_escaped(rungs(context.rungs)),
        storage=shown(context.storage),
        failures=tuple(
            Failure(visible.escape(case, TEXT), number, status, visible.escape(detail, TEXT))
            for case, number, status, detail in summary.failures
        ),
    )


def _toolchain(fixture: Fixture, context: Context) -> tuple[Toolchain, ...]:
    """Return what each language's tools called themselves, and its builds' own compilers."""
    return tuple(
        Toolchain(
            label(name),
            tuple(visible.escape(line, 200) for line in _lines_of(fixture, name, context)),
        )
        for name, lines in context.toolchain.items()
        if lines
    )


def _lines_of(fixture: Fixture, language: str, context: Context) -> Sequence[str]:
    lines = context.toolchain[language]
    if language == SYSTEM and (places := _on_path(context)):
        scripts = {p.version: f" ({p.kind})" for _, p in places if p.kind != "ELF"}
        told = [line + scripts.get(line, "") for line in lines]
        return [*told, *(f"{command}: {place.path}, {place.kind}" for command, place in places)]
    return [*lines, *_named(fixture, language, context), *_besides(language, context)]


def _besides(language: str, context: Context) -> Iterator[str]:
    """Yield the files that a language's tools read or obey and that are not rendered."""
    of = [b for name, b in context.binaries.items() if f"{name}.".split(".")[1] == language]
    read = sorted({path for b in of if b.outside for path in b.outside.files})
    settings = sorted({path for b in of for path in b.settings})
    for words, paths in (("also read", read), ("settings", settings)):
        if paths:
            yield f"{words}: {few(paths)}"


def _chosen(context: Context) -> list[str]:
    """Return the variables that chose compilers, as a shell reads them before a command."""
    chosen = {name: value for b in context.binaries.values() for name, value in b.inherited.items()}
    return [
        f"{name}={_word(visible.escape(value))}"
        for name, value in sorted(chosen.items())
        if name.isascii() and name.isidentifier()
    ]


def _word(value: str) -> str:
    """Return a value as a shell reads it: with the ~ of a path that begins with it."""
    return f"~/{shlex.quote(value[2:])}" if value.startswith("~/") else shlex.quote(value)


def _on_path(context: Context) -> list[tuple[str, OnPath]]:
    """Return the commands of the system programs that were measured, each with what it is."""
    return sorted(
        {b.shown: b.on_path for b in context.binaries.values() if b.on_path is not None}.items()
    )


def _output(context: Context) -> str:
    """Return where the output of programs went that choose their work by it; "" if none does."""
    gone = {
        name.removesuffix(".output"): value == '"discard"'
        for name, value in context.declared.items()
        if name.endswith(".output")
    }
    kept = [n.removesuffix(f".{SYSTEM}") for n, b in context.binaries.items() if b.on_path]
    where = {name: gone.get(name, False) for name in (*kept, *gone)}
    names = {
        place: ", ".join(sorted(name for name, dropped in where.items() if dropped == discarded))
        for place, discarded in (("kept in memory", False), ("/dev/null", True))
    }
    return "; ".join(f"of {listed}: {place}" for place, listed in names.items() if listed)


def _named(fixture: Fixture, language: str, context: Context) -> list[str]:
    """Return the commands of a language's builds that name their compiler."""
    programs = [p for p in fixture.programs if language in p.languages]
    names = [
        p.binary(language, b)
        for p in programs
        for b in p.builds_in(language)
        if b.compiler(language)
    ]
    return [context.binaries[name].shown for name in names if name in context.binaries]


def _escaped(value: Plain) -> Plain:
    return shown(msgspec.to_builtins(value))


def _typed(options: Sequence[str]) -> list[str]:
    """Return the options that repeat a run as a shell reads them, each word as one word.

    They come out of a file: without this a `;` in one would begin another command.
    """
    try:
        return [shlex.join(shlex.split(visible.escape(option))) for option in options]
    except ValueError as error:
        raise errors.DataError(f"context.json: options: {error}") from error


def _cpus(context: Context) -> str:
    pinned = [
        ("CPU " if len(c) == 1 else "CPUs ") + ", ".join(map(str, c))
        for c in sorted({*context.cpus.values()})
    ]
    return "; ".join(pinned)


def _claim(result: ClaimResult, summary: Summary, context: Context) -> Claim:
    verdict = result.verdict
    numbers = [n for n in context.params.values() if isinstance(n, int | float)]
    beside = [*numbers, *constants(result.claim.holds)]
    return Claim(
        text=result.claim.text,
        holds=result.claim.holds,
        of=result.label,
        kind=result.kind,
        state=verdict.state,
        words=WORDS[verdict.state],
        reason=visible.escape(_reason(result, summary, context), TEXT),
        used=tuple(
            Used(path, middle, shown_, count, summary.of(path), summary.unit(path))
            for (path, middle, count), shown_ in zip(
                verdict.used,
                units.apart([middle for _, middle, _ in verdict.used], beside),
                strict=True,
            )
        ),
    )


def _sentences(claims: Sequence[Claim]) -> tuple[Sentence, ...]:
    """Return each sentence once: its verdicts in words, what they cite, why they are undecided."""
    return tuple(
        Sentence(
            text=text,
            words="; ".join(_for(verdict, of) for verdict, of in _by(verdicts, "words")),
            holds=holds,
            used=tuple({cited.path: cited for each in verdicts for cited in each.used}.values()),
            reasons=tuple(
                f"{listed(of)}: {reason}" if of[0] else reason
                for reason, of in _by(verdicts, "reason")
                if reason
            ),
        )
        for (text, holds), same in groupby(claims, lambda claim: (claim.text, claim.holds))
        for verdicts in [list(same)]
    )


def _by(verdicts: Sequence[Claim], field: str) -> list[tuple[str, list[str]]]:
    """Return each value of a field, and what the verdicts that have it are of."""
    groups: dict[str, list[str]] = {}
    for each in verdicts:
        groups.setdefault(getattr(each, field), []).append(each.of)
    return list(groups.items())


def _for(verdict: str, of: list[str]) -> str:
    return f"{verdict} for {listed(of)}" if of[0] else verdict


def listed(names: list[str]) -> str:
    """Return `C`, `C and Rust`, `C, C++ and Rust`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _reason(result: ClaimResult, summary: Summary, context: Context) -> str:
    """Return why a claim does not hold, or is undecided.

    For cases that could not be measured that is why they could not.
    """
    if broken := summary.broken(result):
        return "; ".join(broken)
    paths = [path for path in result.verdict.missing if not path.startswith("params.")]
    reasons = dict.fromkeys(_absence(path, context) for path in paths)
    known = [reason for reason in reasons if reason]
    if result.verdict.state != "undecided" or not known:
        return result.verdict.reason
    return "not measured: " + "; ".join(known)


def _absence(path: str, context: Context) -> str:
    """Return why a path was not measured, "" if the run does not know."""
    language, case = path.split(".")[1], canonical(path).rpartition(".")[0]
    reason = context.unmeasured.get(case) or context.missing.get(language)
    if reason or language in context.languages:
        return reason or ""
    return f"the run has no {label(language)}"


def _notes(context: Context, summary: Summary) -> tuple[str, ...]:
    """Return what was changed, skipped or failed, each a sentence; empty for a plain run."""
    notes = list(context.missing.values())
    notes += [lack for lack in context.lacking or () if not lack.startswith("languages left out")]
    for reason, count in sorted(Counter(context.unmeasured.values()).items()):
        notes.append(f"{plural(count, 'case')} not measured: {reason}")
    notes += [
        f"{path}: the last {count} samples skipped, as it kept failing"
        for path, count in context.skipped.items()
    ]
    settings = sorted({path for b in context.binaries.values() for path in b.settings})
    if settings:
        notes.append(f"built with the settings of {listed(settings)}, which others do not have")
    notes += [
        f"{command} is a {place.kind}: what that starts is measured as well"
        for command, place in _on_path(context)
        if place.kind.startswith("script")
    ]
    if context.resumed:
        after = ", ".join(str(count) for count in context.resumed)
        notes.append(f"interrupted and resumed after {after} samples")
    left = sum(case.leftovers for case in summary.cases.values())
    if left:
        notes.append(
            f"{plural(left, 'process')} outlived the program that started them, and were ended"
        )
    notes += [
        f"{count} samples of {path}, which the fixture no longer has, are left out"
        for path, count in summary.foreign.items()
    ]
    return tuple(visible.escape(note, TEXT) for note in notes)
