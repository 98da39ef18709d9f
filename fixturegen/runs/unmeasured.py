"""Which cases cannot be measured here, and why: a tool, a file or a permission is not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fixturegen.fixture.conditions import TUNE, permitted_knobs
from fixturegen.instruments.drop_caches import DropCaches
from fixturegen.instruments.registry import permissions, used, uses
from fixturegen.languages import package
from fixturegen.machine import storage
from fixturegen.model import SYSTEM, Case, Fixture, Mode, Program, path_part
from fixturegen.privileges import SUDO

if TYPE_CHECKING:
    from fixturegen.tune import Guard
    from fixturegen.tune.values import KnobState


class Place(Struct, frozen=True):
    """Where a run is: what decides whether a case can be measured.

    again: the command of this run without --allow; build: where binaries and made files are;
    nowhere: the modes, as `program.mode`, for which there is no CPU; held: whether a guardian does
    what was allowed; refused: the knobs that cannot be turned here; caches_refusal: why the page
    cache cannot be emptied, or "".
    """

    allowed: Collection[str]
    again: str
    build: Path
    root: bool = False
    nowhere: Mapping[str, str] = {}
    held: bool = False
    caches_refusal: str = ""
    refused: Callable[[], Mapping[str, str]] = dict
    already: Callable[[], Collection[str]] = tuple


def here(
    allowed: Collection[str],
    again: str,
    build: Path,
    nowhere: Mapping[str, str],
    guard: Guard | None,
    root: Path,
) -> Place:
    """Return the place of this process; knobs are those below `root`."""

    @cache
    def known() -> Sequence[KnobState]:
        from fixturegen.tune import states

        return states(root)

    def refused() -> dict[str, str]:
        reasons = {each.knob: each.reason for each in known() if each.verdict == "no"}
        return reasons | (guard.refused if guard else {})

    def already() -> list[str]:
        return [each.knob for each in known() if each.verdict == "set"]

    return Place(
        allowed,
        again,
        build,
        os.geteuid() == 0,
        nowhere,
        guard is not None,
        guard.caches_refusal if guard else "",
        refused=cache(refused),
        already=already,
    )


def unmeasured(
    fixture: Fixture,
    languages: Collection[str],
    binaries: Mapping[str, Path],
    place: Place,
    absent: Mapping[str, str] = {},
) -> dict[str, str]:
    """Return the path of each case of `languages` that cannot be measured, with the reason.

    binaries: the paths by their names in arguments; absent: those that cannot be made, each with
    the reason. Languages that are not there are no matter of this: a run without one of them may
    not be complete, while one without these cases is.
    """
    reasons = {}
    for program in fixture.programs:
        for case in (c for c in program.cases() if c.language in languages):
            mode = program.mode(case.mode)
            own = program.binary(case.language, program.build(case.build))
            reason = next((absent[name] for name in (own, *mode.references) if name in absent), "")
            reason = reason or _reason(program, mode, case, binaries, place)
            if reason:
                reasons[case.path] = reason
    return reasons


def _reason(
    program: Program, mode: Mode, case: Case, binaries: Mapping[str, Path], place: Place
) -> str:
    if case.language == SYSTEM and f"{program.name}.{SYSTEM}" not in binaries:
        return f"{program.command} is not on PATH (Debian: {package(program.command)})"
    for arg in mode.args:
        if arg.startswith("/") and not Path(arg).exists():
            return f"there is no {arg} on this machine"
    for use in uses(mode):
        if refusal := use.instrument.refusal(place.build):
            as_root = refusal.root_helps and not place.root
            return refusal.reason + f": {SUDO}{place.again} --as-root" * as_root
    if nowhere := place.nowhere.get(f"{program.name}.{path_part(mode.name)}", ""):
        return nowhere
    return _permission(mode, place) if mode.allow or mode.tune else ""


def _permission(mode: Mode, place: Place) -> str:
    """Return why the mode may not do what must be allowed, with the command that would."""
    knobs = permitted_knobs(place.allowed)
    asked = [mode.allow] if mode.allow else []
    if mode.tune:
        asked.append(TUNE + ",".join(dict.fromkeys((*knobs, *mode.tune))))
    sudo = "" if place.root else SUDO
    command = " ".join([f"{sudo}{place.again}", *(f"--allow {what}" for what in asked)])
    if mode.allow and mode.allow not in place.allowed:
        return f"{permissions()[mode.allow]}: {command}"
    known = place.refused() if mode.tune else {}
    reasons = dict.fromkeys(known[knob] for knob in mode.tune if knob in known)
    refused = [
        f"{', '.join(k for k in mode.tune if known.get(k) == reason)}: {reason}"
        for reason in reasons
    ]
    if not {*mode.tune} <= {*knobs}:
        so = [knob for knob in mode.tune if knob in place.already()]
        notes = [f"and cannot be here: {'; '.join(refused)}"] * bool(refused)
        notes += [f"{', '.join(so)}: so already"] * bool(so)
        told = f" ({'; '.join(notes)})" if notes else ""
        return f"the machine is changed only when asked, by root: {command}{told}"
    if not place.held:
        return f"needs root: {command}"
    if mode.allow == DropCaches.name and place.caches_refusal:
        return f"the caches cannot be emptied here, not even by root: {place.caches_refusal}"
    return f"cannot be turned here: {'; '.join(refused)}" if refused else ""


def storages(fixture: Fixture, build: Path) -> dict[str, str]:
    """Return what each folder that the fixture reads, and the build folder, is stored on.

    Named as in fixture.toml: a text shows no other path.
    """
    modes = [mode for program in fixture.programs for mode in program.modes]
    named = [arg for mode in modes for arg in mode.args if arg.startswith("/")]
    stored_on = {arg: storage.line(storage.of(Path(arg))) for arg in named if Path(arg).exists()}
    if any(instrument.on_disk for instrument in used(fixture)):
        stored_on["build"] = storage.line(storage.of(build))
    return stored_on
