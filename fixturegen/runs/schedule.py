"""Which process runs when. Pure: the same fixture, rounds and seed give the same order anywhere."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
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
    """Cases of a round that are started one right after the other; turns are compared.

    place: where in the run, from 0 to 1; of up to a million rounds, equal fractions are equal
    floats and others are not. rank: the order of what is at the same place; no two have the same.
    """

    place: float
    rank: bytes
    round: int
    cases: list[Case]


class Block(NamedTuple):
    """Cases that are started round by round; a ladder has one a rung."""

    program: Program
    cases: list[Case]
    rounds: int
    position: int  # of its first process

    def round(self, number: int, seed: int) -> list[Step]:
        """Return the steps of one round, from 1, where programs run one after the other."""
        order = self._order(number, seed)
        begin = self.position + (number - 1) * len(order)
        return [Step(case, number, begin + i) for i, case in enumerate(order)]

    def turns(self, seed: int) -> Iterator[Turn]:
        """Yield what is interleaved with other programs, in order: a case, or a fixed round."""
        for number in range(1, self.rounds + 1):
            order = self._order(number, seed)
            place = (number - 0.5) / self.rounds
            together = [order] if self.program.order == "fixed" and order else [[c] for c in order]
            for cases in together:
                yield Turn(place, self._rank(cases[0], number, seed), number, cases)

    def _order(self, number: int, seed: int) -> list[Case]:
        if self.program.order != "shuffled" or len(self.cases) < 2:
            return self.cases
        return sorted(self.cases, key=lambda case: self._rank(case, number, seed))

    def _rank(self, case: Case, number: int, seed: int) -> bytes:
        """Return the SHA-256 over seed, program, round and case.

        Sorting by it is a shuffle whose stream no library's version can change.
        """
        text = f"{seed}/{self.program.name}/{number}/{case.path}"
        return hashlib.sha256(text.encode()).digest()


def blocks(
    fixture: Fixture,
    languages: Collection[str],
    rounds: Mapping[str, int],
    without: Collection[str] = (),
) -> list[Block]:
    """Return the blocks of a run in their order: a program each, or on a ladder a mode each.

    What a rung changes about the machine is so changed once.
    """
    ordered: list[Block] = []
    position = 0
    for program in fixture.programs:
        cases = runnable(fixture, program, languages, without)
        rungs = [cases]
        if program.order == "ladder":
            rungs = [[case for case in cases if case.mode == mode.name] for mode in program.modes]
        for rung in rungs:
            ordered.append(Block(program, rung, rounds[program.name], position))
            position += len(rung) * rounds[program.name]
    return ordered


def schedule(
    fixture: Fixture,
    languages: Collection[str],
    rounds: Mapping[str, int],
    seed: int,
    without: Collection[str] = (),
) -> list[Step]:
    """Return all steps: the blocks one after the other, rounds within; or interleaved."""
    own = blocks(fixture, languages, rounds, without)
    if fixture.interleave:
        return [*interleaved(own, seed)]
    return [
        step
        for block in own
        for number in range(1, block.rounds + 1)
        for step in block.round(number, seed)
    ]


def interleaved(own: Sequence[Block], seed: int) -> Iterator[Step]:
    """Yield the steps of one schedule over all blocks.

    Round k of a block's n is at (k - 1/2) / n of the run, so that a drift meets all alike.
    Rounds at the same place are shuffled as one.
    """
    turns = heapq.merge(*(block.turns(seed) for block in own))
    cases = ((case, turn.round) for turn in turns for case in turn.cases)
    for position, (case, number) in enumerate(cases):
        yield Step(case, number, position)
