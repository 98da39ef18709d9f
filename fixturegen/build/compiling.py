"""Runs one job's commands, puts the binary in its place, and tells what it is."""

from __future__ import annotations

import errno
import json
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fixturegen import elf, errors, files, process
from fixturegen.build import disassembly
from fixturegen.build.binary import ELF, Binary, Binding, Elf, Kernel
from fixturegen.build.jobs import Job
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES


def compiled(job: Job, project: Project) -> Binary:
    """Make the binary of a job; raises errors.BuildError, ToolMissingError and FileError."""
    files.make_folder(job.out)
    if job.plan.executable:  # what a compiler leaves out must not be what another made before it
        files.remove(job.out / job.plan.executable)
    last = process.Finished(0, "", "")
    for command in job.plan.commands:
        last = process.run(command, cwd=job.source, extra=job.plan.environment)
        if last.code != 0:
            raise _failed(job, project, last)
    named = job.plan.executable
    made = job.out / named if named else _from_messages(job, last.stdout)
    if not files.is_file(made):
        what = f"{job.label}: the build ended well, and made no program: {job.plan.shown}"
        raise errors.BuildError(what, "is this command a compiler?")
    function = job.program.kernel
    symbol = LANGUAGES[job.language].symbol(function) if function else ""
    kernel = disassembly.examine(made, function, symbol, job.label) if function else Kernel()
    content = files.read_bytes(made)
    files.write(job.target, content, mode=0o755)
    linked, bindings = _linked(job) if content.startswith(ELF) else (None, {})
    return Binary(
        sha256=files.sha256(job.target),
        shown=job.plan.shown,
        commands=tuple(_placeless(shlex.join(c), project) for c in job.plan.commands),
        elf=linked,
        bindings=bindings,
        kernel=kernel,
        name=job.name,
        environment={k: _placeless(v, project) for k, v in job.plan.environment.items()},
        sources=job.sources,
    )


def _placeless(text: str, project: Project) -> str:
    """Return a text without where the project is: a run is read elsewhere, and by others."""
    for folder, shown in ((project.build, "build/"), (project.root, "")):
        text = text.replace(f"{folder}/", shown)
    return text


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
    if os.strerror(errno.ENOSPC) in done.stderr:  # a compiler only tells the words
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return files.refused(full, f"build {job.label} in", job.work)
    said = [line for line in done.stderr.splitlines() if line.strip()][:15]
    return errors.BuildError(
        f"{job.label}: the {LANGUAGES.label(job.language)} build failed (exit {done.code}): "
        f"{job.plan.shown}",
        f"the source is in {project.shown(job.source)}, its template in templates/",
        [f"| {line}" for line in said],
    )


def _from_messages(job: Job, stdout: str) -> Path:
    """Return the executable that cargo's JSON messages name for the job's binary."""
    for line in reversed(stdout.splitlines()):
        message = json.loads(line) if line.startswith("{") else {}
        named = message.get("target", {}).get("name") == job.program.name
        if named and message.get("executable"):
            return Path(message["executable"])
    raise errors.BuildError(f"{job.label}: cargo named no executable for {job.program.name}")
