"""A small project with a stored run that has everything a run can keep; and the commands on it.

The commands are done within this process by the functions that the command line calls.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from fixturegen import check, errors, files, machine, render, report
from fixturegen.build.binary import Binary, Binding, Elf, Kernel
from fixturegen.check.findings import Finding
from fixturegen.fixture.project import Project
from fixturegen.instruments.made import Made
from fixturegen.instruments.perf import Perf
from fixturegen.runs import states
from fixturegen.runs.context import Reading
from fixturegen.runs.options import Options
from tests import recorded

NAME, RUN = "a-loop", "noon"
FOLDER = f"fixtures/{NAME}/{RUN}"
TEXT = f"fixtures/{NAME}.txt"
TEMPLATE = """\
{% import "report_parts.j2" as parts %}
{{ parts.head() }}
{% set b = binary("loop", "c") %}
{% if b %}
{{ b.shown }} {{ b.kernel.instructions if b.kernel else "-" }}
{% for text in b.elf.readelf_lines if b.elf %}
{{ text }}
{% endfor %}
{% endif %}
{% for program, modes in run.rungs|dictsort %}
{% for mode, rung in modes|dictsort %}
{{ program }} {{ mode }} {{ rung.words }}
{% endfor %}
{% endfor %}
{% for event, why in (run.perf.events if run.perf else {})|dictsort %}
{{ event }} {{ why }}
{% endfor %}
{% for where, words in run.storage|dictsort %}
{{ where }} {{ words }}
{% endfor %}
{% set facts = attachment("loop-c.profile.json") %}
{% if facts %}
{{ facts.hottest }} {{ facts.samples }} {{ facts.flat[0].name if facts.flat else "-" }}
{% endif %}
{% for line in attachment("loop-c.folded") or [] %}
{{ line }}
{% endfor %}
{% for case in cases("loop") %}
{{ case.path }} {{ number(stat(case.path ~ ".iter1").median) }} {{ unmeasured(case.path) or "-" }}
{% endfor %}
{{ parts.claims() }}
{{ parts.machine() }}
{{ parts.changes() }}
"""
PROFILE = {
    "event": "cycles", "frequency": 4000, "samples": 3, "lost": 0, "thread": 3,
    "flat": [{"name": "step", "file": "loop", "samples": 3}], "hottest": "step",
    "annotated": [{"share": "50.00", "text": "nop"}], "unannotated": "",
    "stacks": [{"samples": 3, "frames": ["main", "step"]}],
}  # fmt: skip
KNOBS = {"governor": "performance", "smt": "unknown: hidden"}

SOURCE = f"c/{NAME}/loop.c"


def lay(root: Path) -> Project:
    """Return a project that agrees with itself, down to the last byte."""
    project = recorded.lay(root)
    for suffix in ("c", "rs"):
        files.write(project.folder(NAME) / f"loop.{suffix}.j2", "//#\n")
    files.write(project.folder(NAME) / "report.txt.j2", TEMPLATE)
    of = project.load(NAME)
    for path, text in render.fixture_files(project, of, of.params, of.languages).items():
        files.write(root / path, text)
    binding = Binding("random", "R_X86_64_JUMP_SLOT", None, "lazy", "as declared")
    elf = Elf(
        "loop-c", "x86", "ELF64", "DYN", "dynamic", True, "full", None, ("libc.so.6",), (), (),
        False, False, "00", (" FLAGS",), (),
    )  # fmt: skip
    binary = Binary(
        "0" * 63 + "1", "gcc -std=c11 -O3 -Wall -Wextra -Wpedantic -Werror -o out/loop loop.c",
        ("gcc",), elf, {"plain": (binding,)}, Kernel("step", 3, True), "loop.c", {"A": "b"},
        {SOURCE: hashlib.sha256((root / SOURCE).read_bytes()).hexdigest()},
    )  # fmt: skip
    stored = recorded.store(
        project, of, RUN,
        machine=machine.describe(), binaries={"loop.c": binary},
        rungs={"loop": {"natural": (Reading(("governor",), KNOBS, KNOBS),)}},
        perf=Perf("perf 6", "2", 4000, {"cycles": ""}, {"loop-c": ""}),
        storage={"build": "ext4 on vda"}, files={"data": Made(3, "0" * 63 + "2")},
        unmeasured={"loop.c.pre_fault": "no such tool"}, walls_ns={"loop.c.natural": 1000},
        skipped={"loop.c.natural": 1}, resumed=(2,), missing={"rust": "no cargo"},
        options=("--seed 1",), disturbances=("another run",), boot="b", c_library="glibc 2.36",
        attached={
            "loop-c.folded": "loop;main;step 3\n",
            "loop-c.profile.json": json.dumps(PROFILE, indent=1, sort_keys=True) + "\n",
        },
    )  # fmt: skip
    files.write(root / TEXT, report.stored_text(project, of, stored))
    return project


def checked(project: Project) -> check.Checked:
    """Do what `check` does, but for the programs."""
    found = check.Checked()
    try:
        of = project.load(NAME)
        texts = render.fixture_files(project, of, of.params, of.languages)
        check.check_runs(project, of, texts, found)
    except errors.SpecError as error:  # the template meets what is not there, as check_named says
        found.add(Finding(NAME, "fixture", error.what, error.hint, error.exit_code))
    return found


def agrees(project: Project) -> bool:
    """Return whether `report --check` would say nothing; raises what it would say."""
    run = report.current_run(project, NAME)
    assert run is not None
    text = report.stored_text(project, project.load(NAME), states.stored(project, NAME, run))
    path = report.text_path(project, NAME)
    return files.is_file(path) and files.read_bytes(path) == text.encode()


def resumed(project: Project) -> None:
    """Do what `run --resume` does before it builds; of a stored run and of one under way."""
    states.interrupted(project, NAME)
    states.walls(project, NAME)
    of = project.load(NAME)
    found = states.as_left(project, of, RUN)
    if isinstance(found, states.Interrupted):
        states.options_of(of, found, Options())


def code(task: Callable[[], object]) -> int:
    """Return the exit code that a command would end with; any other exception is a bug of ours."""
    try:
        task()
    except errors.FixturegenError as error:
        assert error.exit_code in (1, 3), error
        return error.exit_code
    return 0
