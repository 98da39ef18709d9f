"""Which helper is started, and where: never the one that lies in the project."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fixturegen import process
from fixturegen.launcher import start


def tool(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\necho from $0 in $(pwd)\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("path", [".:{own}", ":{own}", "{own}:", "{own}::", "bin:./bin:{own}:../x"])
def test_only_absolute_folders_of_path_are_looked_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    project, own = tmp_path / "project", tmp_path / "own"
    for folder in (project, project / "bin", tmp_path / "x"):
        tool(folder, "compile")
        tool(folder, "theirs")
    ours = tool(own, "compile")
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", path.format(own=own))
    assert process.find("theirs") is None
    assert process.find("compile") == str(ours)
    assert process.run(["theirs"]).code == 127
    assert process.run(["theirs"], cwd=project).code == 127
    assert process.run(["compile"], cwd=project).stdout == f"from {ours} in {project}\n"
    assert process.environment()["PATH"] == str(own)
    assert start.environment({})["PATH"] == str(own)  # of what is measured as well


@pytest.mark.parametrize("path", [".", "", ":", "bin"])
def test_a_path_without_any_finds_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    tool(tmp_path, "theirs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    assert process.find("theirs") is None and process.run(["theirs"]).code == 127
    assert process.search_path() == process.NOWHERE
    assert process.find("sh") is None


def test_a_helper_is_started_in_no_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert process.run(["pwd"]).stdout == process.capture(["pwd"]) == "/\n"
    assert process.run(["pwd"], cwd=tmp_path).stdout == f"{tmp_path.resolve()}\n"


def test_a_helper_that_takes_too_long_ends_with_what_it_started(tmp_path: Path) -> None:
    left = tmp_path / "left"
    done = process.run(["sh", "-c", f"sleep 600 & echo $! > {left}; wait"], timeout_s=0.3)
    assert (done.code, done.stderr) == (-9, "sh: no end within 0.3 s")
    status = Path("/proc", left.read_text().strip(), "stat")
    for _ in range(100):  # nobody waits for it here: it may stay a zombie
        if not status.exists() or status.read_text().rpartition(") ")[2].startswith("Z"):
            return
        time.sleep(0.05)
    pytest.fail("it goes on")
