"""A stranger's folder: nothing in it is imported by our Python or started as a tool."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import laid
import pytest
from sudo import PACKAGES

from fixturegen.instruments import registry
from fixturegen.instruments.flamegraph import DRAWINGS
from fixturegen.languages import LANGUAGES
from fixturegen.launcher.compiling import COMPILERS
from fixturegen.machine.tools import KNOWN

SAFE = [
    "--help", "--version", "lst", "list", "list --json", "render --check --diff", "render",
    "report --check", "report", "check", "run --plan", "run --plan --json", "inspect /bin/true",
    "doctor", "doctor --json", "tune show",
]  # fmt: skip
TOOLS = {name for tool in (*KNOWN, *registry.tools()) for name in tool.commands} | {
    c for c, *_ in COMPILERS
}
TOOLS |= {t.command for n in LANGUAGES for t in (*LANGUAGES[n].tools(""), *LANGUAGES[n].compilers)}
TOOLS |= {"git", "ld", "as", "objdump", "addr2line", "sudo", "true"}
TOOLS |= {drawing.name for drawing in DRAWINGS}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with a run, so that its text is written from samples."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    root = laid.project(tmp_path_factory.mktemp("measured") / "project")
    assert laid.run(root, "run", "--label", "now").code == 0
    return root


@pytest.fixture
def root(measured: Path, tmp_path: Path) -> Path:
    return shutil.copytree(measured, tmp_path / "project")


BARE = "import sys; print(*sys.modules)"


@pytest.fixture(scope="session")
def needless(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the modules that Python itself does not need to find what `-m` names.

    The others, and which fixturegen is started, are decided before a line of ours is run.
    """
    folder = laid.put(tmp_path_factory.mktemp("bare"), {"bare/__main__.py": BARE})
    argv = [sys.executable, "-m", "bare"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True)
    others = {*PACKAGES, "rich", "sitecustomize", "usercustomize"}
    return ({*sys.stdlib_module_names} | others) - {*done.stdout.split(), "fixturegen"}


def modules(root: Path, marker: Path, names: Iterable[str]) -> None:
    """Put modules of these names into `root`, some as a file and some as a folder."""
    source = f"open({str(marker)!r}, 'a').write(__name__ + '\\n')\nraise ImportError('hostile')\n"
    for name in names:
        there = len(name) % 2 or (root / name).exists()
        laid.put(root, {f"{name}.py" if there else f"{name}/__init__.py": source})


def tools(folder: Path, marker: Path) -> None:
    """Put a program of each tool's name into `folder` that notes where it was started."""
    laid.put(folder, dict.fromkeys(TOOLS, f'#!/bin/sh\necho "$0 in $(pwd)" >> {marker}\n'))
    for name in TOOLS:
        (folder / name).chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("words", [*SAFE, "build", "run --label then", "new p02"])
def test_no_module_of_the_current_folder_is_imported(
    root: Path, tmp_path: Path, needless: set[str], words: str
) -> None:
    marker = tmp_path / "imported"
    assert {"click", "msgspec", "tabulate", "resource", "__future__", "json"} <= needless
    modules(root, marker, needless)
    done = laid.run(root, *words.split())
    assert not marker.exists(), marker.read_text()
    assert done.code == (2 if words == "lst" else 0), done.said


@pytest.mark.slow
def test_with_the_option_of_our_hints_python_itself_imports_none(
    root: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "imported"
    modules(root, marker, {*sys.stdlib_module_names, *PACKAGES})
    for words in SAFE:
        done = laid.run(root, *words.split(), python=("-P",))
        assert not marker.exists(), (words, marker.read_text())
        assert done.code == (2 if words == "lst" else 0), done.said


def test_a_folder_that_was_named_is_still_imported_from(root: Path, tmp_path: Path) -> None:
    """PYTHONPATH is the user's own choice; a checkout in it is found from within, too."""
    package = Path(__file__).parents[2]
    done = laid.run(package, "list", extra={"PYTHONPATH": str(package)})
    assert done.code == 0 and "p04-first-run" in done.out
    folder = tmp_path / "named"
    laid.put(folder, {"sitecustomize.py": "import sys\nsys.stderr.write('named\\n')\n"})
    assert "named" in laid.run(root, "list", extra={"PYTHONPATH": str(folder)}).err


@pytest.mark.slow
@pytest.mark.parametrize("path", [".:{}", ":{}", "{}:", "bin:{}"])
def test_no_tool_of_the_current_folder_is_started(root: Path, tmp_path: Path, path: str) -> None:
    marker = tmp_path / "started"
    for folder in (root, root / "bin"):
        tools(folder, marker)
    (tmp_path / "empty").mkdir()
    extra = {"PATH": path.format(tmp_path / "empty")}
    for words in [*SAFE, "doctor --picture machine.svg", "build", "run"]:
        laid.run(root, *words.split(), extra=extra)
        assert not marker.exists(), (words, marker.read_text())


@pytest.mark.slow
def test_tools_are_started_away_from_the_project(root: Path, tmp_path: Path) -> None:
    """rustup obeys the current folder's rust-toolchain.toml, whose path is a program to start."""
    marker = tmp_path / "started"
    tools(tmp_path / "tools", marker)
    laid.put(
        root,
        {
            "rust-toolchain.toml": '[toolchain]\npath = "./evil"\n',
            ".cargo/config.toml": '[build]\nrustc = "./evil/bin/rustc"\n',
        },
    )
    tools(root / "evil" / "bin", marker)
    extra = {"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"}
    for words in ("doctor", "doctor --json", "doctor --picture machine.svg"):
        laid.run(root, *words.split(), extra=extra)
    started = marker.read_text().splitlines()
    names = {Path(line.partition(" ")[0]).name for line in started}
    assert {"cargo", "rustc", "rustfmt", "gcc", "strace", "lstopo"} <= names
    assert {line.partition(" in ")[2] for line in started} == {"/"}
    marker.unlink()
    for words in (word for word in SAFE if not word.startswith("doctor")):
        laid.run(root, *words.split(), extra=extra)
        assert not marker.exists(), (words, marker.read_text())
