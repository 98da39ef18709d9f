"""The journal: what is taken from it, what is refused, and what a boot ends."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixturegen import errors, tune
from fixturegen.tune import journal, table

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
from knobs import ASLR, JOURNAL, governor, held, value
from trees import lay

ROOT = os.geteuid() == 0
Spoil = Callable[[Path], None]


def applied(root: Path) -> Path:
    """A machine with its governors turned, and the journal of it."""
    tune.apply(knobs.intel(root), ["governor"])
    return root / JOURNAL


def edited(change: Callable[[dict[str, Any]], None]) -> Spoil:
    def spoil(path: Path) -> None:
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    return spoil


def entry(**fields: Any) -> Spoil:
    return edited(lambda data: data["entries"][0].update(fields))


HOSTILE: dict[str, Spoil] = {
    "a path outside of the table": entry(path="etc/passwd"),
    "a path upwards": entry(path=f"{governor(0)}/../../../../../../../etc/passwd"),
    "an absolute path": entry(path="/etc/passwd"),
    "a value that is none": entry(old="root::0:0:"),
    "a new value that is none": entry(new="x\n"),
    "a knob that is none": entry(knob="passwd"),
    "another knob's path": entry(path=ASLR),
    "a number for a text": entry(old=1),
    "an unknown key": edited(lambda data: data.update(more=1)),
    "a missing key": edited(lambda data: data.pop("boot")),
    "another format": edited(lambda data: data.update(format=2)),
    "entries that are no list": edited(lambda data: data.update(entries={})),
    "empty": lambda path: path.write_bytes(b"") and None,
    "torn": lambda path: os.truncate(path, path.stat().st_size // 2),
    "not UTF-8": lambda path: path.write_bytes(b'{"by":"\xff"}') and None,
    "nested": lambda path: path.write_bytes(b"[" * 200_000) and None,
    "huge": lambda path: os.truncate(path, 64 << 20),
    "world-writable": lambda path: path.chmod(0o646),
    "group-writable": lambda path: path.chmod(0o664),
    "in a folder that all may write": lambda path: path.parent.chmod(0o777),
}


def replaced_by_link(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


def replaced_by_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def replaced_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def folder_is_a_link(path: Path) -> None:
    path.parent.rename(path.parents[1] / "other")
    path.parent.symlink_to("other")


HOSTILE |= {
    f.__name__: f
    for f in (replaced_by_link, replaced_by_fifo, replaced_by_folder, folder_is_a_link)
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_journal_that_cannot_be_trusted_is_not_used(tmp_path: Path, name: str) -> None:
    path = applied(tmp_path)
    HOSTILE[name](path)
    before = held(tmp_path)
    for act in (lambda: tune.restore(tmp_path), lambda: tune.apply(tmp_path, ["thp"])):
        with pytest.raises(errors.CheckError) as caught:
            act()
        assert "by hand" in caught.value.hint or "version" in caught.value.hint
    with pytest.raises(errors.CheckError):
        journal.peek(tmp_path)
    assert held(tmp_path) == before


@pytest.mark.skipif(not ROOT, reason="needs root to give a file away; modes stand in above")
@pytest.mark.parametrize("whose", ["file", "folder"])
def test_a_journal_of_another_user_is_not_used(tmp_path: Path, whose: str) -> None:
    path = applied(tmp_path)
    os.chown(path if whose == "file" else path.parent, 65534, 65534)
    before = held(tmp_path)
    with pytest.raises(errors.CheckError, match="belongs to user 65534, not to root"):
        tune.restore(tmp_path)
    assert held(tmp_path) == before


def test_random_damage_never_names_what_no_knob_is(tmp_path: Path) -> None:
    path = applied(tmp_path)
    whole = path.read_bytes()
    generator = random.Random(7)
    refused = 0
    for _ in range(1000):
        data = bytearray(whole)
        for _ in range(generator.randint(1, 3)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        path.write_bytes(data)
        try:
            found = journal.peek(tmp_path)
        except errors.CheckError:
            refused += 1
            continue
        assert found is not None
        assert all(table.permitted(e.knob, e.path, e.old) for e in found.entries)
        assert all(e.new is None or table.permitted(e.knob, e.path, e.new) for e in found.entries)
    assert refused > 500


def test_a_journal_of_an_earlier_boot_is_dropped_with_a_note(tmp_path: Path) -> None:
    path = applied(tmp_path)
    lay(tmp_path, {"proc/sys/kernel/random/boot_id": "another", governor(0): "powersave"})
    before = held(tmp_path)
    done = tune.restore(tmp_path)
    assert (done.turned, done.backs) == (False, ())
    assert "earlier boot was dropped" in done.notes[0]
    assert held(tmp_path) == before
    assert not path.exists()


def test_apply_drops_a_journal_of_an_earlier_boot_too(tmp_path: Path) -> None:
    applied(tmp_path)
    lay(tmp_path, {"proc/sys/kernel/random/boot_id": "another"})
    assert "earlier boot" in tune.apply(tmp_path, ["thp"]).notes[0]


def test_the_journal_is_there_before_the_first_write_and_nobody_else_may_write_it(
    tmp_path: Path,
) -> None:
    root = knobs.intel(tmp_path)
    log = knobs.Writes(root)
    (root / "run/fixturegen").mkdir(parents=True)
    log.close()
    log = knobs.Writes(root)
    umask = os.umask(0)
    try:
        tune.apply(root, ["governor"])
    finally:
        os.umask(umask)
    order = log.take()
    log.close()
    assert order.index("run/fixturegen/.tune.json.new") < order.index(governor(0))
    assert (root / JOURNAL).stat().st_mode & 0o777 == 0o644
    assert (root / "run/fixturegen/lock").stat().st_mode & 0o777 == 0o600
    data = json.loads((root / JOURNAL).read_text())
    assert data["boot"] == value(root, "proc/sys/kernel/random/boot_id")
    assert {e["old"] for e in data["entries"] if "governor" in e["path"]} == {"powersave"}


def test_a_journal_that_cannot_be_written_leaves_the_knobs_alone(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    (root / "run").write_text("no folder")
    before = held(root)
    with pytest.raises(errors.CheckError, match="not a folder"):
        tune.apply(root, ["governor"])
    assert held(root) == before
