"""Links, pipes and sockets where a project's own files belong: nothing outside is read or written.

Each case is a project that agrees with itself, in which one file or folder was replaced by a link
to what its author does not own. No command may show what is behind it, change it, or wait for it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixturegen import errors, files

sys.path.insert(0, str(Path(__file__).parents[1]))
import recorded

sys.path.insert(0, str(Path(__file__).parents[1] / "functional"))
import laid

NAME = "a-loop"
SECRET = "TOKEN=3141592653589793"
SOURCE = {
    "loop.c.j2": "int main(void) { return 0; }\n",
    "loop.rs.j2": "fn main() {}\n",
    "report.txt.j2": '{% include "_lib_piece.txt.j2" %}\n{% include "own.txt.j2" %}\n',
    "own.txt.j2": '{% import "report_parts.j2" as parts %}\n{{ parts.head() }}\n',
}
RUN = f"fixtures/{NAME}/noon"
SAFE = (
    ("list", NAME),
    ("render", "--check", "--diff"),
    ("report", "--check"),
    ("check",),
    ("run", "--plan"),
    ("render",),
    ("report",),
)
FILES = (
    f"templates/{NAME}/fixture.toml",
    f"templates/{NAME}/loop.c.j2",
    f"templates/{NAME}/own.txt.j2",
    "templates/_lib/_lib_piece.txt.j2",
    f"c/{NAME}/loop.c",
    f"c/{NAME}/Makefile",
    f"fixtures/{NAME}.txt",
    f"{RUN}/context.json",
    f"{RUN}/samples.jsonl.gz",
)
FOLDERS = (
    "templates",
    f"templates/{NAME}",
    "templates/_lib",
    "c",
    f"c/{NAME}",
    "fixtures",
    f"fixtures/{NAME}",
    RUN,
)


def complete(root: Path) -> Path:
    """Lay a project with templates, programs, a stored run and its text, which all agree."""
    project = recorded.lay(root, name=NAME)
    for name, text in SOURCE.items():
        (root / "templates" / NAME / name).write_text(text)
    laid.put(root, {"templates/_lib/_lib_piece.txt.j2": HEAD})
    recorded.store(project, project.load(NAME))
    for words in (("render",), ("report", "--run", "noon")):
        assert laid.call(root, *words).code == 0
    return root


HEAD = """{{ run.title }}

run        {{ run.name }}, {{ run.date }}, seed {{ run.seed }}
digest     {{ run.digest }}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return complete(tmp_path_factory.mktemp("complete") / "project")


@pytest.fixture
def here(built: Path, tmp_path: Path) -> Path:
    """Return a project of its own, beside which lies what belongs to somebody else."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET + "\n")
    return Path(shutil.copytree(built, tmp_path / "project"))


def state(folder: Path) -> dict[str, tuple[int, int, str, bytes]]:
    """Return mode, time, link and content of all that is in `folder`."""
    return {
        str(path.relative_to(folder)): (
            (status := path.lstat()).st_mode,
            status.st_mtime_ns,
            str(path.readlink()) if path.is_symlink() else "",
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }


def insist(root: Path, outside: Path) -> None:
    """Run every safe command; none may show, change or wait for anything outside."""
    before, codes = state(outside), {}
    for words in SAFE:
        done = laid.run(root, *words, timeout_s=20)
        assert SECRET not in done.said, (words, done.said)
        codes[words] = done.code
        assert state(outside) == before, words
    for path in (p for p in root.rglob("*") if p.is_file() and not p.is_symlink()):
        if outside not in path.resolve().parents:
            assert SECRET.encode() not in path.read_bytes(), path
    assert codes["check",] in (1, 3), codes


def test_the_project_agrees_before(here: Path) -> None:
    for words in SAFE:
        done = laid.run(here, *words)
        assert done.code == 0, done.said


@pytest.mark.parametrize("place", FILES)
def test_a_link_in_the_place_of_a_file(here: Path, place: str) -> None:
    (here / place).unlink()
    (here / place).symlink_to(here.parent / "outside" / "secret")
    insist(here, here.parent / "outside")


@pytest.mark.parametrize("place", FOLDERS)
def test_a_link_in_the_place_of_a_folder(here: Path, place: str) -> None:
    """What was there lies outside now, and is somebody else's: not even it may be changed."""
    outside = here.parent / "outside" / "moved"
    (here / place).rename(outside)
    (here / place).symlink_to(outside)
    if place.startswith("templates"):  # an include that would put a key into a text
        for path in outside.rglob("*.txt.j2"):
            path.write_text(path.read_text() + SECRET)
    insist(here, here.parent / "outside")


@pytest.mark.parametrize("place", FILES)
@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "environ"])
def test_what_is_no_file_is_not_waited_for(
    here: Path, place: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = here / place
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "environ":
        path.symlink_to("/proc/self/environ")
    else:
        monkeypatch.chdir(path.parent)  # the name of a socket is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    token = {"TOKEN": SECRET.partition("=")[2]}
    for words in (("check",), ("report", "--check"), ("render", "--check", "--diff")):
        done = laid.run(here, *words, extra=token, timeout_s=20)
        assert SECRET not in done.said
        assert done.code in ((1, 3) if words == ("check",) else (0, 1, 3, 74)), (words, done.said)


@pytest.fixture
def planted(here: Path) -> Iterator[Callable[[Path], Path]]:
    """Return what lays a link under each name that a writer of a file used to take."""

    def plant(target: Path) -> Path:
        victim = here.parent / "outside" / "victim"
        victim.write_text(SECRET)
        victim.chmod(0o600)
        most = int(Path("/proc/sys/kernel/pid_max").read_text())
        now = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, check=True)
        for number in range(int(now.stdout), int(now.stdout) + 3000):
            (target.parent / f".{target.name}.{number % most}.tmp").symlink_to(victim)
        return victim

    yield plant


@pytest.mark.parametrize(
    ("place", "words"), [(f"c/{NAME}/loop.c", ("render",)), (f"fixtures/{NAME}.txt", ("report",))]
)
def test_links_under_temporary_names_lead_nowhere(
    here: Path, planted: Callable[[Path], Path], place: str, words: tuple[str, ...]
) -> None:
    kept = (here / place).read_text()
    lines = kept.splitlines(keepends=True)
    (here / place).write_text("".join([*lines[:3], "changed\n", *lines[4:]]))
    victim = planted(here / place)
    done = laid.run(here, *words)
    assert done.code == 0, done.said
    assert (here / place).read_text() == kept
    assert victim.read_text() == SECRET and victim.stat().st_mode & 0o777 == 0o600


def test_a_temporary_name_is_another_each_time(tmp_path: Path) -> None:
    seen = set()

    def pieces() -> Iterator[bytes]:
        seen.update(path.name for path in tmp_path.glob(".*.tmp"))
        yield b"x"

    for number in range(20):
        files.write_pieces(tmp_path / "a", (piece for piece in pieces()))
        assert len(seen) == number + 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_becomes_a_link_in_between_is_not_followed(tmp_path: Path) -> None:
    """Between two parts of a path nobody can put a link that leads out: it is met, or too late."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        (folder / "sub").mkdir(parents=True)
    (inside / "sub/file").write_text("mine")
    (outside / "sub/file").write_text(SECRET)

    def swap() -> Iterator[bytes]:
        yield b"written"
        (inside / "sub").rename(tmp_path / "away")
        (inside / "sub").symlink_to(outside / "sub")

    files.write_pieces(inside / "sub/file", swap())
    assert (outside / "sub/file").read_text() == SECRET
    assert (tmp_path / "away/file").read_text() == "written"
    for action in (files.read_bytes, files.sha256, files.is_file, files.names, files.remove):
        with pytest.raises(errors.LinkError, match="in/sub: a link"):
            action(inside / "sub/file")


def test_each_way_of_writing_refuses_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text(SECRET)
    for name, target in (("file", outside / "victim"), ("folder", outside)):
        (tmp_path / name).symlink_to(target)
    before = state(outside)
    calls: list[Callable[[Path], object]] = [
        lambda path: files.write(path, "x"),
        lambda path: files.write_pieces(path, [b"x"]),
        files.create,
        files.append_to,
        lambda path: files.truncate(path, 0),
        lambda path: files.lock(path, "me", wait=False).__enter__(),
        lambda path: files.move_folder(tmp_path / "none", path / "x"),
        lambda path: files.write_folder(path / "x", {"a": b""}),
        lambda path: files.make_folder(path / "x"),
        lambda path: files.remove(path / "victim"),
        lambda path: files.remove_folder(path / "sub"),
        lambda path: files.sweep(path),
    ]
    for call in calls:
        for path in (tmp_path / "file", tmp_path / "folder" / "victim", tmp_path / "folder"):
            with pytest.raises((errors.LinkError, errors.FileError)):
                call(path)
            assert state(outside) == before


def test_a_project_in_a_folder_of_everybody_is_nobodys_who_works_below_it(tmp_path: Path) -> None:
    """As below /tmp: another user's templates there would be built and run."""
    everybodys = tmp_path / "tmp"
    mine = everybodys / "mine"
    (mine / "sub").mkdir(parents=True)
    laid.project(everybodys, name="theirs")
    everybodys.chmod(0o1777)
    assert "theirs" not in laid.run(mine / "sub", "list").out
    assert "theirs" in laid.run(everybodys, "list").out  # who goes there means it
    everybodys.chmod(0o755)
    assert "theirs" in laid.run(mine / "sub", "list").out
