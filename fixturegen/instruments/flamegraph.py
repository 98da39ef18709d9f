"""Folded stacks to a picture, by whichever of the known tools is there."""

from __future__ import annotations

import sys
from pathlib import Path

from fixturegen import process

ABSENT = (
    "no tool for flame graphs: pip install 'fixturegen[flame]' (pyinferno), or "
    "inferno-flamegraph or flamegraph.pl on PATH; the folded stacks are kept"
)
_TOOLS = ("inferno-flamegraph", "flamegraph.pl")
# In a process of its own: a library in another language must not be able to end ours.
_PYINFERNO = (
    "import sys, pyinferno; print(pyinferno.flamegraph_from_lines("
    "open(sys.argv[1], encoding='utf-8').read().splitlines(), sys.argv[2]))"
)


def tool() -> str:
    """Return the name of the tool that would draw, or "" if there is none."""
    import importlib.util

    if importlib.util.find_spec("pyinferno") is not None:
        return "pyinferno"
    return next((name for name in _TOOLS if process.find(name)), "")


def draw(folded: Path, title: str) -> tuple[str, str]:
    """Return the SVG of a file of folded stacks, and "" or the reason why there is none."""
    name = tool()
    if not name:
        return "", ABSENT
    argv = [name, "--title", title, str(folded)]
    if name == "pyinferno":
        argv = [sys.executable, "-P", "-c", _PYINFERNO, str(folded), title]
    done = process.run(argv, timeout_s=60)
    start = done.stdout.find("<?xml")
    if done.code == 0 and start >= 0:
        return done.stdout[start:].rstrip() + "\n", ""
    said = (done.stderr.strip().splitlines() or [f"exit code {done.code}, no picture"])[-1]
    return "", f"{name} drew nothing: {said}"
