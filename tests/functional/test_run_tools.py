"""Compilers that are missing, and sources that do not compile."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import OLDER, Tiny, folder_of_tools

pytestmark = pytest.mark.slow

# What gcc itself needs to find on PATH, and the launcher's own compiler.
GCC = ("gcc", "cc", "as", "ld", "collect2", "objdump", "sh", "musl-gcc")


def test_without_cargo_c_alone_is_run_said_and_never_replaces_a_complete_text(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    project = tiny(languages=("c", "rust"), rounds=1)
    project.plant_older()
    path = folder_of_tools(tmp_path / "bin", GCC)
    done = project("run", "--label", "now", env={"PATH": str(path)})
    assert done.code == 0, done.said
    assert "Rust left out: cargo is not on PATH" in done.out
    assert "not the fixture's text, because: languages left out: rust" in done.out
    assert project.text.read_text() == OLDER
    (folder,) = project.finished()
    text = (folder / "report.txt").read_text()
    assert "Rust left out: cargo is not on PATH" in text
    assert {s["case"] for s in project.samples(folder)} == {"act.c.calm", "act.c.other"}


def test_resume_without_cargo_is_refused_if_the_run_began_with_it(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo")
    project = tiny(languages=("c", "rust"), rounds=1, modes={"a": ["value", "7"], "b": ["orphan"]})
    assert project("run").code == 5
    path = folder_of_tools(tmp_path / "bin", GCC)
    done = project("run", "--resume", env={"PATH": str(path)})
    assert done.code == 2, done.said
    assert "other languages than when it began" in done.err


@pytest.mark.parametrize("command", ["build", "run"])
def test_without_gcc_the_package_is_named(
    tiny: Callable[..., Tiny], tmp_path: Path, command: str
) -> None:
    project = tiny()
    project.plant_older()
    path = folder_of_tools(tmp_path / "bin", ("sh", "ld", "objdump"))
    for value in (str(path), ""):
        done = project(command, env={"PATH": value})
        assert done.code == 6, done.said
        assert "no C compiler: 'gcc' is not on PATH" in done.err
        assert "apt-get install gcc libc6-dev" in done.err
    assert project.text.read_text() == OLDER and project.under_way() == []


def test_error_of_the_compiler_is_shown_with_its_own_words(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    project.plant_older()
    source = project.templates / "act.c.j2"
    source.write_text(source.read_text().replace("return 0;\n}", "return undeclared_name;\n}"))
    for command in (["build"], ["run"]):
        done = project(*command)
        assert done.code == 4, done.said
        assert "act-c-default: the C build failed (exit 1): gcc -std=c11" in done.err
        assert "undeclared_name" in done.err and "| act.c:" in done.err
        assert "the source is in c/tiny, its template in templates/" in done.err
    assert project.text.read_text() == OLDER and project.under_way() == []
