"""Runs the languages' plans, skips what is up to date, and records what each binary is."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shlex
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from fixturegen import errors, files, process
from fixturegen.build import disassembly, toolchain
from fixturegen.build.binary import Binary
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES, Plan
from fixturegen.model import SYSTEM, Build, Fixture, Program, Value
from fixturegen.render import rendered

RECORDED = 2  # another number when more is recorded of a binary: then all are made again

Report = Callable[[str], None]


class Job(Struct, frozen=True):
    """One binary to make: `key` changes with everything that could change the binary."""

    program: Program
    language: str
    build: Build
    plan: Plan
    target: Path
    key: str

    @property
    def name(self) -> str:
        """The binary's name: `program-language-build`."""
        return self.target.name


class Built(Struct):
    """Every binary of a fixture: name as in arguments (`first_run.rust`) to what it is.

    toolchain: language to the first lines its tools print; missing: language to the reason why
    it was left out; absent: binary to the reason why it cannot be made, where it is only that its
    compiler is not here; made: how many binaries were compiled rather than up to date.
    """

    paths: dict[str, Path] = field(default_factory=dict)
    facts: dict[str, Binary] = field(default_factory=dict)
    toolchain: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    made: int = 0


def work_folder(project: Project, fixture: Fixture, params: Mapping[str, Value]) -> Path:
    """Return where a fixture's binaries go: changed parameters have a folder of their own."""
    if dict(params) == fixture.params:
        return project.build / fixture.name
    text = json.dumps([fixture.name, sorted(params.items())])
    return project.build / "src" / hashlib.sha256(text.encode()).hexdigest()[:12]


def source_root(project: Project, fixture: Fixture, params: Mapping[str, Value]) -> Path:
    """Return the folder that holds `c/<fixture>`: the project, or one for changed parameters."""
    declared = dict(params) == fixture.params
    return project.root if declared else work_folder(project, fixture, params)


def make(
    project: Project,
    fixture: Fixture,
    params: Mapping[str, Value],
    wanted: Sequence[str],
    report: Report = lambda text: None,
) -> Built:
    """Render, compile what is not up to date, and return every binary.

    report is told one line a compiled binary. Raises errors.BuildError and ToolMissingError.
    """
    nothing = toolchain.nothing(fixture, wanted)
    if isinstance(nothing, errors.ToolMissingError):
        raise nothing
    languages, missing = toolchain.available(fixture, wanted)
    root = source_root(project, fixture, params)
    work = work_folder(project, fixture, params)
    texts = rendered.sources(project, fixture, params, languages, root, work)
    built = Built(missing=missing)
    languages = [name for name in languages if name != SYSTEM]
    tools = _toolchains(fixture, {name: root / name / fixture.name for name in languages}, built)
    for (name, _), lines in tools.items():
        known = built.toolchain.setdefault(name, [])
        known += [line for line in lines if line not in known]
    if SYSTEM in wanted:
        _find_commands(fixture, built)
    jobs = _jobs(fixture, languages, texts, work, tools)
    state = _read_state(work / "state.json")
    stale = [job for job in jobs if not _up_to_date(job, state)]

    def compiled(job: Job) -> dict[str, Any]:
        return {"key": job.key, **_compile(job, root, fixture, project)}

    try:
        with contextlib.closing(_in_twos(stale, compiled)) as compiling:
            for job, facts in compiling:
                state[job.name] = facts
                built.made += 1
                report(f"built {job.name}")
    finally:
        if built.made:
            files.write(work / "state.json", json.dumps(state, indent=1, sort_keys=True) + "\n")
    for job in jobs:
        name = job.program.binary(job.language, job.build)
        built.paths[name] = job.target
        built.facts[name] = msgspec.convert(state[job.name], Binary)
    return built


def _in_twos(
    jobs: Sequence[Job], task: Callable[[Job], dict[str, Any]]
) -> Generator[tuple[Job, dict[str, Any]], None, None]:
    """Yield each job with what `task` returns for it, two at a time, in order.

    After an error or an interruption none is begun any more, and those under way are waited for.
    """
    if not jobs:
        return
    from concurrent.futures import ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(2)
    try:
        tasks = [(job, pool.submit(task, job)) for job in jobs]
        for job, each in tasks:
            # Not one long wait: a signal that the kernel hands to a worker thread wakes no other.
            while not each.done():
                wait([each], timeout=0.1)
            yield job, each.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _find_commands(fixture: Fixture, built: Built) -> None:
    """Add the system programs that are on PATH; who runs them says which are not."""
    for program in fixture.programs:
        path = process.find(program.command) if program.command else None
        if path is None:
            continue
        name = f"{program.name}.{SYSTEM}"
        built.paths[name] = Path(path)
        built.facts[name] = Binary(files.sha256(Path(path).resolve()), program.command)
        done = process.run([path, "--version"], timeout_s=20)
        says = done.stdout.splitlines()[:1] if done.code == 0 else []
        lines = built.toolchain.setdefault(SYSTEM, [])
        lines += [line for line in says or [program.command] if line not in lines]


Tools = dict[tuple[str, str], list[str]]  # language and compiler to what its tools print


def _toolchains(fixture: Fixture, places: Mapping[str, Path], built: Built) -> Tools:
    """Return what each compiler's tools call themselves, all asked at once.

    places: the languages' source folders, in which overrides of the tools apply. `built` is told
    of the binaries whose compiler is not here.
    """
    lines: Tools = {}
    for name in places:
        for compiler in toolchain.compilers(fixture, name):
            reason = toolchain.absence(name, compiler)
            if not reason:
                lines[name, compiler] = []
                continue
            for program in (p for p in fixture.programs if name in p.languages):
                for build in program.builds_in(name):
                    if build.compiler(name) == compiler:
                        built.absent[program.binary(name, build)] = reason
    asked = [(each, argv) for each in lines for argv in LANGUAGES[each[0]].identity(each[1])]
    answers = process.run_together([(argv, places[name]) for (name, _), argv in asked])
    for (each, _), done in zip(asked, answers, strict=True):
        if done.code == 0 and done.stdout.strip():
            lines[each].append(done.stdout.strip().splitlines()[0])
            lines[each] += [x for x in done.stdout.splitlines() if x.startswith(("host:", "LLVM"))]
    return lines


def _jobs(
    fixture: Fixture,
    languages: Sequence[str],
    texts: Mapping[str, str],
    work: Path,
    tools: Tools,
) -> list[Job]:
    jobs = []
    for program in fixture.programs:
        for name in (n for n in program.languages if n in languages):
            own = rendered.needed(texts, fixture, program, name)
            sources = {path.rpartition("/")[2]: text for path, text in own.items()}
            for build in program.builds_in(name):
                if (name, build.compiler(name)) not in tools:
                    continue
                out = work / "make" / name
                plan = LANGUAGES[name].plan(fixture, program, build, str(out), sources)
                inputs = [
                    RECORDED,
                    own,
                    plan.commands,
                    plan.environment,
                    tools[name, build.compiler(name)],
                    program.kernel,
                    program.symbols,
                ]
                # Where the project is changes no binary: a moved one is up to date.
                text = json.dumps(inputs, sort_keys=True).replace(str(work), "")
                key = hashlib.sha256(text.encode()).hexdigest()
                target = work / "bin" / f"{program.name}-{name}-{build.name}"
                jobs.append(Job(program, name, build, plan, target, key))
    return jobs


def _read_state(path: Path) -> dict[str, dict[str, Any]]:
    """Return what earlier builds recorded; anything unreadable means: build again."""
    try:
        state = json.loads(files.read_bytes(path))
        return msgspec.convert(state, dict[str, dict[str, Any]])
    except (errors.FixturegenError, ValueError, RecursionError):
        return {}


def _up_to_date(job: Job, state: Mapping[str, dict[str, Any]]) -> bool:
    known = state.get(job.name, {})
    with contextlib.suppress(msgspec.ValidationError):
        msgspec.convert(known, Binary)
        return (
            known.get("key") == job.key
            and files.is_file(job.target)
            and files.sha256(job.target) == known.get("sha256")
        )
    return False


def _compile(job: Job, root: Path, fixture: Fixture, project: Project) -> dict[str, Any]:
    """Run a job's commands, put the binary in its place, and return what is recorded of it."""
    from fixturegen import elf

    source = root / job.language / fixture.name
    out = job.target.parent.parent / "make" / job.language
    files.make_folder(out)
    last = process.Finished(0, "", "")
    for command in job.plan.commands:
        last = process.run(command, cwd=source, extra=job.plan.environment)
        if last.code != 0:
            raise _failed(job, project, source, last)
    made = out / job.plan.executable if job.plan.executable else _from_messages(job, last.stdout)
    kernel = {}
    if job.program.kernel:
        symbol = LANGUAGES[job.language].symbol(job.program.kernel)
        kernel = disassembly.examine(made, job.program.kernel, symbol, job.name)
    files.write(job.target, files.read_bytes(made), mode=0o755)
    facts = elf.read(job.target)
    bindings = {
        when: elf.to_json(facts, [elf.binding(facts, s, env) for s in job.program.symbols])[
            "symbols"
        ]
        for when, env in (("plain", None), ("bind_now", "1"))
    }
    commands = [shlex.join(c).replace(f"{project.root}/", "") for c in job.plan.commands]
    return {
        "sha256": files.sha256(job.target),
        "commands": commands,
        "shown": job.plan.shown,
        "elf": elf.to_json(facts, []) | {"path": job.name},
        "bindings": bindings,
        "kernel": kernel,
    }


def _failed(
    job: Job, project: Project, source: Path, done: process.Finished
) -> errors.FixturegenError:
    if os.strerror(errno.ENOSPC) in done.stderr:  # a compiler only tells the words
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return files.refused(full, f"build {job.name} in", job.target.parent.parent)
    said = [line for line in done.stderr.splitlines() if line.strip()][:15]
    return errors.BuildError(
        f"{job.name}: the {LANGUAGES.label(job.language)} build failed (exit {done.code}): "
        f"{job.plan.shown}",
        f"the source is in {project.shown(source)}, its template in templates/",
        [f"| {line}" for line in said],
    )


def _from_messages(job: Job, stdout: str) -> Path:
    """Return the executable that cargo's JSON messages name for the job's binary."""
    for line in reversed(stdout.splitlines()):
        message = json.loads(line) if line.startswith("{") else {}
        named = message.get("target", {}).get("name") == job.program.name
        if named and message.get("executable"):
            return Path(message["executable"])
    raise errors.BuildError(f"{job.name}: cargo named no executable for {job.program.name}")
