"""What `tune show` tells: each knob here, its files, and whether it can be set."""

from __future__ import annotations

import os
from pathlib import Path

from fixturegen.machine.tree import Tree
from fixturegen.machine.values import Unknown
from fixturegen.tune import access, planning, table
from fixturegen.tune.values import KnobState, PlaceState


def states(root: Path) -> list[KnobState]:
    """Return every knob of the table as it is below `root`; nothing is written."""
    return [_state(root, name) for name in table.KNOBS]


def read_back(root: Path) -> dict[str, str]:
    """Return the state of every knob in words, read now; an unknown one says why."""
    tree = Tree(root)
    return {name: table.state(tree, name) for name in table.KNOBS}


def _state(root: Path, name: str) -> KnobState:
    tree, knob = Tree(root), table.KNOBS[name]
    aims = table.aims(tree, name)
    places: tuple[PlaceState, ...] = ()
    if isinstance(aims, Unknown):
        verdict, reason = "no", aims.unknown
    else:
        places = tuple(_place(root, path, aim) for path, aim in aims)
        verdict, reason = _verdict(root, name, places)
    return KnobState(
        knob=name,
        title=knob.title,
        why=knob.why,
        value=table.state(tree, name),
        aim=knob.aim,
        verdict=verdict,
        reason=reason,
        implied=knob.implied,
        places=places,
    )


def _place(root: Path, path: str, aim: str) -> PlaceState:
    value = table.current(Tree(root), path)
    text = f"unknown: {value.unknown}" if isinstance(value, Unknown) else value
    return PlaceState(path, text, aim, access.refusal(root, path))


def _verdict(root: Path, name: str, places: tuple[PlaceState, ...]) -> tuple[str, str]:
    tree = Tree(root)
    if all(place.value == place.aim for place in places):
        return "set", ""
    reason = table.unable(tree, name) or (planning.smt_reason(tree) if name == "smt" else "")
    if reason:
        return "no", reason
    refused = [place for place in places if place.reason and place.value != place.aim]
    if not refused:
        return "yes", ""
    if os.geteuid() != 0 and all(_roots(root / place.path) for place in refused):
        return "root", ""
    return "no", f"/{refused[0].path}: {refused[0].reason}"


def _roots(path: Path) -> bool:
    """Whether root, who is not this user, may write the file, as far as its mode tells."""
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == 0 and bool(status.st_mode & 0o200)
