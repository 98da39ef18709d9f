"""What a mode may want done around its process: preparations, watches, wrappers, permissions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from fixturegen import errors
from fixturegen.model import Mode, Program
from fixturegen.spec.near import nearest

EVICT, DROP, WARM = "evict-file", "drop-caches", "warm-program"
# The words that each takes behind it: the least and the most.
PREPARATIONS = {EVICT: (1, 1), DROP: (0, 0), WARM: (0, 100)}
# What each watch reads before and after a process, as columns of two entries.
WATCHES = {"meminfo": ("buffers", "cached", "reclaimable")}
STRACE = "strace-count"
SYSCALLS = "syscalls"  # its columns are the names of system calls, and `total`
PERF_STAT, PERF_CPU, PERF_RECORD = "perf-stat", "perf-stat-cpu", "perf-record"
PERFS = (PERF_STAT, PERF_CPU, PERF_RECORD)
# What `perf stat` is asked to count, by the names of the columns, and how perf calls it.
EVENTS = {
    "task_clock": "task-clock",
    "page_faults": "page-faults",
    "context_switches": "context-switches",
    "cpu_migrations": "cpu-migrations",
    "cycles": "cycles",
    "instructions": "instructions",
    "cache_misses": "cache-misses",
    "branch_misses": "branch-misses",
}
COUNTED, RUNNING = "counted", "running"
PROFILE, PROFILE_COLUMNS = "profile", ("samples", "lost", "thread")
FUNCTIONS = ("own", "total")  # their columns are the names of the program's functions
EVICTED = "evict"
EVICTED_COLUMNS = ("bytes", "resident")
TAKEN = (  # no names for lines
    *("params", "process", EVICTED, SYSCALLS, COUNTED, RUNNING, PROFILE),
    *FUNCTIONS,
    *WATCHES,
)
ALLOWED = re.compile(r"drop-caches|tune:[a-z_]+(,[a-z_]+)*")  # what --allow takes
TUNE = "tune:"


def permitted_knobs(allowed: Iterable[str]) -> tuple[str, ...]:
    """Return the knobs that the words of --allow name, each once."""
    named = [what.removeprefix(TUNE).split(",") for what in allowed if what.startswith(TUNE)]
    return tuple(dict.fromkeys(knob for knobs in named for knob in knobs))


def words(step: str) -> tuple[str, tuple[str, ...]]:
    """Return a preparation's verb and what stands behind it."""
    verb, *rest = step.split() or [""]
    return verb, tuple(rest)


def check_conditions(mode: Mode, at: str) -> None:
    """Raise errors.SpecError for a preparation or watch that is unknown or lacks a permission."""
    for step in mode.prepare:
        verb, rest = words(step)
        if verb not in PREPARATIONS:
            raise errors.SpecError(
                f"{at}: prepare: unknown preparation {verb!r}", nearest(verb, PREPARATIONS)
            )
        least, most = PREPARATIONS[verb]
        if not least <= len(rest) <= most:
            raise errors.SpecError(
                f"{at}: prepare: {step!r}: {verb} takes {'a file' if least else 'nothing more'}"
            )
        if verb == DROP and mode.allow != DROP:
            raise errors.SpecError(
                f"{at}: prepare: {DROP} changes the machine for everybody on it",
                f'say so with allow = "{DROP}"',
            )
    for name in mode.watch:
        if name not in WATCHES:
            raise errors.SpecError(f"{at}: watch: unknown name {name!r}", nearest(name, WATCHES))


def check_command(program: Program, system: bool, at: str) -> None:
    """Raise errors.SpecError unless exactly a system program names a command."""
    if system and len(program.languages) > 1:
        raise errors.SpecError(
            f'{at}: languages: "system" stands alone', "give the others a program of their own"
        )
    if system != bool(program.command):
        raise errors.SpecError(
            f"{at}: command: wanted for a system program, and for no other",
            'languages = ["system"] goes with command = "find"',
        )
    if system and program.declares_builds:
        raise errors.SpecError(f"{at}: build: a system program is not built", "take it out")


def column_names(
    modes: Iterable[Mode], cited: Collection[str]
) -> Mapping[str, Literal["vector", "scalar"]]:
    """Return the columns that every one of `modes` gives beside its program's lines.

    cited: what the expression names; any system call and any function may be.
    """
    found: dict[str, Literal["vector", "scalar"]] = {}
    for place, mode in enumerate(modes):
        own = {f"{watch}.{column}" for watch in mode.watch for column in WATCHES[watch]}
        if any(words(step)[0] == EVICT for step in mode.prepare):
            own |= {f"{EVICTED}.{column}" for column in EVICTED_COLUMNS}
        own |= _wrapped_columns(mode.wrapper, cited)
        found = dict.fromkeys(own if not place else own & found.keys(), "vector")
    return found


def _wrapped_columns(wrapper: str, cited: Collection[str]) -> set[str]:
    """Return the columns that a wrapper gives."""
    if wrapper == STRACE:
        return {name for name in cited if name.startswith(f"{SYSCALLS}.")}
    if wrapper in (PERF_STAT, PERF_CPU):
        return {f"{line}.{event}" for line in (COUNTED, RUNNING) for event in EVENTS}
    if wrapper == PERF_RECORD:
        named = {name for name in cited if name.partition(".")[0] in FUNCTIONS}
        return named | {f"{PROFILE}.{column}" for column in PROFILE_COLUMNS}
    return set()
