"""From a machine and this process's situation to conditions: what its numbers will mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fixturegen.machine import phrases
from fixturegen.machine.choose import pick_cpus
from fixturegen.machine.condition import Condition
from fixturegen.machine.phrases import known
from fixturegen.machine.values import Machine, Unknown
from fixturegen.units import format_bytes

if TYPE_CHECKING:
    from fixturegen.machine.situation import Situation

CPUS = "Where programs run"
CLOCK = "Clock and frequency"
MEMORY = "Memory and addresses"
COUNTERS = "Counters and privileges"
# mlockall of a program with one more thread: 8 MiB of stack are locked for it, and an 8 MiB
# limit, systemd's default, made pthread_create fail.
ENOUGH_LOCKED = 64 << 20
USUAL_PAGE = 4096


def conditions(machine: Machine, here: Situation) -> list[Condition]:
    """Return the conditions in the order in which they are shown."""
    return [*_cpus(machine, here), *_clock(machine), *_memory_and_counters(machine, here)]


def _cpus(m: Machine, here: Situation) -> Iterator[Condition]:
    allowed = phrases.cpu_list(here.allowed)
    online = m.online if isinstance(m.online, tuple) else here.allowed
    if len(here.allowed) < 2:
        yield Condition(
            CPUS,
            "allowed CPUs",
            "note",
            f"{allowed or 'none'} of {phrases.cpu_list(online)}",
            "with one CPU Python shares it with the programs, and two-thread programs share it too",
            beware="a single CPU, shared with Python",
        )
    else:
        yield Condition(
            CPUS, "allowed CPUs", "ok", f"{allowed} of {phrases.cpu_list(online)} online"
        )
    choice = pick_cpus(m, frozenset(here.allowed), 1)
    chosen = phrases.cpu_list(choice.cpus) or "none"
    yield Condition(
        CPUS, "measures on", "ok" if choice.cpus else "absent", f"CPU {chosen}: {choice.reason}"
    )
    yield from _isolated(m, here)
    if m.classes:
        yield Condition(CPUS, "core classes", "note", phrases.classes(m))
    yield _smt(m)
    yield _guest(m)
    if m.cpu_quota == "none":
        yield Condition(CPUS, "CPU quota", "ok", "none")
    elif isinstance(m.cpu_quota, Unknown):
        yield Condition(CPUS, "CPU quota", "absent", known(m.cpu_quota))
    else:
        yield Condition(
            CPUS,
            "CPU quota",
            "note",
            phrases.quota(m.cpu_quota),
            "programs that use it up are stopped until the next period: tails show it",
            beware="a CPU quota that pauses programs",
        )


def _isolated(m: Machine, here: Situation) -> Iterator[Condition]:
    if not isinstance(m.isolated, tuple) or not m.isolated:
        return
    listed = phrases.cpu_list(m.isolated)
    if set(m.isolated) & set(here.allowed):
        yield Condition(CPUS, "isolated CPUs", "ok", listed)
        return
    yield Condition(
        CPUS,
        "isolated CPUs",
        "note",
        f"{listed}, none of them allowed to this process",
        f"taskset -c {listed},{phrases.cpu_list(here.allowed)} fixturegen run",
    )


def _smt(m: Machine) -> Condition:
    text = phrases.smt(m)
    if m.threads_per_core == 1:
        return Condition(CPUS, "SMT", "ok", text)
    if isinstance(m.threads_per_core, Unknown):
        return Condition(CPUS, "SMT", "absent", text)
    return Condition(
        CPUS,
        "SMT",
        "note",
        text,
        "what runs on the other thread of the core takes part of its speed: keep the machine idle",
    )


def _guest(m: Machine) -> Condition:
    if m.virtualisation == "none":
        return Condition(CPUS, "virtual machine", "ok", "no")
    if isinstance(m.virtualisation, Unknown):
        return Condition(CPUS, "virtual machine", "absent", known(m.virtualisation))
    return Condition(
        CPUS,
        "virtual machine",
        "note",
        f"{m.virtualisation}; stolen time {phrases.stolen_time(m)}",
        "caches, clock and disk are shared with unseen neighbours: repeat runs at other times",
        beware=f"a virtual machine ({m.virtualisation})",
    )


def _clock(m: Machine) -> Iterator[Condition]:
    text = phrases.clock(m)
    if isinstance(m.clocksource, Unknown):
        yield Condition(CLOCK, "clock source", "absent", text)
    elif phrases.direct_clock(m):
        yield Condition(CLOCK, "clock source", "ok", text)
    else:
        yield Condition(
            CLOCK,
            "clock source",
            "note",
            text,
            "short times are coarse; see whether the kernel log says why tsc was given up",
            beware=f"a slow clock source ({m.clocksource})",
        )
    yield _governor(m)
    if isinstance(m.turbo, Unknown):
        yield Condition(CLOCK, "turbo", "absent", known(m.turbo))
    elif m.turbo == "off":
        yield Condition(CLOCK, "turbo", "ok", "off")
    else:
        yield Condition(
            CLOCK,
            "turbo",
            "note",
            f"{m.turbo} ({m.turbo_source.rpartition('cpu/')[2]})",
            "the clock depends on heat and on what other cores do: fixturegen tune apply turbo",
            beware="turbo",
        )


def _governor(m: Machine) -> Condition:
    text = phrases.governor(m.policies)
    if isinstance(m.policies, Unknown):
        return Condition(
            CLOCK,
            "governor",
            "absent",
            text,
            cannot="the clock frequency (no cpufreq)",
        )
    if all(policy.governor == "performance" for policy in m.policies):
        return Condition(CLOCK, "governor", "ok", text)
    return Condition(
        CLOCK,
        "governor",
        "note",
        text,
        "the clock follows the load; for a steady one: fixturegen tune apply governor",
        beware="a clock that follows the load",
    )


def _memory_and_counters(machine: Machine, here: Situation) -> Iterator[Condition]:
    yield _memory(machine)
    yield _caches(machine)
    yield _pages(machine)
    yield _huge_pages(machine)
    yield _aslr(machine)
    yield _locking(here)
    yield _events(machine, here)
    yield _hardware(machine)
    yield _watchdog(machine)
    yield _page_cache(here)


def _memory(m: Machine) -> Condition:
    nodes = 1 if isinstance(m.nodes, Unknown) else len(m.nodes)
    text = known(m.memory_bytes, format_bytes)
    if isinstance(m.memory_bytes, Unknown):
        return Condition(MEMORY, "memory", "absent", text)
    if nodes < 2:
        return Condition(MEMORY, "memory", "ok", text)
    return Condition(
        MEMORY,
        "memory",
        "note",
        f"{text} on {nodes} NUMA nodes",
        "memory of the other node is slower; a program's pages come from the node it starts on",
    )


def _caches(m: Machine) -> Condition:
    if isinstance(m.last_level_cache_bytes, Unknown):
        return Condition(
            MEMORY,
            "caches",
            "absent",
            known(m.last_level_cache_bytes),
            "what empties the caches has to guess their size",
            cannot="cache sizes",
        )
    return Condition(MEMORY, "caches", "ok", phrases.caches(m))


def _pages(m: Machine) -> Condition:
    text = known(m.page_bytes, format_bytes)
    if isinstance(m.page_bytes, Unknown):
        return Condition(MEMORY, "page size", "absent", text)
    if m.page_bytes == USUAL_PAGE:
        return Condition(MEMORY, "page size", "ok", text)
    return Condition(
        MEMORY,
        "page size",
        "note",
        text,
        "page-fault counts are not those of a machine with 4 KiB pages",
        beware=f"pages of {text}",
    )


def _huge_pages(m: Machine) -> Condition:
    text = phrases.huge_pages(m)
    if isinstance(m.thp, Unknown):
        return Condition(MEMORY, "huge pages", "absent", text)
    forced = [size.kib for size in m.folio_sizes if size.enabled == "always"]
    if m.thp != "always" and not forced:
        return Condition(MEMORY, "huge pages", "ok", text)
    return Condition(
        MEMORY,
        "huge pages",
        "note",
        text,
        "large arrays may fault in huge pages: fewer faults than pages of the base size",
        beware="transparent huge pages",
    )


def _aslr(m: Machine) -> Condition:
    text = phrases.aslr(m)
    if isinstance(m.aslr, Unknown):
        return Condition(MEMORY, "ASLR", "absent", text)
    if m.aslr == 2:
        return Condition(MEMORY, "ASLR", "ok", f"{text}: each process samples another layout")
    return Condition(
        MEMORY,
        "ASLR",
        "note",
        text,
        "all processes share one layout, lucky or not: sudo sysctl kernel.randomize_va_space=2",
        beware="one address layout for all processes",
    )


def _locking(here: Situation) -> Condition:
    if isinstance(here.memlock_bytes, Unknown):
        return Condition(MEMORY, "locked memory", "absent", known(here.memlock_bytes))
    limit = here.memlock_bytes
    text = "no limit" if limit is None else f"limit {format_bytes(limit)}"
    if here.lock_any and limit is not None:
        return Condition(MEMORY, "locked memory", "ok", f"{text}, which does not bind this user")
    if limit is None or limit >= ENOUGH_LOCKED:
        return Condition(MEMORY, "locked memory", "ok", text)
    return Condition(
        MEMORY,
        "locked memory",
        "note",
        text,
        "programs that lock their memory need more: raise memlock in /etc/security/limits.conf",
        cannot="locked memory (mlockall)",
    )


def _events(m: Machine, here: Situation) -> Condition:
    level = m.perf_event_paranoid
    if isinstance(level, Unknown):
        reason = "this kernel has no performance events, or hides them"
        return Condition(
            COUNTERS, "perf events", "absent", f"{known(level)}; {reason}", cannot="perf events"
        )
    text = f"perf_event_paranoid {level}"
    if here.perfmon:
        return Condition(COUNTERS, "perf events", "ok", f"{text}, which does not bind this user")
    who = "this user" if here.live else "an ordinary user"
    if level <= 1:
        return Condition(COUNTERS, "perf events", "ok", f"{text}: {who} may count own processes")
    if level == 2:
        text = f"{text}: {who} may count own processes, outside the kernel only"
        advice = "for the kernel's share: sudo sysctl kernel.perf_event_paranoid=1"
        return Condition(COUNTERS, "perf events", "note", text, advice)
    return Condition(
        COUNTERS,
        "perf events",
        "note",
        f"{text}: {who} is refused",
        "sudo sysctl kernel.perf_event_paranoid=2",
        cannot=f"perf events (refused to {who})",
    )


def _hardware(m: Machine) -> Condition:
    if isinstance(m.counters, tuple) and m.counters:
        return Condition(COUNTERS, "hardware counters", "ok", ", ".join(m.counters))
    guest = m.virtualisation != "none" and isinstance(m.virtualisation, str)
    why = "no PMU" + (", as usual in a virtual machine" if guest else "")
    text = known(m.counters, lambda _: why)
    return Condition(
        COUNTERS,
        "hardware counters",
        "absent",
        text,
        "cycles, instructions and cache misses cannot be counted; faults and system calls can",
        cannot="hardware counters (no PMU)"
        if isinstance(m.counters, tuple)
        else "hardware counters",
    )


def _watchdog(m: Machine) -> Condition:
    text = known(m.nmi_watchdog, lambda value: "on" if value else "off")
    if isinstance(m.nmi_watchdog, Unknown):
        return Condition(COUNTERS, "NMI watchdog", "absent", text)
    if m.nmi_watchdog == 0:
        return Condition(COUNTERS, "NMI watchdog", "ok", text)
    advice = "it occupies one hardware counter: sudo sysctl kernel.nmi_watchdog=0"
    return Condition(COUNTERS, "NMI watchdog", "note", text, advice)


def _page_cache(here: Situation) -> Condition:
    if here.root:
        return Condition(COUNTERS, "page cache", "ok", "this user (root) may empty it")
    return Condition(
        COUNTERS,
        "page cache",
        "note",
        "an ordinary user may drop the pages of a single file only",
        "a cold start of the whole system needs root",
    )
