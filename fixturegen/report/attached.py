"""What a report template sees of the files beside a run's samples, and of its histograms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from fixturegen import errors
from fixturegen.errors import nearest
from fixturegen.instruments.profile import Profile
from fixturegen.model import canonical
from fixturegen.render.mistakes import MisuseError
from fixturegen.report.values import Above, Number, Plain, plain, shown
from fixturegen.runs import context, record
from fixturegen.runs.summary import Summary, is_histogram


class Attached:
    """The functions over one run's attachments."""

    def __init__(self, summary: Summary, stored: record.Stored) -> None:
        self._summary = summary
        self._stored = stored

    def attached(self, name: str) -> bool:
        """Return whether the run has a file of this name."""
        return name in self._stored.context.attachments

    def attachment(self, name: str) -> Plain:
        """Return a profile's values, the lines of any other file, None if there is none.

        Raises errors.CheckError if it is not what the run kept, errors.DataError if it is no
        profile.
        """
        content = self._stored.attachment(name)
        if content is None:
            return None
        where = f"{self._stored.shown}/{name}"
        if name.endswith(".json"):
            return shown(plain(context.read(content, Profile, where)))
        try:
            return shown(content.decode("utf-8").splitlines())
        except UnicodeDecodeError as error:
            raise errors.DataError(f"{where}: is not UTF-8", context.RESTORE) from error

    def attachments(self, rows: Sequence[Plain], *endings: str) -> list[Plain]:
        """Return rows with the files beside the samples that are called after their case.

        Each ending is a field: the file's name, or "". `lines`: how many the first of them has.
        """
        known = {}
        for name in self._stored.context.attachments:
            case, _, ending = name.partition(".")
            known[canonical(case.replace("-", ".")), ending] = name
        made = []
        for row in rows:
            there = {ending: known.get((row["path"], ending), "") for ending in endings}
            first = self.attachment(there[endings[0]]) if endings and there[endings[0]] else None
            made.append({**row, **there, "lines": None if first is None else len(first)})
        return made

    def above(self, case: str, line: str, limit: Number | None) -> Above:
        """Return how many of a case's messages took more than `limit`, of how many, and the share.

        Of the histogram that the lines `line` print in columns `ns` and `count`, over all of its
        processes. The share is None if there are none.
        """
        self._insist_histogram(case, line)
        counts = self._summary.cases[case].histograms.get(line, Counter())
        if counts is None:
            raise errors.DataError(
                f"{self._stored.shown}/{record.PACKED}: {case}: {line}: no histogram",
                context.RESTORE,
            )
        over = 0 if limit is None else sum(n for ns, n in counts.items() if ns > limit)
        share = (
            float(Fraction(over, counts.total())) if counts.total() and limit is not None else None
        )
        return Above(over, counts.total(), share)

    def _insist_histogram(self, case: str, line: str) -> None:
        """Raise MisuseError unless the pattern of `line` has the columns of a histogram."""
        program = self._summary.cases[case].case.program
        lines = self._summary.fixture.program(program).lines
        if line not in lines:
            raise MisuseError(f"{program} has no line {line!r}", nearest(line, lines))
        if not is_histogram(lines[line]):
            hint = f"lines.{line} in fixture.toml has to have the columns ns and count"
            raise MisuseError(f"the line {line!r} of {program} is not a histogram", hint)

    def share(self, case: str, line: str, limit: Number | None) -> Number | None:
        """Return the share of `above`."""
        return self.above(case, line, limit).share
