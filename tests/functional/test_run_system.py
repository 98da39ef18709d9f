"""A run tells what a program found on PATH is: path, kind, version, output, C library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import laid
import pytest
from test_run_disk import obey_permissions

from fixturegen.build.reading import kind
from fixturegen.fixture.project import Project
from fixturegen.machine.c_library import c_library
from fixturegen.runs import states

TOML = """\
title = "A script, and a program"
[[program]]
name = "shim"
languages = ["system"]
command = "shim"
rounds = 1
output = "discard"
metric.wall = { value = "process.wall_ns", unit = "ns" }
[[program.mode]]
name = "plain"
env = { WHICH = "two" }
[[program]]
name = "echo"
languages = ["system"]
command = "env"
rounds = 1
metric.wall = { value = "process.wall_ns", unit = "ns" }
[[program.mode]]
name = "plain"
args = ["true"]
"""
# Its version depends on the environment, comes after an empty line, and something goes on.
SHIM = """\
#!/usr/bin/env -S sh -u
[ "${1-}" = --version ] || exit 0
pwd > "${0%/*}/where"
sleep 60 &
echo $! > "${0%/*}/left"
echo
echo "shim $WHICH"
"""


def lay(root: Path, shim: str) -> dict[str, str]:
    laid.put(root, {"templates/p01/fixture.toml": TOML, "bin/shim": shim})
    (root / "bin/shim").chmod(0o755)
    return {"PATH": f"{root / 'bin'}:{os.environ['PATH']}"}


def test_a_script_on_path_is_told_and_asked_as_it_is_measured(tmp_path: Path) -> None:
    done = laid.run(tmp_path, "run", "--label", "now", extra=lay(tmp_path, SHIM))
    assert done.code == 0, done.said
    context = states.stored(Project(tmp_path), "p01", "now").context
    place = context.binaries["shim.system"].on_path
    assert place and (place.path, place.kind) == ("bin/shim", "script, run by sh")
    assert place.version == "shim two"
    other = context.binaries["echo.system"].on_path
    assert other and other.kind == "ELF" and other.path.startswith("/")
    text = (tmp_path / "fixtures/p01.txt").read_text()
    assert "toolchain  shim two (script, run by sh)\n" in text
    assert "NOTE       shim is a script, run by sh: what that starts is measured as well" in text
    assert "output    of echo: kept in memory; of shim: /dev/null\n" in text
    assert f"C library {context.c_library}\n" in text
    where = Path((tmp_path / "bin/where").read_text().strip())
    assert where.is_relative_to(tmp_path / "build"), "not in the user's folder"
    left = Path("/proc") / (tmp_path / "bin/left").read_text().strip()
    deadline = time.monotonic() + 5
    while left.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left.exists(), "what --version left behind was ended"


def test_a_version_that_cannot_be_told_is_said_to_be_unknown(tmp_path: Path) -> None:
    done = laid.run(tmp_path, "run", extra=lay(tmp_path, '#!/bin/sh\n[ "$1" != --version ]\n'))
    assert done.code == 0, done.said
    text = (tmp_path / "fixtures/p01.txt").read_text()
    assert "shim, version unknown (--version: exit code 1)" in text


def test_a_program_that_may_be_started_and_not_read_is_refused(tmp_path: Path) -> None:
    """Nobody could tell what was measured. Root obeys permissions here as anyone does."""
    extra = lay(tmp_path, '#!/bin/sh\n[ "$1" != --version ]\n')
    shutil.copy(shutil.which("true") or "", tmp_path / "bin/shim")
    (tmp_path / "bin/shim").chmod(0o111)
    command = [sys.executable, "-m", "fixturegen", "run", "--label", "now"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=laid.environment(extra),
        capture_output=True,
        text=True,
        preexec_fn=obey_permissions,
    )
    assert done.returncode == 0, done.stderr  # env, which is there, is measured
    reason = "bin/shim cannot be read, so no text could tell what it is"
    assert f"1 case not measured: {reason}" in done.stderr
    context = states.stored(Project(tmp_path), "p01", "now").context
    assert [*context.unmeasured] == ["shim.system.plain"]
    assert reason in " ".join((tmp_path / "fixtures/p01.txt").read_text().split())


@pytest.mark.parametrize("path", ["bin:{0}", ".::{0}"])
def test_a_relative_folder_of_path_is_no_place_to_look(tmp_path: Path, path: str) -> None:
    """What is measured then would depend on where the command is typed."""
    extra = lay(tmp_path, "#!/bin/sh\n")
    extra["PATH"] = path.format(os.environ["PATH"])
    shutil.copy(tmp_path / "bin/shim", tmp_path / "shim")
    done = laid.run(tmp_path, "run", "--label", "now", extra=extra)
    assert done.code == 0, done.said
    assert "1 case not measured: " in done.err and "shim is not on PATH" in done.err, done.said
    context = states.stored(Project(tmp_path), "p01", "now").context
    assert [*context.unmeasured] == ["shim.system.plain"]
    assert [*context.binaries] == ["echo.system"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x7fELF\x02", "ELF"),
        (b"#!/bin/bash\n", "script, run by bash"),
        (b"#! /usr/bin/env python3\n", "script, run by python3"),
        (b"#!/usr/bin/env -S A=1 node --x\n", "script, run by node"),
        (b"#!\n", "unknown"),
        (b"", "unknown"),
    ],
)
def test_what_a_program_is(content: bytes, what: str) -> None:
    assert kind(content) == what


def test_the_c_library_is_that_of_the_loaders(tmp_path: Path) -> None:
    says = b"\0ld.so (Debian GLIBC 2.36-9) stable release version 2.36.\n\0"
    for name, content in {"ld.so": says, "ld-musl.so.1": b"x", "other": b"x"}.items():
        (tmp_path / name).write_bytes(content)
    assert c_library(["/ld.so", "/ld.so"], tmp_path) == "glibc 2.36 (Debian GLIBC 2.36-9)"
    assert c_library(["/ld-musl.so.1"], tmp_path).startswith("musl (ld-musl.so.1;")
    assert c_library(["/other"], tmp_path) == "unknown (/other does not tell its version)"
    assert c_library(["/gone"], tmp_path) == "unknown (/gone cannot be read)"
    assert c_library([None], tmp_path) == "none: linked statically"
