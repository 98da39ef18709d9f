"""Projects of a few MB that would cost hours or many GB to look at, and a way to look at them."""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

OLD = Path(__file__).parents[1] / "old"  # a project as an older version left it
STORED = "noise-ladder"  # a small run of the first format, which keeps no digest of its file
SAMPLES = f"fixtures/{STORED}/reference/samples.jsonl.gz"
REPORT = f"templates/{STORED}/report.txt.j2"
GIGABYTE = 10**9
SECONDS = 20

TOML = """\
title = "A hostile fixture"

[[program]]
name = "count"
languages = ["c"]
rounds = 2
lines.value = 'value (?P<n>\\d+)'
metric.value = { value = "value.n[0]", unit = "count" }
"""
SOURCE = "templates/tiny/count.c.j2"
SPEC = "templates/tiny/fixture.toml"


@dataclass(frozen=True)
class Looked:
    """How a command ended, and what it cost: bytes resident at most, seconds of computing."""

    code: int
    out: str
    err: str
    resident: int
    cpu_s: float


def put(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below `root` and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def tiny(root: Path, source: str = "int x;\n", toml: str = TOML) -> Path:
    """Lay out a project of one program."""
    return put(root, {SPEC: toml, SOURCE: source})


def stored(root: Path, report: str | None = None) -> Path:
    """Lay out a project with a stored run, and perhaps another template of its text."""
    for folder in (f"templates/{STORED}", "templates/_lib", f"fixtures/{STORED}"):
        shutil.copytree(OLD / folder, root / folder)
    shutil.copy(OLD / f"fixtures/{STORED}.txt", root / f"fixtures/{STORED}.txt")
    return put(root, {REPORT: report} if report is not None else {})


def line_of_gigabytes(root: Path) -> None:
    """Make the samples one line of 5 GB, in a file of 5 MB."""
    (root / SAMPLES).write_bytes(gzip.compress(bytes(100 << 20), 9) * 50)


def long_details(root: Path) -> None:
    """Make the samples 4,000 failed ones, each with 1 MB of words that say why."""
    first = gzip.decompress((root / SAMPLES).read_bytes()).split(b"\n", 1)[0]
    failed = first.replace(b'"status":"ok","detail":""', b'"status":"exit","detail":"%s"')
    assert failed != first
    (root / SAMPLES).write_bytes(gzip.compress(failed % (b"x" * 10**6) + b"\n", 9) * 4000)


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below `root` with its content."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def look(
    root: Path,
    *words: str,
    cpu_s: int | None = None,
    disturb: Callable[[subprocess.Popen[bytes]], None] = lambda started: None,
) -> Looked:
    """Run a command on a project; it leaves the project alone, and takes no more than it may.

    cpu_s: a stricter limit than the command's own, as `ulimit -t` sets it, to save time.
    """

    def limit() -> None:
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, hard))

    before = tree(root)
    out, err = root.with_name(f"{root.name}.out"), root.with_name(f"{root.name}.err")
    with out.open("wb") as out_file, err.open("wb") as err_file:
        started = subprocess.Popen(
            [sys.executable, "-m", "fixturegen", *words],
            cwd=root,
            env={k: v for k, v in os.environ.items() if k != "FIXTUREGEN_TRACEBACK"},
            stdin=subprocess.DEVNULL,
            stdout=out_file,
            stderr=err_file,
            preexec_fn=limit if cpu_s else None,
        )
        disturb(started)
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    found = Looked(
        started.returncode,
        out.read_text(errors="replace"),
        err.read_text(errors="replace"),
        usage.ru_maxrss * 1024,
        usage.ru_utime + usage.ru_stime,
    )
    for text in (found.out, found.err):
        assert "Traceback" not in text, text[-2000:]
        assert "bug of ours" not in text, text[-2000:]
    assert found.resident < GIGABYTE
    assert found.cpu_s < SECONDS
    assert tree(root) == before
    return found


def refused(root: Path, *words: str, names: str, cpu_s: int | None = None) -> str:
    """Look at a project that is too much: the file is named, and the exit code is 3."""
    found = look(root, *words, cpu_s=cpu_s)
    assert found.code == 3, (found.code, found.err[-2000:])
    assert names in found.err
    return found.err


def alive(pid: int) -> bool:
    """Return whether a process is there and does something."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def child_of(pid: int, patience_s: float = 10) -> int:
    """Return the child of a process, as soon as it has one that computes."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if listed and _computed(int(listed[0])) > 0.5:
            return int(listed[0])
        time.sleep(0.01)
    raise AssertionError(f"{pid} has no child that computes")


def _computed(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")
