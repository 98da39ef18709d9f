"""The name to install: PyPI's `fixturegen` is another project, so nobody may be sent there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OTHERS = re.compile(
    r"""\b(pip|pipx|uv\s+pip|uv\s+tool)\s+install\s[^\n`]*(?<![\w./-])fixturegen(?![\w.-])"""
)
SEEN = [
    *ROOT.glob("*.md"),
    ROOT / "Makefile",
    ROOT / "pyproject.toml",
    *(
        path
        for folder in ("fixturegen", "templates", "docs", "fixtures", "c", "rust")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".toml", ".j2", ".txt", ".c", ".h", ".rs", ".json"}
    ),
]


def test_command_and_import_have_the_name_and_the_distribution_another() -> None:
    assert PROJECT["name"] == "fixturegen-perf"
    assert set(PROJECT["scripts"]) == {"fixturegen"}


def test_no_text_sends_anybody_to_the_other_project() -> None:
    found = [f"{path}: {m[0]}" for path in SEEN if (m := OTHERS.search(path.read_text()))]
    assert found == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pip install fixturegen", True),
        ("pip install 'fixturegen[flame]'", True),
        ("pip install --upgrade fixturegen==1", True),
        ("pipx install fixturegen", True),
        ("pip install fixturegen-perf", False),
        ("pip install 'fixturegen-perf[flame]'", False),
        ("pip install .` gives what `fixturegen run` needs", False),
    ],
)
def test_what_is_looked_for(text: str, wrong: bool) -> None:
    assert bool(OTHERS.search(text)) is wrong
