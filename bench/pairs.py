"""Paired rounds, the interval of their ratio, and the table of verdicts."""

from __future__ import annotations

import math
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
    def ratios(self) -> list[float]:
        """The ratios of the pairs, sorted."""
        return sorted(one / other for one, other in zip(self.ours, self.theirs, strict=True))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the ratios' median, between two of them (Thompson 1936).

        Below 6 rounds there is none: then the smallest and the largest.
        """
        n, left_out, below = len(self.ours), 0, 0
        while 40 * (below := below + math.comb(n, left_out)) <= 2**n:
            left_out += 1  # on either side, as long as 95% stay in
        left_out = max(left_out - 1, 0)
        return self.ratios[left_out], self.ratios[n - 1 - left_out]

    @property
    def holds(self) -> bool:
        """False only if the whole interval is above the figure."""
        return self.interval[0] <= self.at_most


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
        low, high = row.interval
        cells.append(
            [
                row.name,
                row.what,
                _number(stats.median(row.ours)),
                row.against,
                _number(stats.median(row.theirs)),
                str(len(row.ours)),
                f"{stats.median(row.ratios):.3f}",
                f"{low:.3f} - {high:.3f}",
                f"{row.at_most:g}",
                "holds" if row.holds else "FAILS",
            ]
        )
    headers = ["row", "what ran", "median", "against", "median", "rounds", "ratio"]
    headers += ["95% interval", "at most", ""]
    return aligned(headers, cells, "llrlrrrrrl")


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
