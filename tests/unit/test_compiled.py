"""Compiled templates: kept for the user alone, believed only as they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixturegen import render
from fixturegen.render import compiled


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fixturegen" / "templates"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    templates = tmp_path / "templates" / "demo"
    templates.mkdir(parents=True)
    (templates / "text.j2").write_text("{{ params.name }} says {{ 1 + 1 }}\n")
    (templates / "source.j2").write_text('/*{ "constant" }*/\n')
    return templates


def text(folder: Path, dialect: str = "text", name: str = "text.j2") -> str:
    literal = None if dialect == "text" else repr
    created = render.environment([folder], dialect, render.finalizer(literal), keep=True)
    return render.render_text(created, name, {"params": {"name": "Ada"}}, name)


def kept(home: Path) -> list[Path]:
    return sorted(home.iterdir())


def test_a_template_is_compiled_once(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert text(folder) == "Ada says 2\n"
    assert len(kept(home)) == 1
    monkeypatch.setattr("fixturegen.render.sandbox.Sandbox._generate", None)
    assert text(folder) == "Ada says 2\n"


def test_a_changed_template_is_another(home: Path, folder: Path) -> None:
    text(folder)
    (folder / "text.j2").write_text("{{ params.name }} shouts\n")
    assert text(folder) == "Ada shouts\n"
    assert len(kept(home)) == 2


@pytest.mark.parametrize("damage", [b"", b"x" * 200, None])
def test_what_was_damaged_is_compiled_again(home: Path, folder: Path, damage: bytes | None) -> None:
    text(folder)
    (path,) = kept(home)
    good = path.read_bytes()
    path.write_bytes(good[:-1] + b"!" if damage is None else damage)
    assert text(folder) == "Ada says 2\n"
    assert path.read_bytes() == good


def test_a_folder_that_others_may_write_to_is_not_used(home: Path, folder: Path) -> None:
    text(folder)
    home.chmod(0o777)
    assert compiled.cache(keep=True) is None
    home.chmod(0o700)
    assert compiled.cache(keep=True) is not None


def test_without_a_folder_nothing_is_kept(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert compiled.cache(keep=True) is None
    assert text(folder) == "Ada says 2\n"


def test_sources_are_not_kept_for_their_constants_are_literals_of_a_language(
    home: Path, folder: Path
) -> None:
    assert text(folder, "source", "source.j2") == "'constant'\n"
    assert not home.exists()


def test_only_the_newest_are_kept(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "MOST", 2)
    for number in range(4):
        (folder / "text.j2").write_text(f"{number}\n")
        assert text(folder) == f"{number}\n"
    assert len(kept(home)) == 2
