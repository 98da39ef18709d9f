"""Turning knobs and putting them back; what is written was journaled before."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fixturegen.machine import topology
from fixturegen.machine.frequency import CPU
from fixturegen.machine.phrases import cpu_list
from fixturegen.machine.tree import Tree
from fixturegen.machine.values import Unknown
from fixturegen.tune import access, table
from fixturegen.tune.values import Back, Changes, Entry, Turned

PATIENCE_S = 10.0  # for CPUs to come back; a CPU takes some milliseconds


def turn(root: Path, changes: Changes, knob: str) -> Turned:
    """Write the new values of one knob and read them back; put it back if that did not take.

    A file that no longer holds what was journaled belongs to someone else: nothing is written.
    """
    tree = Tree(root)
    if knob in changes.refused:
        return Turned(knob, table.state(tree, knob), changes.refused[knob])
    entries = [entry for entry in changes.of(knob) if entry.new is not None]
    for entry in entries:
        now = table.current(tree, entry.path)
        if now not in (entry.old, entry.new):
            held = f"unreadable, {now.unknown}" if isinstance(now, Unknown) else now
            reason = f"/{entry.path} was changed by someone else: {entry.old} before, now {held}"
            return Turned(knob, table.state(tree, knob), reason)
    reason = ""
    with _turbo_kept(root, changes, knob):
        for entry in entries:
            if table.current(tree, entry.path) != entry.new and entry.new is not None:
                why = access.write(root, entry.path, entry.new)
                reason = reason or (why and f"/{entry.path}: {why}")
    reason = reason or _not_taken(tree, entries, knob)
    if reason:
        restore(root, changes, knob)
    return Turned(knob, table.state(tree, knob), reason)


def _not_taken(tree: Tree, entries: Sequence[Entry], knob: str) -> str:
    for entry in entries:
        now = table.current(tree, entry.path)
        if now != entry.new:
            held = f"cannot be read: {now.unknown}" if isinstance(now, Unknown) else f"holds {now}"
            return f"/{entry.path} was set to {entry.new} and {held}"
    if knob == "smt" and tree.line(table.SMT_ACTIVE) == "1" and entries[0].new == "off":
        return "smt/control says off, but smt/active says that threads still share cores"
    return ""


@contextmanager
def _turbo_kept(root: Path, changes: Changes, knob: str) -> Iterator[None]:
    """Put turbo back to what it was before a governor was written, which resets no_turbo."""
    tree = Tree(root)
    paths = [entry.path for entry in changes.of("turbo")] if knob == "governor" else []
    before = {path: table.current(tree, path) for path in paths}
    yield
    for path, value in before.items():
        if isinstance(value, str) and table.current(tree, path) not in (value, ""):
            access.write(root, path, value)


def observed(root: Path, changes: Changes, knob: str) -> Changes:
    """Return the changes with what the kernel made of the knob's other files as new values."""
    tree = Tree(root)
    entries = []
    for entry in changes.entries:
        if entry.knob == knob and entry.new is None:
            now = table.current(tree, entry.path)
            if isinstance(now, str) and table.permitted(knob, entry.path, now):
                entry = Entry(knob, entry.path, entry.old, now)
        entries.append(entry)
    return Changes(tuple(entries), changes.refused, changes.online)


def restore(root: Path, changes: Changes, only: str = "") -> list[Back]:
    """Put every old value back, or those of the knob `only`; in the order that the kernel needs.

    What holds neither the old nor the new value was changed by someone else and is left.
    """
    done: list[Back] = []
    for knob in [only] if only else table.RESTORE_ORDER:
        entries = changes.of(knob)
        if not entries:
            continue
        mine = {entry.path: _mine(root, entry) for entry in entries}
        with _turbo_kept(root, changes, knob):
            for entry in entries:
                done.append(_put_back(root, entry, mine[entry.path]))
                if entry.path == table.SMT and entry.old == "on":
                    done += _wait(root, changes)
        done = _again(root, entries, mine, done)
    return done


def _mine(root: Path, entry: Entry) -> str:
    """Return "" if the file is to be put back, or the value that someone else gave it.

    A file that cannot be read (no CPU of its policy is online, its governor is not in force)
    holds nobody's value. An empty one is a write that was cut short, in a copy of a machine.
    """
    now = table.current(Tree(root), entry.path)
    if isinstance(now, Unknown) or entry.new is None or now in (entry.old, entry.new):
        return ""
    return now


def _put_back(root: Path, entry: Entry, theirs: str) -> Back:
    def back(result: str, reason: str = "") -> Back:
        return Back(entry.knob, entry.path, entry.old, result, reason)

    if theirs:
        return back("theirs", f"someone else set it to {theirs}")
    tree = Tree(root)
    now = table.current(tree, entry.path)
    if now == entry.old:
        return back("already")
    if not (root / entry.path).exists():
        return back("gone", "the file no longer exists")
    why = access.write(root, entry.path, entry.old)
    now = table.current(tree, entry.path)
    if now == entry.old:
        return back("restored")
    held = f"cannot be read: {now.unknown}" if isinstance(now, Unknown) else f"holds {now}"
    if entry.new is None or entry.path.startswith("proc/irq/"):
        # The kernel's own business: an interrupt that it manages, a tunable that it computes.
        return back("kernel", f"the kernel did not take it back ({why or held})")
    return back("failed", why or f"it was written and {held}")


def _again(
    root: Path, entries: Sequence[Entry], mine: dict[str, str], done: list[Back]
) -> list[Back]:
    """Look once more at a knob's files: writing one can change another (cpufreq/boost does)."""
    tree = Tree(root)
    settled = {back.path for back in done if back.result in {"already", "restored"}}
    moved = [
        entry
        for entry in entries
        if entry.path in settled and table.current(tree, entry.path) != entry.old
    ]
    later = {entry.path: _put_back(root, entry, mine[entry.path]) for entry in moved}
    return [later.get(back.path, back) for back in done]


def _wait(root: Path, changes: Changes) -> list[Back]:
    """Wait until the CPUs that were online are so again: their policies cannot be set before."""
    tree = Tree(root)
    end = time.monotonic() + PATIENCE_S
    while True:
        online = topology.online(tree)
        missing = set(changes.online).difference(online if isinstance(online, tuple) else ())
        if not missing or isinstance(online, Unknown):
            return []
        if time.monotonic() > end:
            listed = cpu_list(tuple(sorted(missing)))
            reason = f"CPUs {listed} did not come back within {PATIENCE_S:g} s"
            return [Back("smt", f"{CPU}/online", cpu_list(changes.online), "failed", reason)]
        time.sleep(0.01)


def drop_caches(root: Path) -> str:
    """Write dirty pages to disk, then empty the page cache; return why not, or ""."""
    os.sync()
    return access.write(root, table.DROP_CACHES, "3")
