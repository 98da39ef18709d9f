"""Commands that are safe on a stranger's repository: they start no program.

Their one child is the command itself, which goes on under limits (fixturegen/bounds.py).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import COMMAND, Tiny, environment, folder_of_tools

pytestmark = pytest.mark.slow

COMMANDS = (
    ("check",),
    ("report", "--check"),
    ("list", "tiny", "--json"),
    ("render", "--check", "--diff"),
    ("inspect", "build/tiny/bin/act-c-default"),
    ("run", "--plan"),
)

# Runs the command line in a Python that refuses, loudly, to start anything.
WATCHED = """
import sys
STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
          "os.system", "os.startfile", "pty.spawn"}
forks = []
def watch(event, arguments):
    if event == "os.fork":
        forks.append(event)
    if event in STARTS and forks[1:] != [] or event in STARTS - {"os.fork"}:
        raise SystemExit(f"started: {event} {arguments}")
sys.addaudithook(watch)
sys.argv[0] = "fixturegen"
from fixturegen.__main__ import main
main()
"""


@pytest.fixture
def project(tiny: Callable[..., Tiny]) -> Tiny:
    made = tiny(rounds=1)
    assert made("run").code == 0
    return made


def watched(project: Tiny, *args: str, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WATCHED, *args],
        cwd=project.root,
        env=environment({"PATH": path}),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_reading_commands_start_nothing_and_need_no_path(project: Tiny, tmp_path: Path) -> None:
    empty = folder_of_tools(tmp_path / "empty", ())
    for args in COMMANDS:
        done = watched(project, *args, path=str(empty))
        assert done.returncode == 0, f"{args}: {done.stderr}"
        assert "started:" not in done.stderr
    assert "started: subprocess.Popen" in watched(project, "run", path="/usr/bin:/bin").stderr


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to see system calls")
def test_reading_commands_make_no_process_by_any_system_call(project: Tiny, tmp_path: Path) -> None:
    calls = "execve,execveat,fork,vfork,clone,clone3"
    log = tmp_path / "trace"
    for args in COMMANDS:
        subprocess.run(
            ["strace", "-f", "-qq", "-o", log, "-e", f"trace={calls}", *COMMAND, *args],
            cwd=project.root,
            env=environment(),
            capture_output=True,
            check=True,
            timeout=60,
        )
        lines = [x for x in log.read_text().splitlines() if re.search(r"^\d+ +\w+\(", x)]
        assert "execve(" in lines[0]  # Python itself
        made = [line for line in lines[1:] if "CLONE_THREAD" not in line]
        assert len(made) == 1 and not re.search("exec|CLONE_VM|CLONE_VFORK", made[0]), (args, made)
