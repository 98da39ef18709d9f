"""Bytes of a stored run and its text are changed at random: never a bug, never "all agree"."""

from __future__ import annotations

import functools
import random
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import whole

from fixturegen import check, errors, files, render, report
from fixturegen.fixture.project import Project
from fixturegen.runs import states

sys.path.insert(0, str(Path(__file__).parents[1] / "functional"))
import laid

OLD = Path(__file__).resolve().parents[1] / "old"
OLDER = "noise-ladder"  # of format 1
SEED = 20261130


def flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def delete(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + data[at + chance.randint(1, 8) :]


def insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.randint(1, 8)) + data[at:]


def double(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    end = at + chance.randint(1, 64)
    return data[:end] + data[at:end] + data[end:]


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def swap(data: bytes, chance: random.Random) -> bytes:
    at, other = sorted(chance.sample(range(len(data)), 2))
    changed = bytearray(data)
    changed[at], changed[other] = changed[other], changed[at]
    return bytes(changed)


WAYS: Sequence[Callable[[bytes, random.Random], bytes]] = (flip, delete, insert, double, cut, swap)


@functools.cache
def sources(root: Path, name: str) -> dict[str, str]:
    of = Project(root).load(name)
    return render.fixture_files(Project(root), of, of.params, of.languages)


def checked(project: Project, name: str) -> bool:
    """Return whether `check` finds that all agree."""
    found = check.Checked()
    try:
        check.check_runs(project, project.load(name), sources(project.root, name), found)
    except errors.SpecError:  # a template that meets what is not there
        return False
    assert all(f.what and f.repair for f in found.findings or [])
    return found.findings is None and found.texts == 1


def compared(project: Project, name: str) -> bool:
    """Return whether `report --check` finds that the text is what the samples give."""
    try:
        run = report.current_run(project, name)
        if run is None:
            return False
        stored = states.stored(project, name, run)
        text = report.stored_text(project, project.load(name), stored)
    except errors.FixturegenError as error:
        assert error.exit_code in (1, 3), error
        return False
    path = report.text_path(project, name)
    return files.is_file(path) and files.read_bytes(path) == text.encode()


def mutated(project: Project, name: str, paths: Sequence[Path], count: int) -> int:
    """Change one of the files `count` times, each in another way; return how often it was seen."""
    chance = random.Random(SEED)
    assert checked(project, name) and compared(project, name)
    seen = 0
    for number in range(count):
        path = paths[number % len(paths)]
        before = path.read_bytes()
        way = WAYS[number // len(paths) % len(WAYS)]
        after = way(before, chance)
        if after == before:  # two equal bytes were swapped
            seen += 1
            continue
        path.write_bytes(after)
        said = f"{number}: {way.__name__} of {path.name}"
        assert not checked(project, name), said
        assert not compared(project, name), said
        path.write_bytes(before)
        seen += 1
    assert checked(project, name) and compared(project, name)
    return seen


def test_every_changed_byte_of_a_run_is_seen(tmp_path: Path) -> None:
    project = whole.lay(tmp_path)
    folder = tmp_path / whole.FOLDER
    paths = [tmp_path / whole.TEXT, *sorted(folder.iterdir())]
    assert [path.name for path in paths] == [
        "a-loop.txt", "context.json", "loop-c.folded", "loop-c.profile.json", "samples.jsonl.gz",
    ]  # fmt: skip
    assert mutated(project, whole.NAME, paths, 1940) == 1940


def older(root: Path) -> Project:
    """Return a project with a committed run of format 1."""
    for folder in (f"templates/{OLDER}", "templates/_lib", f"fixtures/{OLDER}"):
        shutil.copytree(OLD / folder, root / folder)
    shutil.copy(OLD / f"fixtures/{OLDER}.txt", root / "fixtures")
    return Project(root)


def test_every_changed_byte_of_a_run_of_the_first_format_is_seen(tmp_path: Path) -> None:
    project = older(tmp_path)
    folder = tmp_path / "fixtures" / OLDER / "reference"
    paths = [tmp_path / f"fixtures/{OLDER}.txt", *sorted(folder.iterdir())]
    assert mutated(project, OLDER, paths, 60) == 60


@pytest.mark.parametrize("at", [4, 8, 9])
def test_the_head_of_the_compressed_file_is_seen_too(tmp_path: Path, at: int) -> None:
    """The time and the system in it change no sample; so does the last byte's unused end."""
    project = older(tmp_path)
    packed = tmp_path / "fixtures" / OLDER / "reference" / "samples.jsonl.gz"
    content = bytearray(packed.read_bytes())
    content[at] ^= 1
    packed.write_bytes(content)
    assert not checked(project, OLDER) and not compared(project, OLDER)


def test_the_commands_themselves_say_it(tmp_path: Path) -> None:
    whole.lay(tmp_path)
    assert laid.call(tmp_path, "check").code == 0
    assert laid.call(tmp_path, "report", "--check").code == 0
    for name in ("context.json", "loop-c.folded", "loop-c.profile.json", "samples.jsonl.gz"):
        path = tmp_path / whole.FOLDER / name
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        for words in (("check",), ("report", "--check"), ("report",)):
            done = laid.call(tmp_path, *words)
            told = "is not" if name.endswith(".gz") else "has another number of final newlines"
            assert done.code == 1 and f"{whole.FOLDER}/{name}: {told}" in done.said, done.said
        path.write_bytes(before)
    assert laid.call(tmp_path, "check").code == 0
