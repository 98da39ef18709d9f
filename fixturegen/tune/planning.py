"""Before anything is written: which files a knob will change, and what they hold now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fixturegen.machine import topology
from fixturegen.machine.frequency import CPU
from fixturegen.machine.phrases import cpu_list
from fixturegen.machine.tree import Tree, parse_cpus
from fixturegen.machine.values import Unknown
from fixturegen.tune import access, table
from fixturegen.tune.values import Changes, Entry


def changes(root: Path, knobs: Iterable[str]) -> Changes:
    """Return what the journal has to hold before the first of `knobs` is written.

    With the governors go the values that a change of governor resets or forgets: turbo, the
    energy preference, the governor's own tunables. With SMT go the CPUs that were offline already
    and the interrupts that are bound to CPUs which will be.
    """
    tree = Tree(root)
    entries: list[Entry] = []
    refused: dict[str, str] = {}
    wanted = [name for name in table.APPLY_ORDER if name in set(knobs)]
    for name in wanted:
        files = _files(tree, root, name)
        if isinstance(files, Unknown):
            refused[name] = files.unknown
        else:
            entries += files
    turned = {entry.knob for entry in entries}
    if "governor" in turned:
        entries += _beside_governors(tree, entries)
    if "governor" in turned and "turbo" not in turned:
        entries += _kept(tree, "turbo")
    online: tuple[int, ...] = ()
    if "smt" in turned:
        listed = topology.online(tree)
        online = listed if isinstance(listed, tuple) else ()
        entries += _beside_smt(tree)
    return Changes(tuple(entries), refused, online)


def _files(tree: Tree, root: Path, knob: str) -> list[Entry] | Unknown:
    aims = table.aims(tree, knob)
    if isinstance(aims, Unknown):
        return aims
    reason = table.unable(tree, knob) or (smt_reason(tree) if knob == "smt" else "")
    if reason:
        return Unknown(reason)
    entries = []
    for path, aim in aims:
        old = table.current(tree, path)
        if isinstance(old, Unknown):
            return old
        if not table.permitted(knob, path, old):
            return Unknown(f"/{path} holds {old!r}, which could not be put back")
        if old != aim and (why := access.refusal(root, path)):
            return Unknown(f"/{path}: {why}")
        entries.append(Entry(knob, path, old, aim))
    return entries


def _kept(tree: Tree, knob: str) -> list[Entry]:
    aims = table.aims(tree, knob)
    read = [] if isinstance(aims, Unknown) else [(p, table.current(tree, p)) for p, _ in aims]
    return [
        Entry(knob, path, value, value)
        for path, value in read
        if isinstance(value, str) and table.permitted(knob, path, value)
    ]


def _beside_governors(tree: Tree, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield what a policy loses with its governor: preference, set speed, tunables."""
    changing = [e for e in entries if e.knob == "governor" and e.old != e.new]
    shared = dict.fromkeys(f"{CPU}/cpufreq/{entry.old}" for entry in changing)
    paths = [f"{folder}/{name}" for folder in shared for name in tree.names(folder)]
    for entry in changing:
        policy = entry.path.rpartition("/")[0]
        paths += [f"{policy}/energy_performance_preference", f"{policy}/scaling_setspeed"]
        paths += [f"{policy}/{entry.old}/{name}" for name in tree.names(f"{policy}/{entry.old}")]
    yield from _followers(tree, "governor", paths)


def _followers(tree: Tree, knob: str, paths: Iterable[str]) -> Iterator[Entry]:
    """Yield an entry without a new value for each of `paths` that could be put back."""
    for path in paths:
        value = table.current(tree, path)
        if isinstance(value, str) and table.permitted(knob, path, value):
            yield Entry(knob, path, value, None)


def _beside_smt(tree: Tree) -> Iterator[Entry]:
    """Yield CPUs that are offline already (SMT on would start them), and bound interrupts."""
    offline = tree.cpus(f"{CPU}/offline")
    for cpu in offline if isinstance(offline, tuple) else ():
        path = f"{CPU}/cpu{cpu}/online"
        if tree.line(path) == "0":
            yield Entry("smt", path, "0", "0")
    leaving = frozenset(second_threads(tree))
    bound = []
    for name in tree.names("proc/irq", r"[0-9]{1,6}"):
        cpus = tree.cpus(f"proc/irq/{name}/smp_affinity_list")
        if isinstance(cpus, tuple) and cpus and leaving.issuperset(cpus):
            bound.append(f"proc/irq/{name}/smp_affinity_list")
    yield from _followers(tree, "smt", bound)


def second_threads(tree: Tree) -> list[int]:
    """Return the online CPUs that SMT off takes offline: all of a core but its first."""
    online = topology.online(tree)
    cpus = topology.cpus(tree, online, Unknown("not needed"), Unknown("not needed"))
    return [
        cpu.cpu for cpu in cpus if isinstance(cpu.siblings, tuple) and cpu.cpu != min(cpu.siblings)
    ]


def smt_reason(tree: Tree) -> str:
    """Return why SMT must stay as it is here, or "".

    A CPU that goes offline leaves the cpusets of control groups v1, and no kernel puts it back.
    """
    leaving = frozenset(second_threads(tree))
    for mount in _cpuset_mounts(tree):
        for path in _groups(tree, mount):
            cpus = tree.text(f"{path}/cpuset.cpus")
            listed = parse_cpus(cpus) if isinstance(cpus, str) else ()
            if listed is None or leaving.intersection(listed):
                lost = cpu_list(tuple(sorted(leaving.intersection(listed or ()))))
                return f"/{path}: a cpuset (cgroup v1) would lose CPUs {lost or '?'} for good"
    return ""


def _cpuset_mounts(tree: Tree) -> list[str]:
    text = tree.text("proc/self/mounts")
    folders = ["sys/fs/cgroup/cpuset"]
    for line in text.splitlines() if isinstance(text, str) else ():
        fields = line.split()
        if len(fields) > 3 and (
            fields[2] == "cpuset" or (fields[2] == "cgroup" and "cpuset" in fields[3].split(","))
        ):
            folders.append(fields[1].lstrip("/"))
    return [path for path in dict.fromkeys(folders) if ".." not in path and re.search(r"\w", path)]


def _groups(tree: Tree, mount: str, limit: int = 2000) -> Iterator[str]:
    """Yield the groups below a mount of the cpuset controller, not the root group."""
    ahead = [f"{mount}/{name}" for name in tree.names(mount)]
    while ahead and limit > 0:
        path = ahead.pop()
        names = tree.names(path)  # none for a file
        limit -= bool(names)
        if "cpuset.cpus" in names:
            yield path
        ahead += [f"{path}/{name}" for name in names if not name.startswith("cpuset.")]
