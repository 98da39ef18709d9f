"""What every measured process inherits from the launcher, and which of it is unusual.

The launcher sets what it may to the kernel's own defaults (launcher_inherit.c). So what is found
here is what could not be reset: it is recorded, and named where it changes what is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field

from fixturegen.machine import kernel
from fixturegen.machine.tree import Tree, printable
from fixturegen.machine.values import NOT_RECORDED, Unknown
from fixturegen.model import Text
from fixturegen.units import format_bytes

POLICIES = ("OTHER", "FIFO", "RR", "BATCH", "ISO", "IDLE", "DEADLINE", "EXT")  # by sched.h's number
NO_RANDOMISATION = 0x40000  # of a personality; a mode's own to decide
STACK, FILES = 8 << 20, 1024  # what the launcher asks for, in bytes and in descriptors
UNLIMITED = ("cpu time", "file size", "data size", "address space")
LIMITS = ("stack size", *UNLIMITED, "open files", "locked memory", "processes")
PRELOAD = "etc/ld.so.preload"

_LIMIT = re.compile(r"Max (.+?) {2,}(unlimited|[0-9]{1,20}) ")


class Inherited(Struct, frozen=True):
    """What a process has that it was not started with by us."""

    nice: int | Unknown = NOT_RECORDED  # proc/PID/stat
    policy: str | Unknown = NOT_RECORDED  # proc/PID/stat: OTHER, BATCH, ...
    personality: str | Unknown = NOT_RECORDED  # proc/PID/personality, hexadecimal
    limits: dict[Text, Text] = field(default_factory=dict)  # proc/PID/limits, the soft ones
    cpus: str | Unknown = NOT_RECORDED  # proc/PID/status: 0-1
    nodes: str | Unknown = NOT_RECORDED  # proc/PID/status, of memory: 0
    seccomp: str | Unknown = NOT_RECORDED  # proc/PID/status: 2 with a filter
    thp: str | Unknown = NOT_RECORDED  # proc/PID/status: 0 if switched off for the process
    memory_policy: str | Unknown = NOT_RECORDED  # proc/PID/numa_maps: default, bind:0, ...
    memory_limit: str | Unknown = NOT_RECORDED  # "none", or the tightest of its cgroups, in bytes
    preloaded: str | Unknown = NOT_RECORDED  # etc/ld.so.preload; "" if there is none


def inherited(pid: int, root: Path = Path("/")) -> Inherited:
    """Return what a child of the process `pid` inherits; what cannot be read says why."""
    tree = Tree(root)
    nice, policy = _scheduling(tree, pid)
    return Inherited(
        nice=nice,
        policy=policy,
        personality=tree.line(f"proc/{pid}/personality"),
        limits=_limits(tree, pid),
        cpus=_status(tree, pid, "Cpus_allowed_list"),
        nodes=_status(tree, pid, "Mems_allowed_list"),
        seccomp=_status(tree, pid, "Seccomp"),
        thp=_status(tree, pid, "THP_enabled"),
        memory_policy=_memory_policy(tree, pid),
        memory_limit=kernel.memory_limit(tree),
        preloaded=_preloaded(tree),
    )


def unusual(found: Inherited, memory_bytes: int | Unknown) -> list[str]:
    """Return a sentence for all that is not as a fresh login has it; unknown things are none.

    memory_bytes: of the whole machine.
    """
    return list(_sentences(found, memory_bytes))


def _sentences(found: Inherited, memory_bytes: int | Unknown) -> Iterator[str]:
    if isinstance(found.nice, int) and found.nice != 0:
        yield f"programs run with nice {found.nice}, which may not be reset"
    if isinstance(found.policy, str) and found.policy != "OTHER":
        yield f"programs run under SCHED_{found.policy}, which may not be reset"
    if isinstance(found.personality, str) and _odd(found.personality):
        yield f"programs have the personality {found.personality}, which may not be reset"
    yield from _of_limits(found.limits)
    if isinstance(found.memory_limit, str) and found.memory_limit.isdecimal():
        limit = int(found.memory_limit)
        if isinstance(memory_bytes, Unknown) or limit < memory_bytes:
            yield f"a cgroup limits memory, cached files included, to {format_bytes(limit)}"
    if isinstance(found.seccomp, str) and found.seccomp != "0":
        yield "a seccomp filter is asked at each system call of a program"
    if found.thp == "0":
        yield "huge pages are switched off for programs, which may not be reset"
    if isinstance(found.memory_policy, str) and found.memory_policy != "default":
        yield f"a NUMA policy says where memory of programs comes from: {found.memory_policy}"
    if isinstance(found.preloaded, str) and found.preloaded:
        yield f"/{PRELOAD} loads into every dynamic program: {found.preloaded}"


def _of_limits(limits: dict[str, str]) -> Iterator[str]:
    stack, files = limits.get("stack size", ""), limits.get("open files", "")
    if stack and stack != str(STACK):
        size = format_bytes(int(stack)) if stack.isdecimal() else stack
        yield f"the stack size of programs is limited to {size}, which lays out addresses otherwise"
    if files.isdecimal() and int(files) < FILES:
        yield f"the open files of programs are limited to {files}"
    for name in UNLIMITED:
        if limits.get(name, "unlimited") != "unlimited":
            value = limits[name] + (" seconds" if name == "cpu time" else " bytes")
            yield f"the {name} of programs is limited to {value}"


def differing(before: Inherited, now: Inherited) -> list[str]:
    """Return the names of what is known of both and not the same."""
    ours, theirs = msgspec.structs.asdict(before), msgspec.structs.asdict(now)
    return [
        name.replace("_", " ")
        for name, value in ours.items()
        if theirs[name] != value
        and not isinstance(value, Unknown)
        and not isinstance(theirs[name], Unknown)
    ]


def _odd(personality: str) -> bool:
    try:
        return bool(int(personality, 16) & ~NO_RANDOMISATION)
    except ValueError:
        return True


def _scheduling(tree: Tree, pid: int) -> tuple[int | Unknown, str | Unknown]:
    """Return the nice value and the policy; the name before them may hold spaces and brackets."""
    text = tree.text(f"proc/{pid}/stat")
    if isinstance(text, Unknown):
        return text, text
    fields = text.rpartition(")")[2].split()  # from proc(5)'s third on
    if len(fields) < 39 or not re.fullmatch("-?[0-9]{1,2}", fields[16]):
        unknown = Unknown(f"/proc/{pid}/stat has too few fields")
        return unknown, unknown
    number = fields[38]
    known = number.isdecimal() and int(number) < len(POLICIES)
    return int(fields[16]), POLICIES[int(number)] if known else printable(number)


def _limits(tree: Tree, pid: int) -> dict[str, str]:
    text = tree.text(f"proc/{pid}/limits")
    rows = dict(_LIMIT.findall(text)) if isinstance(text, str) else {}
    return {name: rows[name] for name in LIMITS if name in rows}


def _status(tree: Tree, pid: int, name: str) -> str | Unknown:
    text = tree.text(f"proc/{pid}/status")
    if isinstance(text, Unknown):
        return text
    row = re.search(rf"^{name}:\s*(\S{{1,200}})$", text, re.MULTILINE)
    return printable(row[1]) if row else Unknown(f"no {name} in /proc/{pid}/status")


def _memory_policy(tree: Tree, pid: int) -> str | Unknown:
    text = tree.text(f"proc/{pid}/numa_maps")
    if isinstance(text, Unknown):
        return text
    words = text.split(maxsplit=2)
    return printable(words[1]) if len(words) > 1 else Unknown(f"/proc/{pid}/numa_maps is empty")


def _preloaded(tree: Tree) -> str | Unknown:
    text = tree.text(PRELOAD)
    if isinstance(text, str):
        return printable(" ".join(text.split()))
    return "" if text.unknown == f"no /{PRELOAD}" else text
