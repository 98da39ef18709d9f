"""Why one schedule over all programs: on a machine that drifts, blocks tell programs apart."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest
from tiny import Done, Tiny, ended_at_last, environment, finish, wait_until

from fixturegen.runs.states import GIVE_UP

pytestmark = pytest.mark.slow

# A machine that gets slower: each process of `tick` takes as long as there were ticks before it.
TICK = """\
#!/bin/sh
[ "$1" = --version ] && { echo 'tick 1'; exit; }
[ "$1" = --slow ] && sleep 0.01
echo >> "${0%/*}/ticks"
set -- $(wc -l "${0%/*}/ticks")
echo "took $1 ns"
[ "$FAIL" = '' ]
"""

TOML = '''\
title = "One program under two names"
interleave = {interleave}

[[program]]
name = "one"
languages = ["system"]
command = "tick"
rounds = {rounds}
lines.took = 'took (?P<ns>[0-9]+) ns'
metric.took = {{ value = "took.ns[0]", unit = "ns" }}
[[program.mode]]
name = "plain"
args = [{args}]

[[program]]
name = "two"
languages = ["system"]
command = "tick"
rounds = {other}
lines.took = 'took (?P<ns>[0-9]+) ns'
metric.took = {{ value = "took.ns[0]", unit = "ns" }}
[[program.mode]]
name = "plain"
args = [{args}]
{env}

[[claim]]
text = "A program takes as long as itself."
holds = """\\
9 * one.system.plain.took < 10 * two.system.plain.took and \\
9 * two.system.plain.took < 10 * one.system.plain.took"""
'''


class Drift:
    """A project on a machine that drifts."""

    def __init__(self, made: Tiny, **given: object) -> None:
        values = {"interleave": "true", "rounds": 20, "other": 20, "args": "", "env": ""} | given
        self.made = made
        (made.templates / "fixture.toml").write_text(TOML.format(**values))
        tools = made.root.parent / f"tools-of-{made.root.name}"
        tools.mkdir()
        (tools / "tick").write_text(TICK)
        (tools / "tick").chmod(0o755)
        self.env = environment({"PATH": f"{tools}:{os.environ['PATH']}"})

    def __call__(self, *args: str) -> Done:
        return self.made(*args, env=self.env)

    @property
    def samples(self) -> list[dict[str, Any]]:
        (folder,) = self.made.finished()
        return self.made.samples(folder)

    def median(self, program: str) -> float:
        own = [s for s in self.samples if s["case"] == f"{program}.system.plain"]
        return median(s["lines"]["took"]["ns"][0] for s in own)

    def planned(self) -> list[tuple[str, int]]:
        (plan,) = json.loads(self("run", "--plan", "--json").out)
        return [(step["case"], step["round"]) for step in plan["steps"]]

    def ran(self) -> list[tuple[str, int]]:
        """Return what ran, in the order in which it did."""
        return [(s["case"], s["round"]) for s in self.samples]


@pytest.mark.parametrize("rounds", [{}, {"rounds": 8, "other": 32}])
def test_a_drift_makes_two_programs_of_one_unless_they_are_interleaved(
    tiny: Callable[..., Tiny], rounds: dict[str, int]
) -> None:
    blocks = Drift(tiny("blocks"), interleave="false", **rounds)
    done = blocks("run")
    assert "claim fails: A program takes as long as itself." in done.out, done.said
    assert blocks.median("two") > 1.8 * blocks.median("one")

    together = Drift(tiny("together"), **rounds)
    done = together("run", "--strict")
    assert done.code == 0, done.said
    assert together.median("two") == pytest.approx(together.median("one"), abs=2)
    assert together.ran() == together.planned()
    text = together.made.text.read_text()
    assert "\nschedule   one schedule over all programs\n" in text
    assert "\nschedule   programs one after the other\n" in blocks.made.text.read_text()
    assert [s["after"] for s in together.samples[1:]] == [s["case"] for s in together.samples[:-1]]


def test_a_resumed_run_continues_the_same_schedule(tiny: Callable[..., Tiny]) -> None:
    project = Drift(tiny(), args='"--slow"', rounds=30, other=60)
    with ended_at_last(project.made.start("run", env=project.env)) as process:
        assert wait_until(lambda: project.made.measured() > 4)
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 130
    done = project("run", "--resume")
    assert done.code == 0, done.said
    assert project.ran() == project.planned()
    assert [s["position"] for s in project.samples] == list(range(90))


def test_a_program_that_keeps_failing_is_given_up_and_the_others_go_on(
    tiny: Callable[..., Tiny],
) -> None:
    project = Drift(tiny(), env='env = { FAIL = "yes" }', args='"--slow"', rounds=20, other=20)
    done = project("run")
    assert done.code == 5, done.said
    ended = Counter((s["case"], s["status"]) for s in project.samples)
    assert ended["one.system.plain", "ok"] == 20
    assert GIVE_UP <= ended["two.system.plain", "exit"] < 20
    (folder,) = project.made.finished()
    context = json.loads((folder / "context.json").read_bytes())
    assert context["skipped"] == {"two.system.plain": 20 - ended["two.system.plain", "exit"]}
