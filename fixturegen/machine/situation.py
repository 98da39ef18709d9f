"""What this process may do on the machine: CPUs, privileges, limits."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from fixturegen.machine.tree import Tree
from fixturegen.machine.values import Machine, Unknown

# Bits of CapEff in proc/self/status (linux/capability.h).
CAP_IPC_LOCK, CAP_SYS_ADMIN, CAP_PERFMON = 14, 21, 38


@dataclass(frozen=True, slots=True)
class Situation:
    """The rights of this process; of an ordinary user where the root is not this machine."""

    allowed: tuple[int, ...]  # sched_getaffinity, or all online CPUs
    root: bool
    perfmon: bool  # may use every performance event, whatever perf_event_paranoid says
    lock_any: bool  # may lock any amount of memory
    memlock_bytes: int | Unknown | None  # RLIMIT_MEMLOCK, None is unlimited
    live: bool


def situation(machine: Machine, root: Path = Path("/")) -> Situation:
    """Return the situation of this process; below another root that of an ordinary user."""
    tree = Tree(root)
    if not tree.live:
        allowed = machine.online if isinstance(machine.online, tuple) else ()
        return Situation(allowed, False, False, False, Unknown("not this machine"), live=False)
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    capabilities = _capabilities(tree)
    return Situation(
        allowed=tuple(sorted(os.sched_getaffinity(0))),
        root=os.geteuid() == 0,
        perfmon=bool(capabilities & (1 << CAP_PERFMON | 1 << CAP_SYS_ADMIN)),
        lock_any=bool(capabilities & 1 << CAP_IPC_LOCK),
        memlock_bytes=None if soft == resource.RLIM_INFINITY else soft,
        live=True,
    )


def _capabilities(tree: Tree) -> int:
    text = tree.text("proc/self/status")
    lines = [] if isinstance(text, Unknown) else text.splitlines()
    for line in lines:
        if line.startswith("CapEff:"):
            word = line.partition(":")[2].strip()
            return int(word, 16) if re.fullmatch(r"[0-9a-f]{1,16}", word) else 0
    return 0
