"""The machine as boxes in boxes: packages, NUMA nodes, shared caches, cores, devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from fixturegen.machine import memory, pci
from fixturegen.machine.choose import Choice
from fixturegen.machine.tree import Tree
from fixturegen.machine.values import Cpu, Machine, Node, Unknown
from fixturegen.units import format_bytes


class Core(Struct, frozen=True):
    """One core: its number (unique in its package only), its online CPUs, its own caches."""

    number: int | None
    cpus: tuple[int, ...]
    kind: str  # the class of a hybrid processor, "" where all are alike
    caches: tuple[str, ...]
    isolated: bool
    chosen: tuple[int, ...]  # those of its CPUs that programs are measured on


class Box(Struct, frozen=True):
    """A package, a NUMA node or a cache that several cores share, and what is in it."""

    label: str
    boxes: tuple[Box, ...] = ()
    cores: tuple[Core, ...] = ()
    devices: tuple[pci.Device, ...] = ()


class Layout(Struct, frozen=True):
    """The whole map. `loose` are devices of no known node."""

    boxes: tuple[Box, ...]
    loose: tuple[pci.Device, ...]
    offline: tuple[int, ...]
    isolated: tuple[int, ...]
    choice: Choice


class _Shared(Struct, frozen=True):
    label: str
    cpus: frozenset[int]


def layout(root: Path, machine: Machine, choice: Choice) -> Layout:
    """Return the map of the machine below `root`; what is unknown is left out."""
    tree = Tree(root)
    devices = pci.devices(tree)
    cores = _cores(tree, machine, choice)
    shared = _shared_caches(tree, machine, [frozenset(core.cpus) for core in cores])
    packages = sorted({_package(cpu) for cpu in machine.cpus})
    nodes = machine.nodes if isinstance(machine.nodes, tuple) else ()
    boxes = []
    for package in packages:
        inside = frozenset(cpu.cpu for cpu in machine.cpus if _package(cpu) == package)
        label = f"package {package}" if package >= 0 else "processor"
        own = [core for core in cores if core.cpus[0] in inside]
        boxes.append(_package_box(label, inside, own, shared, nodes, devices))
    placed = {device for box in boxes for device in _all_devices(box)}
    offline = machine.offline if isinstance(machine.offline, tuple) else ()
    isolated = machine.isolated if isinstance(machine.isolated, tuple) else ()
    loose = tuple(device for device in devices if device not in placed)
    return Layout(tuple(boxes), loose, offline, isolated, choice)


def _package(cpu: Cpu) -> int:
    return cpu.package if isinstance(cpu.package, int) else -1


def _package_box(
    label: str,
    inside: frozenset[int],
    cores: Sequence[Core],
    shared: Sequence[_Shared],
    nodes: Sequence[Node],
    devices: Sequence[pci.Device],
) -> Box:
    """Return a package; its only NUMA node shares its line."""
    here = [(node, node.cpus) for node in nodes if isinstance(node.cpus, tuple)]
    here = [(node, cpus) for node, cpus in here if inside.intersection(cpus)]
    whole = [node for node, cpus in here if inside.issuperset(cpus)]
    if len(here) == len(whole) == 1 and inside.issubset(here[0][1]):
        return _node_box(f"{label}, {_node_label(whole[0])}", whole[0], cores, shared, devices)
    boxes = [_node_box(_node_label(node), node, cores, shared, devices) for node in whole]
    taken = {core for box in boxes for core in _all_cores(box)}
    inner = _nested([core for core in cores if core not in taken], shared)
    return Box(label, (*boxes, *inner.boxes), inner.cores)


def _node_label(node: Node) -> str:
    size = f", {format_bytes(node.memory_bytes)}" if isinstance(node.memory_bytes, int) else ""
    return f"NUMA node {node.node}{size}"


def _node_box(
    label: str,
    node: Node,
    cores: Sequence[Core],
    shared: Sequence[_Shared],
    devices: Sequence[pci.Device],
) -> Box:
    inside = frozenset(node.cpus if isinstance(node.cpus, tuple) else ())
    inner = _nested([core for core in cores if inside.issuperset(core.cpus)], shared)
    own = tuple(device for device in devices if device.node == node.node)
    return Box(label, inner.boxes, inner.cores, own)


def _nested(cores: Sequence[Core], shared: Sequence[_Shared]) -> Box:
    """Put cores into the caches that they share, the largest first, and those into each other."""
    inside = frozenset(cpu for core in cores for cpu in core.cpus)
    left, boxes = list(cores), []
    for index, cache in enumerate(shared):
        members = [core for core in left if cache.cpus.issuperset(core.cpus)]
        if len(members) > 1 and inside.issuperset(cache.cpus):
            inner = _nested(members, shared[index + 1 :])
            boxes.append(Box(cache.label, inner.boxes, inner.cores))
            left = [core for core in left if core not in members]
    return Box("", tuple(boxes), tuple(left))


def _cores(tree: Tree, machine: Machine, choice: Choice) -> list[Core]:
    groups: dict[object, list[Cpu]] = {}
    for each in machine.cpus:
        # Only what all of its CPUs say is a core: files may contradict each other.
        agreed = isinstance(each.siblings, tuple) and each.cpu in each.siblings
        groups.setdefault((_package(each), each.siblings if agreed else each.cpu), []).append(each)
    members = {tuple(cpu.cpu for cpu in group): group[0] for group in groups.values()}
    private = _private_caches(tree, machine)
    isolated = set(machine.isolated) if isinstance(machine.isolated, tuple) else set()
    return [
        Core(
            number=cpu.core if isinstance(cpu.core, int) else None,
            cpus=cpus,
            kind=next((c.name for c in machine.classes if cpu.cpu in c.cpus), ""),
            caches=tuple(label for label, owners in private if owners <= set(cpus)),
            isolated=isolated.issuperset(cpus),
            chosen=tuple(c for c in cpus if c in choice.cpus),
        )
        for cpus, cpu in sorted(members.items())
    ]


def _caches(tree: Tree, machine: Machine) -> list[tuple[int, str, frozenset[int]]]:
    """Return (level, label, online CPUs) of each single cache, the lowest level first."""
    if isinstance(machine.online, Unknown):
        return []
    suffix = {"Data": "d", "Instruction": "i"}
    return [
        (level, f"L{level}{suffix.get(kind, '')} {format_bytes(size)}", frozenset(cpus))
        for (level, kind, size, _), groups in sorted(
            memory.cache_groups(tree, machine.online).items()
        )
        for cpus in sorted(groups)
    ]


def _private_caches(tree: Tree, machine: Machine) -> list[tuple[str, frozenset[int]]]:
    return [(label, cpus) for _, label, cpus in _caches(tree, machine)]


def _shared_caches(tree: Tree, machine: Machine, cores: Iterable[frozenset[int]]) -> list[_Shared]:
    """Return the caches that more than one core has, outermost first; equal ones are one."""
    known = list(cores)
    labels_of: dict[frozenset[int], list[str]] = {}
    ordered = sorted(_caches(tree, machine), key=lambda c: (-len(c[2]), -c[0], min(c[2])))
    for _, label, cpus in ordered:
        if sum(core <= cpus for core in known) > 1:
            labels_of.setdefault(cpus, []).append(label)
    return [_Shared(", ".join(labels), cpus) for cpus, labels in labels_of.items()]


def _all_cores(box: Box) -> list[Core]:
    return [*box.cores, *(core for inner in box.boxes for core in _all_cores(inner))]


def _all_devices(box: Box) -> list[pci.Device]:
    return [*box.devices, *(each for inner in box.boxes for each in _all_devices(inner))]


def all_cores(layout: Layout) -> list[Core]:
    """Return every core of the map."""
    return [core for box in layout.boxes for core in _all_cores(box)]
