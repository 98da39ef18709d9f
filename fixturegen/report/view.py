"""What a report template may call: functions from names to plain values and to text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from fixturegen import stats, units, visible
from fixturegen.errors import nearest
from fixturegen.languages import LANGUAGES
from fixturegen.model import Paths, Program, path_part
from fixturegen.render.mistakes import MisuseError
from fixturegen.report import formats
from fixturegen.report.attached import Attached
from fixturegen.report.cells import Cells
from fixturegen.report.columns import auto, column, count, fill, per, share_above, text
from fixturegen.report.formats import ABSENT
from fixturegen.report.table import Tables
from fixturegen.report.tuned import rungs
from fixturegen.report.values import (
    TEXT,
    Groups,
    Half,
    Number,
    Plain,
    Process,
    Reason,
    Row,
    Stat,
    plain,
    shown,
)
from fixturegen.runs import record
from fixturegen.runs.summary import CaseSummary, Summary

Functions: TypeAlias = dict[str, Callable[..., Plain]]
Chosen: TypeAlias = str | Sequence[str] | Mapping[str, str]

FAILED = "no process of it ended well"
UNKNOWN_TO_RUN = "the run has no process of it"  # the fixture has grown since, or it was left out

# What needs no run.
TEXTS: Functions = {
    "number": formats.number,
    "pad": formats.pad,
    "short": formats.short,
    "ratio": formats.ratio,
    "percent": units.format_percent,
    "size": units.format_bytes,
    "wrap": formats.wrap,
    "plural": units.plural,
    "histogram": formats.histogram,
    "lines": formats.lines,
    "text": text,
    "column": column,
    "count": count,
    "share_above": share_above,
    "per": per,
}


class View:
    """The functions of one run's report. Paths are `program.language[.build].mode.metric`."""

    def __init__(self, summary: Summary, stored: record.Stored) -> None:
        self._summary = summary
        self._context = stored.context
        self._binaries = Paths(stored.context.binaries)
        self._unmeasured = Paths(stored.context.unmeasured)
        self._attached = Attached(summary, stored)
        self._rungs = rungs(stored.context.rungs)
        self._stats: dict[str, Stat] = {}

    def functions(self) -> Functions:
        """Return what a template may call, by name."""
        own: list[Callable[..., Plain]] = [
            self.stat, self.values, self.split, self.explained, self.processes, self.printed,
            self.cases, self.metrics, self.groups, self.rounds, self.reasons, self.unmeasured,
            self.binary, self.above, self._attached.attachment, self._attached.attached,
            self._attached.attachments,
        ]  # fmt: skip
        return {
            **TEXTS,
            **{function.__name__: function for function in own},
            "table": Tables(Cells(self._summary), self._attached.share).table,
            "label": label,
        }

    def values(self, path: str) -> list[Number]:
        """Return the processes' values of a path; [] if none was measured."""
        try:
            return self._summary.values(path)
        except KeyError:
            known = [f"{p}.{m}" for p, case in self._summary.cases.items() for m in case.values]
            raise MisuseError(f"unknown path {path!r}", nearest(path, known)) from None

    def stat(self, path: str) -> Plain:
        """Return n, median, min, max, q1, q3, iqr, mad, unit and groups of a path (`Stat`)."""
        return plain(self._known_stat(path))

    def _known_stat(self, path: str) -> Stat:
        if path not in self._stats:
            self.values(path)  # or says that there is no such path
            self._stats[path] = statistics(self._summary, path)
        return self._stats[path]

    def explained(self, path: str, other: str) -> str:
        """Return yes or no: whether `other` explains the two groups of `path`; - without groups."""
        values, against = self.values(path), self.values(other)
        groups = stats.groups(values) if values else None
        if groups is None or len(against) != len(values):
            return ABSENT
        return stats.explained_by(values, against, groups)

    def split(self, path: str, by: str) -> Plain:
        """Return n and median of a path for the processes where `by` is 0, then where it is not."""
        pairs = list(zip(self.values(path), self.values(by), strict=True))
        halves = [[v for v, b in pairs if not b], [v for v, b in pairs if b]]
        return [plain(Half(len(h), stats.median(h) if h else None)) for h in halves]

    def processes(self, case: str | list[Plain]) -> Plain:
        """Return one entry for each ok process of a case (`Process`), and each metric by name.

        case: its path, or rows: then the processes of all in the order in which they ran.
        """
        if isinstance(case, str):
            return self._processes(self._case(case))
        all_ = [entry for row in case for entry in self._processes(self._case(row["path"]))]
        return sorted(all_, key=lambda entry: int(entry["position"]))

    def _processes(self, summary: CaseSummary) -> list[Plain]:
        of = summary.case
        return [
            {
                **plain(
                    Process(
                        round=number,
                        position=summary.positions[i],
                        path=of.path,
                        label=label(of.language),
                        build=of.build,
                        mode=of.mode,
                        after=visible.escape(summary.after[i], TEXT),
                    )
                ),
                **{name: values[i] for name, values in summary.values.items()},
            }
            for i, number in enumerate(summary.rounds)
        ]

    def printed(self, case: str, index: int = 0) -> Plain:
        """Return what the case's process `index` (of the first five kept) printed: {} if none."""
        kept = self._case(case).kept
        return kept[index] if index < len(kept) else {}

    def cases(
        self,
        program: str,
        language: Chosen = "",
        build: Chosen = "",
        mode: Chosen = "",
        by: str = "",
        names: Mapping[str, str] | None = None,
    ) -> Plain:
        """Return the cases of a program (`Row`) in the languages of the run.

        language, build and mode narrow them: one name, several in the order that is wanted, or a
        mapping of modes to what the rows are called (`"cold": "{label}, cold"`); names: only this,
        for some modes. The order is that of declaration, languages first;
        by="mode" puts what has one mode together.
        """
        of = self._program(program)
        ranks = [
            _ranks("language", language, self._summary.fixture.languages),
            _ranks("build", build, [b.name for b in of.builds]),
            _ranks("mode", mode, [m.name for m in of.modes]),
        ]
        called = {**(mode if isinstance(mode, Mapping) else {}), **(names or {})}
        _ranks("mode", called, [m.name for m in of.modes])
        chosen = []
        for path, each in self._summary.cases.items():
            case = each.case
            parts = (case.language, case.build, case.mode)
            if case.program != program or not self._has(case.language):
                continue
            if all(part in rank for part, rank in zip(parts, ranks, strict=True)):
                order = [rank[part] for part, rank in zip(parts, ranks, strict=True)]
                chosen.append((order, self._row(path, each, called.get(case.mode, case.mode))))
        kinds = ("language", "build", "mode")
        if by not in ("", *kinds):
            raise MisuseError(f"by={by!r}", nearest(by, kinds))
        first = kinds.index(by or "language")
        chosen.sort(key=lambda pair: (pair[0][first], pair[0]))
        return [plain(row) for _, row in chosen]

    def _has(self, language: str) -> bool:
        """Whether the run has a language; the text says elsewhere why it lacks one."""
        return language in self._context.languages

    def _row(self, path: str, each: CaseSummary, called: str) -> Row:
        case = each.case
        row = Row(
            path=path,
            program=case.program,
            language=case.language,
            label=label(case.language),
            build=case.build,
            mode=case.mode,
            text=called,
            n=each.count,
            failed=len(each.failed),
            rcu=each.rcu,
            rung=self._rungs.get(case.program, {}).get(case.mode),
        )
        return replace(row, text=fill(called, plain(row)))

    def metrics(self, rows: Sequence[Plain], metrics: Sequence[str] = ()) -> Plain:
        """Return each row once for each metric of its mode: fields `metric`, `unit`, `two_groups`.

        metrics: only these. `two_groups` says how many processes lie around which two values, or
        is "".
        """
        made = []
        for row in rows:
            case = self._case(row["path"])
            if unknown := [name for name in metrics if name not in case.values]:
                hint = nearest(unknown[0], case.values)
                raise MisuseError(f"unknown metric {unknown[0]!r} of {row['path']}", hint)
            for name in metrics or case.values:
                known = self._known_stat(f"{row['path']}.{name}")
                two = _two(known.groups) if known.groups else ""
                made.append({**row, "metric": name, "unit": known.unit, "two_groups": two})
        return made

    def groups(self, rows: Sequence[Plain], explained_by: str = "") -> Plain:
        """Return those rows of `metrics(...)` whose processes fall into two groups.

        They have the fields of `Groups` too, and `explained`: yes or no, whether that metric
        explains them.
        """
        made = []
        for row in rows:
            path = f"{row['path']}.{row['metric']}"
            if known := self._known_stat(path).groups:
                other = f"{row['path']}.{explained_by}"
                why = self.explained(path, other) if explained_by else ABSENT
                made.append({**row, **plain(known), "explained": why})
        return made

    def rounds(self, rows: Sequence[Plain]) -> Plain:
        """Return each row once for each round of its case; cells are of that round alone."""
        return [{**row, "round": r} for row in rows for r in self._case(row["path"]).rounds]

    def above(self, case: str, line: str, limit: Number | None) -> Plain:
        """Return how many of a case's messages in the histogram `line` took more than `limit`."""
        return plain(self._attached.above(self._known(case), line, limit))

    def reasons(self, rows: Sequence[Plain]) -> Plain:
        """Return why rows were not measured: each reason once, with its rows (`Reason`)."""
        by_reason: dict[str, list[Plain]] = {}
        for row in rows:
            case = self._case(row["path"])
            if not case.count:
                unsaid = FAILED if case.failed else UNKNOWN_TO_RUN
                by_reason.setdefault(self.unmeasured(row["path"]) or unsaid, []).append(row)
        return [plain(Reason(reason, tuple(of))) for reason, of in by_reason.items()]

    def unmeasured(self, case: str) -> str:
        """Return why a case was not measured, with the command that would; "" if it was."""
        return visible.escape(self._unmeasured.get(self._known(case), ""), TEXT)

    def binary(self, program: str, language: str, build: str = "") -> Plain:
        """Return a binary's facts (sha256, shown, elf, bindings), or none if it was not built."""
        name = f"{program}.{language}" + (f".{path_part(build)}" if build else "")
        binary = self._binaries.get(name)
        if binary is None:
            of = self._program(program)
            _ranks("language", language, self._summary.fixture.languages)
            _ranks("build", build, [b.name for b in of.builds])
            return None
        facts = shown(plain(binary))
        return facts if binary.kernel.name else {**facts, "kernel": {}}

    def _case(self, path: str) -> CaseSummary:
        return self._summary.cases[self._known(path)]

    def _known(self, path: str) -> str:
        """Return the case that a path means; raises MisuseError with the nearest one."""
        if path not in self._summary.cases:
            raise MisuseError(f"unknown case {path!r}", nearest(path, self._summary.cases))
        return path

    def _program(self, name: str) -> Program:
        programs = {program.name: program for program in self._summary.fixture.programs}
        if name not in programs:
            raise MisuseError(f"unknown program {name!r}", nearest(name, programs))
        return programs[name]


def label(language: str) -> str:
    """Return a language's name as people write it."""
    return LANGUAGES.label(language)


def _ranks(what: str, chosen: Chosen, known: Collection[str]) -> dict[str, int]:
    """Return the place of each chosen name; all are, if none is named.

    Raises MisuseError for a name that is not known.
    """
    names = [chosen] if isinstance(chosen, str) and chosen else list(chosen) or list(known)
    if unknown := [name for name in names if name not in known]:
        raise MisuseError(f"unknown {what} {unknown[0]!r}", nearest(unknown[0], known))
    return {name: place for place, name in enumerate(names)}


def statistics(summary: Summary, path: str) -> Stat:
    """Return the statistics of a path; KeyError if the fixture has no such metric."""
    unit = summary.unit(path)
    ordered = sorted(summary.values(path))  # every function sorts what is sorted
    if not ordered:
        return Stat(unit=unit)
    q1, q3 = stats.quantile(ordered, 0.25), stats.quantile(ordered, 0.75)
    two = stats.groups(ordered)
    return Stat(
        n=len(ordered),
        median=stats.median(ordered),
        min=ordered[0],
        max=ordered[-1],
        q1=q1,
        q3=q3,
        iqr=q3 - q1,
        mad=stats.mad(ordered),
        groups=two and Groups(two.low, two.high, two.low_median, two.high_median),
        unit=unit,
    )


def _two(groups: Groups) -> str:
    values = (groups.low, groups.high)
    low, high = (units.format_number(value, auto(value)) for value in values)
    if low == high:
        low, high = (units.format_number(value, 2) for value in values)
    return f"{groups.low_n} around {low}, {groups.high_n} around {high}"
