"""A run in which nothing can start: said before any folder is made, with what to install."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import laid
import pytest
import tiny as tiny_project
from laid import changed
from tiny import Tiny, folder_of_tools

pytestmark = pytest.mark.slow

GCC = ("gcc", "cc", "as", "ld", "collect2", "objdump", "sh", "musl-gcc")
SYSTEM = """

[[program]]
name = "list"
languages = ["system"]
command = "no-such-command"
metric.wall = { value = "process.wall_ns", unit = "ns" }
"""


@pytest.mark.parametrize("command", ["run", "build"])
def test_rust_alone_without_cargo_names_the_package_and_stores_nothing(
    tiny: Callable[..., Tiny], tmp_path: Path, command: str
) -> None:
    project = tiny(languages=("c", "rust"))
    before = sorted(project.root.rglob("*"))
    path = folder_of_tools(tmp_path / "bin", GCC)
    done = project(command, "--language", "rust", env={"PATH": str(path)})
    assert done.code == 6, done.said
    assert "'cargo' is not on PATH" in done.err and "apt-get install cargo" in done.err
    assert sorted(project.root.rglob("*")) == before


def test_a_fixture_of_rust_alone_without_cargo(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    project = tiny(languages=("rust",))
    path = folder_of_tools(tmp_path / "bin", GCC)
    done = project("run", env={"PATH": str(path)})
    assert done.code == 6, done.said
    assert project.finished() == [] and project.under_way() == []


def with_system(root: Path) -> Path:
    toml = changed("\n[[claim]]", SYSTEM + "\n[[claim]]")
    return laid.project(root, toml)


def test_a_system_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    root = with_system(tmp_path)
    before = sorted(root.rglob("*"))
    for command in ("run", "build"):
        done = laid.call(root, command, "--language", "system")
        assert done.code == 2, done.said
        assert "p01: nothing to run in the languages asked for" in done.err
        assert "no-such-command is not on PATH" in done.err
    assert sorted(root.rglob("*")) == before


def test_a_language_that_the_fixture_has_not(tmp_path: Path) -> None:
    root = laid.project(tmp_path)
    done = laid.call(root, "run", "--language", "rust")
    assert done.code == 2, done.said
    assert "nothing to run in the languages asked for" in done.err
    assert not (root / "build").exists() and not (root / "fixtures").exists()


def test_of_several_fixtures_those_that_can_are_run(tiny: Callable[..., Tiny]) -> None:
    project = tiny(rounds=1)
    laid.project(
        project.root, changed('"c"', '"rust"').replace("count.c.", "count.rust."), name="zz-other"
    )
    done = project("run", "--language", "c")
    assert done.code == 0, done.said
    assert "zz-other: nothing to run in the languages asked for" in done.err
    assert len(project.finished()) == 1
    assert not (project.root / "fixtures" / "zz-other").exists()


def test_fixtures_behind_a_link_are_refused_and_build_may_be_elsewhere(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    project = tiny(rounds=1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project.root / "fixtures").symlink_to(elsewhere)
    done = project("run")
    assert done.code == 3, done.said
    assert "fixtures: a link, and nothing behind a link is read or written" in done.err
    assert not list(elsewhere.iterdir())
    (project.root / "fixtures").unlink()
    (project.root / "build").rename(tmp_path / "disk")
    (project.root / "build").symlink_to(tmp_path / "disk")
    assert project("run").code == 0
    (project.root / "fixtures").rename(tmp_path / "kept")
    (project.root / "fixtures").symlink_to(tmp_path / "kept")
    text = tmp_path / "kept" / f"{tiny_project.NAME}.txt"
    text.write_text("changed\n")
    assert project("report").code == 3
    assert text.read_text() == "changed\n"


def test_a_run_without_a_case_that_can_be_measured_is_not_stored(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=1, modes={"far": ["/no/such/file"]})
    project.plant_older()
    laid.project(project.root, name="zz-other")
    done = project("run")
    assert done.code == 2, done.said
    assert "tiny: 1 case not measured: there is no /no/such/file on this machine" in done.err
    assert "tiny: no case can be measured here; nothing is stored" in done.err
    assert project.finished() == [] and project.text.read_text() == tiny_project.OLDER
    assert list(project.under_way()) == []
    assert (project.root / "fixtures/zz-other.txt").is_file()
