"""`bench/bench.py [ROW...]`: prints one table; exits 1 if a row's figure is exceeded."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from pairs import Row, show
from place import Place
from rows import ROWS, lacking

from fixturegen import machine


def main() -> int:
    """Measure the rows asked for, all by default."""
    given = _arguments()
    figures = dict(given.at_most)
    began = time.monotonic()
    rows: list[Row] = []
    absent: list[str] = []
    allowed = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="fixturegen-bench-") as folder:
        place = Place(Path(folder))
        for name in given.rows or ROWS:
            entry = ROWS[name]
            if lacking(entry):
                absent.append(f"{name}: not measured, {entry.needs} is not on PATH")
                continue
            figure = figures.get(name, entry.at_most)
            rows += entry.rows(place, name, given.rounds or entry.rounds, figure)
            os.sched_setaffinity(0, allowed)
    sys.stdout.write(f"machine: {machine.one_line(place.description)}\n")
    sys.stdout.write(f"programs on CPU {place.cpu}, each round runs both, order alternating\n\n")
    sys.stdout.write("\n".join([show(rows), *absent]) + "\n\n")
    failed = [row.name for row in rows if not row.holds]
    sys.stdout.write(f"{len(rows)} rows in {time.monotonic() - began:.0f} s, ")
    sys.stdout.write(f"above their figure: {', '.join(failed) or 'none'}\n")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.py", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of: {', '.join(ROWS)}")
    parser.add_argument("--rounds", type=int, help="instead of each row's own number")
    parser.add_argument(
        "--at-most",
        action="append",
        default=[],
        type=_figure,
        metavar="ROW=RATIO",
        help="another figure for a row",
    )
    given = parser.parse_args()
    for name in (*given.rows, *(name for name, _ in given.at_most)):
        if name not in ROWS:
            parser.error(f"there is no row {name!r}; rows: {', '.join(ROWS)}")
    return given


def _figure(text: str) -> tuple[str, float]:
    name, _, figure = text.partition("=")
    return name, float(figure)


if __name__ == "__main__":
    sys.exit(main())
