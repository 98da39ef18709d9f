"""Progress of a run: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from types import TracebackType
from typing import Any, Self

import click

from fixturegen.model import Sample
from fixturegen.runner.schedule import Step

REDRAW_S = 0.1  # a terminal's bar
LINE_S = 10.0  # plain lines


class Progress:
    """Told of every sample; failed ones are said at once, each case's first one only."""

    def __init__(self, name: str, total: int, done: int) -> None:
        self._name, self._total, self._done = name, total, done
        self._first = done
        self._bar: Any = None
        self._task: Any = None
        self._began = self._last = time.monotonic()
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
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
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
            TimeRemainingColumn(),
            console=console,
            auto_refresh=False,
        )
        self._bar.start()
        self._task = self._bar.add_task(
            self._name, total=self._total, completed=self._done, doing=""
        )

    def update(self, step: Step, sample: Sample, done: int) -> None:
        """Take note of one sample; draws at most ten times a second."""
        self._done = done
        if sample.status != "ok" and sample.case not in self._told:
            self._told.add(sample.case)
            self._say(f"{self._name}: {sample.case}, round {sample.round}: {sample.detail}")
        now = time.monotonic()
        if now - self._last < (REDRAW_S if self._bar is not None else LINE_S):
            return
        self._last = now
        if self._bar is not None:
            self._bar.update(self._task, completed=done, doing=step.case.program, refresh=True)
            return
        left = (now - self._began) / max(done - self._first, 1) * (self._total - done)
        self._say(f"{self._name}: {done} of {self._total}, about {left:.0f} s left")

    def _say(self, text: str) -> None:
        """Say one line; a reader who has gone, or a full disk behind stderr, ends no run."""
        with contextlib.suppress(OSError):
            if self._bar is not None:
                self._bar.console.print(text, markup=False, highlight=False)
            else:
                click.echo(text, err=True)
