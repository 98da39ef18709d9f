"""`fixturegen run --plan`: what would run, in order; nothing is built or started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fixturegen.cli.terminal import say, say_json
from fixturegen.model import Fixture
from fixturegen.report.table import aligned
from fixturegen.runs.options import Options
from fixturegen.runs.schedule import SCHEDULES, Step, rounds_of, schedule


def show(fixtures: Sequence[Fixture], options: Options, *, as_json: bool) -> None:
    """Print the plan of each fixture: the same bytes on every machine."""
    plans = []
    for fixture in fixtures:
        rounds = rounds_of(fixture, options.rounds)
        steps = schedule(fixture, options.chosen(fixture), rounds, options.seed)
        if not as_json:
            _show(fixture, steps, rounds, options.seed)
            continue
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


def _show(fixture: Fixture, steps: Sequence[Step], rounds: Mapping[str, int], seed: int) -> None:
    """Print how many processes there are, and each program's first round."""
    order = f", {SCHEDULES[True]}" if fixture.interleave else ""
    say(f"{fixture.name}: {len(steps)} fresh processes, seed {seed}{order}")
    first = [step for step in steps if step.round == 1]
    for program in fixture.programs:
        own = [step for step in first if step.case.program == program.name]
        what = f"{program.name}: {len(own)} cases x {rounds[program.name]} rounds, {program.order}"
        if fixture.interleave:
            say(what)
        else:
            say("", f"{what}; the first round:", *_listed(own))
    if fixture.interleave:
        say("", "The first round of each:", *_listed(first))


def _listed(steps: Sequence[Step]) -> list[str]:
    rows = [[str(step.position + 1), step.case.path] for step in steps]
    return aligned(["process", "case"], rows, "rl").split("\n")
