"""Caches, NUMA nodes, memory, pages."""

from __future__ import annotations

import os
import re
from collections import defaultdict

from fixturegen.machine.frequency import CPU
from fixturegen.machine.tree import LARGE, Tree
from fixturegen.machine.values import Cache, FolioSize, Machine, Node, Unknown

NODES = "sys/devices/system/node"
THP = "sys/kernel/mm/transparent_hugepage"
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def caches(tree: Tree, online: tuple[int, ...] | Unknown) -> tuple[Cache, ...] | Unknown:
    """Return the caches of the online CPUs, one entry for each level, kind, size and sharing."""
    if isinstance(online, Unknown):
        return Unknown("it is unknown which CPUs are online")
    shares = cache_groups(tree, online)
    if not shares:
        return Unknown("no cache folder under the CPUs (its firmware or hypervisor describes none)")
    described = []
    for (level, kind, size, line), groups in sorted(shares.items()):
        for shared_by in sorted({len(group) for group in groups}):
            count = sum(len(group) == shared_by for group in groups)
            line_bytes = line or Unknown("no coherency_line_size")
            described.append(Cache(level, kind, size, line_bytes, shared_by, count))
    return tuple(described)


def cache_groups(
    tree: Tree, online: tuple[int, ...]
) -> dict[tuple[int, str, int, int], set[tuple[int, ...]]]:
    """Return, for each (level, kind, bytes, line bytes), the online CPUs of each such cache."""
    shares: dict[tuple[int, str, int, int], set[tuple[int, ...]]] = defaultdict(set)
    for cpu in online:
        folder = f"{CPU}/cpu{cpu}/cache"
        for name in tree.names(folder, r"index[0-9]{1,2}"):
            _add_cache(tree, f"{folder}/{name}", cpu, frozenset(online), shares)
    return shares


def _add_cache(
    tree: Tree,
    folder: str,
    cpu: int,
    online: frozenset[int],
    shares: dict[tuple[int, str, int, int], set[tuple[int, ...]]],
) -> None:
    level, kind = tree.integer(f"{folder}/level"), tree.line(f"{folder}/type")
    size = _size(tree.text(f"{folder}/size"))
    if isinstance(level, Unknown) or isinstance(kind, Unknown) or size <= 0:
        return
    line = tree.integer(f"{folder}/coherency_line_size")
    shared = tree.cpus(f"{folder}/shared_cpu_list")
    group = tuple(c for c in shared if c in online) if isinstance(shared, tuple) else ()
    shares[level, kind, size, line if isinstance(line, int) else 0].add(group or (cpu,))


def _size(text: str | Unknown) -> int:
    size = re.fullmatch(r"([0-9]{1,12})([KMG]?)", text) if isinstance(text, str) else None
    return int(size.group(1)) * _UNITS[size.group(2)] if size else 0


def last_level_bytes(caches: tuple[Cache, ...] | Unknown) -> int | Unknown:
    """Return the size of the largest single cache of the highest level that holds data."""
    if isinstance(caches, Unknown):
        return caches
    data = [cache for cache in caches if cache.kind != "Instruction"]
    if not data:
        return Unknown("no cache that holds data is described")
    top = max(cache.level for cache in data)
    return max(cache.size_bytes for cache in data if cache.level == top)


def nodes(tree: Tree) -> tuple[Node, ...] | Unknown:
    """Return the NUMA nodes in order of their numbers."""
    described = tuple(_node(tree, name) for name in tree.names(NODES, r"node[0-9]{1,5}"))
    return described or Unknown(f"no /{NODES} (a kernel without NUMA)")


def _node(tree: Tree, name: str) -> Node:
    text = tree.text(f"{NODES}/{name}/meminfo")
    return Node(int(name[4:]), tree.cpus(f"{NODES}/{name}/cpulist"), _kilobytes(text, "MemTotal"))


def memory_bytes(tree: Tree) -> int | Unknown:
    """Return MemTotal of proc/meminfo in bytes."""
    return _kilobytes(tree.text("proc/meminfo"), "MemTotal")


def page_bytes(tree: Tree) -> int | Unknown:
    """Return the size of a base page in bytes."""
    if tree.live:
        return os.sysconf("SC_PAGE_SIZE")
    return _kilobytes(tree.text("proc/self/smaps", LARGE), "KernelPageSize")


def _kilobytes(text: str | Unknown, key: str) -> int | Unknown:
    if isinstance(text, Unknown):
        return text
    entry = re.search(rf"\b{key}: *([0-9]{{1,15}}) kB", text)
    return int(entry.group(1)) * 1024 if entry else Unknown(f"no {key} where it should be")


def folio_sizes(tree: Tree) -> tuple[FolioSize, ...]:
    """Return multi-size huge pages of anonymous memory, smallest first; none before Linux 6.8."""
    names = tree.names(THP, r"hugepages-[0-9]{1,9}kB")
    return tuple(
        FolioSize(int(name[len("hugepages-") : -2]), tree.choice(f"{THP}/{name}/enabled"))
        for name in names
        if "enabled" in tree.names(f"{THP}/{name}")  # the smallest exist for shmem only
    )


def folios(machine: Machine) -> tuple[int, ...]:
    """Return the sizes in KiB, other than a page, that one fault of anonymous memory may map."""
    return tuple(
        size.kib
        for size in machine.folio_sizes
        if size.enabled == "always" or (size.enabled == "inherit" and machine.thp == "always")
    )
