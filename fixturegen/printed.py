"""What programs print, read back: each line by the pattern that knows it, nothing dropped."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fixturegen import units, visible

Columns = dict[str, dict[str, list[int | str]]]


class UnreadableError(ValueError):
    """A printed line that no pattern knows, or a number that is none."""


class Reader:
    """Reads the output of one program; compiled once, used for every sample."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._patterns = [
            (name, re.compile(pattern, re.ASCII).fullmatch, list(re.compile(pattern).groupindex))
            for name, pattern in lines.items()
        ]

    def read(self, output: bytes) -> Columns:
        """Return each known line's columns, one entry a printed line.

        Raises UnreadableError that shows the first line which no pattern knows.
        """
        if not output:
            return {}
        columns: Columns = {
            name: {column: [] for column in names} for name, _, names in self._patterns
        }
        patterns = list(self._patterns)
        text = output.decode("utf-8", errors="backslashreplace")
        printed = text.split("\n")  # not splitlines: only LF ends a line, the rest is shown
        if not printed[-1]:
            printed.pop()
        for number, line in enumerate(printed, 1):
            for place, (name, fullmatch, names) in enumerate(patterns):
                found = fullmatch(line)
                if found is None:
                    continue
                self._take(columns[name], names, found, number)
                if place:  # the pattern that knew the last line mostly knows the next one
                    patterns.insert(0, patterns.pop(place))
                break
            else:
                shown = visible.escape(line, 160)
                raise UnreadableError(f"line {number} of its output fits no pattern: {shown}")
        return {name: values for name, values in columns.items() if any(values.values())}

    @staticmethod
    def _take(
        columns: dict[str, list[int | str]], names: list[str], found: re.Match[str], number: int
    ) -> None:
        for column in names:
            text = found[column]
            if text is None:  # an alternative without this column: `(?:(?P<n>\d+)|unknown)`
                continue
            # Most values are plain digits; int() alone would also take "1_000".
            if text.isascii() and text.isdigit() and len(text) < 19:
                columns[column].append(int(text))
                continue
            try:
                columns[column].append(units.parse_number(text))
            except ValueError as error:
                raise UnreadableError(f"line {number} of its output: {column}: {error}") from error
