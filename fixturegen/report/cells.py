"""A cell's expression and its row to a number, in the language of claims.

A path in a cell leaves out what it shares with the case of its row: `iter1` is the row's own,
`rust.iter1` the same build and mode in Rust, `untuned.mean` the same build in that mode. A row with
a round stands for the processes of that round alone. Besides metrics a path may lead to a column
that the case's first process printed: `CASE.line.column`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from fixturegen import expression
from fixturegen.errors import nearest
from fixturegen.model import Case, path_part
from fixturegen.render.mistakes import MisuseError
from fixturegen.report.values import Number, Plain
from fixturegen.runs.summary import Summary

_OWN = "row"
_BARE = re.compile(r"(?<![\w.])(?!(?:and|or|not|True|False)\b)[A-Za-z_]\w*(?![\w.]|\s*\()")


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> expression.Expression:
    """Return the expression of a cell; a name without a path gets one."""
    try:
        return expression.parse(_BARE.sub(lambda match: f"{_OWN}.{match[0]}", text))
    except expression.ExpressionError as error:
        raise _misused(error) from error


def _misused(error: expression.ExpressionError) -> MisuseError:
    """Return the error as the author of the cell sees it."""
    own = f"{_OWN}."
    at = error.at - len(own) * error.text[: error.at].count(own)
    what = error.what.replace("a claim", "a cell")
    said = expression.ExpressionError(what, error.text.replace(own, ""), at)
    return MisuseError(said.what, said.hint, said.quoted)


class Cells:
    """Evaluates the cells of one run's tables."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._meant: dict[tuple[str, str], str | None] = {}

    def number(self, cell: str, row: Mapping[str, Plain], where: str = "") -> Number | None:
        """Return what a cell gives for a row; None if something in it was not measured.

        cell: without fields; where: only processes in which this metric is not 0 (`not M`: is).
        """
        parsed = _parsed(cell)
        values = {
            path: self._param(path.partition(".")[2])
            if path.startswith("params.")
            else self._values(path, row, where)
            for path in parsed.paths
        }
        try:
            return expression.evaluate_number(parsed, values)
        except expression.ExpressionError as error:
            raise _misused(error) from error

    def marked(self, row: Mapping[str, Plain], metric: str) -> bool:
        """Whether a metric of the row's case is not 0 in some process."""
        return any(self._values(f"{_OWN}.{metric}", row, ""))

    def _values(self, path: str, row: Mapping[str, Plain], where: str) -> list[Number]:
        case, _, metric = path.rpartition(".")
        case_path = self._case(case, row)
        if case_path is None:
            return self._printed(path, row)
        summary = self._summary.cases.get(case_path)
        if summary is None:  # the program has these names, but no such case
            return []
        if metric not in summary.values:
            return self._other(path, summary.case, metric)
        values = summary.values[metric]
        chosen: Sequence[int] = range(len(values))
        if "round" in row:
            chosen = [i for i in chosen if summary.rounds[i] == row["round"]]
        if where:
            wanted, by = not where.startswith("not "), where.removeprefix("not ").strip()
            if by not in summary.values:
                self._other(f"{case_path}.{by}", summary.case, by)
                return []
            marks = summary.values[by]
            chosen = [i for i in chosen if marks[i] is not None and bool(marks[i]) == wanted]
        return [value for i in chosen if (value := values[i]) is not None]

    def _param(self, name: str) -> Number:
        value = self._summary.params.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise MisuseError(f"params has no number {name!r}", nearest(name, self._summary.params))

    def _case(self, case: str, row: Mapping[str, Plain]) -> str | None:
        """Return the path of the case that a path's first parts mean, None if they mean none.

        A path of no case is that of names which the row's program has, but not together.
        """
        own = str(row.get("path", ""))
        if case == _OWN:
            return own or None
        if case in self._summary.cases:
            return case
        if (case, own) not in self._meant:
            self._meant[case, own] = self._relative(case, own)
        return self._meant[case, own]

    def _relative(self, case: str, own: str) -> str | None:
        """Return the case that a path means in a row of the case `own`."""
        known = self._summary.cases.get(own)
        if known is None:
            return None
        parts, program = case.split("."), self._summary.fixture.program(known.case.program)
        of = program.cases()
        names = {path_part(name) for c in of for name in (c.language, c.build, c.mode)}
        if not {*parts} <= names or not _ordered(of, parts):
            return None
        agreeing = [c.path for c in of if _agrees(c, known.case, parts)]
        if len(agreeing) > 1:
            hint = f"write the whole path: {', '.join(agreeing)}"
            raise MisuseError(f"{case!r} means {len(agreeing)} cases", hint)
        return agreeing[0] if agreeing else case

    def _other(self, path: str, case: Case, metric: str) -> list[Number]:
        """Return nothing for a metric that only other modes have; raises MisuseError if none."""
        names = self._summary.fixture.program(case.program).metrics
        if metric in names:
            return []
        raise MisuseError(f"unknown metric {metric!r} of {case.program}", nearest(metric, names))

    def _printed(self, path: str, row: Mapping[str, Plain]) -> list[Number]:
        """Return a column of a line that the first process of a case printed."""
        if "round" in row:
            raise MisuseError(
                f"{path.removeprefix(_OWN + '.')!r} is printed by a case's first process",
                "a row of one round has metrics only",
            )
        parts = path.split(".")
        line, name = parts[-2], parts[-1]
        case_path = self._case(".".join(parts[:-2]) or _OWN, row)
        if case_path and case_path in self._summary.cases:
            case = self._summary.cases[case_path]
            lines = self._summary.fixture.program(case.case.program).lines
            printed = case.kept[0].get(line, {}) if case.kept else {}
            if line in lines or printed:
                return [float(v) if isinstance(v, str) else v for v in printed.get(name, [])]
        known = {f"{p}.{m}" for p, c in self._summary.cases.items() for m in c.values}
        own = self._summary.cases.get(row.get("path", ""))
        if own is not None:
            short, of = path.removeprefix(f"{_OWN}."), own.case.program
            cases = self._summary.fixture.program(of).cases()
            names = {name for case in cases for name in case.path.split(".")[1:]}
            known |= {*own.values} | {f"{name}.{m}" for name in names for m in own.values}
            raise MisuseError(f"unknown path {short!r}", nearest(short, known))
        raise MisuseError(f"unknown path {path!r}", nearest(path, known))


def _ordered(cases: Sequence[Case], parts: Sequence[str]) -> bool:
    """Whether parts of a path stand as in one: a language, a build, a mode, each at most once."""
    left = list(parts)
    for kind in ("language", "build", "mode"):
        if left and left[0] in {path_part(getattr(case, kind)) for case in cases}:
            left.pop(0)
    return not left


def _agrees(case: Case, own: Case, parts: list[str]) -> bool:
    """Whether a case has the named parts, in order, and else what `own` has."""
    left = list(parts)
    for name, same in zip(
        (case.language, case.build, case.mode), (own.language, own.build, own.mode), strict=True
    ):
        if left and path_part(name) == left[0]:
            left.pop(0)
        elif name != same:
            return False
    return not left
