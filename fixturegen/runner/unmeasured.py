"""Which cases cannot be measured here, and why: a tool, a file or a permission is not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from fixturegen.languages import package
from fixturegen.machine import storage
from fixturegen.model import SYSTEM, Case, Fixture, Mode, Program
from fixturegen.runner import perf, prepare, watch
from fixturegen.spec.conditions import DROP, EVICT, PERFS, STRACE, words

SUDO = 'sudo env "PATH=$PATH" '  # sudo's own PATH has no virtual environment


class Place(Struct, frozen=True):
    """Where a run is: what decides whether a case can be measured.

    again: the command of this run without --allow; build: where binaries and made files are.
    """

    allowed: Collection[str]
    again: str
    build: Path
    root: bool = False
    count_refusal: Callable[[], str] = watch.refusal
    perf_trial: Callable[[Path], perf.Trial] = perf.trial


def here(allowed: Collection[str], again: str, build: Path) -> Place:
    """Return the place of this process."""
    return Place(allowed, again, build, os.geteuid() == 0, cache(watch.refusal))


def unmeasured(
    fixture: Fixture, languages: Collection[str], found: Mapping[str, Path], place: Place
) -> dict[str, str]:
    """Return the path of each case of `languages` that cannot be measured, with the reason.

    found: the binaries by their names in arguments. Languages that are not there are no matter
    of this: a run without them is not complete, while one without these cases is.
    """
    reasons = {}
    for program in fixture.programs:
        for case in (c for c in program.cases() if c.language in languages):
            reason = _reason(program, program.mode(case.mode), case, found, place)
            if reason:
                reasons[case.path] = reason
    return reasons


def _reason(
    program: Program, mode: Mode, case: Case, found: Mapping[str, Path], place: Place
) -> str:
    if case.language == SYSTEM and f"{program.name}.{SYSTEM}" not in found:
        return f"{program.command} is not on PATH (Debian: {package(program.command)})"
    for arg in mode.args:
        if arg.startswith("/") and not Path(arg).exists():
            return f"there is no {arg} on this machine"
    if mode.wrapper == STRACE and place.count_refusal():
        return place.count_refusal()
    if mode.wrapper in PERFS and (refusal := place.perf_trial(place.build).refusals[mode.wrapper]):
        root = "" if place.root or perf.ABSENT in refusal else f": {SUDO}{place.again}"
        return f"{refusal}{root}"
    if any(words(step)[0] == EVICT for step in mode.prepare):
        kind = storage.of(place.build).get("type", "")
        if kind in storage.IN_MEMORY:
            return f"the build folder is on {kind}: its files are in memory and nowhere else"
    return _permission(mode, place) if mode.allow else ""


def _permission(mode: Mode, place: Place) -> str:
    """Return why the mode may not do what must be allowed, with the command that would."""
    command = f"{place.again} --allow {mode.allow}"
    if mode.allow not in place.allowed:
        what = "the caches of the machine are" if mode.allow == DROP else "the machine is"
        done = "emptied" if mode.allow == DROP else "changed"
        return f"{what} {done} only when asked, by root: {'' if place.root else SUDO}{command}"
    if not place.root:
        return f"needs root: {SUDO}{command}"
    if mode.allow == DROP and not os.access(prepare.DROP_CACHES, os.W_OK):
        return f"{prepare.DROP_CACHES} cannot be written here, not even by root: a container?"
    return ""


def storages(fixture: Fixture, build: Path) -> dict[str, str]:
    """Return what each folder that the fixture reads, and the build folder, is stored on.

    Named as in fixture.toml: a text shows no other path.
    """
    modes = [mode for program in fixture.programs for mode in program.modes]
    named = [arg for mode in modes for arg in mode.args if arg.startswith("/")]
    found = {arg: storage.line(storage.of(Path(arg))) for arg in named if Path(arg).exists()}
    evicts = any(words(step)[0] == EVICT for mode in modes for step in mode.prepare)
    return {**found, **({"build": storage.line(storage.of(build))} if evicts else {})}
