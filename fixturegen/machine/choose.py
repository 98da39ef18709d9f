"""Which of the allowed CPUs a measured program runs on, and which are left for Python."""

from __future__ import annotations

from msgspec import Struct

from fixturegen.machine.values import Cpu, Machine, Unknown


class Choice(Struct, frozen=True):
    """The CPUs for the program, the ones left for everything else, and why, in words.

    `cpus` is shorter than asked for if fewer are allowed. `others` is empty only if no CPU
    is left: then Python shares the program's.
    """

    cpus: tuple[int, ...]
    reason: str
    others: tuple[int, ...] = ()


def pick_cpus(machine: Machine, allowed: frozenset[int], count: int) -> Choice:
    """Return the best `count` of the `allowed` CPUs, each on a core of its own if possible.

    Isolated CPUs first, then the fast class of a hybrid processor, then cores without CPU 0
    (the kernel's timekeeping and unmoved interrupts land there), then the lowest number, so that
    every run of a machine gets the same CPU.
    """
    known = {cpu.cpu: cpu for cpu in machine.cpus}
    candidates = [known.get(cpu, Cpu(cpu)) for cpu in sorted(allowed)]
    if not candidates or count < 1:
        return Choice((), "no CPU is allowed" if not candidates else "no CPU is wanted")
    ranked = sorted(candidates, key=lambda cpu: _rank(machine, cpu))
    chosen = ranked if count >= len(ranked) else _nearest(ranked, count)
    numbers = tuple(cpu.cpu for cpu in chosen)
    others = _others(machine, candidates, chosen)
    return Choice(numbers, _reason(machine, candidates, chosen, others, count), others)


def _rank(machine: Machine, cpu: Cpu) -> tuple[bool, int, bool, int]:
    return (
        not _isolated(machine, cpu),
        _class(machine, cpu),
        0 in _core(cpu),
        cpu.cpu,
    )


def _nearest(ranked: list[Cpu], count: int) -> list[Cpu]:
    """Return the first of `ranked` and those that fit to it.

    Cores of their own before anything else, then the same package and NUMA node, then the rank.
    """
    first, *rest = ranked
    chosen, busy = [first], set(_core(first))
    while len(chosen) < count:
        places = [(c.cpu in busy, c.package != first.package, c.node != first.node) for c in rest]
        chosen.append(rest.pop(places.index(min(places))))
        busy.update(_core(chosen[-1]))
    return chosen


def _others(machine: Machine, candidates: list[Cpu], chosen: list[Cpu]) -> tuple[int, ...]:
    """Leave Python what is not chosen: not isolated, not on a chosen core, if there is such."""
    taken = {cpu.cpu for cpu in chosen}
    left = [cpu for cpu in candidates if cpu.cpu not in taken]
    busy = {number for cpu in chosen for number in _core(cpu)}
    apart = [cpu for cpu in left if cpu.cpu not in busy] or left
    return tuple(cpu.cpu for cpu in [c for c in apart if not _isolated(machine, c)] or apart)


def _reason(
    machine: Machine, candidates: list[Cpu], chosen: list[Cpu], others: tuple[int, ...], count: int
) -> str:
    reasons = [f"{count} CPUs wanted, {len(chosen)} allowed"] if len(chosen) < count else []
    if len(candidates) == 1:
        reasons.append("the only CPU allowed, shared with Python")
    elif not others:
        reasons.append("all CPUs allowed, shared with Python")
    if all(_isolated(machine, cpu) for cpu in chosen):
        reasons.append("isolated from the scheduler")
    reasons += _of_class(machine, chosen)
    if len(candidates) > len(chosen):
        reasons.append(_of_cpu_zero(chosen))
    reasons += _of_interrupts(candidates, chosen)
    cores = {_core(cpu) for cpu in chosen}
    if len(chosen) > 1:
        reasons.append("on cores of their own" if len(cores) == len(chosen) else "on a shared core")
    return "; ".join([*reasons, *_of_siblings(chosen, others)])


def _of_class(machine: Machine, chosen: list[Cpu]) -> list[str]:
    """Say which class of a hybrid processor was chosen."""
    indexes = {_class(machine, cpu) for cpu in chosen}
    if not machine.classes:
        return []
    if len(indexes) > 1:
        return ["on cores of different speed, as the allowed CPUs leave no other way"]
    index = indexes.pop()
    if index >= len(machine.classes):
        return ["of unknown speed"]
    speed = "the fastest class of cores" if index == 0 else "a slower class of cores, no faster one"
    allowed = "" if index == 0 else " is allowed"
    return [f"{speed} ({machine.classes[index].name}){allowed}"]


def _of_cpu_zero(chosen: list[Cpu]) -> str:
    if any(0 in _core(cpu) for cpu in chosen):
        return "on CPU 0's core, where timekeeping and unmoved interrupts land: no other is allowed"
    return "not on CPU 0's core, where timekeeping and unmoved interrupts land"


def _of_interrupts(candidates: list[Cpu], chosen: list[Cpu]) -> list[str]:
    """Say it if a chosen CPU takes many more device interrupts than another allowed one.

    Told and not obeyed: the counts change with time, and a CPU that changes from run to run
    would be a difference between runs that nobody asked for.
    """
    counts = {cpu.cpu: cpu.interrupts for cpu in candidates if isinstance(cpu.interrupts, int)}
    taken = {cpu.cpu: counts[cpu.cpu] for cpu in chosen if cpu.cpu in counts}
    if not taken:
        return []
    most, quiet = max(taken, key=taken.__getitem__), min(counts, key=counts.__getitem__)
    if counts[most] < 1000 or counts[most] < 4 * counts[quiet]:
        return []
    return [
        f"but CPU {most} took {counts[most]} device interrupts since boot, "
        f"CPU {quiet} {counts[quiet]}"
    ]


def _of_siblings(chosen: list[Cpu], others: tuple[int, ...]) -> list[str]:
    numbers = {cpu.cpu for cpu in chosen}
    siblings = {number for cpu in chosen for number in _core(cpu)} - numbers
    if not siblings:
        return []
    listed = ", ".join(str(number) for number in sorted(siblings))
    if siblings & set(others):
        return [f"Python runs on the other thread of the same core (CPU {listed})"]
    return [f"the other thread of the core (CPU {listed}) is not used by fixturegen"]


def _isolated(machine: Machine, cpu: Cpu) -> bool:
    return isinstance(machine.isolated, tuple) and cpu.cpu in machine.isolated


def _class(machine: Machine, cpu: Cpu) -> int:
    for index, group in enumerate(machine.classes):
        if cpu.cpu in group.cpus:
            return index
    return len(machine.classes)


def _core(cpu: Cpu) -> tuple[int, ...]:
    return (cpu.cpu,) if isinstance(cpu.siblings, Unknown) else cpu.siblings
