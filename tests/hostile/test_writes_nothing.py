"""What only looks writes nothing: no text, no cache, no folder, not even a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import whole

sys.path.insert(0, str(Path(__file__).parents[1] / "functional"))
import laid

LOOKS = (
    ("list",), ("list", "--json"), ("render", "--check", "--diff"), ("report", "--check"),
    ("check",), ("check", "--json"), ("run", "--plan"), ("run", "--plan", "--json"),
)  # fmt: skip


def snapshot(root: Path) -> dict[str, tuple[int, int, int]]:
    """Return kind, size and time of everything below a folder, itself included."""
    found = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


@pytest.mark.parametrize("cache", ["XDG_CACHE_HOME", "HOME"])
@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_nothing_is_written(tmp_path: Path, words: tuple[str, ...], cache: str) -> None:
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    whole.lay(tmp_path / "project")
    extra = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": ""}
    extra[cache] = str(tmp_path / "home")
    (tmp_path / whole.TEXT.replace("fixtures", "project/fixtures")).write_text("A loop\n")
    before = snapshot(tmp_path)
    done = laid.run(tmp_path / "project", *words, extra=extra, python=("-B",))
    assert done.code == int(words[0] in ("report", "check")), done.said
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("words", [("render",), ("report", "--run", whole.RUN, whole.NAME)])
def test_what_writes_keeps_compiled_templates_and_others_read_them(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    whole.lay(tmp_path / "project")
    extra = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert laid.run(tmp_path / "project", *words, extra=extra).code == 0
    kept = list((tmp_path / "cache/fixturegen/templates").iterdir())
    assert kept
    before = snapshot(tmp_path / "cache")
    assert laid.run(tmp_path / "project", "check", extra=extra).code == 0
    assert snapshot(tmp_path / "cache") == before
