"""A run tells what it was made of, and `check` names what is there now and differs from it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest

from fixturegen import render
from fixturegen.build.binary import Binary
from fixturegen.check import Checked, check_runs
from fixturegen.check.made_of import differences, unproven
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture
from fixturegen.report import stored_text
from fixturegen.runs.declared import declared, differing
from fixturegen.runs.states import text_path
from tests.recorded import TOML, context, fixture, lay, store

RICH = TOML.replace('metric.wall = { value = "process.wall_ns", unit = "ns" }\n', "").replace(
    '[[program.mode]]\nname = "pre-fault"\n',
    """\
[[program.mode]]
name = "pre-fault"
args = ["once"]
env = { LD_BIND_NOW = "1" }
prepare = ["evict-file {self}"]
wrapper = "strace-count"
watch = ["meminfo"]
aslr = false
""",
)


def places(before: str, after: str) -> list[str]:
    return differing(declared(fixture(before)), declared(fixture(after)))


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('args = ["once"]', 'args = ["twice"]', "loop.mode.pre-fault.args"),
        ('args = ["once"]\n', "", "loop.mode.pre-fault.args"),
        ('LD_BIND_NOW = "1"', 'LD_BIND_NOW = "2"', "loop.mode.pre-fault.env"),
        ('"evict-file {self}"', '"warm-program {self}"', "loop.mode.pre-fault.prepare"),
        ('wrapper = "strace-count"\n', "", "loop.mode.pre-fault.wrapper"),
        ('watch = ["meminfo"]\n', "", "loop.mode.pre-fault.watch"),
        ("aslr = false\n", "", "loop.mode.pre-fault.aslr"),
        ("page faults'", "faults'", "loop.lines.iteration"),
        ("rounds = 4", 'rounds = 4\noutput = "discard"', "loop.output"),
        ("rounds = 4", "rounds = 5", "loop.rounds"),
        ("rounds = 4", "rounds = 4\ntimeout_s = 5", "loop.timeout_s"),
        ("rounds = 4", "rounds = 4\nexits = [0, 1]", "loop.exits"),
        ("rounds = 4", 'rounds = 4\norder = "fixed"', "loop.order"),
        ("rounds = 4", 'rounds = 4\nkernel = "step"', "loop.kernel"),
        ('languages = ["c", "rust"]', 'languages = ["c"]', "loop.languages"),
    ],
)
def test_each_place_that_decides_what_is_run_is_told(old: str, new: str, place: str) -> None:
    assert old in RICH
    assert place in places(RICH, RICH.replace(old, new, 1))


def test_a_mode_that_is_gone_is_one_place_and_not_each_of_its_keys() -> None:
    gone = RICH[: RICH.index('[[program.mode]]\nname = "pre-fault"')] + "\n"
    gone += RICH[RICH.index("[[claim]]") :].split("[[claim]]")[0]
    assert places(RICH, gone) == ["loop.mode.pre-fault"]


def test_what_is_computed_from_the_samples_may_change_at_any_time() -> None:
    other = RICH.replace("A loop", "Another title").replace("iteration.ns[0]", "iteration.ns[1]")
    other = other.replace("The first is slower.", "It is.").replace("rounds = 4", "rounds = 4\n")
    assert places(RICH, other) == []


def test_what_is_at_its_default_is_not_recorded() -> None:
    plain = 'title = "T"\n[[program]]\nname = "walk"\nlanguages = ["c"]\n'
    assert declared(fixture(plain)) == {"walk.languages": '["c"]', "program": '["walk"]'}
    assert places(plain, plain + "output_limit = 16777216\ncpus = 1\n") == []


def sources(project: Project, of: Fixture) -> dict[str, str]:
    return render.fixture_files(project, of, of.params, of.languages)


def project_with_text(root: Path) -> tuple[Project, Fixture]:
    """Return a project whose run has the sources that its templates give."""
    project = lay(root)
    for suffix in ("c", "rs"):
        (project.folder("a-loop") / f"loop.{suffix}.j2").write_text("sum += at;\n")
    of = project.load("a-loop")
    texts = sources(project, of)
    made = {
        f"loop.{language}": Binary(
            "0" * 64, shown, sources={path: hashlib.sha256(texts[path].encode()).hexdigest()}
        )
        for language, path, shown in (
            ("c", "c/a-loop/loop.c", "gcc -std=c11 -O3 -Wall -Wextra -Wpedantic -Werror "
             "-o out/loop loop.c"),
            ("rust", "rust/a-loop/loop.rs", "cargo rustc --release --offline --locked --bin loop "
             "--target-dir target"),
        )
    }  # fmt: skip
    stored = store(project, of, binaries=made)
    text_path(project, "a-loop").write_text(stored_text(project, of, stored))
    return project, of


def findings(project: Project) -> list[str]:
    of, checked = project.load("a-loop"), Checked()
    check_runs(project, of, sources(project, of), checked)
    return [f"{one.what} -> {one.repair}" for one in checked.findings or ()]


def test_an_edited_source_is_named_and_which_side_is_newer(tmp_path: Path) -> None:
    project, _ = project_with_text(tmp_path)
    assert findings(project) == []
    (project.folder("a-loop") / "loop.c.j2").write_text("sum += 2 * at;\n")
    told = "run noon, behind the text, is of another loop.c: c/a-loop/loop.c"
    assert findings(project) == [f"{told} -> fixturegen run a-loop"]
    source = tmp_path / "c/a-loop/loop.c"
    source.parent.mkdir(parents=True)
    source.write_text("sum += 2 * at;\n")
    (found,) = findings(project)
    assert "(the file is newer than the run, by the file's time)" in found
    os.utime(source, (0, 0))
    (found,) = findings(project)
    assert "(the run is newer than the file, by the file's time)" in found


def test_a_mode_of_other_arguments_is_named(tmp_path: Path) -> None:
    project, _ = project_with_text(tmp_path)
    path = project.folder("a-loop") / "fixture.toml"
    path.write_text(path.read_text().replace('"natural"\n', '"natural"\nargs = ["x"]\n', 1))
    assert findings(project) == [
        "run noon, behind the text, was made with another fixture.toml: "
        "loop.mode.natural.args -> fixturegen run a-loop"
    ]


def test_a_run_of_an_older_format_says_what_cannot_be_told(tmp_path: Path) -> None:
    project, of = project_with_text(tmp_path)
    checked = Checked()
    old = context(of, format=2, binaries={"loop.c": Binary("0" * 64, "gcc", ("gcc",))})
    assert not [d for d in differences(project, of, old, {}) if "fixture.toml" in d.told]
    store(project, of, "old", format=2, number=0, declared={})
    path = text_path(project, "a-loop")
    path.write_text(re.sub("run        noon", "run        old", path.read_text()))
    check_runs(project, of, {}, checked)
    assert [note for note in checked.notes if "cannot be told" in note] == [
        "run old of a-loop: has format 2 and does not tell its programs, modes and lines: "
        "whether these are still the same cannot be told"
    ]


def test_a_binary_without_sources_is_noted_whatever_the_format() -> None:
    of = fixture()
    bare = context(of, binaries={"loop.c": Binary("0" * 64, "gcc", ("gcc",))})
    assert unproven(bare).startswith("has format 3 and does not tell its sources: ")
    found = Binary("0" * 64, "find")  # of the system: there are none
    assert unproven(context(of, binaries={"loop.system": found})) == ""
