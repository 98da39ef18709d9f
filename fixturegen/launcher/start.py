"""What the launcher is asked to start, and what it answers: values, and their padding."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fixturegen import process

if TYPE_CHECKING:
    from fixturegen.model import Status, Usage

OUTPUT_LIMIT = 16 * 1024 * 1024
PAD = "FIXTUREGEN_PAD"


class Start(Struct, frozen=True):
    """One case as the launcher sees it.

    `program` is a path (relative to `cwd` if not absolute) and argument 0; `args` are the others.
    `env` is the whole environment. No `cpus` means all that Python itself was allowed at the
    launcher's start. A program that prints more than `output_limit` bytes has status "flood".
    """

    program: str
    args: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    timeout_s: float
    cpus: tuple[int, ...]
    output_limit: int = OUTPUT_LIMIT
    discard: bool = False
    aslr: bool = True


class Outcome(Struct, frozen=True):
    """What became of one start.

    `sequence` counts from 0 in each `Launcher.run`; `case` is what `define` gave; `detail` is empty
    for status "ok". `started_ns` is CLOCK_MONOTONIC. `leftovers` counts processes that outlived the
    program and were killed; `rcu` the RCU soft interrupts on its CPUs meanwhile, -1 if not
    recorded. `stdout` ends at the output limit; `stderr` is the last 64 KiB.
    """

    sequence: int
    case: int
    status: Status
    detail: str
    usage: Usage
    started_ns: int
    leftovers: int
    rcu: int
    stdout: bytes
    stderr: bytes


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a measured program: PATH and LC_ALL=C, then the mode's own.

    As for helpers, PATH has its absolute folders alone.
    """
    return {"PATH": process.search_path(), "LC_ALL": "C", **extra}


def padded_environments(starts: Sequence[Start]) -> list[Start]:
    """Return `starts` with variables added so that all put equally much on the new stack.

    Equal are the bytes of path, arguments and environment, and the number of these strings: they
    decide where the stack begins (Mytkowicz et al., ASPLOS 2009). The path counts twice because
    the kernel puts it there twice, as argument 0 and as the name of the file.
    """
    most = 1 + max((len(s.args) + len(s.env) for s in starts), default=0)
    filled = []
    for start in starts:
        pads = range(most - len(start.args) - len(start.env))
        filled.append(replace(start, env=start.env | {f"{PAD}{i}": "" for i in pads}))
    size = max(map(_stack_bytes, filled), default=0)
    return [replace(s, env=s.env | {f"{PAD}0": "x" * (size - _stack_bytes(s))}) for s in filled]


def _stack_bytes(start: Start) -> int:
    """Return how many bytes the kernel copies to the stack for the strings of `start`."""
    strings = [start.program, start.program, *start.args, *variables(start.env)]
    return sum(len(os.fsencode(string)) + 1 for string in strings)


def variables(env: Mapping[str, str]) -> list[str]:
    """Return `env` as the strings that execve takes."""
    return [f"{name}={value}" for name, value in env.items()]
