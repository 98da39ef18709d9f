"""Compiled templates: kept for the user alone, believed only as they were written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixturegen import render
from fixturegen.languages import LANGUAGES
from fixturegen.render import compiled, sandbox


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache" / "fixturegen" / "templates"
    forget()


def forget() -> None:
    """Be as a process that has just begun."""
    compiled.cache.cache_clear()
    compiled._folder.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    templates = tmp_path / "templates" / "demo"
    templates.mkdir(parents=True)
    (templates / "text.j2").write_text("{{ params.name }} says {{ 1 + 1 }}\n")
    (templates / "source.j2").write_text('/*{ "constant" }*/ /*{ true }*/\n')
    return templates


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Return the names of the templates that are compiled from now on."""
    names: list[str | None] = []
    generate = sandbox.Sandbox._generate

    def noted(self: Any, source: Any, name: str | None, *more: Any, **options: Any) -> str:
        names.append(name)
        return generate(self, source, name, *more, **options)

    monkeypatch.setattr(sandbox.Sandbox, "_generate", noted)
    return names


def text(folder: Path, *, keep: bool = True) -> str:
    created = render.environment([folder], None, keep=keep)
    return render.render_text(created, "text.j2", {"params": {"name": "Ada"}}, "text.j2")


def source(folder: Path, language: str) -> str:
    created = render.environment([folder], LANGUAGES[language].literal, keep=True)
    return render.render_text(created, "source.j2", {}, "source.j2")


def kept(home: Path) -> list[Path]:
    return sorted(home.iterdir())


def test_a_template_is_compiled_once(home: Path, folder: Path, generated: list[str | None]) -> None:
    for _ in range(3):
        assert text(folder) == "Ada says 2\n"
    forget()
    assert text(folder, keep=False) == "Ada says 2\n"
    assert generated == ["text.j2"]
    assert len(kept(home)) == 1
    assert home.stat().st_mode & 0o777 == 0o700
    assert kept(home)[0].stat().st_mode & 0o777 == 0o600


def test_what_only_reads_compiles_once_and_writes_nothing(
    home: Path, folder: Path, generated: list[str | None]
) -> None:
    for _ in range(3):
        text(folder, keep=False)
    assert generated == ["text.j2"]
    assert not home.exists()


def test_a_changed_template_is_another(home: Path, folder: Path) -> None:
    text(folder)
    (folder / "text.j2").write_text("{{ params.name }} shouts\n")
    assert text(folder) == "Ada shouts\n"
    forget()
    assert text(folder) == "Ada shouts\n"
    assert len(kept(home)) == 1  # in the place of the first


def test_a_source_is_kept_for_each_language_for_its_constants_are_literals(
    home: Path, folder: Path, generated: list[str | None]
) -> None:
    expected = {"c": '"constant" 1\n', "rust": '"constant" true\n'}
    for _ in range(2):
        assert {name: source(folder, name) for name in expected} == expected
        forget()
    assert generated == ["source.j2"] * 2
    assert len(kept(home)) == 2


def test_what_was_damaged_is_compiled_again(home: Path, folder: Path) -> None:
    text(folder)
    (path,) = kept(home)
    good = path.read_bytes()
    middle = len(good) // 2
    flipped = bytes([good[middle] ^ 1])
    for damage in (
        b"",
        b"x" * 200,
        good[:16],
        good[:middle],
        good[:-1],
        good[:-1] + b"!",
        good[:middle] + b"\0" * (len(good) - middle),
        good[:middle] + flipped + good[middle + 1 :],
    ):
        path.write_bytes(damage)
        forget()
        assert text(folder) == "Ada says 2\n"
        assert path.read_bytes() == good


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o701])
def test_a_folder_that_others_can_enter_is_not_used(home: Path, folder: Path, mode: int) -> None:
    text(folder)
    home.chmod(mode)
    (path,) = kept(home)
    path.write_bytes(b"")
    forget()
    assert text(folder) == "Ada says 2\n"
    assert path.read_bytes() == b""


def test_a_link_to_a_folder_is_not_used(home: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    home.parent.mkdir(parents=True)
    home.symlink_to(tmp_path / "elsewhere")
    assert text(folder) == "Ada says 2\n"
    assert kept(tmp_path / "elsewhere") == []


def test_without_a_folder_nothing_is_kept(home: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    assert text(folder) == "Ada says 2\n"


@pytest.mark.parametrize("home", [None, "", "relative", "~", "HERE/nonexistent", "HERE/a-file"])
@pytest.mark.parametrize("caches", [None, "", "relative"])
def test_without_a_home_nothing_is_kept_and_nothing_made(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    home: str | None,
    caches: str | None,
) -> None:
    (tmp_path / "a-file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", caches)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value.replace("HERE", str(tmp_path)))
    forget()
    assert compiled._folder(True) is None
    assert text(folder) == "Ada says 2\n"
    assert sorted(tmp_path.rglob("*")) == before
    forget()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who alone can write to another's home")
def test_root_keeps_nothing_in_the_home_of_a_user(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    os.chown(own, 65534, 65534)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(own))
    forget()
    assert text(folder) == "Ada says 2\n"
    assert list(own.iterdir()) == []
    forget()


def test_a_folder_that_has_grown_too_large_is_emptied(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir(mode=0o700, parents=True)
    (home / "of-an-older-version").write_bytes(b"x" * 1000)
    text(folder, keep=False)
    assert len(kept(home)) == 1
    forget()
    text(folder)
    assert len(kept(home)) == 2
    monkeypatch.setattr(compiled, "FULL", 1000)
    forget()
    text(folder)
    assert len(kept(home)) == 1


def test_many_fixtures_compile_what_they_share_once(tmp_path: Path) -> None:
    """Of 20 fixtures in C and Rust, each compiles its own two; the three shared ones are once."""
    toml = (
        'title = "Small"\n[[program]]\nname = "one"\nlanguages = ["c", "rust"]\nrounds = 1\n'
        'metric.wall = { value = "process.wall_ns", unit = "ns" }\n'
    )
    for number in range(20):
        templates = tmp_path / "templates" / f"p{number:02d}"
        templates.mkdir(parents=True)
        (templates / "fixture.toml").write_text(toml)
        (templates / "one.c.j2").write_text("int main(void) { return 0; }\n")
        (templates / "one.rs.j2").write_text("fn main() {}\n")
    code = (
        "from fixturegen.render.sandbox import Sandbox; from fixturegen.cli.main import status;"
        "g = Sandbox._generate; n = [];"
        "Sandbox._generate = lambda s, *a, **k: (n.append(a[1]), g(s, *a, **k))[1];"
        "status(); print(len(n), len(set(n)))"
    )
    counts = []
    for words in (["render", "--check"], ["check"], ["render"], ["render", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "--no-limits", *words],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        counts.append(done.stdout.splitlines()[-1])
    assert counts == ["43 5"] * 3 + ["0 0"] * 2
