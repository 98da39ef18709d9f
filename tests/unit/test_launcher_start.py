"""Values of the launcher that need no process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixturegen.errors import FileError, ToolMissingError
from fixturegen.launcher import (
    Launcher,
    Start,
    build_launcher,
    compiling,
    environment,
    padded_environments,
)


def start(program: str, *args: str, **env: str) -> Start:
    return Start(program, args, env, "/", 1, ())


def size_of_stack(start: Start) -> tuple[int, int]:
    strings = [start.program, start.program, *start.args]
    strings += [f"{name}={value}" for name, value in start.env.items()]
    return sum(len(os.fsencode(string)) + 1 for string in strings), len(strings)


@pytest.mark.parametrize(
    "starts",
    [
        [start("/a")],
        [start("/a"), start("/a")],
        [start("/a"), start("/long/path", "x", "yy", LANG="C"), start("/b", LD_BIND_NOW="1")],
        [start("/a", *"abcdefghijklmno"), start("/é", HOME="ü" * 300)],
    ],
)
def test_padded_starts_put_equally_much_on_the_stack(starts: list[Start]) -> None:
    padded = padded_environments(starts)
    assert len({size_of_stack(each) for each in padded}) == 1
    for before, after in zip(starts, padded, strict=True):
        assert after.program == before.program
        assert after.args == before.args
        assert before.env.items() <= after.env.items()
        assert all(name.startswith("FIXTUREGEN_PAD") for name in after.env.keys() - before.env)


def test_padding_of_nothing_is_nothing() -> None:
    assert padded_environments([]) == []


def test_the_environment_is_an_allow_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/somewhere")
    monkeypatch.setenv("LD_PRELOAD", "evil.so")
    assert environment({}) == {"PATH": "/somewhere", "LC_ALL": "C"}
    assert environment({"LC_ALL": "C.UTF-8", "A": "b"}) == {
        "PATH": "/somewhere",
        "LC_ALL": "C.UTF-8",
        "A": "b",
    }


def test_no_compiler_is_a_missing_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissingError, match="apt install gcc libc6-dev") as caught:
        build_launcher(tmp_path / "build")
    assert caught.value.exit_code == 6
    assert not (tmp_path / "build").exists()


def put_tools(folder: Path, tools: dict[str, str]) -> Path:
    """Return a folder for PATH with these commands, each a script of sh."""
    folder.mkdir()
    for name, script in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


def test_compilers_that_fail_are_quoted_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = {
        name: f"echo 'no {name}.h' >&2; exit {code}"
        for code, name in enumerate(("gcc", "clang"), 3)
    }
    monkeypatch.setenv("PATH", str(put_tools(tmp_path / "tools", fails)))
    with pytest.raises(ToolMissingError) as caught:
        build_launcher(tmp_path / "build")
    said = str(caught.value)
    assert "gcc ended with 3; clang ended with 4\n  no gcc.h\n  no clang.h" in said
    assert "install a C compiler" not in said  # two are
    assert list((tmp_path / "build").iterdir()) == []


@pytest.mark.parametrize("name", ["clang", "cc", "gcc", "musl-gcc"])
def test_any_compiler_alone_will_do_and_reads_no_file_of_the_package(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under sudo it is an ordinary user's process, who may be unable to read a checkout."""
    real = next(filter(None, map(shutil.which, (name, "cc", "gcc", "clang"))), None)
    if real is None:
        pytest.skip("needs a C compiler")
    words = f'case " $* " in *launcher*.[ch]*) exit 9;; esac; PATH={os.environ["PATH"]}'
    tools = put_tools(tmp_path / "tools", {name: f'{words}; exec {real} "$@"'})
    monkeypatch.setenv("PATH", str(tools))
    binary = build_launcher(tmp_path / "build")
    with Launcher(binary, tmp_path) as launcher:
        assert launcher.hello.linked in (name, f"{name} -static")
    assert build_launcher(tmp_path / "build") == binary


def test_a_package_that_cannot_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = shutil.copytree(Path(compiling.__file__).parent, tmp_path / "launcher")
    (copied / "launcher.h").unlink()
    monkeypatch.setattr(compiling, "__file__", str(copied / "compiling.py"))
    with pytest.raises(FileError, match=r"cannot read .*launcher\.h: No such file"):
        build_launcher(tmp_path / "build")


def test_the_digest_knows_source_command_and_compiler(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("1")
    first = compiling._digest([str(compiler)], "int a;")
    assert compiling._digest([str(compiler)], "int a;") == first
    digests = {first, compiling._digest([str(compiler), "-O1"], "int a;")}
    digests.add(compiling._digest([str(compiler)], "int b;"))
    compiler.write_text("12")
    digests.add(compiling._digest([str(compiler)], "int a;"))
    assert len(digests) == 4


def test_importing_the_launcher_is_cheap() -> None:
    code = (
        "import sys, fixturegen.launcher;"
        "print(sorted({'subprocess', 'jinja2', 'click', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
