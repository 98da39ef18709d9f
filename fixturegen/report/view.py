"""What a report template sees: plain values, and functions from names to plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fixturegen import stats, units, visible
from fixturegen.languages import LANGUAGES
from fixturegen.model import path_part
from fixturegen.runs.context import Context
from fixturegen.runs.summary import Number, Summary

ABSENT = "-"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return an aligned table; `align` has l or r for each column (the first l, others r).

    Cells are text already: nothing is parsed as a number, nothing depends on what is installed.
    """
    import tabulate

    tabulate.WIDE_CHARS_MODE = False
    columns = len(headers) if headers else max((len(row) for row in rows), default=0)
    letters = align or "l" + "r" * (columns - 1)
    text: str = tabulate.tabulate(
        [[str(cell) for cell in row] for row in rows],
        headers=list(headers) or (),
        tablefmt="simple" if headers else "plain",
        colalign=["left" if letter == "l" else "right" for letter in letters[:columns]]
        if rows
        else None,
        disable_numparse=True,
    )
    return "\n".join(line.rstrip() for line in text.splitlines())


def wrap(text: str, indent: int = 0, width: int = 100) -> str:
    """Return text broken between words at `width` columns, every line indented."""
    import textwrap

    margin = " " * indent
    return textwrap.fill(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def number(value: Number | None, decimals: int = 0) -> str:
    """Return a number with so many decimals, half-even; `-` for one that was not measured."""
    return ABSENT if value is None else units.format_number(value, decimals)


def pad(value: Number | str | None, width: int, decimals: int = 0) -> str:
    """Return a number, or text, right-aligned to `width`."""
    text = value if isinstance(value, str) else number(value, decimals)
    return text.rjust(width)


def short(ns: Number | None, decimals: int = 1) -> str:
    """Return nanoseconds in the unit that reads best."""
    return ABSENT if ns is None else units.short(ns, decimals)


def ratio(one: Number | None, other: Number | None, decimals: int = 1) -> str:
    """Return `one / other` as `12.3x`, or `-`."""
    return ABSENT if one is None or not other else units.format_ratio(one / other, decimals)


def histogram(values: Sequence[int], counts: Sequence[int], unit: str = "ns") -> str:
    """Return the lines of a histogram: two buckets an octave, and a `#` for each doubling.

    values and counts run parallel, as a program printed them. The bars are logarithmic so that one
    value in a million is seen; the count stands beside. Buckets between the ends that nothing fell
    into have a line too.
    """
    buckets: dict[int, int] = {}
    for value, count in zip(values, counts, strict=True):
        place = _bucket(value)
        buckets[place] = buckets.get(place, 0) + count
    filled = [place for place, count in buckets.items() if count]
    if not filled:
        return ABSENT
    rows = [
        (str(_start(place)), str(_start(place + 1) - 1), buckets.get(place, 0))
        for place in range(min(filled), max(filled) + 1)
    ]
    wide, long = len(rows[-1][1]), len(str(max(count for _, _, count in rows)))
    lines = [
        f"{low:>{wide}} - {high:>{wide}} {unit}  {count:>{long}}  {'#' * count.bit_length()}"
        for low, high, count in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def _bucket(value: int) -> int:
    """Return the place of a value among buckets that begin at 0, 1, 2, 3, 4, 6, 8, 12, 16, ..."""
    if value < 2:
        return max(value, 0)
    octave = value.bit_length() - 1
    return 2 * octave + (value >> (octave - 1) & 1)


def _start(place: int) -> int:
    return place if place < 2 else (2 + place % 2) << (place // 2 - 1)


def shown(value: Any) -> Any:
    """Return plain values whose texts are short and show control and bidi characters escaped."""
    if isinstance(value, str):
        return visible.escape(value, 300)
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {visible.escape(str(key), 300): shown(each) for key, each in value.items()}
    return value


class View:
    """The functions of one run's report. Paths are `program.language[.build].mode.metric`."""

    def __init__(self, summary: Summary, context: Context | None = None) -> None:
        self._summary = summary
        self._binaries = context.binaries if context else {}
        self._unmeasured = context.unmeasured if context else {}

    def functions(self) -> dict[str, Any]:
        """Return what a template may call, by name."""
        return {
            "table": table,
            "number": number,
            "pad": pad,
            "short": short,
            "ratio": ratio,
            "percent": units.format_percent,
            "size": units.format_bytes,
            "stat": self.stat,
            "values": self.values,
            "processes": self.processes,
            "printed": self.printed,
            "split": self.split,
            "cases": self.cases,
            "explained": self.explained,
            "binary": self.binary,
            "label": label,
            "wrap": wrap,
            "histogram": histogram,
            "plural": plural,
            "unmeasured": self.unmeasured,
        }

    def values(self, path: str) -> list[Number]:
        """Return the processes' values of a path; [] if none was measured."""
        return self._summary.values(path)

    def stat(self, path: str) -> dict[str, Any]:
        """Return n, median, min, max, q1, q3, iqr, mad, unit and groups of a path.

        Every number is None if nothing was measured; groups is None, or has the counts and
        medians of the two groups: low_n, high_n, low, high.
        """
        known = self._summary.stats.get(path)
        if known is None:
            known = _stat(sorted(self._summary.values(path)))
            self._summary.stats[path] = known
        return {**known, "unit": self._summary.unit(path)}

    def explained(self, path: str, other: str) -> str:
        """Return yes or no: whether `other` explains the two groups of `path`; - without groups."""
        values, against = self._summary.values(path), self._summary.values(other)
        found = stats.groups(values) if values else None
        if found is None or len(against) != len(values):
            return ABSENT
        return stats.explained_by(values, against, found)

    def split(self, path: str, by: str) -> list[dict[str, Any]]:
        """Return n and median of a path for the processes where `by` is 0, then where it is not."""
        pairs = list(zip(self._summary.values(path), self._summary.values(by), strict=True))
        halves = [[v for v, b in pairs if not b], [v for v, b in pairs if b]]
        return [{"n": len(h), "median": stats.median(h) if h else None} for h in halves]

    def processes(self, case: str) -> list[dict[str, Any]]:
        """Return one dict an ok process of a case: round, after, and each metric by name."""
        found = self._summary.cases[case]
        return [
            {
                "round": number,
                "position": found.positions[i],
                "mode": found.case.mode,
                "after": visible.escape(found.after[i], 300),
                **{name: column[i] for name, column in found.values.items()},
            }
            for i, number in enumerate(found.rounds)
        ]

    def printed(self, case: str, index: int = 0) -> dict[str, dict[str, list[int | str]]]:
        """Return what the case's process `index` (of the first five kept) printed: {} if none."""
        kept = self._summary.cases[case].kept
        return kept[index] if index < len(kept) else {}

    def cases(
        self, program: str, language: str = "", build: str = "", mode: str = ""
    ) -> list[dict[str, Any]]:
        """Return the cases of a program, narrowed by what is given, in the order of declaration."""
        found = []
        for path, each in self._summary.cases.items():
            case = each.case
            if case.program != program or language not in ("", case.language):
                continue
            if build not in ("", case.build) or mode not in ("", case.mode):
                continue
            found.append(
                {
                    "path": path,
                    "program": program,
                    "language": case.language,
                    "label": label(case.language),
                    "build": case.build,
                    "mode": case.mode,
                    "n": each.count,
                    "failed": len(each.failed),
                    "rcu": each.rcu,
                }
            )
        return found

    def unmeasured(self, case: str) -> str:
        """Return why a case was not measured, with the command that would; "" if it was."""
        return visible.escape(self._unmeasured.get(case, ""), 300)

    def binary(self, program: str, language: str, build: str = "") -> dict[str, Any] | None:
        """Return a binary's facts (sha256, shown, elf, bindings), or None if it was not built."""
        name = f"{program}.{language}" + (f".{path_part(build)}" if build else "")
        found = self._binaries.get(name)
        if found is None:
            return None
        plain: dict[str, Any] = shown(msgspec.to_builtins(found))
        return plain if found.kernel.name else {**plain, "kernel": {}}


def label(language: str) -> str:
    """Return a language's name as people write it."""
    return LANGUAGES.label(language)


def plural(count: int, noun: str) -> str:
    """Return `1 sample`, `2 samples`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _stat(ordered: list[Number]) -> dict[str, Any]:
    """Return what `View.stat` tells of sorted values: every function sorts what is sorted."""
    if not ordered:
        names = ("median", "min", "max", "q1", "q3", "iqr", "mad", "groups")
        return {"n": 0, **dict.fromkeys(names)}
    q1, q3 = stats.quantile(ordered, 0.25), stats.quantile(ordered, 0.75)
    return {
        "n": len(ordered),
        "median": stats.median(ordered),
        "min": ordered[0],
        "max": ordered[-1],
        "q1": q1,
        "q3": q3,
        "iqr": q3 - q1,
        "mad": stats.mad(ordered),
        "groups": _groups(ordered),
    }


def _groups(values: Sequence[Number]) -> dict[str, Any] | None:
    found = stats.groups(values)
    if found is None:
        return None
    return {
        "low_n": found.low,
        "high_n": found.high,
        "low": found.low_median,
        "high": found.high_median,
    }
