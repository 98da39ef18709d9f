"""The machine's knobs: shown, turned, and always put back to exactly what they were."""

from fixturegen.tune.guard import Guard, guard
from fixturegen.tune.lasting import apply, restore
from fixturegen.tune.privileges import drop_privileges, need_root
from fixturegen.tune.states import states
from fixturegen.tune.table import KNOBS
from fixturegen.tune.values import KnobState, Turned

__all__ = [
    "KNOBS",
    "Guard",
    "KnobState",
    "Turned",
    "apply",
    "drop_privileges",
    "guard",
    "need_root",
    "restore",
    "states",
]
