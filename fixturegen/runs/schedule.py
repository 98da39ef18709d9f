"""Which process runs when. Pure: the same fixture, rounds and seed give the same order anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

from fixturegen.model import Case, Fixture, Program


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


class Block(NamedTuple):
    """Cases that are started round by round; a ladder has one a rung."""

    program: Program
    cases: list[Case]
    rounds: int
    position: int  # of its first process

    def round(self, number: int, seed: int) -> list[Step]:
        """Return the steps of one round, from 1.

        Its order sorts the cases by SHA-256 over seed, program, round and case: a shuffle whose
        stream no library's version can change.
        """
        order = self.cases
        if self.program.order == "shuffled" and len(order) > 1:
            prefix = f"{seed}/{self.program.name}/{number}/"
            order = sorted(order, key=lambda case: _rank(prefix, case))
        begin = self.position + (number - 1) * len(order)
        return [Step(case, number, begin + i) for i, case in enumerate(order)]


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
    """Return all steps: the blocks one after the other, rounds within."""
    return [
        step
        for block in blocks(fixture, languages, rounds, without)
        for number in range(1, block.rounds + 1)
        for step in block.round(number, seed)
    ]


def _rank(prefix: str, case: Case) -> bytes:
    return hashlib.sha256((prefix + case.path).encode()).digest()
