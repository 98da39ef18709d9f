"""Which process runs when. Pure: the same fixture, rounds and seed give the same order anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from fixturegen.model import Case, Fixture, Program

SCHEDULES = {True: "one schedule over all programs", False: "programs one after the other"}


class Step(NamedTuple):
    """One fresh process to start: `position` counts from 0 over the whole run."""

    case: Case
    round: int
    position: int


def rounds_of(fixture: Fixture, rounds: int | None) -> dict[str, int]:
    """Return each program's number of rounds: its own, or `rounds` for all."""
    return {program.name: rounds or program.rounds for program in fixture.programs}


def runnable(
    fixture: Fixture,
    program: Program,
    languages: Collection[str],
    without: Collection[str] = (),
) -> list[Case]:
    """Return the cases whose language, and that of every binary that they name, is there.

    without: paths of cases that cannot be measured here.
    """
    binaries = fixture.binaries()
    cases = []
    for case in program.cases():
        mode = program.mode(case.mode)
        named = [binaries[name] for name in mode.references if name in binaries]
        if case.path not in without and {case.language, *named} <= {*languages}:
            cases.append(case)
    return cases


class Turn(NamedTuple):
    """Cases of one round that are started one right after the other."""

    program: Program
    round: int
    cases: list[Case]


def schedule(
    fixture: Fixture,
    languages: Collection[str],
    rounds: Mapping[str, int],
    seed: int,
    without: Collection[str] = (),
) -> list[Step]:
    """Return all steps: program by program, or with `interleave` those of all programs together.

    Interleaved, round k of a program's n is at (k - 1/2) / n of the run, so that a drift meets all
    programs alike, and rounds at the same place are shuffled as one.
    """
    turns = [
        turn
        for program in fixture.programs
        for turn in _turns(
            program, runnable(fixture, program, languages, without), rounds[program.name], seed
        )
    ]
    if fixture.interleave:
        turns.sort(key=lambda turn: _place(turn, rounds[turn.program.name], seed))
    cases = [(case, turn.round) for turn in turns for case in turn.cases]
    return [Step(case, number, position) for position, (case, number) in enumerate(cases)]


def _turns(program: Program, cases: list[Case], rounds: int, seed: int) -> Iterator[Turn]:
    """Yield the rounds of one program in their order; on a ladder all of a mode before the next.

    What a rung changes about the machine is so changed once.
    """
    rungs = [cases]
    if program.order == "ladder":
        rungs = [[case for case in cases if case.mode == mode.name] for mode in program.modes]
    for rung in rungs:
        for number in range(1, rounds + 1):
            if program.order == "shuffled":
                yield from _shuffled(Turn(program, number, rung), seed)
            elif rung:
                yield Turn(program, number, rung)


def _shuffled(turn: Turn, seed: int) -> list[Turn]:
    alone = [Turn(turn.program, turn.round, [case]) for case in turn.cases]
    return sorted(alone, key=lambda each: _rank(each, seed)) if len(alone) > 1 else alone


def _place(turn: Turn, rounds: int, seed: int) -> tuple[float, bytes]:
    """Return where in the run a turn is, and its order among those at the same place.

    Of up to a million rounds, equal fractions are equal floats, and others are not.
    """
    return (turn.round - 0.5) / rounds, _rank(turn, seed)


def _rank(turn: Turn, seed: int) -> bytes:
    """Return the SHA-256 over seed, program, round and case.

    Sorting by it is a shuffle whose stream no library's version can change.
    """
    path = turn.cases[0].path
    return hashlib.sha256(f"{seed}/{turn.program.name}/{turn.round}/{path}".encode()).digest()
