"""What the kernel says of itself: version, guest or not, clock, limits, load."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from fixturegen.machine.tree import LARGE, Tree, printable
from fixturegen.machine.values import Unknown

if TYPE_CHECKING:
    from fixturegen.machine.processor import Entries

CLOCK = "sys/devices/system/clocksource/clocksource0"
DMI = "sys/class/dmi/id"
PMUS = "sys/bus/event_source/devices"
NO_LIMIT = 2**62  # bytes; version 1 writes the largest multiple of a page where there is none
_T = TypeVar("_T")
# The first word found names the hypervisor. Firecracker and other small machines have no DMI;
# there the paravirtual clock among the available ones tells.
_DMI_WORDS = (
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Parallels", "Parallels"),
    ("Xen", "Xen"),
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
    ("Google Compute Engine", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("BHYVE", "bhyve"),
)
_CLOCK_WORDS = (("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen"))
_PMU = re.compile(r"(cpu|cpu_core|cpu_atom|cpum_cf|armv[0-9]\w*|arm\w*_pmu\w*|apple_\w+_pmu)")


def architecture(tree: Tree) -> str | Unknown:
    """Return uname's machine word; below another root proc/sys/kernel/arch (Linux 6.1)."""
    return printable(os.uname().machine) if tree.live else tree.line("proc/sys/kernel/arch")


def os_name(tree: Tree) -> str | Unknown:
    """Return PRETTY_NAME of etc/os-release."""
    text = tree.text("etc/os-release")
    if isinstance(text, Unknown):
        text = tree.text("usr/lib/os-release")
    if isinstance(text, Unknown):
        return text
    entry = re.search(r"^PRETTY_NAME=(.+)$", text, re.MULTILINE)
    name = printable(entry.group(1).strip("\"' \t")) if entry else ""
    return name or Unknown("/etc/os-release has no PRETTY_NAME")


def virtualisation(tree: Tree, entries: Entries | Unknown) -> str | Unknown:
    """Return "none", "KVM guest", ..., "guest" (of an unnamed hypervisor), or Unknown.

    From the hypervisor flag of proc/cpuinfo (x86), sys/hypervisor/type, DMI, the clock sources.
    """
    flags = [] if isinstance(entries, Unknown) else entries[0].get("flags", "").split()
    flagged = "hypervisor" in flags
    kind = tree.line("sys/hypervisor/type")
    if kind == "xen":
        return "Xen guest"
    if flags and not flagged:
        return "none"  # DMI alone is no proof: EC2 names itself on bare metal too
    name = _hypervisor(tree)
    if name:
        return f"{name} guest"
    if flagged:
        return "guest"
    return Unknown("no hypervisor flag on this architecture, and no DMI or Xen file names one")


def _hypervisor(tree: Tree) -> str:
    read = [tree.line(f"{DMI}/{name}") for name in ("sys_vendor", "product_name", "bios_vendor")]
    named = " ".join(text for text in read if isinstance(text, str))
    if ".metal" in named:
        return ""
    for word, name in _DMI_WORDS:
        if word in named:
            return name
    clocks = tree.text(f"{CLOCK}/available_clocksource")
    for word, name in _CLOCK_WORDS:
        if isinstance(clocks, str) and word in clocks:
            return name
    return ""


def clocksources(tree: Tree) -> tuple[str, ...] | Unknown:
    """Return the available clock sources, the kernel's preferred one first."""
    text = tree.line(f"{CLOCK}/available_clocksource")
    return text if isinstance(text, Unknown) else tuple(text.split())


def counters(tree: Tree) -> tuple[str, ...] | Unknown:
    """Return the PMUs of the processor; empty is "none", as in most virtual machines."""
    names = tree.names(PMUS)
    if not names:
        return Unknown(f"no /{PMUS}")
    return tuple(printable(name) for name in names if _PMU.fullmatch(name))


def load_average(tree: Tree) -> tuple[str, ...] | Unknown:
    """Return the 1, 5 and 15 minute load averages as the kernel's exact text."""
    text = tree.text("proc/loadavg")
    if isinstance(text, Unknown):
        return text
    averages = text.split()[:3]
    if len(averages) < 3 or not all(
        re.fullmatch(r"[0-9]{1,9}\.[0-9]{2}", each) for each in averages
    ):
        return Unknown("/proc/loadavg holds no three averages")
    return tuple(averages)


def running(tree: Tree) -> int:
    """Return how many tasks run or wait for a CPU now, this process included; 0 if unknown."""
    text = tree.text("proc/loadavg")
    counts = re.search(r" ([0-9]{1,9})/[0-9]{1,9} ", text) if isinstance(text, str) else None
    return int(counts.group(1)) if counts else 0


def ticks(tree: Tree) -> tuple[int | Unknown, int | Unknown]:
    """Return (stolen, all) ticks since boot over all CPUs, each 1/USER_HZ seconds."""
    text = tree.text("proc/stat", LARGE)
    if isinstance(text, Unknown):
        return text, text
    total = re.match(r"cpu +((?:[0-9]{1,18} +){7}[0-9]{1,18})", text)
    if total is None:
        unknown = Unknown("the first line of /proc/stat counts no stolen time")
        return unknown, unknown
    counts = [int(word) for word in total.group(1).split()]
    return counts[7], sum(counts)


def cpu_quota(tree: Tree) -> str | Unknown:
    """Return "none", or the tightest "QUOTA PERIOD" (us) of this process's cgroups.

    cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1; a parent's limit
    binds its children.
    """
    found = _limits(tree, "cpu", _quota)
    if isinstance(found, Unknown):
        return found
    if found:
        quota, period = min(found, key=lambda limit: limit[0] / limit[1])
        return f"{quota} {period}"
    return "none"


def memory_limit(tree: Tree) -> str | Unknown:
    """Return "none", or the tightest limit of this process's cgroups in bytes.

    memory.max and memory.high of version 2, memory.limit_in_bytes of version 1.
    """
    found = _limits(tree, "memory", _memory)
    if isinstance(found, Unknown):
        return found
    return str(min(found)) if found else "none"


def _limits(
    tree: Tree, controller: str, read: Callable[[Tree, str], tuple[bool, list[_T]]]
) -> list[_T] | Unknown:
    """Return the limits of this process's cgroups and their parents; a parent's binds its children.

    read: gives whether a folder has a file of a limit, and the limit if one is set.
    """
    text = tree.text("proc/self/cgroup")
    if isinstance(text, Unknown):
        return text
    limits: list[_T] = []
    seen = False
    for line in text.splitlines():
        fields = line.split(":", 2)
        if len(fields) != 3 or ".." in PurePosixPath(fields[2]).parts:
            continue
        if fields[0] == "0" or controller in fields[1].split(","):
            for folder in _ancestors(fields[2], "" if fields[0] == "0" else controller):
                known, limit = read(tree, folder)
                seen = seen or known
                limits += limit
    # The root cgroup has no such file: a process in it has no limit.
    if seen or any(line.endswith(":/") and line.startswith("0:") for line in text.splitlines()):
        return limits
    return Unknown(f"no {controller} controller is visible below /sys/fs/cgroup")


def _ancestors(path: str, controller: str) -> list[str]:
    """Return the folders of a cgroup and its parents; controller: of version 1, "" of version 2."""
    places = [controller] if controller else ["", "unified"]
    mounts = ["/".join(filter(None, ["sys/fs/cgroup", place])) for place in places]
    parts = [part for part in path.split("/") if part]
    inner = ["/".join(["", *parts[:count]]) for count in range(len(parts), -1, -1)]
    return [f"{mount}{folder}" for mount in mounts for folder in inner]


def _memory(tree: Tree, folder: str) -> tuple[bool, list[int]]:
    """Return (whether a limit file was read, the limits that are set)."""
    names = ("memory.max", "memory.high", "memory.limit_in_bytes")
    texts = [text for name in names if isinstance(text := tree.text(f"{folder}/{name}"), str)]
    sizes = [int(text) for text in texts if re.fullmatch("[0-9]{1,19}", text)]
    return bool(texts), [size for size in sizes if size < NO_LIMIT]


def _quota(tree: Tree, folder: str) -> tuple[bool, list[tuple[int, int]]]:
    """Return (whether a limit file was read, the limit if there is one)."""
    text = tree.text(f"{folder}/cpu.max")
    if isinstance(text, str):
        limit = re.fullmatch(r"([0-9]{1,18}|max) ([0-9]{1,18})", text)
        if limit is None or int(limit.group(2)) == 0:
            return False, []
        quota = limit.group(1)
        return True, [] if quota == "max" else [(int(quota), int(limit.group(2)))]
    quota_us = tree.integer(f"{folder}/cpu.cfs_quota_us")
    period_us = tree.integer(f"{folder}/cpu.cfs_period_us")
    if isinstance(quota_us, Unknown) or isinstance(period_us, Unknown) or period_us <= 0:
        return False, []
    return True, [(quota_us, period_us)] if quota_us > 0 else []
