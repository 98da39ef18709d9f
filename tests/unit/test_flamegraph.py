"""Flame graphs by tools that are there, that fail, and that are not."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest

from fixturegen.instruments import flamegraph

SVG = '<?xml version="1.0"?>\n<svg>title</svg>'


@pytest.fixture
def folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of folded stacks, and a PATH with nothing but a folder `bin` beside it."""
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "cat", "true"):
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin" / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    path = tmp_path / "the book's.folded"
    path.write_text("book;main;think 7\nbook;main 3\n")
    return path


@pytest.fixture
def bare(folded: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, under a Python that has no extra `flame`: its programs are elsewhere."""
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(folded.parent / "no-scripts"))
    return folded


def tool(folded: Path, name: str, script: str) -> None:
    path = folded.parent / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_a_tool_the_reason_names_them(bare: Path) -> None:
    picture, reason = flamegraph.draw(bare, "book")
    assert picture == "" and "make flame" in reason and "folded stacks are kept" in reason
    assert flamegraph.tool() == "" and all(d.name in reason for d in flamegraph.DRAWINGS)


@pytest.mark.parametrize("name", ["inferno-flamegraph", "flamegraph.pl"])
def test_a_tool_on_path_draws(bare: Path, name: str) -> None:
    tool(bare, name, f"echo warning >&2; printf '%s %s' '{SVG}' \"$2\"; cat \"$3\" >&2")
    assert flamegraph.tool() == name
    picture, reason = flamegraph.draw(bare, "of-book")
    assert reason == "" and picture == f"{SVG} of-book\n"


@pytest.mark.parametrize("script", ["echo it broke >&2; exit 1", "echo no picture", "kill -9 $$"])
@pytest.mark.parametrize("name", [each.name for each in flamegraph.DRAWINGS])
def test_a_tool_that_fails_is_quoted(bare: Path, name: str, script: str) -> None:
    tool(bare, name, script)
    picture, reason = flamegraph.draw(bare, "book")
    assert picture == "" and reason.startswith(f"{name} drew nothing: ")


def test_the_extra_draws_every_function_and_the_same_again(folded: Path) -> None:
    """It lies beside our own Python, which need not be on PATH; no perf is asked for anything."""
    assert flamegraph.tool() == "flamegraph"
    picture, reason = flamegraph.draw(folded, "of-book")
    assert reason == "" and picture.startswith("<?xml") and picture.endswith("</svg>\n")
    assert "<title>think (7 samples, 70.00%)</title>" in picture and "of-book" in picture
    assert flamegraph.draw(folded, "of-book") == (picture, "")


def test_the_program_of_the_extra_draws_from_path_as_well(bare: Path) -> None:
    own = Path(sysconfig.get_paths()["scripts"], "flamegraph")
    (bare.parent / "bin" / "flamegraph").symlink_to(own)
    picture, reason = flamegraph.draw(bare, "of-book")
    assert reason == "" and "<title>think (7 samples, 70.00%)</title>" in picture
    bare.unlink()
    assert flamegraph.draw(bare, "of-book")[0] == ""
