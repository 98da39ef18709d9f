"""Folded stacks to a picture, by whichever of the known tools is there.

The first is the `flamegraph` of the extra `flame`: a wheel with the program, for every Python.
"""

from __future__ import annotations

import shlex
import sysconfig
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from fixturegen import process

ABSENT = (
    "no tool for flame graphs: `make flame` adds one (the extra `flame` of this package), or have "
    "flamegraph, inferno-flamegraph or flamegraph.pl on PATH; the folded stacks are kept"
)


class Drawing(Struct, frozen=True):
    """A way to draw: the tool, its arguments for folded stacks and a title, its variables."""

    name: str
    arguments: Callable[[Path, str], list[str]]
    variables: dict[str, str] = {}


def _of_inferno(folded: Path, title: str) -> list[str]:
    return ["--title", title, str(folded)]


def _of_recordings(folded: Path, title: str) -> list[str]:
    """Return those of a program that would fold what perf recorded: our stacks stand for it."""
    stacks = shlex.join(["cat", str(folded)])
    given = ["--perfdata", str(folded), "--post-process", stacks]
    return ["--deterministic", "--title", title, *given, "--output", "/dev/stdout"]


DRAWINGS = (
    Drawing("flamegraph", _of_recordings, {"PERF": "true"}),  # `true script -i ...` prints nothing
    Drawing("inferno-flamegraph", _of_inferno),
    Drawing("flamegraph.pl", _of_inferno),
)


def _path(tool: str) -> str | None:
    """Return where a tool is: beside our own Python, as pip puts it there, or on PATH."""
    return process.find(tool, sysconfig.get_path("scripts"))


def tool() -> str:
    """Return the name of the tool that would draw, or "" if there is none."""
    return next((each.name for each in DRAWINGS if _path(each.name)), "")


def draw(folded: Path, title: str) -> tuple[str, str]:
    """Return the SVG of a file of folded stacks, and "" or the reason why there is none."""
    for each in DRAWINGS:
        if path := _path(each.name):
            argv = [path, *each.arguments(folded, title)]
            return _drawn(each.name, process.run(argv, extra=each.variables, timeout_s=60))
    return "", ABSENT


def _drawn(name: str, done: process.Finished) -> tuple[str, str]:
    start = done.stdout.find("<?xml")
    if done.code == 0 and start >= 0:
        return done.stdout[start:].rstrip() + "\n", ""
    said = (done.stderr.strip().splitlines() or [f"exit code {done.code}, no picture"])[0]
    return "", f"{name} drew nothing: {said}"
