"""The machine's knobs: shown, turned, and always put back to exactly what they were."""

from fixturegen.tune.guard import Guard, guard, standby
from fixturegen.tune.lasting import apply, restore
from fixturegen.tune.states import read_back, states
from fixturegen.tune.table import KNOBS, in_order
from fixturegen.tune.values import KnobState, Turned

__all__ = [
    "KNOBS",
    "Guard",
    "KnobState",
    "Turned",
    "apply",
    "guard",
    "in_order",
    "read_back",
    "restore",
    "standby",
    "states",
]
