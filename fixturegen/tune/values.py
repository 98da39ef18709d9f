"""What the modules of `tune` hand to each other: frozen values."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct


class Entry(Struct, frozen=True):
    """One file of a knob as the journal holds it.

    `old` is what it held before, `new` what it is turned to. `new` equals `old` for a file that
    only has to be kept, and is None for one that the kernel changes by itself as a consequence.
    """

    knob: str
    path: str  # below the root, no leading slash
    old: str
    new: str | None


class Changes(Struct, frozen=True):
    """The entries of the knobs that can be turned, and for each other one why it cannot be."""

    entries: tuple[Entry, ...] = ()
    refused: dict[str, str] = {}
    online: tuple[int, ...] = ()  # the CPUs to wait for when SMT comes back; empty without SMT

    def of(self, knob: str) -> list[Entry]:
        """Return the entries of one knob, in the order in which they are written."""
        return [entry for entry in self.entries if entry.knob == knob]

    def only(self, knobs: Collection[str]) -> Changes:
        """Return what is to be put back if just `knobs` were turned: turbo with the governors."""
        entries = [entry for entry in self.entries if entry.knob in knobs]
        if "governor" in knobs and "turbo" not in knobs:
            kept = self.of("turbo")
            entries += [Entry(each.knob, each.path, each.old, each.old) for each in kept]
        return Changes(tuple(entries), self.refused, self.online if "smt" in knobs else ())


class PlaceState(Struct, frozen=True):
    """One file of a knob: what it holds, what it would be set to, why it cannot be set or ""."""

    path: str
    value: str
    aim: str
    reason: str


class KnobState(Struct, frozen=True):
    """A knob as `tune show` tells it.

    verdict: "set" (it is as it would be set), "yes", "root" (only root may), "no" with `reason`.
    """

    knob: str
    title: str
    why: str
    value: str
    aim: str
    verdict: str
    reason: str
    implied: bool  # turned by `apply` without names
    places: tuple[PlaceState, ...]


class Turned(Struct, frozen=True):
    """What became of one knob: its state read back, and why it is not as wanted, or ""."""

    knob: str
    value: str
    reason: str = ""

    @property
    def took(self) -> bool:
        """Whether the knob is as it was asked to be."""
        return not self.reason


class Back(Struct, frozen=True):
    """What became of one file when its old value was to be put back.

    result: "already" (it held it), "restored", "theirs" (changed by someone else: left), "gone"
    (the file no longer exists), "kernel" (a value that the kernel manages and did not take),
    "failed". `reason` says why for the last four.
    """

    knob: str
    path: str
    old: str
    result: str
    reason: str = ""
