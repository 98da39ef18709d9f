"""What a run read back of the machine's knobs, rung by rung, for report templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fixturegen import visible
from fixturegen.report.values import Rung
from fixturegen.runs.context import Reading
from fixturegen.tune import KNOBS

UNKNOWN = "unknown: "
UNREAD = "not read"


def rungs(
    read: Mapping[str, Mapping[str, Sequence[Reading]]],
) -> dict[str, dict[str, Rung]]:
    """Return program, mode, rung, from the context's `rungs`."""
    return {
        program: {mode: _rung(readings) for mode, readings in modes.items()}
        for program, modes in read.items()
    }


def _rung(readings: Sequence[Reading]) -> Rung:
    read = [state for each in readings for state in (each.before, each.after) if state]
    states, reasons = {}, {}
    # Not in the order of the context, which is another one when it comes from its file.
    known = {knob for state in read for knob in state}
    for knob in [*(name for name in KNOBS if name in known), *sorted(known - {*KNOBS})]:
        distinct = list(dict.fromkeys(state[knob] for state in read if knob in state))
        states[knob] = ", then ".join(_state(state) for state in distinct)
        for state in distinct:
            if state.startswith(UNKNOWN):
                reasons[knob] = visible.escape(state.removeprefix(UNKNOWN), 160)
    turned = readings[-1].turned
    listed = ", ".join(f"{knob} {states.get(knob, UNREAD)}" for knob in turned)
    return Rung(turned, states, reasons, listed)


def _state(state: str) -> str:
    return "unknown" if state.startswith(UNKNOWN) else visible.escape(state, 80)
