"""What `check` and `list` tell when something is broken: all of it, and of the others too."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import laid
import pytest
from laid import changed

from fixturegen import files, report
from fixturegen.errors import FileError
from tests import recorded

if TYPE_CHECKING:
    from tiny import Tiny


def two(root: Path) -> Path:
    laid.project(root, changed("rounds = 2", "round = 2"))
    laid.project(root, name="p02")
    return root


def test_a_fixture_that_is_wrong_is_one_finding_among_the_others(tmp_path: Path) -> None:
    done = laid.call(two(tmp_path), "check")
    assert done.code == 3 and done.err == ""
    assert "fixture templates/p01/fixture.toml: program 'count': unknown key 'round'" in done.out
    assert "did you mean 'rounds'?" in done.out
    assert "repair: fixturegen render p02" in done.out
    assert laid.call(tmp_path, "render", "p02").code == 0
    done = laid.call(tmp_path, "check", "--json")
    assert done.code == 3
    assert [f["kind"] for f in json.loads(done.out)["findings"]] == ["fixture"]
    assert "2 program files, 0 stored runs, 0 texts, 0 claims: 1 finding\n" in (
        laid.call(tmp_path, "check").out
    )


def test_a_template_that_is_wrong_is_a_finding_too(tmp_path: Path) -> None:
    laid.project(tmp_path, source="/*{ params.lenth }*/\n")
    laid.project(tmp_path, name="p02")
    done = laid.call(tmp_path, "check")
    assert done.code == 3
    at = "fixture templates/p01/count.c.j2:1"
    assert (
        f"{at}: params has no 'lenth'\n        repair: edit it: did you mean 'length'?" in done.out
    )
    assert "p02" in done.out


def test_a_fixture_toml_that_cannot_be_read_is_a_finding_too(tmp_path: Path) -> None:
    laid.project(tmp_path, name="p02")
    (tmp_path / "templates/p01/fixture.toml").mkdir(parents=True)
    done = laid.call(tmp_path, "check")
    assert done.code == 3
    assert "not a regular file" in done.out and "c/p02/" in done.out
    assert "p02  A small fixture" in laid.call(tmp_path, "list").out


def test_list_shows_the_others(tmp_path: Path) -> None:
    done = laid.call(two(tmp_path), "list")
    assert done.code == 3
    assert "did you mean 'rounds'?" in done.err
    assert "p02  A small fixture" in done.out and "p01" not in done.out
    found = laid.call(tmp_path, "list", "--json")
    assert found.code == 3 and "p02" in [entry["name"] for entry in json.loads(found.out)]


def test_no_program_at_all_is_one_finding_a_fixture(tmp_path: Path) -> None:
    laid.project(tmp_path)
    done = laid.call(tmp_path, "check")
    assert done.code == 1
    assert "render  none of the 2 program files is there: c/p01/\n" in done.out
    assert done.out.endswith("claims: 1 finding\n")
    assert laid.call(tmp_path, "render").code == 0
    (tmp_path / "c/p01/Makefile").unlink()
    assert "render  c/p01/Makefile is missing" in laid.call(tmp_path, "check").out
    assert "1 file differs from what" in laid.call(tmp_path, "render", "--check").err


def test_a_text_that_is_not_utf8_is_found_and_written_anew(tmp_path: Path) -> None:
    project = recorded.lay(tmp_path)
    for suffix in ("c", "rs"):
        (tmp_path / "templates" / "a-loop" / f"loop.{suffix}.j2").write_text("int x;\n")
    recorded.store(project, recorded.fixture())
    assert laid.call(tmp_path, "render").code == 0
    assert laid.call(tmp_path, "report").code == 0
    assert laid.call(tmp_path, "check").code == 0
    path = report.text_path(project, "a-loop")
    good = path.read_bytes()
    path.write_bytes(good + b"\xff\n")
    done = laid.call(tmp_path, "check")
    assert done.code == 1
    assert "report  fixtures/a-loop.txt is not what the samples of run noon give" in done.out
    assert "repair: fixturegen report a-loop" in done.out
    done = laid.call(tmp_path, "report", "--check")
    assert done.code == 1
    assert r"-\xff" in done.out and "1 text differs from what the samples give" in done.err
    assert laid.call(tmp_path, "report").code == 0
    assert path.read_bytes() == good


def test_list_tells_values_as_toml_has_them_and_the_last_runs(tmp_path: Path) -> None:
    project = recorded.lay(tmp_path, recorded.TOML.replace("skip = 1", "skip = 1\nfast = true"))
    for name in "abcde":
        recorded.store(
            project, recorded.fixture(), name, started=f"2026-11-30T12:00:0{ord(name) % 10}Z"
        )
    done = laid.call(tmp_path, "list", "a-loop")
    assert "parameters: skip=1, fast=true\n" in done.out
    assert "2 claims; 5 stored runs, the last: " in done.out
    assert done.out.splitlines()[-1].count(", ") == 3
    done = laid.call(tmp_path, "list")
    own, _, builtin = done.out.partition("\nBuilt-in fixtures:\n")
    assert "a-loop" in own and "p04-first-run" in builtin and "p04-first-run" not in own


@pytest.mark.parametrize("option", [[], ["--set", "fast=false"]])
def test_a_changed_truth_is_repeated_as_set_takes_it(option: list[str]) -> None:
    from fixturegen.runs.options import Options

    sets = {"fast": False} if option else {}
    assert Options(sets=sets).typed() == ([" ".join(option)] if option else [])


def test_an_include_that_leads_outside_is_told_with_its_line(tmp_path: Path) -> None:
    laid.project(tmp_path, source='int x;\n//% include "../secret"\n')
    done = laid.call(tmp_path, "render")
    assert done.code == 3
    assert done.err.startswith(
        "fixturegen: templates/p01/count.c.j2:2: template '../secret': leads outside"
    )


def limited(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command where no file may become longer than nothing."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "fixturegen", *words],
        cwd=folder,
        env=laid.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )


@pytest.mark.parametrize("templates", [False, True])
def test_new_leaves_nothing_where_nothing_can_be_written(tmp_path: Path, templates: bool) -> None:
    if templates:
        laid.project(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = limited(tmp_path, "new", "abc")
    assert done.returncode == 74, done.stderr
    assert "limit on the size of a file" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert laid.call(tmp_path, "new", "abc").code == 0


def test_a_lock_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("x")
    script = (
        "import resource; from pathlib import Path; from fixturegen import files\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        f"try:\n    with files.lock(Path({str(path)!r}), 'me', wait=False): pass\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith(f"{FileError.__name__} cannot lock {path}: "), done
    with files.lock(path, "me", wait=False):
        assert path.read_text() == "me\n"


def test_a_text_of_other_programs_is_found(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    assert project("run").code == 0
    toml = project.templates / "fixture.toml"
    toml.write_text(toml.read_text().replace("step = 7", "step = 8"))
    assert project("render").code == 0
    done = project("check")
    assert done.code == 1
    assert "behind the text, was made with other parameters: step" in done.said
    assert "repair: fixturegen run tiny" in done.said


@pytest.mark.parametrize("builds", ["before the run", "after the run"])
def test_a_first_build_leaves_a_stored_run_and_its_text_as_they_are(
    tiny: Callable[..., Tiny], builds: str
) -> None:
    claims = {"It is seven.": "each(act.c.calm.n == 7) and act.c.default.other.n == 8"}
    project = tiny(claims=claims)
    toml = project.templates / "fixture.toml"
    plain = (
        toml.read_text()
        + '[[program.mode]]\nname = "path"\nargs = ["value", "9", "{act.c.default}"]\n'
    )
    build = '\n[[program.build]]\nname = "default"\n'
    first, second = (plain + build, plain) if builds == "before the run" else (plain, plain + build)
    toml.write_text(first)
    assert project("run").code == 0
    text = project.text.read_bytes()
    toml.write_text(second)
    assert project("check").said.endswith("all agree\n")
    assert project("report").code == 0
    assert project.text.read_bytes() == text
    (run,) = project.finished()
    assert {sample["case"] for sample in project.samples(run)} >= {"act.c.calm", "act.c.path"}


def test_a_text_of_other_flags_is_found(tiny: Callable[..., Tiny]) -> None:
    project = tiny(claims={"It is seven.": "each(act.c.calm.n == 7)"})
    toml = project.templates / "fixture.toml"
    plain = toml.read_text()
    build = '\n[[program.build]]\nname = "default"\nc.cflags = [{}]\n'
    toml.write_text(plain + build.format('"-DA"'))
    assert project("run").code == 0
    assert project("check").code == 0
    toml.write_text(plain + build.format('"-DB"'))
    assert project("render").code == 0
    done = project("check")
    assert done.code == 1
    assert "was made with another fixture.toml: act.build.default.c.cflags" in done.said
