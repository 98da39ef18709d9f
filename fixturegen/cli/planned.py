"""`fixturegen run --plan`: what would run, in order; nothing is built or started."""

from __future__ import annotations

from collections.abc import Sequence

from fixturegen.cli.terminal import say, say_json
from fixturegen.model import Fixture
from fixturegen.report.view import table
from fixturegen.runner.options import Options
from fixturegen.runner.schedule import rounds_of, schedule


def show(fixtures: Sequence[Fixture], options: Options, *, as_json: bool) -> None:
    """Print the plan of each fixture: the same bytes on every machine."""
    plans = []
    for fixture in fixtures:
        rounds = rounds_of(fixture, options.rounds)
        steps = schedule(fixture, options.chosen(fixture), rounds, options.seed)
        if as_json:
            plans.append(
                {
                    "fixture": fixture.name,
                    "seed": options.seed,
                    "rounds": rounds,
                    "params": options.parameters(fixture),
                    "steps": [{"round": s.round, "case": s.case.path} for s in steps],
                }
            )
            continue
        say(f"{fixture.name}: {len(steps)} fresh processes, seed {options.seed}")
        for program in fixture.programs:
            own = [step for step in steps if step.case.program == program.name]
            cases = len({step.case for step in own})
            say(
                "",
                f"{program.name}: {cases} cases x {rounds[program.name]} rounds, "
                f"{program.order}; the first round:",
            )
            first = [[str(s.position + 1), s.case.path] for s in own if s.round == 1]
            say(*table(["process", "case"], first, "rl").split("\n"))
    if as_json:
        say_json(plans)
