"""A tiny project of one C program that behaves as its argument says, and the real command on it.

Everything here starts real processes. Whatever is ended is ended by the id of a process that the
test itself started.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = "tiny"
OLDER = "an older text\nrun        older, 2020-01-01, seed 1\n"
PATIENCE_S = 60.0

PROGRAM = Path(__file__).parents[1] / "programs" / "running" / "act.c.j2"

TOML = """\
title = "A tiny fixture"

[params]
step = 7

[[program]]
name = "act"
languages = [{languages}]
rounds = {rounds}
timeout_s = {timeout_s}
lines.value = 'value (?P<n>\\S+)'
metric.n = {{ value = "value.n[0]", unit = "count" }}
metric.wall = {{ value = "process.wall_ns", unit = "ns" }}
"""

MODE = """
[[program.mode]]
name = "{name}"
args = {args}
"""

CLAIM = """
[[claim]]
text = "{text}"
holds = "{holds}"
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


@dataclass
class Tiny:
    """A project with the fixture `tiny`."""

    root: Path
    rounds: int = 3
    timeout_s: float = 20
    languages: tuple[str, ...] = ("c",)
    modes: dict[str, list[str]] = field(
        default_factory=lambda: {"calm": ["value", "7"], "other": ["value", "8"]}
    )
    claims: dict[str, str] = field(default_factory=dict)
    name: str = NAME

    def lay(self) -> Tiny:
        """Write the templates; may be called again after a change."""
        folder = self.templates
        folder.mkdir(parents=True, exist_ok=True)
        languages = ", ".join(f'"{name}"' for name in self.languages)
        text = TOML.format(rounds=self.rounds, timeout_s=self.timeout_s, languages=languages)
        for name, args in self.modes.items():
            text += MODE.format(name=name, args=json.dumps(args))
        for words, holds in self.claims.items():
            text += CLAIM.format(text=words, holds=holds)
        (folder / "fixture.toml").write_text(text)
        shutil.copy(PROGRAM, folder / "act.c.j2")
        if "rust" in self.languages:
            shutil.copy(PROGRAM.with_name("act.rs.j2"), folder / "act.rs.j2")
        return self

    @property
    def templates(self) -> Path:
        return self.root / "templates" / self.name

    @property
    def text(self) -> Path:
        return self.root / "fixtures" / f"{self.name}.txt"

    @property
    def total(self) -> int:
        return self.rounds * len(self.modes) * len(self.languages)

    def plant_older(self) -> None:
        """Put an older text in its place, which a run that is not complete must leave alone."""
        self.text.parent.mkdir(exist_ok=True)
        self.text.write_text(OLDER)

    def start(self, *args: str, **more: Any) -> subprocess.Popen[str]:
        """Start the command and return at once."""
        given: dict[str, Any] = {
            "cwd": self.root,
            "env": environment(),
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }
        return subprocess.Popen([*COMMAND, *args], **(given | more))

    def __call__(self, *args: str, env: Mapping[str, str] | None = None, **more: Any) -> Done:
        """Run the command to its end."""
        return finish(self.start(*args, **({"env": environment(env)} | more)))

    def under_way(self) -> list[Path]:
        """Return the folders of runs that have not ended."""
        return sorted((self.root / "build" / "runs").glob("*/*/"))

    def finished(self) -> list[Path]:
        return sorted((self.root / "fixtures" / self.name).glob("*/"))

    def samples(self, folder: Path) -> list[dict[str, Any]]:
        """Return the samples of a finished run."""
        with gzip.open(folder / "samples.jsonl.gz") as stream:
            return [json.loads(line) for line in stream]

    def measured(self) -> int:
        """Return how many samples the runs under way have by now, whole lines only."""
        count = 0
        for folder in self.under_way():
            with contextlib.suppress(FileNotFoundError):
                context = json.loads((folder / "context.json").read_text())
                if "samples" in context:  # its lines are all compressed, and only its text is due
                    count += context["samples"]["count"]
                else:
                    count += (folder / "samples.jsonl").read_bytes().count(b"\n")
        return count

    def starts(self) -> int:
        """Return how many processes with the argument `count` were started so far."""
        return sum(len(path.read_bytes()) for path in (self.root / "build").glob("**/starts"))

    def expected(self) -> set[tuple[str, int]]:
        return {
            (f"act.{language}.{mode}", number)
            for language in self.languages
            for mode in self.modes
            for number in range(1, self.rounds + 1)
        }

    def assert_complete(self, folder: Path) -> None:
        """Each (case, round) is there exactly once, and the kept data is what its digest says."""
        found = [(sample["case"], sample["round"]) for sample in self.samples(folder)]
        assert len(found) == len(set(found)) == self.total
        assert set(found) == self.expected()
        assert {path.name for path in folder.iterdir()} <= {
            "context.json",
            "samples.jsonl.gz",
            "report.txt",
        }
        checked = self("check")
        assert "cannot be read" not in checked.said and "not those the run kept" not in checked.said

    def assert_nothing_runs(self, patience_s: float = 10.0) -> None:
        """No process is left that works in this project."""
        wait_until(lambda: not processes_of(self.root), patience_s)
        assert processes_of(self.root) == []


COMMAND = (sys.executable, "-m", "fixturegen")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without what would change a run's words."""
    dropped = ("NO_COLOR", "TERM", "CC", "FIXTUREGEN_TRACEBACK")
    return {k: v for k, v in os.environ.items() if k not in dropped} | dict(extra or {})


def finish(process: subprocess.Popen[str]) -> Done:
    """Wait for the end of a command; one that hangs is killed, and the test fails."""
    try:
        out, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"no end within {PATIENCE_S} s: {out}\n{err}") from None
    return Done(process.returncode, out or "", err or "")


def wait_until(condition: Callable[[], Any], patience_s: float = 20.0) -> bool:
    """Poll `condition` until it holds; return whether it did."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def processes_of(root: Path) -> list[str]:
    """Return every living process whose command line or folder is in the project."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            folder = str((entry / "cwd").readlink())
            if state not in "ZX" and (str(root) in command or folder.startswith(str(root))):
                found.append(f"{entry.name} {state} {command}")
    return found


def shape(text: str) -> list[str]:
    """Return a report's lines without its numbers, the lines that name its run, and its notes."""
    lines = []
    for line in text.partition("Changed, skipped, failed")[0].splitlines():
        words = re.split(r"two groups|\d+ around ", line, maxsplit=1)[0].split()
        if (
            words
            and words[0] not in ("run", "samples", "NOTE", "repeat")
            and set(line) > {"-", " "}
        ):
            lines.append(" ".join("#" if any(c.isdigit() for c in w) else w for w in words))
    return lines


def folder_of_tools(folder: Path, names: Sequence[str]) -> Path:
    """Return a folder for PATH that has only these tools, as links."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(Path(found).resolve())
    return folder


@contextlib.contextmanager
def ended_at_last(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Kill a started command at the end, if it is still there."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
