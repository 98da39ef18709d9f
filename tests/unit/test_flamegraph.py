"""Flame graphs by tools that are there, that fail, and that are not."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from fixturegen.instruments import flamegraph

SVG = '<?xml version="1.0"?>\n<svg>title</svg>'


@pytest.fixture
def folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of folded stacks, and a PATH with nothing but a folder `bin` beside it."""
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "cat"):
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin" / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    path = tmp_path / "book.folded"
    path.write_text("book;main;think 7\nbook;main 3\n")
    return path


def tool(folded: Path, name: str, script: str) -> None:
    if importlib.util.find_spec("pyinferno") is not None:
        pytest.skip("pyinferno is installed and comes first")
    path = folded.parent / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_a_tool_the_reason_names_them(folded: Path) -> None:
    if importlib.util.find_spec("pyinferno") is not None:
        pytest.skip("pyinferno is installed")
    picture, reason = flamegraph.draw(folded, "book")
    assert picture == "" and "fixturegen[flame]" in reason and "folded stacks are kept" in reason


@pytest.mark.parametrize("name", ["inferno-flamegraph", "flamegraph.pl"])
def test_a_tool_on_path_draws(folded: Path, name: str) -> None:
    tool(folded, name, f"echo warning >&2; printf '%s %s' '{SVG}' \"$2\"; cat \"$3\" >&2")
    assert flamegraph.tool() == name
    picture, reason = flamegraph.draw(folded, "of-book")
    assert reason == "" and picture == f"{SVG} of-book\n"


@pytest.mark.parametrize("script", ["echo it broke >&2; exit 1", "echo no picture", "kill -9 $$"])
def test_a_tool_that_fails_is_quoted(folded: Path, script: str) -> None:
    tool(folded, "inferno-flamegraph", script)
    picture, reason = flamegraph.draw(folded, "book")
    assert picture == "" and reason.startswith("inferno-flamegraph drew nothing: ")


def test_pyinferno_draws_every_function(folded: Path) -> None:
    if importlib.util.find_spec("pyinferno") is None:
        pytest.skip("needs pyinferno (the extra `flame`); tools on PATH stand in above")
    picture, reason = flamegraph.draw(folded, "of-book")
    assert reason == "" and "<svg" in picture and picture.endswith("\n")
    assert "think" in picture and "of-book" in picture
