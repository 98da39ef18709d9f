"""What is read around one process: the machine's caches before and after, its system calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from fixturegen import files, process
from fixturegen.fixture.conditions import SYSCALLS, WATCHES
from fixturegen.launcher import Start
from fixturegen.model import Columns

MEMINFO = Path("/proc/meminfo")
_KEYS = dict(zip(WATCHES["meminfo"], ("Buffers", "Cached", "SReclaimable"), strict=True))
# `% time  seconds  usecs/call  calls  [errors]  syscall`, of strace -c.
_ROW = re.compile(r"\s*[\d.]+\s+[\d.]+\s+\d*\s+(\d+)\s+(?:\d+\s+)?([a-z_]\w*)")


def look(watches: Sequence[str]) -> Columns:
    """Return one entry for each column of each watch, as it is now."""
    return {"meminfo": _meminfo(MEMINFO.read_text(encoding="ascii"))} if watches else {}


def _meminfo(text: str) -> dict[str, list[int | str]]:
    """Return kB of each column; one that this kernel does not tell has no entry."""
    found = dict(re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE))
    return {column: [int(found[key])] if key in found else [] for column, key in _KEYS.items()}


def joined(before: Columns, after: Columns) -> Columns:
    """Return columns whose entry 0 is from before and entry 1 from after the process."""
    return {
        name: {column: [*entries, *after[name][column]] for column, entries in columns.items()}
        for name, columns in before.items()
    }


def counted(start: Start, table: Path) -> Start:
    """Return `start` under strace, which counts the system calls of the process in `table`."""
    args = ("-f", "-c", "-o", str(table), "--", start.program, *start.args)
    return replace(start, program=process.find("strace") or "strace", args=args)


def read_counts(table: Path) -> Columns:
    """Return the counts of the last process, each system call a column, and remove the table."""
    if not files.is_file(table):
        return {}
    text = files.read_bytes(table).decode(errors="replace")
    files.remove(table)
    return {SYSCALLS: parse_counts(text)}


def parse_counts(text: str) -> dict[str, list[int | str]]:
    """Return the calls of each system call of strace's table, by name, then `total`.

    The total is the sum of the rows: strace's own line comes in two forms.
    """
    rows = (_ROW.fullmatch(line.rstrip()) for line in text.splitlines())
    counts = {row[2]: int(row[1]) for row in rows if row and row[2] != "total"}
    return {**{name: [counts[name]] for name in sorted(counts)}, "total": [sum(counts.values())]}


def refusal() -> str:
    """Return why strace cannot count here, or "": it is tried once."""
    strace = process.find("strace")
    if strace is None:
        return "strace is not on PATH (Debian: strace)"
    done = process.run([strace, "-f", "-c", "-o", "/dev/null", "--", strace, "-V"], timeout_s=20)
    if done.code == 0:
        return ""
    said = (done.stderr.strip().splitlines() or [f"exit code {done.code}"])[0]
    return f"strace is refused here: {said}"
