"""CPU, caches, kernel, clock, governor: the machine a run was made on.

Everything is read below a root that stands for `/`. Absent is `Unknown` with its reason.
"""

from fixturegen.machine.choose import Choice, pick_cpus
from fixturegen.machine.describe import describe
from fixturegen.machine.disturb import disturbances
from fixturegen.machine.text import one_line, report_lines
from fixturegen.machine.values import Machine, Unknown

__all__ = [
    "Choice",
    "Machine",
    "Unknown",
    "describe",
    "disturbances",
    "one_line",
    "pick_cpus",
    "report_lines",
]
