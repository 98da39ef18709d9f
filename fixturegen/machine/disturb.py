"""What disturbs a measurement right now, in words."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

from fixturegen.machine import kernel, phrases, topology
from fixturegen.machine.frequency import CPU
from fixturegen.machine.tree import Tree
from fixturegen.machine.values import Unknown
from fixturegen.units import format_percent, plural

LAUNCHER = "fixturegen-lnch"  # the launcher's comm: the kernel keeps 15 characters
STEAL_SHARE = 0.01  # of all time since boot; from here on another guest's load is in the numbers
OTHER = "another fixturegen run is measuring"
OTHERS = re.compile(rf"{OTHER} \(launcher process ([0-9, ]+)\)")
POWER = "sys/class/power_supply"


def disturbances(root: Path = Path("/"), exclude_pid: int = 0) -> list[str]:
    """Return one sentence for each disturbance; an empty list if none is seen.

    `exclude_pid` is the caller's own launcher; a launcher whose parent is this process is known
    to be its own in any case. What cannot be read is not reported.
    """
    tree = Tree(root)
    return [
        *_launchers(tree, exclude_pid),
        *_load(tree),
        *_steal(tree),
        *_battery(tree),
        *_throttling(tree),
        *_quota(tree),
    ]


def add(known: list[str], sentence: str) -> None:
    """Add a disturbance to those that are `known`: other runs, one after the other, in one line."""
    if sentence in known:
        return
    for place, line in enumerate(known):
        if (runs := OTHERS.fullmatch(line)) and (more := OTHERS.fullmatch(sentence)):
            pids = ", ".join(dict.fromkeys([*runs[1].split(", "), *more[1].split(", ")]))
            known[place] = f"{OTHER} (launcher process {pids})"
            return
    known.append(sentence)


def _launchers(tree: Tree, exclude_pid: int) -> list[str]:
    pids = [
        pid
        for pid in tree.names("proc", r"[0-9]{1,9}")
        if int(pid) != exclude_pid
        and tree.text(f"proc/{pid}/comm") == LAUNCHER
        and not (tree.live and _parent(tree, pid) == os.getpid())
    ]
    if not pids:
        return []
    return [f"{OTHER} (launcher process {', '.join(pids[:8])})"]


def _parent(tree: Tree, pid: str) -> int:
    """Return the parent's pid, 0 if unknown; the name before it may hold spaces and brackets."""
    text = tree.text(f"proc/{pid}/stat")
    fields = [] if isinstance(text, Unknown) else text.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdecimal() else 0


def _load(tree: Tree) -> list[str]:
    """Report a load above half of the CPUs that goes on.

    The average alone would report the build, or the run, that has just ended. So a task other
    than this process must be running now: proc/loadavg's fourth word, running/all.
    """
    load, online = kernel.load_average(tree), topology.online(tree)
    if isinstance(load, Unknown) or isinstance(online, Unknown):
        return []
    if float(load[0]) <= 0.5 * len(online) or kernel.running(tree) < 2:
        return []
    cpus = plural(len(online), "CPU")
    return [f"other tasks are running: the load average is {load[0]} on {cpus}"]


def _steal(tree: Tree) -> list[str]:
    stolen, total = kernel.ticks(tree)
    if isinstance(stolen, Unknown) or isinstance(total, Unknown) or total <= 0:
        return []
    if stolen < STEAL_SHARE * total:
        return []
    share = format_percent(Fraction(stolen, total), 0)
    return [f"the hypervisor took {share} of the CPU time since boot (steal)"]


def _battery(tree: Tree) -> list[str]:
    for name in tree.names(POWER):
        folder = f"{POWER}/{name}"
        if tree.line(f"{folder}/type") != "Battery" or tree.line(f"{folder}/scope") == "Device":
            continue  # a mouse's battery says nothing about the CPU's clock
        if tree.line(f"{folder}/status") == "Discharging":
            return ["the machine runs on battery, which lowers clock limits"]
    return []


def _throttling(tree: Tree) -> list[str]:
    counts: list[int] = []
    for name in tree.names(CPU, r"cpu[0-9]{1,5}"):
        for kind in ("core", "package"):
            count = tree.integer(f"{CPU}/{name}/thermal_throttle/{kind}_throttle_count")
            if isinstance(count, int):
                counts.append(count)
    if not any(count > 0 for count in counts):
        return []
    return [f"the processor was throttled for heat up to {max(counts)} times since boot"]


def _quota(tree: Tree) -> list[str]:
    quota = kernel.cpu_quota(tree)
    if isinstance(quota, Unknown) or quota == "none":
        return []
    return [f"a CPU quota pauses programs: {phrases.quota(quota)}"]
