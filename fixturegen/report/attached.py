"""What a report template sees of the files beside a run's samples, and of its histograms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from fixturegen import errors, record, units
from fixturegen.summary import Summary


class Attached:
    """The functions over one run's attachments; `folder` is the run's."""

    def __init__(self, summary: Summary, context: Mapping[str, Any], folder: Path) -> None:
        self._summary = summary
        self._context = context
        self._folder = folder

    def functions(self) -> dict[str, Any]:
        """Return what a template may call, by name."""
        return {"attachment": self.attachment, "attached": self.attached, "above": self.above}

    def attached(self, name: str) -> bool:
        """Return whether the run has a file of this name."""
        return name in record.attachments(self._context)

    def attachment(self, name: str) -> Any:
        """Return the values of a JSON file, the lines of any other; None if there is none.

        Raises errors.CheckError if it is not what the run kept.
        """
        if not self.attached(name):
            return None
        text = record.read_attachment(self._folder, self._context, name)
        if not name.endswith(".json"):
            return [units.escape(line, 300) for line in text.splitlines()]
        try:
            return shown(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise errors.CheckError(f"{name}: damaged: {error}") from error

    def above(self, case: str, line: str, limit: float | None) -> dict[str, Any]:
        """Return how many of a case's messages took more than `limit`, of how many, and the share.

        Of the histogram that the lines `line` print in columns `ns` and `count`, over the
        processes whose lines are kept (the first five). The share is None if there are none.
        """
        over, all_ = 0, 0
        for lines in self._summary.cases[case].kept:
            columns = lines.get(line, {})
            for ns, count in zip(columns.get("ns", []), columns.get("count", []), strict=True):
                all_ += int(count)
                over += int(count) if limit is not None and float(ns) > limit else 0
        share = float(Fraction(over, all_)) if all_ and limit is not None else None
        return {"over": over, "of": all_, "share": share}


def shown(value: Any) -> Any:
    """Return plain values whose texts show control and bidi characters escaped."""
    if isinstance(value, str):
        return units.escape(value, 300)
    if isinstance(value, list):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {str(key): shown(each) for key, each in value.items()}
    return value
