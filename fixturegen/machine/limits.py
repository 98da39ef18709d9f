"""Findings about memory, addresses and counters: the second half of `conditions`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fixturegen.machine import phrases
from fixturegen.machine.finding import Finding
from fixturegen.machine.phrases import known
from fixturegen.machine.values import Machine, Unknown
from fixturegen.units import format_bytes

if TYPE_CHECKING:
    from fixturegen.machine.situation import Situation

MEMORY = "Memory and addresses"
COUNTERS = "Counters and privileges"
# mlockall of a program with one more thread: 8 MiB of stack are locked for it, and an 8 MiB
# limit, systemd's default, made pthread_create fail.
ENOUGH_LOCKED = 64 << 20
USUAL_PAGE = 4096


def limits(machine: Machine, here: Situation) -> Iterator[Finding]:
    """Yield the findings about memory, then those about counters and privileges."""
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


def _memory(m: Machine) -> Finding:
    nodes = 1 if isinstance(m.nodes, Unknown) else len(m.nodes)
    text = known(m.memory_bytes, format_bytes)
    if isinstance(m.memory_bytes, Unknown):
        return Finding(MEMORY, "memory", "absent", text)
    if nodes < 2:
        return Finding(MEMORY, "memory", "ok", text)
    return Finding(
        MEMORY,
        "memory",
        "note",
        f"{text} on {nodes} NUMA nodes",
        "memory of the other node is slower; a program's pages come from the node it starts on",
    )


def _caches(m: Machine) -> Finding:
    if isinstance(m.last_level_cache_bytes, Unknown):
        return Finding(
            MEMORY,
            "caches",
            "absent",
            known(m.last_level_cache_bytes),
            "what empties the caches has to guess their size",
            cannot="cache sizes",
        )
    return Finding(MEMORY, "caches", "ok", phrases.caches_words(m))


def _pages(m: Machine) -> Finding:
    text = known(m.page_bytes, format_bytes)
    if isinstance(m.page_bytes, Unknown):
        return Finding(MEMORY, "page size", "absent", text)
    if m.page_bytes == USUAL_PAGE:
        return Finding(MEMORY, "page size", "ok", text)
    return Finding(
        MEMORY,
        "page size",
        "note",
        text,
        "page-fault counts are not those of a machine with 4 KiB pages",
        beware=f"pages of {text}",
    )


def _huge_pages(m: Machine) -> Finding:
    text = phrases.thp_words(m)
    if isinstance(m.thp, Unknown):
        return Finding(MEMORY, "huge pages", "absent", text)
    forced = [size.kib for size in m.folio_sizes if size.enabled == "always"]
    if m.thp != "always" and not forced:
        return Finding(MEMORY, "huge pages", "ok", text)
    return Finding(
        MEMORY,
        "huge pages",
        "note",
        text,
        "large arrays may fault in huge pages: fewer faults than pages of the base size",
        beware="transparent huge pages",
    )


def _aslr(m: Machine) -> Finding:
    text = phrases.aslr_words(m)
    if isinstance(m.aslr, Unknown):
        return Finding(MEMORY, "ASLR", "absent", text)
    if m.aslr == 2:
        return Finding(MEMORY, "ASLR", "ok", f"{text}: each process samples another layout")
    return Finding(
        MEMORY,
        "ASLR",
        "note",
        text,
        "all processes share one layout, lucky or not: sudo sysctl kernel.randomize_va_space=2",
        beware="one address layout for all processes",
    )


def _locking(here: Situation) -> Finding:
    if isinstance(here.memlock_bytes, Unknown):
        return Finding(MEMORY, "locked memory", "absent", known(here.memlock_bytes))
    limit = here.memlock_bytes
    text = "no limit" if limit is None else f"limit {format_bytes(limit)}"
    if here.lock_any and limit is not None:
        return Finding(MEMORY, "locked memory", "ok", f"{text}, which does not bind this user")
    if limit is None or limit >= ENOUGH_LOCKED:
        return Finding(MEMORY, "locked memory", "ok", text)
    return Finding(
        MEMORY,
        "locked memory",
        "note",
        text,
        "programs that lock their memory need more: raise memlock in /etc/security/limits.conf",
        cannot="locked memory (mlockall)",
    )


def _events(m: Machine, here: Situation) -> Finding:
    level = m.perf_event_paranoid
    if isinstance(level, Unknown):
        reason = "this kernel has no performance events, or hides them"
        return Finding(
            COUNTERS, "perf events", "absent", f"{known(level)}; {reason}", cannot="perf events"
        )
    text = f"perf_event_paranoid {level}"
    if here.perfmon:
        return Finding(COUNTERS, "perf events", "ok", f"{text}, which does not bind this user")
    who = "this user" if here.live else "an ordinary user"
    if level <= 1:
        return Finding(COUNTERS, "perf events", "ok", f"{text}: {who} may count own processes")
    if level == 2:
        text = f"{text}: {who} may count own processes, outside the kernel only"
        advice = "for the kernel's share: sudo sysctl kernel.perf_event_paranoid=1"
        return Finding(COUNTERS, "perf events", "note", text, advice)
    return Finding(
        COUNTERS,
        "perf events",
        "note",
        f"{text}: {who} is refused",
        "sudo sysctl kernel.perf_event_paranoid=2",
        cannot=f"perf events (refused to {who})",
    )


def _hardware(m: Machine) -> Finding:
    if isinstance(m.counters, tuple) and m.counters:
        return Finding(COUNTERS, "hardware counters", "ok", ", ".join(m.counters))
    guest = m.virtualisation != "none" and isinstance(m.virtualisation, str)
    why = "no PMU" + (", as usual in a virtual machine" if guest else "")
    text = known(m.counters, lambda _: why)
    return Finding(
        COUNTERS,
        "hardware counters",
        "absent",
        text,
        "cycles, instructions and cache misses cannot be counted; faults and system calls can",
        cannot="hardware counters (no PMU)"
        if isinstance(m.counters, tuple)
        else "hardware counters",
    )


def _watchdog(m: Machine) -> Finding:
    text = known(m.nmi_watchdog, lambda value: "on" if value else "off")
    if isinstance(m.nmi_watchdog, Unknown):
        return Finding(COUNTERS, "NMI watchdog", "absent", text)
    if m.nmi_watchdog == 0:
        return Finding(COUNTERS, "NMI watchdog", "ok", text)
    advice = "it occupies one hardware counter: sudo sysctl kernel.nmi_watchdog=0"
    return Finding(COUNTERS, "NMI watchdog", "note", text, advice)


def _page_cache(here: Situation) -> Finding:
    if here.root:
        return Finding(COUNTERS, "page cache", "ok", "this user (root) may empty it")
    return Finding(
        COUNTERS,
        "page cache",
        "note",
        "an ordinary user may drop the pages of a single file only",
        "a cold start of the whole system needs root",
    )
