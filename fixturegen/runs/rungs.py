"""The rungs of a ladder: knobs that are turned for each, and what the machine then is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fixturegen.model import Fixture
from fixturegen.runs.context import Reading
from fixturegen.runs.schedule import Step

if TYPE_CHECKING:
    from fixturegen.tune import Guard

Rung = tuple[str, str]  # a program and a mode of it
ModeReadings = dict[str, dict[str, tuple[Reading, ...]]]
NONE: Rung = ("", "")


class Rungs:
    """Turns the knobs between the rungs of one run; without a guardian it only reads them.

    readings: for each program with such rungs its modes, each with its readings, one for each time
    that it was entered; `keep` is called when something was added to it.
    """

    def __init__(
        self,
        fixture: Fixture,
        guard: Guard | None,
        root: Path,
        readings: ModeReadings,
        keep: Callable[[], None] = lambda: None,
    ) -> None:
        self._wanted: dict[Rung, tuple[str, ...]] = {
            (program.name, mode.name): mode.tune
            for program in fixture.programs
            if any(mode.tune for mode in program.modes)
            for mode in program.modes
        }
        self._guard = guard
        self._root = root
        self._readings = readings
        self._keep = keep
        self._turned: list[str] = []  # in the order in which they were
        self._took: dict[str, str] = {}  # what those turned last were read back as

    def of(self, step: Step) -> Rung:
        """Return the rung of a step; it is `NONE` for every program that turns nothing."""
        rung = (step.case.program, step.case.mode)
        return rung if rung in self._wanted else NONE

    def enter(self, rung: Rung) -> str:
        """Turn the knobs of a rung before its first process; return why one did not take, or "".

        Then no process of the rung may start.
        """
        refused = self._turn(self._wanted.get(rung, ()))
        before = self._read() if rung != NONE and not refused else {}
        if before:
            refused = self._strayed(before)
        if before and not refused:
            program, mode = rung
            known = self._readings.setdefault(program, {})
            known[mode] = (*known.get(mode, ()), Reading(tuple(self._turned), before))
            self._keep()
        return refused

    def _strayed(self, before: Mapping[str, str]) -> str:
        """Return which turned knob is no more what it was turned to, in words; empty if none."""
        for knob, value in self._took.items():
            if before[knob] != value:
                return f"{knob} did not stay: turned to {value}, found {before[knob]}"
        return ""

    def leave(self, rung: Rung) -> None:
        """Read the knobs again after the last process of a rung that was entered."""
        if rung != NONE:
            program, mode = rung
            *earlier, last = self._readings[program][mode]
            self._readings[program][mode] = (*earlier, replace(last, after=self._read()))
            self._keep()

    def end(self) -> None:
        """Put everything back."""
        self._turn(())

    def _read(self) -> dict[str, str]:
        from fixturegen import tune

        return tune.read_back(self._root)

    def _turn(self, knobs: Collection[str]) -> str:
        """Turn from the last rung's knobs to `knobs`.

        What comes behind the first difference is put back before anything else is turned: while
        SMT is off, knobs of the CPUs that are then offline can no more be written.
        """
        if self._guard is None:
            return ""
        from fixturegen import tune

        self._took = {}
        wanted, kept = tune.in_order(knobs), 0
        while self._turned[kept : kept + 1] == wanted[kept : kept + 1] != []:
            kept += 1
        for knob in tune.in_order(self._turned[kept:], back=True):
            self._guard.reset(knob)
        del self._turned[kept:]
        for knob in wanted[kept:]:
            turned = self._guard.set(knob)
            if not turned.took:
                return f"{knob} did not take: {turned.reason}"
            self._turned.append(knob)
            self._took[knob] = turned.value
        return ""


def changed(rungs: ModeReadings) -> tuple[list[str], list[str]]:
    """Return what was changed by others during a rung, in words.

    First knobs that the rung had turned: its processes ran under another condition than the rung
    says. Then the others.
    """
    mine: list[str] = []
    others: list[str] = []
    for program, modes in rungs.items():
        for mode, readings in modes.items():
            for reading in readings:
                for knob, before in reading.before.items():
                    after = reading.after.get(knob, before)
                    if after != before:
                        change = (
                            f"{knob} was changed during {program} {mode}: {before}, then {after}"
                        )
                        (mine if knob in reading.turned else others).append(change)
    return mine, others
