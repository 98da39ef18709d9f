"""Values of the launcher that need no process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixturegen.errors import ToolMissingError
from fixturegen.launcher import Start, build_launcher, compiling, environment, padded_environments


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


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("gcc", "musl-gcc"):
        (tools / name).write_text("#!/bin/sh\necho 'no stdio.h' >&2\nexit 1\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(ToolMissingError, match=r"gcc ended with 1\n  no stdio.h"):
        build_launcher(tmp_path / "build")
    assert list((tmp_path / "build").iterdir()) == []


def test_the_digest_knows_source_command_and_compiler(tmp_path: Path) -> None:
    compiler, source = tmp_path / "cc", tmp_path / "a.c"
    compiler.write_text("1")
    source.write_text("int a;")
    first = compiling._digest([str(compiler)], [source])
    assert compiling._digest([str(compiler)], [source]) == first
    digests = {first, compiling._digest([str(compiler), "-O1"], [source])}
    source.write_text("int b;")
    digests.add(compiling._digest([str(compiler)], [source]))
    source.write_text("int a;")
    compiler.write_text("12")
    digests.add(compiling._digest([str(compiler)], [source]))
    assert len(digests) == 4


def test_importing_the_launcher_is_cheap() -> None:
    code = (
        "import sys, fixturegen.launcher;"
        "print(sorted({'subprocess', 'jinja2', 'click', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
