"""Runs one job's commands, puts the binary in its place, and tells what it is."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fixturegen import elf, errors, files, process
from fixturegen.build import disassembly
from fixturegen.build.binary import ELF, Binary, Binding, Elf, Kernel
from fixturegen.build.jobs import Job
from fixturegen.build.reading import Digests, homeless, outside, read_by
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES, Plan

SHOWN = 15  # lines of what a compiler says


class Made(Struct, frozen=True):
    """A binary, and what went in beside the rendered sources: its name with its digest."""

    binary: Binary
    read: dict[str, str]


def compiled(job: Job, project: Project, digests: Digests) -> Made:
    """Make the binary of a job; raises errors.BuildError, ToolMissingError and FileError."""
    _cleared(job)
    started_ns = time.time_ns()
    plan, printed = _carried_out(job, project)
    made = job.out / plan.executable if plan.executable else _from_messages(job, printed[-1])
    if not files.is_file(made):
        what = f"{job.label}: the build ended well, and made no program: {plan.shown}"
        raise errors.BuildError(what, "is this command a compiler?")
    for command in plan.asks:
        printed.append(process.run(command, cwd=job.source, extra=plan.environment).stdout)
    sources, read = _went_in(job, digests, made, printed, started_ns)
    function = job.program.kernel
    symbol = LANGUAGES[job.language].symbol(function) if function else ""
    kernel = disassembly.examine(made, function, symbol, job.label) if function else Kernel()
    content = files.read_bytes(made)
    files.write(job.target, content, mode=0o755)
    linked, bindings = _linked(job) if content.startswith(ELF) else (None, {})
    binary = Binary(
        sha256=files.sha256(job.target),
        shown=plan.shown,
        commands=tuple(_placeless(shlex.join(c), project) for c in plan.commands),
        elf=linked,
        bindings=bindings,
        kernel=kernel,
        name=job.name,
        environment={k: _placeless(v, project) for k, v in plan.environment.items()},
        sources=sources,
        outside=outside(read),
    )
    return Made(binary, read)


def _cleared(job: Job) -> None:
    """Remove what was made before: what a tool leaves out, or holds for fresh, is not of now."""
    files.make_folder(job.out)
    if job.plan.executable:
        files.remove(job.out / job.plan.executable)
        files.remove(job.out / f"{job.plan.executable}.d")
    if job.plan.forgets and files.exists(job.out / job.plan.forgets):
        files.remove_folder(job.out / job.plan.forgets)


def _carried_out(job: Job, project: Project) -> tuple[Plan, list[str]]:
    """Run the commands of a job's plan; return the plan as it was, and what each printed.

    A tool that refuses to tell what it reads is not made to. Raises errors.BuildError.
    """
    plain = replace(
        job.plan, commands=tuple(_without(c, job.plan.tells) for c in job.plan.commands)
    )
    for plan in (job.plan, plain) if job.plan.tells else (job.plan,):
        printed = []
        for command in plan.commands:
            done = process.run(command, cwd=job.source, extra=plan.environment)
            if done.code != 0:
                break
            printed.append(done.stdout)
        else:
            return plan, printed
    raise _failed(job, project, done)


def _without(command: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command without words that stand in it one after the other."""
    starts = range(len(command) - len(words) + 1)
    at = next((i for i in starts if words and command[i : i + len(words)] == words), None)
    return command if at is None else command[:at] + command[at + len(words) :]


def _went_in(
    job: Job, digests: Digests, made: Path, printed: Sequence[str], started_ns: int
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the digests of the rendered files that went in, and of what else did, by name."""
    root = job.source.parents[1]
    paths = list(read_by(printed, made, job.source))
    rendered = {root / path: path for path in job.sources}
    told = {rendered[path] for path in paths if path in rendered}
    sources = {*told, *job.described} if told else {*job.own}
    of_sources = digests.since(started_ns, (root / path for path in sources))
    others = (p for p in paths if p not in rendered and not p.is_relative_to(job.out))
    names = {digests.name(root / path): path for path in sources}
    return (
        {names[name]: digest for name, digest in of_sources.items()},
        digests.since(started_ns, others),
    )


def _placeless(text: str, project: Project) -> str:
    """Return a text without where the project is: a run is read elsewhere, and by others."""
    for folder, shown in ((project.build, "build/"), (project.root, "")):
        text = text.replace(f"{folder}/", shown)
    return homeless(text)


def _linked(job: Job) -> tuple[Elf, dict[str, tuple[Binding, ...]]]:
    """Return how a binary is linked, and how its symbols are bound, plainly and at the start."""
    facts = elf.read(job.target)
    bindings = {
        when: _told(facts, [elf.binding(facts, s, set_to) for s in job.program.symbols]).symbols
        for when, set_to in (("plain", None), ("bind_now", "1"))
    }
    return _told(facts, [], job.label), bindings


def _told(facts: elf.ElfFacts, bindings: Iterable[elf.Binding], path: str = "") -> Elf:
    return msgspec.convert({**elf.to_json(facts, bindings), "path": path}, Elf)


def _failed(job: Job, project: Project, done: process.Finished) -> errors.FixturegenError:
    if full := _no_room(job, done):
        return full
    said = [line for line in done.stderr.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(said) if "error" in line.lower()), 0)
    said = said[first if first >= SHOWN else 0 :][:SHOWN]  # warnings of its configuration go before
    return errors.BuildError(
        f"{job.label}: the {LANGUAGES.label(job.language)} build failed (exit {done.code}): "
        f"{job.plan.shown}",
        f"the source is in {project.shown(job.source)}, its template in templates/",
        [f"| {line}" for line in said],
    )


def _no_room(job: Job, done: process.Finished) -> errors.FixturegenError | None:
    """Return the error of a build that had no room for what it writes, or None.

    A tool tells the words, or the signal that ended one which it started: what writes through a
    mapping of its file (LLVM, lld) ends by SIGBUS, and takes for a mistake of its own what is
    none. How much room is left now says nothing: what ended so has removed its file.
    """
    for number, ended, signs in _NO_ROOM:
        said = os.strerror(number).lower() in done.stderr.lower() or signs.search(done.stderr)
        if said or done.code == -ended:
            temporary = Path(os.environ.get("TMPDIR") or "/tmp")
            where = min(job.work, temporary, key=_free)
            return files.refused(
                OSError(number, os.strerror(number)), f"build {job.label} in", where
            )
    return None


# The error, the signal that a program ends by instead, and how compilers tell that one did.
_NO_ROOM = tuple(
    (number, ended, re.compile(rf"signal:? {int(ended)}\b|execute command: {words}"))
    for number, ended, words in (
        (errno.ENOSPC, signal.SIGBUS, "Bus error"),
        (errno.EDQUOT, signal.SIGBUS, "Bus error"),
        (errno.EFBIG, signal.SIGXFSZ, "File size limit exceeded"),
    )
)


def _free(folder: Path) -> int:
    try:
        return os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    except OSError:  # there is no such folder
        return sys.maxsize


def _from_messages(job: Job, stdout: str) -> Path:
    """Return the executable that cargo's JSON messages name for the job's binary."""
    for line in reversed(stdout.splitlines()):
        message = json.loads(line) if line.startswith("{") else {}
        named = message.get("target", {}).get("name") == job.program.name
        if named and message.get("executable"):
            return Path(message["executable"])
    raise errors.BuildError(f"{job.label}: cargo named no executable for {job.program.name}")
