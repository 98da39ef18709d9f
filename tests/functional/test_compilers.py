"""A build that names its compiler: beside the default one in one run, or absent with the reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import laid
import pytest

pytestmark = pytest.mark.slow

BUILDS = """\
[[program.build]]
name = "default"
c.cflags = []

[[program.build]]
name = "second"
c.compiler = "second-cc"
c.cflags = ["-g0"]

[[program.mode]]
name = "plain"

[[claim]]
"""
TOML = laid.changed("[[claim]]\n", BUILDS)
WRAPPER = '#!/bin/sh\nif [ "$1" = --version ]; then echo "{}"; exit 0; fi\nexec gcc "$@"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    return laid.project(tmp_path / "project", TOML)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return laid.put(tmp_path / "tools", {})


def compiler(tools: Path, says: str) -> None:
    tools.mkdir(exist_ok=True)
    laid.put(tools, {"second-cc": WRAPPER.format(says)})
    (tools / "second-cc").chmod(0o755)


def run(root: Path, tools: Path, words: str, **more: str) -> laid.Done:
    path = f"{tools}:{laid.environment()['PATH']}"
    return laid.run(root, *words.split(), extra={"PATH": path, **more})


def test_both_compilers_are_in_one_interleaved_run(root: Path, tools: Path) -> None:
    compiler(tools, "second-cc 1.0")
    done = run(root, tools, "run --label noon")
    assert done.code == 0, done.said
    context = json.loads((root / "fixtures/p01/noon/context.json").read_text())
    assert "second-cc 1.0 (script, run by sh)" in context["toolchain"]["c"]
    assert any(line.startswith("gcc ") for line in context["toolchain"]["c"])
    (second,) = (b for name, b in context["binaries"].items() if name.endswith("second"))
    assert second["shown"].startswith("second-cc -std=c11 ") and "-g0" in second["shown"]
    assert second["commands"][0].startswith("second-cc -std=c11 ")
    text = (root / "fixtures/p01.txt").read_text()
    assert "second-cc 1.0" in text and "gcc (" in text
    assert second["shown"] in text
    makefile = (root / "c/p01/Makefile").read_text()
    assert "\tsecond-cc -std=c11" in makefile and "\t$(CC) -std=c11" in makefile
    assert run(root, tools, "check").code == 0


def test_another_version_of_it_makes_its_binaries_anew(root: Path, tools: Path) -> None:
    compiler(tools, "second-cc 1.0")
    assert "2 compiled now" in run(root, tools, "build").out
    assert "0 compiled now" in run(root, tools, "build").out
    compiler(tools, "second-cc 2.0")
    done = run(root, tools, "build")
    assert "built count-c-second" in done.out and "1 compiled now" in done.out, done.said


def test_the_compiler_of_the_environment_is_that_of_the_other_builds(
    root: Path, tools: Path
) -> None:
    compiler(tools, "second-cc 1.0")
    done = run(root, tools, "run --label noon", CC="gcc -g3")
    assert done.code == 0, done.said
    context = json.loads((root / "fixtures/p01/noon/context.json").read_text())
    commands = {name: b["commands"][0] for name, b in context["binaries"].items()}
    second = next(name for name in commands if name.endswith("second"))
    assert commands.pop(second).startswith("second-cc -std")
    assert all(command.startswith("gcc -g3 ") for command in commands.values())


def test_a_compiler_that_is_not_here_takes_away_its_cases_alone(root: Path, tools: Path) -> None:
    done = run(root, tools, "run --label noon")
    assert done.code == 0, done.said
    assert "1 case not measured: second-cc is not on PATH (Debian: second-cc)" in done.said
    text = (root / "fixtures/p01.txt").read_text()
    assert "second-cc is not on PATH" in text
    samples = json.loads((root / "fixtures/p01/noon/context.json").read_text())
    assert samples["samples"]["count"] == 2  # of the default build
    done = run(root, tools, "build --language c")
    assert done.code == 0, done.said


def test_a_compiler_that_makes_nothing_gets_no_binary_of_another(root: Path, tools: Path) -> None:
    compiler(tools, "second-cc 1.0")
    assert run(root, tools, "build").code == 0
    laid.put(tools, {"second-cc": "#!/bin/sh\nexit 0\n"})
    (tools / "second-cc").chmod(0o755)
    done = run(root, tools, "build")
    assert done.code == 4, done.said
    assert "made no program" in done.said
