"""A temporary folder with the projects that are measured, and ways to time a command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from fixturegen import launcher, machine

HERE = Path(__file__).parent
FIXTUREGEN = str(Path(sys.executable).with_name("fixturegen"))
# As after `pip install`: modules are compiled once, by whoever starts them first.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

EMPTY = """\
title = "A program that does nothing"

[[program]]
name = "empty"
languages = ["c"]
rounds = 20000
timeout_s = 10
metric.wall = { value = "process.wall_ns", unit = "ns" }

[[program.build]]
name = "default"
c.cflags = ["-static", "-nostdlib", "-nostartfiles"]
"""

LINES = """\
title = "A program that prints a thousand lines"

[[program]]
name = "lines"
languages = ["c"]
rounds = 1000
timeout_s = 10
lines.step = 'step (?P<index>\\d+): (?P<ns>\\d+) ns'
metric.first = { value = "step.ns[0]", unit = "ns" }
metric.middle = { value = "median(step.ns[10:])", unit = "ns" }
"""


SMALL = """\
title = "Small fixture {number}"

[params]
length = {number}

[[program]]
name = "one"
languages = ["c", "rust"]
rounds = 2
lines.value = 'value (?P<n>\\d+)'
metric.value = {{ value = "value.n[0]", unit = "count" }}
"""
SOURCES = {
    "one.c.j2": """\
// /*{ header | raw }*/
#include <stdio.h>

int main(void)
{
    printf("value %d\\n", /*{ params.length }*/);
    return 0;
}
""",
    "one.rs.j2": """\
// /*{ header | raw }*/

fn main() {
    println!("value {}", /*{ params.length }*/);
}
""",
}


class Place:
    """Lays what a row needs when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.description = machine.describe()
        pick = machine.pick_cpus(self.description, frozenset(os.sched_getaffinity(0)), 1)
        self.cpu = pick.cpus[0]
        self.others = pick.others or pick.cpus

    def compiled(self, name: str, *flags: str) -> str:
        """Compile `bench/<name>.c`; return the binary."""
        binary = self.folder / name
        command = ["gcc", "-std=c11", "-O3", *flags, "-o", str(binary), str(HERE / f"{name}.c")]
        subprocess.run(command, check=True)
        return str(binary)

    @cached_property
    def loop(self) -> str:
        """The bare C loop."""
        return self.compiled("bare_loop")

    @cached_property
    def launcher(self) -> Path:
        """The compiled launcher."""
        return launcher.build_launcher(self.folder / "launcher")

    def project(self, name: str, text: str) -> Path:
        """Lay and build a project of one fixture with one C program, if it is not there yet."""
        root = self.folder / name
        if not root.exists():
            folder = root / "templates" / name
            folder.mkdir(parents=True)
            (folder / "fixture.toml").write_text(text)
            shutil.copy(HERE / f"{name}.c", folder / f"{name}.c.j2")
            quietly([FIXTUREGEN, "-C", str(root), "build"])
        return root

    @cached_property
    def empty(self) -> Path:
        """A project whose program does nothing."""
        return self.project("empty", EMPTY)

    @cached_property
    def empty_program(self) -> str:
        """The program that does nothing, static and without libc."""
        return str(self.empty / "build" / "empty" / "bin" / "empty-c-default")

    @cached_property
    def thousand(self) -> Path:
        """A project of 1,000 small fixtures in C and Rust, rendered."""
        root = self.folder / "thousand"
        for number in range(1000):
            folder = root / "templates" / f"p{number:03}"
            folder.mkdir(parents=True)
            (folder / "fixture.toml").write_text(SMALL.format(number=number))
            for name, text in SOURCES.items():
                (folder / name).write_text(text)
        quietly([FIXTUREGEN, "-C", str(root), "--no-limits", "render"])
        return root

    @cached_property
    def first_run(self) -> Path:
        """A project with p04-first-run in all its languages, built."""
        root = self.folder / "p04"
        root.mkdir()
        quietly([FIXTUREGEN, "-C", str(root), "build", "p04-first-run"])
        return root


def quietly(command: Sequence[str], cwd: Path | None = None) -> None:
    """Run a command to its end; what it prints is shown only if it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True
    )
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout + done.stderr)
        raise SystemExit(f"bench: {' '.join(command)} ended with {done.returncode}")


def printed(command: Sequence[str]) -> list[int]:
    """Return the numbers that a command prints, one a line."""
    done = subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True)
    return [int(word) for word in done.stdout.split()]


def seconds(command: Sequence[str], cwd: Path | None = None) -> float:
    """Return the wall time of a command from its start to its end, in seconds."""
    began = time.perf_counter()
    quietly(command, cwd)
    return time.perf_counter() - began
