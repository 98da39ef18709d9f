"""`tune apply` and `tune restore`: knobs that stay turned until they are put back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fixturegen import errors
from fixturegen.machine.tree import Tree
from fixturegen.tune import journal, planning, turning
from fixturegen.tune.table import APPLY_ORDER, KNOBS, current
from fixturegen.tune.values import Back, Changes, Turned

RESTORE = "put the old values back with: fixturegen tune restore"


class Applied(Struct, frozen=True):
    """What `apply` did: the knobs in the order in which they were turned, and notes."""

    turned: tuple[Turned, ...]
    notes: tuple[str, ...]
    kept: bool  # whether a journal is there, so that something is to be restored


class Restored(Struct, frozen=True):
    """What `restore` did, file by file, and notes. Without a journal `turned` is false."""

    backs: tuple[Back, ...]
    notes: tuple[str, ...]
    turned: bool

    @property
    def failed(self) -> bool:
        """Whether a value could not be put back; the journal is then still there."""
        return any(back.result == "failed" for back in self.backs)


def unknown_knob(names: Sequence[str]) -> errors.UsageError | None:
    """Return the error for the first of `names` that is no knob."""
    for name in names:
        if name not in KNOBS:
            return errors.UsageError(f"there is no knob {name!r}", f"knobs: {', '.join(KNOBS)}")
    return None


def apply(root: Path, names: Sequence[str]) -> Applied:
    """Turn the named knobs, or all that need no name, until `restore`.

    Knobs that are named are turned all or not at all. Raises errors.UsageError for an unknown
    name, errors.LockedError if knobs are turned already, errors.FileError if one is refused.
    """
    if error := unknown_knob(names):
        raise error
    wanted = names or [name for name, knob in KNOBS.items() if knob.implied]
    with journal.held(root) as store:
        notes = refuse_if_turned(store)
        changes = planning.changes(root, wanted)
        if names and changes.refused:
            raise _cannot(next(iter(changes.refused)), next(iter(changes.refused.values())))
        if not changes.entries:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in changes.refused.items())
            raise errors.FileError(f"no knob can be turned here: {reasons}")
        store.write("apply", changes)
        try:
            turned, changes = _turn_all(root, changes, names, wanted)
        except BaseException:
            put_back(root, store, changes)
            raise
        store.write("apply", changes)
        kept = any(each.took for each in turned) and _any_change(changes)
        if not kept:
            put_back(root, store, changes)
        return Applied(tuple(turned), tuple(notes), kept)


def _turn_all(
    root: Path, changes: Changes, names: Sequence[str], wanted: Sequence[str]
) -> tuple[list[Turned], Changes]:
    """Turn knob by knob; return the changes but those that failed and are as they were."""
    turned = []
    for name in (name for name in APPLY_ORDER if name in wanted):
        turned.append(turning.turn(root, changes, name))
        if names and not turned[-1].took:
            raise _cannot(name, turned[-1].reason)
        changes = turning.observed(root, changes, name)
    lost = {each.knob for each in turned if not each.took}
    tree = Tree(root)
    left = [e for e in changes.entries if e.knob not in lost or current(tree, e.path) != e.old]
    return turned, Changes(tuple(left), {}, changes.online)


def _any_change(changes: Changes) -> bool:
    return any(entry.new not in (None, entry.old) for entry in changes.entries)


def _cannot(name: str, reason: str) -> errors.FileError:
    return errors.FileError(
        f"{name} cannot be turned here, so nothing was: {reason}",
        "leave it out, or see: fixturegen tune show",
    )


def refuse_if_turned(store: journal.Store) -> list[str]:
    """Raise errors.LockedError if knobs are turned; return what to note about an old journal."""
    turned, note = store.load()
    if turned is not None:
        what = "fixturegen tune apply" if turned.by == "apply" else f"a run (process {turned.pid})"
        raise errors.LockedError(
            f"knobs are turned already, by {what}: {journal.where(store.root)}", RESTORE
        )
    return [note] if note else []


def put_back(root: Path, store: journal.Store, changes: Changes) -> list[Back]:
    """Put everything back, and remove the journal unless a value could not be."""
    backs = turning.restore(root, changes)
    if not any(back.result == "failed" for back in backs):
        store.remove()
    return backs


def restore(root: Path) -> Restored:
    """Put back what the journal holds; without one nothing is to do. Raises as `apply`."""
    with journal.held(root) as store:
        known, note = store.load()
        notes = (note,) if note else ()
        if known is None:
            return Restored((), notes, turned=False)
        return Restored(tuple(put_back(root, store, known.changes)), notes, turned=True)


def notes_of(backs: Sequence[Back]) -> list[str]:
    """Return what a user has to know about values that were not put back."""
    told = {
        "theirs": "/{path} was left as it is: {reason} meanwhile; it was {old} before",
        "kernel": "/{path}: {reason}; it was {old} before",
        "gone": "/{path} could not be put back to {old}: {reason}",
        "failed": "/{path} could not be put back to {old}: {reason}",
    }
    return [
        told[back.result].format(path=back.path, reason=back.reason, old=back.old)
        for back in backs
        if back.result in told
    ]
