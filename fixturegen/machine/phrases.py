"""One fact of a machine in words. ASCII, the same everywhere; an unknown fact says why."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from fixturegen.machine.values import Machine, Policy, Unknown
from fixturegen.units import format_bytes, format_number, format_percent, plural

_T = TypeVar("_T")
ASLR = {0: "off", 1: "on, without the heap (1)", 2: "on (2)"}


def known(value: _T | Unknown, say: Callable[[_T], str] = str) -> str:
    """Return the words for a known value, or `unknown: reason`."""
    return f"unknown: {value.unknown}" if isinstance(value, Unknown) else say(value)


def cpu_list(cpus: tuple[int, ...]) -> str:
    """Return CPU numbers in the kernel's list format: 0-3,8."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def short_model(name: str) -> str:
    """Return a processor's name without trade marks, core counts and clock."""
    name = re.sub(r"\((?:R|TM|tm)\)", "", name)
    name = re.sub(r"( CPU)?( @.*)?$", "", name)
    name = re.sub(r" (\d+|\w+)-Core Processor\b.*| Processor$", "", name)
    return " ".join(name.split())


def short_release(release: str) -> str:
    """Return the version number that a kernel release starts with."""
    version = re.match(r"[0-9]+(?:\.[0-9]+)*", release)
    return version.group() if version else release


def cpus(machine: Machine) -> str:
    """Return how many CPUs, cores and packages, and which are offline."""
    parts = [known(machine.logical_cpus, lambda count: f"{count} online")]
    if isinstance(machine.online, tuple):
        parts[0] += f" ({cpu_list(machine.online)})"
    parts.append(known(machine.cores, lambda count: plural(count, "core")))
    parts.append(known(machine.packages, lambda count: plural(count, "package")))
    if isinstance(machine.offline, tuple) and machine.offline:
        parts.append(f"offline {cpu_list(machine.offline)}")
    return ", ".join(dict.fromkeys(parts))


def classes(machine: Machine) -> str:
    """Return the classes of cores, fastest first."""
    if not machine.classes:
        return "no difference between the cores seen"
    return "; ".join(f"{c.name}: CPUs {cpu_list(c.cpus)}" for c in machine.classes)


def smt(machine: Machine) -> str:
    """Return the state of SMT (two or more hardware threads on a core)."""
    threads = machine.threads_per_core
    if isinstance(machine.smt, Unknown):
        if isinstance(threads, Unknown):
            return known(machine.smt)
        return f"{plural(threads, 'thread')} per core online; the kernel has no switch for it"
    states = {
        "on": "on",
        "off": "off, can be switched on",
        "forceoff": "off until the next boot",
        "notsupported": "the processor has none (or the hypervisor hides it)",
        "notimplemented": "no control on this architecture",
    }
    text = states.get(machine.smt, machine.smt)
    if isinstance(threads, int):
        text += f"; {plural(threads, 'thread')} per core online"
    return text


def caches(machine: Machine) -> str:
    """Return each kind of cache: L1d 32 KiB x2, ..., L3 16 MiB shared by 2."""
    if isinstance(machine.caches, Unknown):
        return known(machine.caches)
    suffix = {"Data": "d", "Instruction": "i"}
    return ", ".join(
        f"L{c.level}{suffix.get(c.kind, '')} {format_bytes(c.size_bytes)}"
        + (f" x{c.count}" if c.count > 1 else "")
        + (f" shared by {c.shared_by}" if c.shared_by > 1 else "")
        for c in machine.caches
    )


def huge_pages(machine: Machine) -> str:
    """Return the state of transparent huge pages: they change counts of page faults."""
    text = f"{known(machine.thp)}; shmem {known(machine.thp_shmem)}"
    forced = {
        s.kib: s.enabled for s in machine.folio_sizes if s.enabled not in ("never", "inherit")
    }
    if forced:
        sizes = ", ".join(f"{kib} KiB {known(state)}" for kib, state in forced.items())
        text += f"; mTHP {sizes}"
    elif machine.folio_sizes:
        # The largest is the huge page itself, which inherits by default.
        inherit = [s.kib for s in machine.folio_sizes[:-1] if s.enabled == "inherit"]
        listed = ", ".join(f"{kib} KiB" for kib in inherit)
        text += f"; mTHP {f'the same for {listed}' if inherit else 'never'}"
    return text


def clock(machine: Machine) -> str:
    """Return the clock source; anything but the processor's own counter is flagged."""
    if isinstance(machine.clocksource, Unknown):
        return known(machine.clocksource)
    rest = machine.clocksources if isinstance(machine.clocksources, tuple) else ()
    others = [name for name in rest if name != machine.clocksource]
    text = machine.clocksource + (f" (also available: {', '.join(others)})" if others else "")
    return text if direct_clock(machine) else f"{text}: NOT tsc, reading it may be slow or coarse"


def direct_clock(machine: Machine) -> bool:
    """Whether the clock is a counter of the processor, read without entering the kernel."""
    return machine.clocksource in {
        "tsc",
        "arch_sys_counter",
        "riscv_clocksource",
        "timebase",
        "tod",
    }


def governor(policies: tuple[Policy, ...] | Unknown) -> str:
    """Return governor, driver and limits; says it if the CPUs differ."""
    if isinstance(policies, Unknown):
        return known(policies)
    governors = _tally(policies, lambda policy: known(policy.governor))
    text = governors if " x" not in governors else f"mixed: {governors}"
    drivers = _tally(policies, lambda policy: known(policy.driver))
    text += f", driver {drivers}, {_tally(policies, _limits)}"
    if any(isinstance(policy.epp, str) for policy in policies):
        text += f", preference {_tally(policies, lambda policy: known(policy.epp))}"
    return text


def _tally(policies: tuple[Policy, ...], say: Callable[[Policy], str]) -> str:
    counts: dict[str, int] = {}
    for policy in policies:
        counts[say(policy)] = counts.get(say(policy), 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{text} x{count}" for text, count in counts.items())


def _limits(policy: Policy) -> str:
    text = f"{known(policy.min_khz, mhz)} to {known(policy.max_khz, mhz)}"
    limit, hardware = policy.max_khz, policy.hardware_max_khz
    if isinstance(limit, int) and isinstance(hardware, int) and limit < hardware:
        text += f" (the hardware allows {mhz(hardware)})"
    return text


def mhz(khz: int) -> str:
    """Return a frequency in kHz as whole MHz."""
    return f"{format_number(Fraction(khz, 1000))} MHz"


def aslr(machine: Machine) -> str:
    """Return whether addresses are randomised."""
    return known(machine.aslr, lambda level: ASLR.get(level, str(level)))


def counters(machine: Machine) -> str:
    """Return the hardware counters and who may use them."""
    level = known(machine.perf_event_paranoid, lambda value: f"perf_event_paranoid {value}")
    names = known(machine.counters, lambda events: ", ".join(events) or "none (no PMU)")
    return f"{names}; {level}"


def quota(quota: str) -> str:
    """Return the tightest quota of the cgroups in CPUs."""
    limit = re.fullmatch(r"([0-9]+) ([0-9]+)", quota)
    if limit is None or int(limit.group(2)) == 0:
        return quota
    used, period = int(limit.group(1)), int(limit.group(2))
    cpus = format_number(Fraction(used, period), 2)
    return f"{cpus} CPUs ({used} us in each {period} us, then paused)"


def stolen_time(machine: Machine) -> str:
    """Return the share of time that the hypervisor took since boot."""
    if isinstance(machine.steal_ticks, Unknown) or isinstance(machine.total_ticks, Unknown):
        return known(machine.steal_ticks)
    if machine.total_ticks <= 0:
        return "unknown: no time is counted"
    share = Fraction(machine.steal_ticks, machine.total_ticks)
    return f"{format_percent(share, 2)} since boot"
