"""What git and editors do to texts: conflict markers and line endings, named, with a repair."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import laid
import pytest

from fixturegen import damage
from tests import recorded

pytest.importorskip("fixturegen")
CONFLICT = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project that agrees with itself, with a text, a run and an attachment."""
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1] / "hostile"))
    import whole

    whole.lay(tmp_path)
    assert laid.call(tmp_path, "check").code == 0
    return tmp_path


FILES = {
    "text": ("fixtures/a-loop.txt", "fixturegen report a-loop"),
    "source": ("c/a-loop/loop.c", "fixturegen render a-loop"),
    "template": ("templates/a-loop/report.txt.j2", ""),
    "fixture.toml": ("templates/a-loop/fixture.toml", ""),
    "context": ("fixtures/a-loop/noon/context.json", ""),
    "attachment": ("fixtures/a-loop/noon/loop-c.profile.json", ""),
}


@pytest.mark.parametrize("name", FILES)
def test_line_endings_are_named_and_the_repair_works(root: Path, name: str) -> None:
    shown, repair = FILES[name]
    path = root / shown
    before = path.read_bytes()
    path.write_bytes(before.replace(b"\n", b"\r\n"))
    done = laid.call(root, "check")
    assert done.code != 0
    assert f"{shown}: has CR LF" in done.out or f"{shown} has CR LF" in done.out, done.said
    command = repair or damage.repair(shown)
    assert f"repair: {command}" in done.out or f"repair: edit it: {command}" in done.out
    if repair:
        laid.call(root, *command.split()[1:])
    else:
        subprocess.run(command, shell=True, cwd=root, check=True)
    assert path.read_bytes() == before
    assert laid.call(root, "check").code == 0


@pytest.mark.parametrize("name", FILES)
def test_a_conflict_is_named_with_its_line(root: Path, name: str) -> None:
    shown, _ = FILES[name]
    path = root / shown
    first, rest = path.read_text().split("\n", 1)
    path.write_text(f"{first}\n{CONFLICT}{rest}")
    done = laid.call(root, "check")
    if name == "attachment":  # it is not what was kept: that is all that can be told
        assert done.code == 1 and f"{shown}: is not" in done.out
        return
    assert done.code != 0 and "merge conflict" in done.out and shown in done.out, done.said
    assert "line 2" in done.out or f"{shown}:2" in done.out


def test_rules_below_headings_are_no_conflict() -> None:
    assert damage.conflict(b"Title\n=======\n>>>>>>> x\n<<<<<<< y\n=======\n") == 0
    assert damage.conflict(b"a\n" + CONFLICT.encode()) == 2
    assert damage.conflict(CONFLICT.replace("\n", "\r\n").encode()) == 1


def test_a_report_shows_no_difference_of_every_line(root: Path) -> None:
    path = root / "fixtures/a-loop.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    done = laid.call(root, "report", "--check")
    assert done.code == 1 and "fixtures/a-loop.txt has CR LF line endings" in done.out
    assert len(done.out.splitlines()) < 4


def git(root: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command = ["git", *who, *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_stages_no_build_and_changes_no_line_ending(tmp_path: Path) -> None:
    root = tmp_path / "a"
    root.mkdir()
    (root / ".gitignore").write_text("*.pyc")
    made = laid.call(root, "new", "p05")
    assert "update     .gitignore" in made.out and "create     .gitattributes" in made.out
    assert laid.call(root, "render").code == 0
    for path in ("build/state.json", "c/p05/out/walk", "rust/p05/target/release/walk"):
        laid.put(root, {path: "x"})
    git(root, "init", "-q")
    git(root, "-c", "core.autocrlf=true", "add", "-A")
    staged = git(root, "ls-files").split()
    assert "c/p05/walk.c" in staged and ".gitattributes" in staged
    assert not [p for p in staged if p.startswith("build") or "/out/" in p or "/target/" in p]
    git(root, "commit", "-qm", "x")
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", str(root), "b")
    assert b"\r" not in (tmp_path / "b/c/p05/walk.c").read_bytes()
    assert laid.call(tmp_path / "b", "render", "--check").code == 0
    assert laid.call(root, "new", "p06").out.count(".git") == 0, "nothing is missing any more"


def test_what_a_removed_fixture_leaves_is_found(root: Path) -> None:
    shutil.copytree(root / "templates/a-loop", root / "templates/b-loop")
    shutil.rmtree(root / "templates/a-loop")
    laid.put(root, {"c/mine/notes.c": "int mine;\n"})  # not ours
    assert laid.call(root, "render").code == 0
    done = laid.call(root, "check")
    assert done.code == 1
    for shown in ("fixtures/a-loop.txt: ", "fixtures/a-loop: ", "c/a-loop/: ", "rust/a-loop/: "):
        assert f" {shown}" in done.out, done.out
    assert "mine" not in done.out


def test_nothing_to_compare_is_not_success(tmp_path: Path) -> None:
    for words in (("report", "--check"), ("check",), ("render", "--check")):
        assert laid.call(tmp_path, *words).code != 0, words
    project = recorded.lay(tmp_path)
    assert laid.call(project.root, "report", "--check").code == 1
    assert laid.call(project.root, "report", "a-loop", "--check").code != 0


def test_an_empty_name_of_a_run_is_wrong_usage(root: Path) -> None:
    for words in (("--run", ""), ("--run", "", "--check"), ("--replace",)):
        done = laid.call(root, "report", "a-loop", *words)
        assert done.code == 2 and "which run?" in done.err
