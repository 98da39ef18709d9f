"""What git and editors do to texts: conflict markers and line endings, named, with a repair."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import laid
import pytest

from fixturegen import damage
from fixturegen.fixture.project import Project
from fixturegen.runs import states
from tests import recorded

CONFLICT = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project that agrees with itself, with a text, a run and an attachment."""
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


ENDINGS: dict[str, Callable[[bytes], bytes]] = {
    "BOM": lambda content: b"\xef\xbb\xbf" + content,
    "BOM, CR LF": lambda content: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"),
    "CR": lambda content: content.replace(b"\n", b"\r"),
    "CR CR LF": lambda content: content.replace(b"\n", b"\r\r\n"),
    "one CR": lambda content: content[:-1] + b"\r",
    "none at the end": lambda content: content[:-1],
    "two at the end": lambda content: content + b"\n",
}


@pytest.mark.parametrize("kind", ENDINGS)
@pytest.mark.parametrize("name", FILES)
def test_every_other_ending_is_named_and_repaired(root: Path, name: str, kind: str) -> None:
    shown, repair = FILES[name]
    path = root / shown
    if name == "source":
        path = root / (shown := "c/a-loop/Makefile")  # of more than one line
    before = path.read_bytes()
    path.write_bytes(ENDINGS[kind](before))
    done = laid.call(root, "check")
    if "at the end" in kind and "templates" in shown:
        return  # means the same
    assert done.code != 0 and done.out.splitlines()[0].count(shown) == 1, done.said
    assert re.search("has (a byte order mark|CR|another number of final newlines)", done.out)
    if repair:
        laid.call(root, *repair.split()[1:])
    else:
        assert damage.repair(shown) in done.out
        subprocess.run(damage.repair(shown), shell=True, cwd=root, check=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", [name for name in FILES if name != "template"])
def test_what_is_left_of_a_conflict_is_named_too(root: Path, name: str) -> None:
    shown, _ = FILES[name]
    path = root / shown
    first, rest = path.read_text().split("\n", 1)
    path.write_text(f"{first}\ntheirs\n>>>>>>> branch\n{rest}")
    done = laid.call(root, "check")
    assert done.code != 0 and "merge conflict" in done.out and shown in done.out, done.said
    assert "line 3" in done.out


def test_a_rule_that_is_meant_is_no_marker() -> None:
    text = b"Title\n=======\nold\n"
    assert damage.difference(text, text.replace(b"old", b"new")) == ""
    assert "line 3" in damage.difference(b"Title\nold\n>>>>>>> x\n", b"Title\nold\n")


def test_a_text_of_a_built_in_fixture_beside_own_ones_is_compared(root: Path) -> None:
    laid.put(root, {"fixtures/page-cache.txt": "false\n"})
    done = laid.call(root, "check")
    assert done.code == 1 and "fixtures/page-cache.txt does not name its run" in done.out


def test_links_and_folders_of_others_hinder_nothing(root: Path) -> None:
    (root / "c/mine").symlink_to("/usr")
    assert laid.call(root, "check").code == 0
    (root / "go").symlink_to("nowhere")
    done = laid.call(root, "check")
    assert done.code == 3 and "/go: a link" in done.out and done.err == "", "a finding, no more"
    (root / "go").unlink()
    (root / "fixtures/q").symlink_to("a-loop")
    done = laid.call(root, "check")
    assert done.code == 1 and "fixtures/q: there is no fixture 'q'" in done.out


def test_a_text_of_a_partial_run_is_noted(root: Path) -> None:
    lacking = ("fewer rounds than declared: loop",)
    recorded.store(Project(root), recorded.fixture(), "thr64", lacking=lacking)
    before = (root / "fixtures/a-loop.txt").read_bytes()
    done = laid.call(root, "report", "a-loop", "--run", "thr64")
    assert done.code == 2 and "which is of run noon: fewer rounds" in done.err
    assert (root / "fixtures/a-loop.txt").read_bytes() == before
    done = laid.call(root, "report", "a-loop", "--run", "thr64", "--replace")
    assert done.code == 0 and "in place of run noon" in done.out
    done = laid.call(root, "check")
    assert done.code == 0
    assert "comes from run thr64, which is not what the fixture declares: fewer" in done.out


@pytest.mark.parametrize("content", [b"", b"{", b"\0\0"])
def test_an_emptied_run_under_way_says_what_to_remove(root: Path, content: bytes) -> None:
    folder = "build/runs/a-loop/eve"
    laid.put(root, {f"{folder}/context.json": content, f"{folder}/samples.jsonl": b""})
    remove = f"rm -r {folder} removes this run"
    for words in (("--resume",), ("--resume", "--label", "eve"), ("--label", "eve")):
        done = laid.call(root, "run", "a-loop", *words)
        assert done.code in (2, 3) and remove in done.err, done.said
    assert states.begin(Project(root), "a-loop", None, "2026-12-01T00:00:00Z").kept == ""
    done = laid.call(root, "check")
    assert done.code == 0 and remove in done.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file: needs an ordinary user")
@pytest.mark.parametrize("shown", ["c/a-loop/loop.c", "templates/a-loop/loop.c.j2"])
def test_a_file_that_cannot_be_read_hides_no_other_finding(root: Path, shown: str) -> None:
    (root / shown).chmod(0)
    laid.put(root, {"fixtures/q.txt": "x"})
    done = laid.call(root, "check")
    assert done.code == 1 and done.err == ""
    assert f"{shown}: Permission denied" in done.out and "fixtures/q.txt: there is" in done.out


def test_an_empty_symbol_is_wrong_usage(tmp_path: Path) -> None:
    done = laid.call(tmp_path, "inspect", "-s", "", sys.executable)
    assert done.code == 2 and "which symbol?" in done.err


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


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_linked_build_is_not_staged_and_folders_of_others_are(tmp_path: Path) -> None:
    root = tmp_path / "a"
    laid.put(root, {"src/part/out/mine.txt": "x", "src/part/target/mine.txt": "x"})
    assert laid.call(root, "new", "p05").code == 0
    (root / "build").symlink_to(tmp_path)
    git(root, "init", "-q")
    git(root, "add", "-A")
    staged = git(root, "ls-files").split()
    assert "build" not in staged
    assert {"src/part/out/mine.txt", "src/part/target/mine.txt"} <= {*staged}


def test_a_linked_gitignore_is_left_and_its_lines_are_told(tmp_path: Path) -> None:
    outside = tmp_path / "of-all"
    outside.write_text("*.pyc\n")
    root = tmp_path / "a"
    root.mkdir()
    (root / ".gitignore").symlink_to(outside)
    done = laid.call(root, "new", "p05")
    assert done.code == 0 and "add to     .gitignore: /build " in done.out
    assert outside.read_text() == "*.pyc\n"


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
