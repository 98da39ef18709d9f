"""From a fixture to its binaries: sources, jobs, what is up to date, and the rest compiled."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from fixturegen import elf, errors, files, process
from fixturegen.build import recorded, toolchain
from fixturegen.build.binary import Binary, OnPath
from fixturegen.build.jobs import Job, jobs
from fixturegen.build.reading import Digests, kind
from fixturegen.build.recorded import Recorded
from fixturegen.build.toolchain import Identities
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES
from fixturegen.machine.c_library import c_library
from fixturegen.model import SYSTEM, Fixture, Value
from fixturegen.render import rendered

if TYPE_CHECKING:
    from fixturegen.build.compiling import Made

Tell = Callable[[str], None]


class Built(Struct):
    """Every binary of a fixture, by its name `program.language[.build]`, and where it is.

    toolchain: language to the first lines its tools print; missing: language to the reason why
    it was left out; absent: binary to the reason why it cannot be made, where it is only that its
    compiler is not here; made: how many binaries were compiled rather than up to date.
    """

    binaries: dict[str, Binary] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    toolchain: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    made: int = 0

    def c_library(self) -> str:
        """Return which C library the binaries are started with, and its version."""
        loaders = [b.elf.interpreter for b in self.binaries.values() if b.elf]
        for name, binary in self.binaries.items():
            if binary.on_path and binary.on_path.kind == "ELF":
                with contextlib.suppress(errors.FixturegenError):
                    loaders.append(elf.read(self.paths[name]).interpreter)
        return c_library(loaders)

    def name_tools(self, identities: Identities) -> None:
        """Add what the tools of each language call themselves, each line once."""
        for (language, _), lines in identities.items():
            so_far = self.toolchain.setdefault(language, [])
            so_far += [line for line in lines if line not in so_far]

    def take(self, binary: Binary, path: Path) -> None:
        """Add a binary that is at `path`."""
        self.binaries[binary.name] = binary
        self.paths[binary.name] = path


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
    tell: Tell = lambda text: None,
) -> Built:
    """Render, compile what is not up to date, and return every binary.

    tell is given one line a compiled binary. Raises errors.BuildError and ToolMissingError.
    """
    nothing = toolchain.nothing(fixture, wanted)
    if isinstance(nothing, errors.ToolMissingError):
        raise nothing
    languages, missing = toolchain.available(fixture, wanted)
    root = source_root(project, fixture, params)
    work = work_folder(project, fixture, params)
    compiled = [name for name in languages if name != SYSTEM]
    answers = toolchain.ask(fixture, {name: root / name / fixture.name for name in compiled})
    texts = rendered.sources(project, fixture, params, languages, root, work)
    known = recorded.read(work)
    absent = toolchain.absent(fixture, compiled)
    planned = [j for j in jobs(fixture, compiled, texts, root, work) if j.name not in absent]
    built = Built(missing=missing, absent=absent)
    identities = answers()
    built.name_tools(identities)
    digests = Digests(work, project)
    if SYSTEM in wanted:
        _find_commands(fixture, built, digests)
    chosen = {each: toolchain.chosen(*each) for each in identities}
    settings = {
        name: digests.named(LANGUAGES[name].settings(root / name / fixture.name))
        for name in compiled
    }
    keys = _keys(planned, identities, settings, digests)
    stale = [
        job
        for job in planned
        if not recorded.up_to_date(known.get(job.label), job, keys[job.name], digests)
    ]
    try:
        with contextlib.closing(_in_twos(stale, project, digests)) as compiling:
            for job, made in compiling:
                known[job.label] = Recorded(keys[job.name], made.binary, made.read)
                built.made += 1
                tell(f"built {job.label}")
    finally:
        if built.made:
            recorded.write(work, known)
        digests.write()
    for job in planned:
        inherited = chosen[job.language, job.compiler]
        of = settings[job.language]
        binary = replace(known[job.label].binary, settings=of, inherited=inherited)
        built.take(binary, job.target)
    return built


def _keys(
    planned: Sequence[Job],
    identities: Identities,
    settings: Mapping[str, Mapping[str, str]],
    digests: Digests,
) -> dict[str, str]:
    """Return each job's key by its name; settings: language to its files and their digests."""
    tools = {
        each: {word: digests.of(str(path)) for word, path in toolchain.executables(*each)}
        for each in identities
    }
    keys = {}
    for job in planned:
        each = (job.language, job.compiler)
        keys[job.name] = job.key(identities[each], {**tools[each], **settings[job.language]})
    return keys


def _in_twos(
    stale: Sequence[Job], project: Project, digests: Digests
) -> Generator[tuple[Job, Made], None, None]:
    """Yield each job with the binary that it gave, made two at a time, in order.

    After an error or an interruption none is begun any more, and those under way are waited for.
    """
    if not stale:
        return
    from concurrent.futures import ThreadPoolExecutor, wait

    from fixturegen.build.compiling import compiled

    pool = ThreadPoolExecutor(2)
    try:
        tasks = [(job, pool.submit(compiled, job, project, digests)) for job in stale]
        for job, each in tasks:
            # Not one long wait: a signal that the kernel hands to a worker thread wakes no other.
            while not each.done():
                wait([each], timeout=0.1)
            yield job, each.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _find_commands(fixture: Fixture, built: Built, digests: Digests) -> None:
    """Add the system programs that are on PATH; who runs them says which are not."""
    for program in fixture.programs:
        path = process.find(program.command) if program.command else None
        if path is None:
            continue
        name, shown = f"{program.name}.{SYSTEM}", digests.name(Path(path))
        try:
            content = files.read_bytes(Path(path).resolve())
        except (OSError, errors.FixturegenError):
            built.absent[name] = f"{shown} cannot be read, so no text could tell what it is"
            continue
        place = OnPath(shown, kind(content))
        binary = Binary(files.digest(content), program.command, name=name, on_path=place)
        built.take(binary, Path(path))
