"""Which logical CPUs there are, which share a core, and which are fast."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from fixturegen.machine.frequency import CPU
from fixturegen.machine.tree import LARGE, Tree
from fixturegen.machine.values import CoreClass, Cpu, Node, Policy, Unknown

# Favoured cores of one kind boost up to 6% higher than their neighbours; kinds of cores differ
# by 15% and more. Neighbouring values further apart than this are two classes.
CLASS_GAP = 0.10
INTEL_CLASSES = (
    ("performance", "sys/devices/cpu_core/cpus"),
    ("efficiency", "sys/devices/cpu_atom/cpus"),
    ("low-power", "sys/devices/cpu_lowpower/cpus"),
)
_Owner = TypeVar("_Owner", Node, Policy)


def online(tree: Tree) -> tuple[int, ...] | Unknown:
    """Return the online CPUs; from the cpuN folders where the kernel has no `online` file."""
    listed = tree.cpus(f"{CPU}/online")
    if isinstance(listed, Unknown):
        names = tree.names(CPU, r"cpu[0-9]{1,5}")
        return tuple(int(name[3:]) for name in names) or listed
    return listed or Unknown(f"/{CPU}/online names no CPU")


def cpus(
    tree: Tree,
    online: tuple[int, ...] | Unknown,
    nodes: tuple[Node, ...] | Unknown,
    policies: tuple[Policy, ...] | Unknown,
) -> tuple[Cpu, ...]:
    """Return one Cpu for each online CPU; none if it is unknown which are online."""
    if isinstance(online, Unknown):
        return ()
    node_of = _by_cpu(nodes, lambda node: node.node)
    khz_of = _by_cpu(policies, lambda policy: policy.hardware_max_khz)
    interrupts = _interrupts(tree)
    no_node, no_policy = Unknown("no NUMA node names it"), Unknown("no frequency policy names it")
    no_count = Unknown("/proc/interrupts does not count it")
    return tuple(
        Cpu(
            cpu=cpu,
            package=_identifier(tree, cpu, "physical_package_id"),
            core=_identifier(tree, cpu, "core_id"),
            siblings=_siblings(tree, cpu, frozenset(online)),
            node=node_of.get(cpu, no_node),
            capacity=tree.integer(f"{CPU}/cpu{cpu}/cpu_capacity"),
            max_khz=khz_of.get(cpu, no_policy),
            interrupts=interrupts.get(cpu, no_count),
        )
        for cpu in online
    )


def count_packages(cpus: tuple[Cpu, ...]) -> int | Unknown:
    """Return how many distinct packages the online CPUs name."""
    known = {cpu.package for cpu in cpus if not isinstance(cpu.package, Unknown)}
    if not known or any(isinstance(cpu.package, Unknown) for cpu in cpus):
        return Unknown("the topology folder does not name every CPU's package")
    return len(known)


def count_cores(cpus: tuple[Cpu, ...]) -> tuple[int | Unknown, int | Unknown]:
    """Return (cores with an online CPU, the most online CPUs of one core)."""
    siblings = [cpu.siblings for cpu in cpus if not isinstance(cpu.siblings, Unknown)]
    if not siblings or len(siblings) < len(cpus):
        unknown = Unknown("the topology folder does not name every CPU's siblings")
        return unknown, unknown
    return len(set(siblings)), max(len(group) for group in siblings)


def classes(tree: Tree, cpus: tuple[Cpu, ...]) -> tuple[CoreClass, ...]:
    """Return the classes of cores, fastest first; empty if no difference is seen.

    The first of: Intel's PMUs of a hybrid processor, cpu_capacity (Arm), the highest frequency.
    """
    known = {cpu.cpu for cpu in cpus}
    intel = []
    for name, path in INTEL_CLASSES:
        listed = tree.cpus(path)
        if isinstance(listed, tuple) and (members := tuple(c for c in listed if c in known)):
            intel.append(CoreClass(name, members, f"/{path}"))
    if len(intel) > 1:
        return tuple(intel)
    capacities = {c.cpu: c.capacity for c in cpus if isinstance(c.capacity, int)}
    by_capacity = _split(capacities, len(cpus), "capacity {}", "cpu_capacity")
    if by_capacity:
        return by_capacity
    khz = {c.cpu: c.max_khz for c in cpus if isinstance(c.max_khz, int)}
    return _split(khz, len(cpus), "{} kHz", "cpuinfo_max_freq")


def _split(values: dict[int, int], total: int, name: str, evidence: str) -> tuple[CoreClass, ...]:
    if len(values) < total or not values:
        return ()  # a difference that is known for some CPUs only is none that can be relied on
    groups: list[list[int]] = []
    previous = 0
    for cpu, value in sorted(values.items(), key=lambda item: (-item[1], item[0])):
        if not groups or previous - value > CLASS_GAP * previous:
            groups.append([])
        groups[-1].append(cpu)
        previous = value
    if len(groups) < 2:
        return ()
    return tuple(
        CoreClass(name.format(max(values[c] for c in group)), tuple(sorted(group)), evidence)
        for group in groups
    )


def _by_cpu(
    owners: tuple[_Owner, ...] | Unknown, value: Callable[[_Owner], int | Unknown]
) -> dict[int, int | Unknown]:
    if isinstance(owners, Unknown):
        return {}
    return {
        cpu: value(owner)
        for owner in owners
        if not isinstance(owner.cpus, Unknown)
        for cpu in owner.cpus
    }


def _identifier(tree: Tree, cpu: int, name: str) -> int | Unknown:
    identifier = tree.integer(f"{CPU}/cpu{cpu}/topology/{name}")
    if isinstance(identifier, int) and identifier < 0:
        return Unknown(f"the firmware gives no {name}")  # -1, common on Arm
    return identifier


def _siblings(tree: Tree, cpu: int, online: frozenset[int]) -> tuple[int, ...] | Unknown:
    siblings: tuple[int, ...] | Unknown = ()
    for name in ("core_cpus_list", "thread_siblings_list"):  # the second before Linux 5.3
        siblings = tree.cpus(f"{CPU}/cpu{cpu}/topology/{name}")
        if isinstance(siblings, tuple):
            return tuple(c for c in siblings if c in online) or (cpu,)
    return siblings


def _interrupts(tree: Tree) -> dict[int, int]:
    """Return device interrupts (lines with a number) since boot for each CPU of the header."""
    text = tree.text("proc/interrupts", LARGE)
    if isinstance(text, Unknown):
        return {}
    lines = text.splitlines()
    header = [re.fullmatch(r"CPU([0-9]{1,5})", word) for word in lines[0].split()] if lines else []
    columns = [int(column.group(1)) for column in header if column]
    counts = dict.fromkeys(columns, 0)
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        if not re.fullmatch(r" *[0-9]{1,9}", label):
            continue
        for cpu, word in zip(columns, rest.split(), strict=False):
            if not re.fullmatch(r"[0-9]{1,18}", word):
                break
            counts[cpu] += int(word)
    return counts
