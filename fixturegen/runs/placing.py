"""Which CPUs the processes of each program and mode get, and which are left for Python."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from typing import Literal

from msgspec import Struct

from fixturegen import errors, machine
from fixturegen.machine import Machine
from fixturegen.model import Fixture, Mode, path_part

Wanted = int | Literal["all"]


class Places(Struct, frozen=True):
    """The CPUs under `program` and, where a mode has others, `program.mode`.

    others: those that are left for Python; reason: why the first ones; nowhere: the modes for
    which this machine has no CPU, with the reason.
    """

    cpus: dict[str, tuple[int, ...]]
    others: tuple[int, ...]
    reason: str
    nowhere: dict[str, str]


def reachable(cpus: Collection[int]) -> frozenset[int]:
    """Return those of `cpus` that a process of ours may move to: it is tried.

    Isolated CPUs are not among those that the scheduler gives, and may be asked for all the same.
    """
    before, reached = os.sched_getaffinity(0), set()
    for cpu in cpus:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {cpu})
            reached.add(cpu)
    os.sched_setaffinity(0, before)
    return frozenset(reached)


def places(
    here: Machine,
    fixture: Fixture,
    cpu: int | None,
    allowed: frozenset[int],
    reach: Callable[[Collection[int]], frozenset[int]] = reachable,
) -> Places:
    """Return the CPUs of a run on the machine `here`; raises errors.UsageError for a wrong `cpu`.

    cpu: the one of --cpu, for what has one CPU; allowed: those that the scheduler gives us.
    """
    if cpu is not None and cpu not in allowed:
        listed = ", ".join(map(str, sorted(allowed)))
        raise errors.UsageError(f"--cpu {cpu}: not allowed", f"allowed: {listed}")
    chosen: dict[str, tuple[int, ...]] = {}
    nowhere: dict[str, str] = {}
    others, reason = allowed, ""
    for name, cpus, mode in _wanted(fixture):
        among = _among(here, mode, allowed, reach)
        if isinstance(among, str):
            nowhere[name] = among
            continue
        count = len(among) if cpus == "all" else cpus
        pick = machine.pick_cpus(here, among, count)
        if len(pick.cpus) < count:
            nowhere[name] = f"it wants {count} CPUs, and {len(pick.cpus)} may be used"
        if cpu is not None and count == 1 and not mode.core:
            if cpu not in among:
                nowhere[name] = f"CPU {cpu}, of --cpu, goes offline without SMT"
                continue
            pick = machine.Choice((cpu,), "chosen with --cpu")
        chosen[name] = pick.cpus
        if count == 1:
            others &= _apart(here, allowed, pick, narrowed=among != allowed)
        reason = reason or pick.reason
    for program in fixture.programs:  # what its modes do without CPUs of their own
        if short := nowhere.pop(program.name, ""):
            names = [f"{program.name}.{path_part(mode.name)}" for mode in program.modes]
            nowhere |= {name: short for name in names if name not in chosen}
    return Places(chosen, tuple(sorted(others)), reason, nowhere)


def _wanted(fixture: Fixture) -> Iterator[tuple[str, Wanted, Mode]]:
    """Yield what gets CPUs: each program, then each mode that may need others than its program."""
    for program in fixture.programs:
        yield program.name, program.cpus, Mode("")
    for program in fixture.programs:
        for mode in program.modes:
            if mode.cpus is not None or mode.core or "smt" in mode.tune:
                name = f"{program.name}.{path_part(mode.name)}"
                yield name, program.cpus if mode.cpus is None else mode.cpus, mode


def _among(
    here: Machine,
    mode: Mode,
    allowed: frozenset[int],
    reach: Callable[[Collection[int]], frozenset[int]],
) -> frozenset[int] | str:
    """Return the CPUs among which a mode's are chosen, or why there are none."""
    if mode.core == "isolated":
        among = _isolated(here, reach)
    elif mode.core:
        among = _of_class(here, int(mode.core.rpartition("-")[2]), allowed)
    else:
        among = allowed
    if isinstance(among, str) or "smt" not in mode.tune:
        return among
    return among - _second_threads(here) or "all of its CPUs go offline without SMT"


def _isolated(
    here: Machine, reach: Callable[[Collection[int]], frozenset[int]]
) -> frozenset[int] | str:
    if not isinstance(here.isolated, tuple):
        return f"which CPUs are isolated is unknown: {here.isolated.unknown}"
    if not here.isolated:
        return (
            "no CPU is isolated: that is decided at boot (isolcpus= on the kernel's command line)"
        )
    usable = reach(here.isolated)
    listed = ", ".join(map(str, here.isolated))
    return usable or f"the isolated CPUs ({listed}) may not be used by this process"


def _of_class(here: Machine, index: int, allowed: frozenset[int]) -> frozenset[int] | str:
    if not here.classes:
        return "no difference between the cores of this machine is seen"
    if index >= len(here.classes):
        return f"this machine has {len(here.classes)} classes of cores"
    cores = here.classes[index]
    among = allowed & frozenset(cores.cpus)
    return among or f"none of the {cores.name} cores is allowed to this process"


def _second_threads(here: Machine) -> frozenset[int]:
    """Return the CPUs that go offline without SMT: all of a core but its first."""
    return frozenset(
        cpu.cpu
        for cpu in here.cpus
        if isinstance(cpu.siblings, tuple) and cpu.cpu != min(cpu.siblings)
    )


def _apart(
    here: Machine, allowed: frozenset[int], pick: machine.Choice, *, narrowed: bool
) -> frozenset[int]:
    """Return what a pinned program leaves for Python: if possible nothing of its core."""
    left = allowed - {*pick.cpus}
    if not narrowed:
        return frozenset(pick.others or left)
    cores = [c.siblings for c in here.cpus if c.cpu in pick.cpus and isinstance(c.siblings, tuple)]
    return left.difference(*cores) or left
