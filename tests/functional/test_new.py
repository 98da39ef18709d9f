"""`fixturegen new NAME && fixturegen run NAME` works at once, and is worth reading."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import jsonschema
import laid
import pytest

import fixturegen
from fixturegen.fixture import project
from fixturegen.fixture.project import builtin_templates

FILES = ["fixture.toml", "walk.c.j2", "walk.rs.j2", "fixture.schema.json"]


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("cargo")), reason="needs gcc, cargo")
def test_the_first_ten_minutes(tmp_path: Path) -> None:
    made = laid.run(tmp_path, "new", "p05-branches")
    assert (made.code, made.err) == (0, "")
    assert [line for line in made.out.splitlines() if line.startswith("create")] == [
        *(f"create     templates/p05-branches/{name}" for name in FILES),
        "create     .gitignore",
        "create     .gitattributes",
    ]
    assert "fixturegen run p05-branches" in made.out
    ran = laid.run(tmp_path, "run", "p05-branches")
    assert ran.code == 0, ran.said
    assert "fixture: fixtures/p05-branches.txt" in ran.out
    text = (tmp_path / "fixtures/p05-branches.txt").read_text()
    assert text.startswith("What does it cost to walk through memory in another order?\n=====")
    for words in ("walk", "in-order", "shuffled", "Rust", "steady", "claims     4 of 4 hold"):
        assert words in text
    assert laid.run(tmp_path, "check").out.endswith("all agree\n")
    assert sorted(path.name for path in (tmp_path / "c/p05-branches").iterdir()) == [
        "Makefile",
        "measure.h",
        "walk.c",
    ]
    for command in (["make", "-C", "c/p05-branches"], ["c/p05-branches/out/walk", "shuffled"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo-clippy") is None, reason="needs clippy")
def test_the_sources_are_clean(tmp_path: Path) -> None:
    laid.call(tmp_path, "new", "p05")
    laid.call(tmp_path, "render", "p05")
    rust, c = tmp_path / "rust/p05", tmp_path / "c/p05"
    commands = [
        (["cargo", "clippy", "--offline", "--locked", "-q", "--", "-D", "warnings"], rust),
        (["rustfmt", "--check", "--edition", "2021", "walk.rs"], rust),
    ]
    if shutil.which("clang"):
        flags = ["-std=c11", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        commands.append((["clang", *flags, "-o", "walk", "walk.c"], c))
    for command, folder in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for path in (rust / "walk.rs", c / "walk.c"):
        assert len(path.read_text().splitlines()) < 100


def test_an_editor_is_led_to_the_schema(tmp_path: Path) -> None:
    assert laid.call(tmp_path, "new", "p05").code == 0
    toml = (tmp_path / "templates/p05/fixture.toml").read_text()
    directive, name = toml.splitlines()[0].split()
    assert directive == "#:schema"
    schema = json.loads((tmp_path / "templates/p05" / name).read_text())
    validator = jsonschema.Draft7Validator(schema)
    validator.validate(tomllib.loads(toml))
    said = [error.message for error in validator.iter_errors(tomllib.loads(toml + "\nhold = 1"))]
    assert len(said) == 1 and "'hold' was unexpected" in said[0]


def test_in_a_project_nothing_else_changes(tmp_path: Path) -> None:
    laid.project(tmp_path)
    laid.call(tmp_path, "render")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    inner = tmp_path / "article"
    inner.mkdir()
    assert laid.call(inner, "new", "p02-more").code == 0
    after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    added = {str(p.relative_to(tmp_path)) for p in after.keys() - before.keys()}
    for_git = {".gitignore", ".gitattributes"}
    assert added == {f"templates/p02-more/{name}" for name in FILES} | for_git
    assert {path: after[path] for path in before} == before
    names = [entry["name"] for entry in json.loads(laid.call(tmp_path, "list", "--json").out)]
    assert names[:2] == ["p01", "p02-more"]


@pytest.mark.parametrize(
    "name",
    ["P05", "p 05", "../p05", "a/b", "", ".", "..", "_new", "5", "p-", "p_5", "größe", "p\n"],
)
def test_a_bad_name_is_told_how_names_look(tmp_path: Path, name: str) -> None:
    done = laid.call(tmp_path, "new", name)
    assert (done.code, done.out) == (2, "")
    assert "p05-branches" in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", project.IN_BUILD)
def test_a_name_that_build_uses_is_refused_also_when_made_by_hand(
    tmp_path: Path, name: str
) -> None:
    done = laid.call(tmp_path, "new", name)
    assert (done.code, done.out) == (2, "")
    assert f"build/{name} is fixturegen's own" in done.err
    assert not list(tmp_path.iterdir())
    laid.project(tmp_path, name=name)
    for words in (["list"], ["check"], ["build", name], ["run"]):
        done = laid.call(tmp_path, *words)
        assert done.code == 3
        assert f"templates/{name}: {name!r} cannot be the name of a fixture" in done.err
    assert not (tmp_path / "build").exists()


def test_what_build_holds_beside_the_fixtures_is_known() -> None:
    sources = [path.read_text() for path in Path(fixturegen.__file__).parent.rglob("*.py")]
    used = {name for text in sources for name in re.findall(r'\.build / "([^"]+)"', text)}
    assert used == {*project.IN_BUILD}


@pytest.mark.parametrize("kind", ["fixture", "folder", "file", "link"])
def test_an_existing_name_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "templates/p01"
    path.parent.mkdir()
    if kind == "fixture":
        laid.project(tmp_path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to("nowhere")
    done = laid.call(tmp_path, "new", "p01")
    assert done.code == 2
    assert "templates/p01" in done.err
    assert not (path / "walk.c.j2").exists()


def test_a_built_in_name_is_refused(tmp_path: Path) -> None:
    done = laid.call(tmp_path, "new", "p04-first-run")
    assert done.code == 2
    assert "built-in" in done.err


def test_nothing_is_made_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project/templates").symlink_to(tmp_path / "elsewhere")
    done = laid.call(tmp_path / "project", "new", "p05")
    assert done.code == 3
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_beginning_is_made_of_ordinary_templates() -> None:
    assert sorted(p.name for p in (builtin_templates() / "_new").iterdir()) == FILES[:-1]
