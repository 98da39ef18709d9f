"""Which process runs when. Pure: the same fixture, rounds and seed give the same order anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

from fixturegen.model import Case, Fixture, Program
from fixturegen.spec.convert import binary_names, references


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
    binaries = binary_names(fixture)
    found = []
    for case in program.cases():
        mode = program.mode(case.mode)
        named = [binaries[r][1] for r in references((*mode.args, *mode.prepare)) if r in binaries]
        if case.path not in without and {case.language, *named} <= {*languages}:
            found.append(case)
    return found


def schedule(
    fixture: Fixture,
    languages: Collection[str],
    rounds: Mapping[str, int],
    seed: int,
    without: Collection[str] = (),
) -> list[Step]:
    """Return all steps: programs as blocks, rounds within, each round shuffled by the seed.

    A round's order sorts its cases by SHA-256 over seed, program, round and case: a shuffle whose
    stream no library's version can change. On a ladder the modes are the blocks: what a rung
    changes about the machine is changed once.
    """
    steps: list[Step] = []
    for program in fixture.programs:
        cases = runnable(fixture, program, languages, without)
        rungs = [cases]
        if program.order == "ladder":
            rungs = [[case for case in cases if case.mode == mode.name] for mode in program.modes]
        for rung in rungs:
            for number in range(1, rounds[program.name] + 1):
                order = rung
                if program.order == "shuffled" and len(rung) > 1:
                    prefix = f"{seed}/{program.name}/{number}/"
                    order = sorted(rung, key=lambda case, p=prefix: _rank(p, case))  # type: ignore[misc]
                steps += [Step(case, number, len(steps) + i) for i, case in enumerate(order)]
    return steps


def _rank(prefix: str, case: Case) -> bytes:
    return hashlib.sha256((prefix + case.path).encode()).digest()
