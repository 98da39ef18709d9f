"""Why one schedule over all programs: on a machine that drifts, blocks tell programs apart."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tiny import Done, Tiny, ended_at_last, finish, wait_until

from fixturegen.runs.schedule import schedule

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

TOML = """\
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
holds = "9 * one.system.plain.took < 10 * two.system.plain.took and 9 * two.system.plain.took < 10 * one.system.plain.took"
"""


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
        self.env = {"PATH": f"{tools}:{os.environ['PATH']}"}

    def __call__(self, *args: str) -> Done:
        return self.made(*args, env=self.env)

    def samples(self) -> list[dict[str, Any]]:
        (folder,) = self.made.finished()
        return self.made.samples(folder)

    def median(self, name: str) -> float:
        metrics = json.loads(self("list", "--json").out)
        raise NotImplementedError(metrics)
