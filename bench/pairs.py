"""Paired rounds, the interval of their ratio, and the table of verdicts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fixturegen import stats
from fixturegen.report.table import aligned

Measure = Callable[[], tuple[float, ...]]


@dataclass(frozen=True)
class Row:
    """One ratio: `ours` and `theirs` run in parallel, one entry a round."""

    name: str
    what: str
    against: str
    at_most: float
    ours: Sequence[float]
    theirs: Sequence[float]

    @property
    def interval(self) -> stats.Interval:
        """The median of the paired ratios with its 95% bootstrap interval."""
        return stats.ratio_interval(list(self.ours), list(self.theirs), seed=1)

    @property
    def holds(self) -> bool:
        """False only if the whole interval is above the figure."""
        return self.interval.low <= self.at_most


def interleaved(
    name: str, ours: Measure, theirs: Measure, rounds: int
) -> list[tuple[list[float], list[float]]]:
    """Run both once a round, in alternating order; one pair of columns for each number given."""
    pairs = []
    for number in range(1, rounds + 1):
        sys.stderr.write(f"\r{name}: round {number} of {rounds} ")
        sys.stderr.flush()
        if number % 2:
            one = ours()
            other = theirs()
        else:
            other = theirs()
            one = ours()
        pairs.append((one, other))
    sys.stderr.write("\n")
    width = len(pairs[0][0])
    return [([one[i] for one, _ in pairs], [other[i] for _, other in pairs]) for i in range(width)]


def show(rows: Sequence[Row]) -> str:
    """Return the table: each row says what ran, against what, and whether its figure holds."""
    cells = []
    for row in rows:
        found = row.interval
        cells.append(
            [
                row.name,
                row.what,
                _number(stats.median(row.ours)),
                row.against,
                _number(stats.median(row.theirs)),
                str(len(row.ours)),
                f"{found.median:.3f}",
                f"{found.low:.3f} - {found.high:.3f}",
                f"{row.at_most:g}",
                "holds" if row.holds else "FAILS",
            ]
        )
    headers = ["row", "what ran", "median", "against", "median", "rounds", "ratio"]
    headers += ["95% interval", "at most", ""]
    return aligned(headers, cells, "llrlrrrrrl")


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
