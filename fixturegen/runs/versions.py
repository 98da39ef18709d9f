"""What the system programs of a run call themselves, asked as they are measured."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from fixturegen.launcher import Launcher, Start
from fixturegen.model import SYSTEM, Case
from fixturegen.runs.context import Context

SECONDS = 5.0  # and whatever a program starts meanwhile ends with it
BYTES = 64 * 1024


def versioned(launcher: Launcher, ways: Mapping[Case, Start], context: Context) -> Context:
    """Return the context with the version of each system program; the same where there is none.

    `--version` is asked through the launcher, in the environment and the folder of the program's
    first case, so that a version manager answers for the program that is then measured.
    """
    binaries = dict(context.binaries)
    lines: list[str] = []
    for case, way in ways.items():
        name = f"{case.program}.{SYSTEM}"
        known = binaries.get(name)
        if case.language != SYSTEM or not known or not known.on_path or known.on_path.version:
            continue
        version = _asked(launcher, way, known.shown)
        binaries[name] = replace(known, on_path=replace(known.on_path, version=version))
        lines.append(version)
    if not lines:
        return context
    toolchain = {**context.toolchain, SYSTEM: tuple(dict.fromkeys(lines))}
    return replace(context, binaries=binaries, toolchain=toolchain)


def _asked(launcher: Launcher, way: Start, command: str) -> str:
    asked = replace(way, args=("--version",), timeout_s=SECONDS, output_limit=BYTES, discard=False)
    (outcome,) = launcher.run([launcher.define(asked)])
    said = (outcome.stdout or outcome.stderr).decode(errors="replace")
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    if outcome.status == "ok" and first:
        return first[:200]
    return f"{command}, version unknown (--version: {outcome.detail or 'says nothing'})"
