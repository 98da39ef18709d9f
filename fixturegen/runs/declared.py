"""What fixture.toml declares of what is started and how it is read: recorded, and compared later.

A flat map, so that a difference has a name: the place in fixture.toml to its value as JSON, only
where it is not the key's default, so that a key which joins later makes no recorded run another.
Metrics, claims and titles are not in it: they are computed from the samples, and may change.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from fixturegen.model import DEFAULT, GATHERED, Build, Fixture, Program

_ELSEWHERE = ("name", "metric", "mode", "build", GATHERED)  # told otherwise, or not at all
_PLAIN = ("plain",)
INTERLEAVE = "interleave"


def declared(fixture: Fixture) -> dict[str, str]:
    """Return every place whose value decides what a run of the fixture does, with the value."""
    places = dict(_of_fixture(fixture))
    for program in fixture.programs:
        places |= {f"{program.name}.{key}": value for key, value in _of_program(program)}
    names = [program.name for program in fixture.programs]
    names = sorted(names) if fixture.interleave else names  # then their order decides nothing
    return {place: json.dumps(value) for place, value in (places | {"program": names}).items()}


def differing(recorded: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the places whose values differ, sorted.

    A mode that was added is one place, `walk.mode.cold`, not each of its keys.
    """
    places = {p for p in {*recorded, *now} if recorded.get(p) != now.get(p)}
    for place in sorted(places):
        for name in _named(place, recorded, now):  # else it is the order that differs
            below = {each for each in places if each.startswith(f"{name}.")}
            places = places - below - {place} | {name}
    return sorted(places)


def listed(places: Sequence[str], most: int = 3) -> str:
    """Return the first few places, and how many more there are."""
    more = len(places) - most
    return ", ".join(places[:most]) + (f" and {more} more" if more > 0 else "")


def _named(place: str, *sides: Mapping[str, str]) -> Iterator[str]:
    """Yield the places of what only one of two lists of names has."""
    home, _, last = place.rpartition(".")
    if last in ("mode", "build", "program"):
        one, other = (_names(side.get(place, "[]")) for side in sides)
        yield from (name if last == "program" else f"{home}.{last}.{name}" for name in one ^ other)


def _names(recorded: str) -> set[str]:
    """Return the names in a list; none in what a stranger's run has in its place."""
    try:
        return {*msgspec.json.decode(recorded, type=list[str])}
    except (ValueError, RecursionError):
        return set()


def _of_fixture(fixture: Fixture) -> Iterator[tuple[str, object]]:
    if fixture.interleave:
        yield INTERLEAVE, True
    for file in fixture.files:
        yield f"file.{file.name}.bytes", file.bytes


def _of_program(program: Program) -> Iterator[tuple[str, object]]:
    yield from _set(program, {"lines"})
    yield from ((f"lines.{name}", pattern) for name, pattern in program.lines.items())
    modes, builds = [m.name for m in program.modes], [b.name for b in program.builds]
    if tuple(modes) != _PLAIN:
        yield "mode", modes if program.order != "shuffled" else sorted(modes)
    if builds != [DEFAULT]:
        yield "build", builds if program.order != "shuffled" else sorted(builds)
    for mode in program.modes:
        yield from ((f"mode.{mode.name}.{key}", value) for key, value in _set(mode))
    for build in program.builds:
        yield from ((f"build.{build.name}.{key}", value) for key, value in _of_build(build))


def _of_build(build: Build) -> Iterator[tuple[str, object]]:
    for language, settings in build.settings.items():
        yield language, True
        yield from ((f"{language}.{key}", value) for key, value in settings.items())


def _set(value: Struct, without: Collection[str] = ()) -> Iterator[tuple[str, object]]:
    """Yield the keys of a table that are not at their default, as plain values."""
    for field in msgspec.structs.fields(type(value)):
        key, now = field.encode_name, getattr(value, field.name)
        default = (
            field.default_factory()
            if field.default_factory is not msgspec.NODEFAULT
            else field.default
        )
        if key not in {*_ELSEWHERE, *without} and now != default:
            yield key, msgspec.to_builtins(now)
