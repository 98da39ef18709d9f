"""What is rendered again and what is not: a note is only believed while nothing has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixturegen.fixture.project import Project
from fixturegen.render import rendered

TOML = """
title = "A loop"
[params]
length = 8
[[program]]
name = "loop"
languages = ["c"]
rounds = 1
metric.wall = { value = "process.wall_ns", unit = "ns" }
"""
TEXTS = {"c/demo/loop.c": "int main(void) { return 0; }\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "templates" / "demo"
    folder.mkdir(parents=True)
    (folder / "fixture.toml").write_text(TOML)
    (folder / "loop.c.j2").write_text("int main(void) { return 0; }\n")
    for path, text in TEXTS.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    return Project(tmp_path)


def key(project: Project, length: int = 8, languages: tuple[str, ...] = ("c",)) -> str:
    return rendered.key(project, project.load("demo"), {"length": length}, languages)


def test_the_key_knows_templates_parameters_and_languages(project: Project) -> None:
    first = key(project)
    assert first == key(project)
    keys = {first, key(project, length=9), key(project, languages=("c", "rust"))}
    with (project.folder("demo") / "loop.c.j2").open("a") as stream:
        stream.write("// more\n")
    keys.add(key(project))
    (project.folder("demo") / "extra.h.j2").write_text("")
    keys.add(key(project))
    assert len(keys) == 5
    assert all(keys)


def test_what_cannot_be_read_has_no_key(project: Project) -> None:
    (project.folder("demo") / "gone.c.j2").symlink_to("nowhere")
    assert key(project) == ""


def test_sources_are_taken_as_they_are_only_while_they_are_what_was_noted(project: Project) -> None:
    note, wanted = project.build / "demo" / rendered.NOTE, key(project)
    assert rendered.unchanged(note, wanted, project.root) is None
    rendered.remember(note, wanted, TEXTS)
    assert rendered.unchanged(note, wanted, project.root) == TEXTS
    assert rendered.unchanged(note, "another", project.root) is None
    (project.root / "c/demo/loop.c").write_text("int main(void) { return 1; }\n")
    assert rendered.unchanged(note, wanted, project.root) is None


@pytest.mark.parametrize("damaged", ["", "[]", "{}", '{"key": "k"}', '{"key": "k", "sources": 3}'])
def test_a_damaged_note_is_no_note(project: Project, damaged: str) -> None:
    note = project.build / "demo" / rendered.NOTE
    note.parent.mkdir(parents=True)
    note.write_text(damaged)
    assert rendered.unchanged(note, "k", project.root) is None


def test_without_a_key_nothing_is_believed(project: Project) -> None:
    note = project.build / "demo" / rendered.NOTE
    rendered.remember(note, "", TEXTS)
    assert rendered.unchanged(note, "", project.root) is None
