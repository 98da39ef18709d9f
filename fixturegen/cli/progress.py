"""Progress of a run: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fixturegen import units, visible
from fixturegen.cli.terminal import say
from fixturegen.model import Sample
from fixturegen.runs.schedule import Step

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

REDRAW_S = 0.1  # a terminal's bar
LINE_S = 10.0  # plain lines


class TimeLeft:
    """How long the rest takes, from what each case took in an earlier run, scaled by this one.

    expected: mean wall time of a case's process in seconds; a case that it lacks counts as the mean
    of the others, so that without any earlier run all processes count the same.
    """

    def __init__(self, steps: Sequence[Step], expected: Mapping[str, float]) -> None:
        counts = Counter(step.case.path for step in steps)
        known = {path: count for path, count in counts.items() if path in expected}
        total = sum(expected[path] * count for path, count in known.items())
        self._else = total / sum(known.values()) if known else 1.0
        self._expected = expected
        self._left = sum(expected.get(p, self._else) * count for p, count in counts.items())
        self._spent = 0.0
        self._began = time.monotonic()

    def _of(self, step: Step) -> float:
        return self._expected.get(step.case.path, self._else)

    def take(self, step: Step) -> None:
        """Take note that a step has ended."""
        self._left -= self._of(step)
        self._spent += self._of(step)

    def seconds(self) -> float:
        """Return the seconds that are left, as it looks now."""
        elapsed = time.monotonic() - self._began
        return max(self._left, 0.0) * elapsed / self._spent if self._spent else 0.0


class Progress:
    """Told of every sample; failed ones are said at once, each case's first one only."""

    def __init__(self, name: str, total: int, done: int, left: TimeLeft) -> None:
        self._name, self._total, self._done = name, total, done
        self._left = left
        self._bar: Bar | None = None
        self._task: TaskID
        self._last = time.monotonic()
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        if self._terminal():
            self._start_bar()
        else:
            self._say(f"{self._name}: {self._total - self._done} fresh processes to start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
            self._bar.stop()

    @staticmethod
    def _terminal() -> bool:
        return (
            sys.stderr is not None
            and sys.stderr.isatty()
            and os.environ.get("TERM", "") not in ("", "dumb")
        )

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        plain = bool(os.environ.get("NO_COLOR"))
        console = Console(
            stderr=True,
            markup=False,
            emoji=False,
            highlight=False,
            no_color=plain,
            color_system=None if plain else "auto",
        )
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[doing]}", markup=False),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            auto_refresh=False,
        )
        self._bar.start()
        self._task = self._bar.add_task(
            self._name, total=self._total, completed=self._done, doing="", left=""
        )

    def update(self, step: Step, sample: Sample, done: int) -> None:
        """Take note of one sample; draws at most ten times a second."""
        self._done = done
        self._left.take(step)
        if sample.status != "ok" and sample.case not in self._told:
            self._told.add(sample.case)
            self._say(f"{self._name}: {sample.case}, round {sample.round}: {sample.detail}")
        now = time.monotonic()
        if now - self._last < (REDRAW_S if self._bar is not None else LINE_S):
            return
        self._last = now
        left = f"about {units.format_duration(self._left.seconds())} left"
        if self._bar is not None:
            self._bar.update(
                self._task, completed=done, doing=step.case.program, left=left, refresh=True
            )
            return
        self._say(f"{self._name}: {done} of {self._total}, {left}")

    def _say(self, text: str) -> None:
        """Say one line; a reader who has gone, or a full disk behind stderr, ends no run."""
        with contextlib.suppress(OSError):
            if self._bar is not None:
                self._bar.console.print(visible.escape(text), markup=False, highlight=False)
            else:
                say(text, err=True)
