"""The machine's knobs: shown, turned, and always put back to exactly what they were."""

from fixturegen.tune.guard import Guard, guard, standby
from fixturegen.tune.lasting import apply, restore
from fixturegen.tune.privileges import drop_privileges, need_root
from fixturegen.tune.states import read_back, states
from fixturegen.tune.table import KNOBS, in_order
from fixturegen.tune.values import KnobState, Turned

__all__ = [
    "KNOBS",
    "Guard",
    "KnobState",
    "Turned",
    "apply",
    "drop_privileges",
    "guard",
    "in_order",
    "need_root",
    "read_back",
    "restore",
    "standby",
    "states",
]
