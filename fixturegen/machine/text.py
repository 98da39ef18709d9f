"""The machine in one line and as labelled lines.

No host name, no user name, no path but of the kernel's own files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fixturegen.machine import phrases
from fixturegen.machine.phrases import known
from fixturegen.machine.tree import escaped
from fixturegen.machine.values import Machine, Unknown
from fixturegen.units import format_bytes, plural

_T = TypeVar("_T")


def one_line(m: Machine) -> str:
    """Return e.g. `AMD EPYC, 2 CPUs, 16 MiB L3, Linux 6.18.44, KVM guest, governor powersave`."""
    parts = [
        _or(m.cpu_model, "unknown processor", phrases.short_model),
        _or(m.logical_cpus, "unknown number of CPUs", lambda count: plural(count, "CPU")),
        _last_level(m),
        _or(m.kernel_release, "Linux", lambda release: f"Linux {phrases.short_release(release)}"),
        _or(
            m.virtualisation, "unknown whether a guest", lambda kind: "" if kind == "none" else kind
        ),
        _governor(m),
    ]
    return escaped(", ".join(part for part in parts if part))


def report_lines(m: Machine) -> list[tuple[str, str]]:
    """Return (label, value) pairs for a fixture's machine section; unknown says why."""
    release = known(m.kernel_release)
    lines = [
        ("processor", known(m.cpu_model)),
        ("identity", _identity(m)),
        ("CPUs", phrases.cpus(m)),
        ("core classes", phrases.classes(m)),
        ("SMT", phrases.smt(m)),
        ("caches", phrases.caches(m)),
        ("NUMA", known(m.nodes, lambda nodes: plural(len(nodes), "node"))),
        ("memory", known(m.memory_bytes, format_bytes)),
        ("page size", known(m.page_bytes, format_bytes)),
        ("huge pages", phrases.huge_pages(m)),
        ("kernel", release + known(m.kernel_version, lambda version: f", {version}")),
        ("system", known(m.os)),
        ("virtual machine", known(m.virtualisation)),
        ("clock source", phrases.clock(m)),
        ("governor", phrases.governor(m.policies)),
        ("turbo", known(m.turbo)),
        ("ASLR", phrases.aslr(m)),
        ("counters", phrases.counters(m)),
        ("NMI watchdog", known(m.nmi_watchdog, lambda value: "on" if value else "off")),
        ("isolated CPUs", known(m.isolated, lambda cpus: phrases.cpu_list(cpus) or "none")),
        ("tickless CPUs", known(m.nohz_full, lambda cpus: phrases.cpu_list(cpus) or "none")),
        ("CPU quota", known(m.cpu_quota, phrases.quota)),
        ("load average", known(m.load_average, " ".join)),
        ("stolen time", phrases.stolen_time(m)),
    ]
    # Escaped when it was read, and again here: a context may come from a stranger.
    return [(label, escaped(value)) for label, value in lines]


def _identity(m: Machine) -> str:
    numbers = (
        ("family", m.cpu_family),
        ("model", m.cpu_model_number),
        ("stepping", m.cpu_stepping),
    )
    parts = [known(m.cpu_vendor), *(f"{name} {known(value)}" for name, value in numbers)]
    return ", ".join([*parts, f"microcode {known(m.microcode)}"])


def _last_level(m: Machine) -> str:
    if isinstance(m.caches, Unknown) or isinstance(m.last_level_cache_bytes, Unknown):
        return "caches unknown"
    level = max((cache.level for cache in m.caches), default=0)
    return f"{format_bytes(m.last_level_cache_bytes)} L{level}"


def _governor(m: Machine) -> str:
    if isinstance(m.policies, Unknown):
        return "governor unknown (no cpufreq)"
    names = dict.fromkeys(_or(policy.governor, "unknown") for policy in m.policies)
    return f"{'governor' if len(names) == 1 else 'mixed governors'} {' and '.join(names)}"


def _or(value: _T | Unknown, otherwise: str, say: Callable[[_T], str] = str) -> str:
    return otherwise if isinstance(value, Unknown) else say(value)
