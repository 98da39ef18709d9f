"""Which run a text is of: a head that names no stored run is found, and nothing is rewritten."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import whole
from whole import FOLDER, NAME, TEXT

from fixturegen import report
from fixturegen.runs import states
from tests import recorded

sys.path.insert(0, str(Path(__file__).parents[1] / "functional"))
import laid

RUN = "run        noon, 2026-11-30, seed 1"


def instead(line: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert text.count(RUN) == 1
        return text.replace(RUN, line)

    return change


HEADS: dict[str, Callable[[str], str]] = {
    "one byte": instead("run ./ref, 2026-11-30, seed 1"),
    "a dot": instead("run        ./noon, 2026-11-30, seed 1"),
    "unknown": instead("run        gone, 2026-11-30, seed 1"),
    "outside": instead("run        ../a-loop/noon, 2026-11-30, seed 1"),
    "absolute": instead("run        /noon, 2026-11-30, seed 1"),
    "hidden": instead("run        .noon, 2026-11-30, seed 1"),
    "long": instead(f"run        {'n' * 62}, 2026-11-30, seed 1"),
    "bidi": instead("run        \u202enoon, 2026-11-30, seed 1"),
    "no comma": instead("run        noon"),
    "empty": instead("run        , 2026-11-30, seed 1"),
    "gone": instead(""),
    "twice": instead(f"{RUN}\nfixture    {NAME}\n{RUN}"),
    "of another fixture": lambda text: text.replace(f"fixture    {NAME}", "fixture    b-loop"),
    "elsewhere": lambda text: "\n" * 50 + text,
    "no text": lambda text: "",
    "no head": lambda text: "A loop\n",
}


@pytest.mark.parametrize("name", HEADS)
def test_a_text_that_names_no_stored_run_is_a_finding_and_stays(tmp_path: Path, name: str) -> None:
    project = whole.lay(tmp_path)
    recorded.store(project, project.load(NAME), "later", number=2)
    path = tmp_path / TEXT
    path.write_text(HEADS[name](path.read_text()))
    before = path.read_bytes()
    done = laid.call(tmp_path, "check")
    assert done.code == 1 and f"report  {TEXT} " in done.out and "all agree" not in done.out
    assert ", 0 texts, " in done.out and ", 2 stored runs, " in done.out
    command = f"fixturegen report {NAME} --run NAME --replace makes another run's text of it"
    assert command in done.out
    for words in (("report", "--check"), ("report",)):
        done = laid.call(tmp_path, *words)
        assert done.code == 1 and command in done.err, done.said
        assert path.read_bytes() == before
    assert laid.call(tmp_path, "report", NAME, "--run", "noon").code == 0
    assert laid.call(tmp_path, "check").code == 0


def test_a_head_is_read_where_it_is_written() -> None:
    good = f"A loop\n======\n\nfixture    {NAME}\n{RUN}\nmachine    x\n"
    assert states.named(good, NAME) == "noon"
    assert states.named(good + "run        of the mill\n", NAME) == "noon"
    assert states.named(RUN + "\n", NAME) is None


@pytest.mark.parametrize("kind", ["link", "file", "name", "nothing", "hidden"])
def test_what_lies_among_the_runs_and_is_none_is_a_finding(tmp_path: Path, kind: str) -> None:
    project = whole.lay(tmp_path)
    home = tmp_path / "fixtures" / NAME
    name = {"name": "-rf", "hidden": ".noon"}.get(kind, "stray")
    if kind == "link":
        (home / name).symlink_to("noon")
    elif kind == "file":
        (home / name).write_text("")
    else:
        (home / name).mkdir()
    if kind in ("name", "hidden"):
        (home / name / "context.json").write_text("{}")
    assert states.finished_runs(project, NAME) == ["noon"]
    done = laid.call(tmp_path, "check")
    assert done.code == 1 and f"data    fixtures/{NAME}/{name} " in done.out
    assert laid.call(tmp_path, "report", NAME, "--run", name).code == 2


def test_the_folder_of_all_runs_is_no_link(tmp_path: Path) -> None:
    whole.lay(tmp_path)
    home = tmp_path / "fixtures" / NAME
    home.rename(tmp_path / "elsewhere")
    home.symlink_to(tmp_path / "elsewhere")
    done = laid.call(tmp_path, "check")
    assert done.code == 3 and "a link" in done.out and "all agree" not in done.out


def test_a_file_that_is_not_of_the_run_is_a_finding(tmp_path: Path) -> None:
    whole.lay(tmp_path)
    for name in ("notes", ".hidden", "loop-rust.folded"):
        (tmp_path / FOLDER / name).write_text("")
        done = laid.call(tmp_path, "check")
        assert done.code == 1 and f"{FOLDER}/{name} is not of the run" in done.out
        (tmp_path / FOLDER / name).unlink()
    os.mkfifo(tmp_path / FOLDER / "pipe")
    assert f"{FOLDER}/pipe is not of the run" in laid.call(tmp_path, "check").out


def test_a_text_beside_a_run_is_compared_and_written_again(tmp_path: Path) -> None:
    project = whole.lay(tmp_path)
    of = project.load(NAME)
    stored = recorded.store(project, of, "try", number=2, lacking=("fewer rounds",))
    beside = stored.folder / "report.txt"
    beside.write_text(report.stored_text(project, of, stored))
    done = laid.call(tmp_path, "check")
    assert done.code == 0 and ", 2 texts, " in done.out
    good = beside.read_text()
    beside.write_text(good + "more\n")
    for words in (("check",), ("report", "--check")):
        done = laid.call(tmp_path, *words)
        assert done.code == 1 and f"fixtures/{NAME}/try/report.txt" in done.out
        assert f"repair: fixturegen report{' ' + NAME if words == ('check',) else ''}" in done.said
    assert laid.call(tmp_path, "report").code == 0
    assert beside.read_text() == good and laid.call(tmp_path, "check").code == 0


def test_one_text_that_is_wrong_hinders_no_other(tmp_path: Path) -> None:
    project = whole.lay(tmp_path)
    folder = tmp_path / "templates" / "b-loop"
    folder.mkdir()
    for path in (tmp_path / "templates" / NAME).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    of = recorded.fixture(name="b-loop")
    recorded.store(project, of, "dusk")
    (tmp_path / TEXT).write_text("A loop\n")
    done = laid.call(tmp_path, "report")
    assert done.code == 1 and "does not name its run in its head" in done.err
    assert "fixtures/b-loop.txt  (run dusk)" in done.out


def test_a_text_or_runs_of_no_fixture_are_findings(tmp_path: Path) -> None:
    """Renamed or invented: nobody would compare the numbers in it."""
    root = whole.lay(tmp_path).root
    text = (root / "fixtures" / f"{NAME}.txt").read_text()
    (root / "fixtures/ghost.txt").write_text(text)
    shutil.copytree(root / "fixtures" / NAME, root / "fixtures/other")
    (root / "fixtures/README.md").write_text("notes are nobody's text\n")
    done = laid.call(root, "check")
    assert done.code == 1
    assert "fixtures/ghost.txt: there is no fixture 'ghost'" in done.out
    assert "fixtures/other: there is no fixture 'other'" in done.out
    assert "README" not in done.out


def test_check_says_what_an_older_run_without_a_text_cannot_prove(tmp_path: Path) -> None:
    name = "noise-ladder"  # of format 1
    root = Path(__file__).parents[1] / "old"
    shutil.copytree(root / "templates", tmp_path / "templates")
    laid.put(tmp_path, {f"fixtures/{name}.txt": (root / f"fixtures/{name}.txt").read_bytes()})
    for path in (root / "fixtures" / name / "reference").iterdir():
        content = path.read_bytes()
        laid.put(tmp_path, {f"fixtures/{name}/reference/{path.name}": content})
        other = content.replace(b'"run": "reference"', b'"run": "other"')
        laid.put(tmp_path, {f"fixtures/{name}/other/{path.name}": other})
    assert laid.call(tmp_path, "render", name).code == 0
    done = laid.call(tmp_path, "check", name)
    assert done.code == 0, done.said
    assert f"note    run other of {name} has an older format and no text" in done.out
    assert f"note    run reference of {name}: has format 1 and does not tell its sources" in (
        done.out
    )


def test_report_check_sees_an_added_file_of_a_run_too(tmp_path: Path) -> None:
    root = whole.lay(tmp_path).root
    assert laid.call(root, "report", "--check").code == 0
    laid.put(root, {f"fixtures/{NAME}/noon/extra.svg": "x"})
    done = laid.call(root, "report", "--check")
    assert done.code == 1 and "extra.svg is not of the run" in done.err, done.said
