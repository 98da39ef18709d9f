"""The table of knobs: what each is, which files it has here, and what may be written there.

Nothing outside of this table is ever written: not by a request, not from a journal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from msgspec import Struct

from fixturegen.machine import frequency
from fixturegen.machine.frequency import CPU
from fixturegen.machine.tree import Tree
from fixturegen.machine.values import Unknown

SMT = f"{CPU}/smt/control"
SMT_ACTIVE = f"{CPU}/smt/active"
WATCHDOG = "proc/sys/kernel/nmi_watchdog"
ASLR = "proc/sys/kernel/randomize_va_space"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
DROP_CACHES = "proc/sys/vm/drop_caches"

# CPUs come back before their policies can be written, and writing a governor resets no_turbo.
RESTORE_ORDER = ("smt", "governor", "turbo", "nmi_watchdog", "aslr", "thp")
# SMT last: the policies of the CPUs that it takes offline could no more be written.
APPLY_ORDER = ("governor", "turbo", "nmi_watchdog", "aslr", "thp", "smt")


def in_order(knobs: Collection[str], *, back: bool = False) -> list[str]:
    """Return `knobs` in the order in which they are turned, or put back."""
    return [name for name in (RESTORE_ORDER if back else APPLY_ORDER) if name in knobs]


class Knob(Struct, frozen=True):
    """One knob: what it is, why one would turn it, and its state when turned, in words."""

    title: str
    why: str
    aim: str
    implied: bool = True


KNOBS = {
    "governor": Knob(
        "frequency governor",
        "It lets the clock follow the load, so that a burst after a pause starts on a slow "
        "clock. Set to performance the clock stays high.",
        "performance",
    ),
    "turbo": Knob(
        "turbo",
        "Clocks above the base frequency, for as long as heat, power and the other cores allow. "
        "Off is slower, and the same on a cold and on a warm machine.",
        "off",
    ),
    "smt": Knob(
        "second threads of cores",
        "The threads of a core share its units and caches: whatever runs on the other one takes "
        "part of its speed. Off takes CPUs offline; a program bound to these alone loses its "
        "binding for good.",
        "off",
        implied=False,
    ),
    "nmi_watchdog": Knob(
        "NMI watchdog",
        "It interrupts each CPU to find lock-ups, and uses one of the hardware counters. Off "
        "gives the counter to perf.",
        "off",
    ),
    "aslr": Knob(
        "address space layout",
        "Each process gets its stack, heap and libraries at other addresses. Off is one layout "
        "for all, a lucky or an unlucky one, and less security for every program.",
        "off",
        implied=False,
    ),
    "thp": Knob(
        "transparent huge pages",
        "Large arrays may get pages of 2 MiB, if there are free ones at that moment. With never "
        "the page faults are the same each time.",
        "never",
    ),
}

_POLICY = rf"{CPU}/cpufreq/policy[0-9]{{1,6}}"
_WORD = r"[a-z_]{1,24}"
_GOVERNORS = r"(?:ondemand|conservative|schedutil|interactive)"
_LIST = r"[0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?){0,999}"
_RULES = (
    ("governor", rf"{_POLICY}/scaling_governor", _WORD),
    ("governor", rf"{_POLICY}/energy_performance_preference", rf"{_WORD}|[0-9]{{1,3}}"),
    ("governor", rf"{_POLICY}/scaling_setspeed", r"[0-9]{1,10}"),
    ("governor", rf"(?:{CPU}/cpufreq|{_POLICY})/{_GOVERNORS}/[a-z_]{{1,40}}", r"[0-9]{1,10}"),
    (
        "turbo",
        rf"{CPU}/(?:intel_pstate/no_turbo|cpufreq/boost|cpu[0-9]{{1,6}}/cpufreq/boost)",
        "[01]",
    ),
    ("turbo", rf"{_POLICY}/boost", "[01]"),
    ("smt", SMT, "on|off"),
    ("smt", rf"{CPU}/cpu[0-9]{{1,6}}/online", "[01]"),
    ("smt", r"proc/irq/[0-9]{1,6}/smp_affinity_list", _LIST),
    ("nmi_watchdog", WATCHDOG, "[01]"),
    ("aslr", ASLR, "[012]"),
    ("thp", THP, "always|madvise|never"),
)


def permitted(knob: str, path: str, value: str) -> bool:
    """Whether `path` is a file of `knob`, and `value` one that may be written to it."""
    return any(
        name == knob and re.fullmatch(where, path, re.ASCII) and re.fullmatch(what, value)
        for name, where, what in _RULES
    )


def current(tree: Tree, path: str) -> str | Unknown:
    """Return the value of a knob's file; of `always [madvise] never` the word in brackets."""
    text = tree.line(path)
    if isinstance(text, Unknown) or "[" not in text:
        return text
    return tree.choice(path)


def aims(tree: Tree, knob: str) -> list[tuple[str, str]] | Unknown:
    """Return (file, the value it is turned to) of a knob here, or why there is none."""
    if knob == "governor":
        return _governors(tree)
    if knob == "turbo":
        switches = frequency.turbo_switches(tree)
        return [(s.path, s.off) for s in switches] or Unknown(_why_no_turbo(tree))
    path, value = {
        "smt": (SMT, "off"),
        "nmi_watchdog": (WATCHDOG, "0"),
        "aslr": (ASLR, "0"),
        "thp": (THP, "never"),
    }[knob]
    text = current(tree, path)
    return text if isinstance(text, Unknown) else [(path, value)]


def _governors(tree: Tree) -> list[tuple[str, str]] | Unknown:
    policies = frequency.policies(tree)
    if isinstance(policies, Unknown):
        return policies
    known = [policy for policy in policies if isinstance(policy.governor, str)]
    if not known:  # a policy without an online CPU cannot be read
        return Unknown("no policy names its governor")
    return [(f"{CPU}/cpufreq/{policy.name}/scaling_governor", "performance") for policy in known]


def _why_no_turbo(tree: Tree) -> str:
    state, _ = frequency.turbo(tree)
    return state.unknown if isinstance(state, Unknown) else ""


def unable(tree: Tree, knob: str) -> str:
    """Return why a knob that has files here has no other state to offer, or ""."""
    if knob == "smt":
        return {
            "on": "",
            "off": "",
            "forceoff": "off until the next boot (forceoff)",
            "notsupported": "the processor has none, or the hypervisor hides it (ENODEV)",
            "notimplemented": "this architecture has no control for it (ENODEV)",
        }.get(str(current(tree, SMT)), "control says neither on nor off")
    if knob == "governor":
        policies = frequency.policies(tree)
        for policy in () if isinstance(policies, Unknown) else policies:
            offered = tree.line(f"{CPU}/cpufreq/{policy.name}/scaling_available_governors")
            if isinstance(offered, str) and "performance" not in offered.split():
                return f"{policy.name} offers no performance, only {offered}"
    return ""


def state(tree: Tree, knob: str) -> str:
    """Return the state of a knob, read now; an unknown one says why."""
    if knob == "turbo":
        state, _ = frequency.turbo(tree)
        return f"unknown: {state.unknown}" if isinstance(state, Unknown) else state
    files = aims(tree, knob)
    if isinstance(files, Unknown):
        return f"unknown: {files.unknown}"
    read = (current(tree, path) for path, _ in files)
    counts = Counter("unknown" if isinstance(value, Unknown) else value for value in read)
    if len(counts) > 1:
        return ", ".join(f"{value} x{count}" for value, count in counts.items())
    (value,) = counts
    if knob == "smt" and value == "off" and tree.line(SMT_ACTIVE) == "1":
        return "off, but smt/active says that threads still share cores"
    names = {
        "nmi_watchdog": {"0": "off", "1": "on"},
        "aslr": {"0": "off", "1": "partly on (1)", "2": "on (2)"},
    }
    return names.get(knob, {}).get(value, value)
