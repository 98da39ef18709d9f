"""`fixturegen run --plan`: what would run, in order; nothing is built or started."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from fixturegen.cli.terminal import say, say_json
from fixturegen.model import Fixture
from fixturegen.report.table import aligned
from fixturegen.runs.options import Options
from fixturegen.runs.schedule import (
    SCHEDULES,
    Block,
    Step,
    blocks,
    interleaved,
    rounds_of,
    schedule,
)


def show(fixtures: Sequence[Fixture], options: Options, *, as_json: bool) -> None:
    """Print the plan of each fixture: the same bytes on every machine."""
    plans = []
    for fixture in fixtures:
        rounds = rounds_of(fixture, options.rounds)
        chosen = options.chosen(fixture)
        if not as_json:
            _show(fixture, blocks(fixture, chosen, rounds), options.seed)
            continue
        steps = schedule(fixture, chosen, rounds, options.seed)
        plans.append(
            {
                "fixture": fixture.name,
                "seed": options.seed,
                "rounds": rounds,
                "params": options.parameters(fixture),
                "steps": [{"round": s.round, "case": s.case.path} for s in steps],
            }
        )
    if as_json:
        say_json(plans)


def _show(fixture: Fixture, planned: Sequence[Block], seed: int) -> None:
    """Print how many processes there are, and each program's first round or the run's beginning."""
    total = sum(len(block.cases) * block.rounds for block in planned)
    order = f", {SCHEDULES[True]}" if fixture.interleave else ""
    say(f"{fixture.name}: {total} fresh processes, seed {seed}{order}")
    for program in fixture.programs:
        own = [block for block in planned if block.program is program]
        cases = sum(len(block.cases) for block in own)
        what = f"{program.name}: {cases} cases x {own[0].rounds} rounds, {program.order}"
        if fixture.interleave:
            say(what)
        else:
            steps = [step for block in own for step in block.round(1, seed)]
            say("", f"{what}; the first round:", *_listed(steps))
    if fixture.interleave:
        most = sum(len(block.cases) for block in planned)
        say("", "The first processes:", *_listed(islice(interleaved(planned, seed), most)))


def _listed(steps: Iterable[Step]) -> list[str]:
    rows = [[str(step.position + 1), step.case.path] for step in steps]
    return aligned(["process", "case"], rows, "rl").split("\n")
