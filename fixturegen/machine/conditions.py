"""From a machine and this process's situation to findings: what its numbers will mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fixturegen.machine import phrases
from fixturegen.machine.choose import pick_cpus
from fixturegen.machine.finding import Finding
from fixturegen.machine.limits import limits
from fixturegen.machine.phrases import known
from fixturegen.machine.values import Machine, Unknown

if TYPE_CHECKING:
    from fixturegen.machine.situation import Situation

CPUS = "Where programs run"
CLOCK = "Clock and frequency"


def conditions(machine: Machine, here: Situation) -> list[Finding]:
    """Return the findings in the order in which they are shown."""
    return [*_cpus(machine, here), *_clock(machine), *limits(machine, here)]


def _cpus(m: Machine, here: Situation) -> Iterator[Finding]:
    allowed = phrases.cpu_list(here.allowed)
    online = m.online if isinstance(m.online, tuple) else here.allowed
    if len(here.allowed) < 2:
        yield Finding(
            CPUS,
            "allowed CPUs",
            "note",
            f"{allowed or 'none'} of {phrases.cpu_list(online)}",
            "with one CPU Python shares it with the programs, and two-thread programs share it too",
            beware="a single CPU, shared with Python",
        )
    else:
        yield Finding(CPUS, "allowed CPUs", "ok", f"{allowed} of {phrases.cpu_list(online)} online")
    choice = pick_cpus(m, frozenset(here.allowed), 1)
    chosen = phrases.cpu_list(choice.cpus) or "none"
    yield Finding(
        CPUS, "measures on", "ok" if choice.cpus else "absent", f"CPU {chosen}: {choice.reason}"
    )
    yield from _isolated(m, here)
    if m.classes:
        yield Finding(CPUS, "core classes", "note", phrases.classes_words(m))
    yield _smt(m)
    yield _guest(m)
    if m.cpu_quota == "none":
        yield Finding(CPUS, "CPU quota", "ok", "none")
    elif isinstance(m.cpu_quota, Unknown):
        yield Finding(CPUS, "CPU quota", "absent", known(m.cpu_quota))
    else:
        yield Finding(
            CPUS,
            "CPU quota",
            "note",
            phrases.quota_words(m.cpu_quota),
            "programs that use it up are stopped until the next period: tails show it",
            beware="a CPU quota that pauses programs",
        )


def _isolated(m: Machine, here: Situation) -> Iterator[Finding]:
    if not isinstance(m.isolated, tuple) or not m.isolated:
        return
    listed = phrases.cpu_list(m.isolated)
    if set(m.isolated) & set(here.allowed):
        yield Finding(CPUS, "isolated CPUs", "ok", listed)
        return
    yield Finding(
        CPUS,
        "isolated CPUs",
        "note",
        f"{listed}, none of them allowed to this process",
        f"taskset -c {listed},{phrases.cpu_list(here.allowed)} fixturegen run",
    )


def _smt(m: Machine) -> Finding:
    words = phrases.smt_words(m)
    if m.threads_per_core == 1:
        return Finding(CPUS, "SMT", "ok", words)
    if isinstance(m.threads_per_core, Unknown):
        return Finding(CPUS, "SMT", "absent", words)
    return Finding(
        CPUS,
        "SMT",
        "note",
        words,
        "what runs on the other thread of the core takes part of its speed: keep the machine idle",
    )


def _guest(m: Machine) -> Finding:
    if m.virtualisation == "none":
        return Finding(CPUS, "virtual machine", "ok", "no")
    if isinstance(m.virtualisation, Unknown):
        return Finding(CPUS, "virtual machine", "absent", known(m.virtualisation))
    return Finding(
        CPUS,
        "virtual machine",
        "note",
        f"{m.virtualisation}; stolen time {phrases.steal_words(m)}",
        "caches, clock and disk are shared with unseen neighbours: repeat runs at other times",
        beware=f"a virtual machine ({m.virtualisation})",
    )


def _clock(m: Machine) -> Iterator[Finding]:
    words = phrases.clock_words(m)
    if isinstance(m.clocksource, Unknown):
        yield Finding(CLOCK, "clock source", "absent", words)
    elif phrases.direct_clock(m):
        yield Finding(CLOCK, "clock source", "ok", words)
    else:
        yield Finding(
            CLOCK,
            "clock source",
            "note",
            words,
            "short times are coarse; see whether the kernel log says why tsc was given up",
            beware=f"a slow clock source ({m.clocksource})",
        )
    yield _governor(m)
    if isinstance(m.turbo, Unknown):
        yield Finding(CLOCK, "turbo", "absent", known(m.turbo))
    elif m.turbo == "off":
        yield Finding(CLOCK, "turbo", "ok", "off")
    else:
        yield Finding(
            CLOCK,
            "turbo",
            "note",
            f"{m.turbo} ({m.turbo_source.rpartition('cpu/')[2]})",
            "the clock depends on heat and on what other cores do: fixturegen tune apply turbo",
            beware="turbo",
        )


def _governor(m: Machine) -> Finding:
    words = phrases.governor_words(m.policies)
    if isinstance(m.policies, Unknown):
        return Finding(
            CLOCK,
            "governor",
            "absent",
            words,
            cannot="the clock frequency (no cpufreq)",
        )
    if all(policy.governor == "performance" for policy in m.policies):
        return Finding(CLOCK, "governor", "ok", words)
    return Finding(
        CLOCK,
        "governor",
        "note",
        words,
        "the clock follows the load; for a steady one: fixturegen tune apply governor",
        beware="a clock that follows the load",
    )
