"""`strace-count`: the process runs under strace, which counts its system calls."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fixturegen import files, process
from fixturegen.instruments.instrument import AddedLine, Instrument, Refusal, Subject
from fixturegen.model import Columns
from fixturegen.process import Tool

if TYPE_CHECKING:
    from fixturegen.launcher import Start

# `% time  seconds  usecs/call  calls  [errors]  syscall`, of strace -c. Compiled where it is used.
_ROW = r"\s*[\d.]+\s+[\d.]+\s+\d*\s+(\d+)\s+(?:\d+\s+)?([a-z_]\w*)"


class StraceCount(Instrument):
    """Counts the system calls of the process and of those that it starts."""

    name = "strace-count"
    key = "wrapper"
    description = (
        "started under strace, which counts its system calls: columns `syscalls.NAME` and "
        "`syscalls.total`"
    )
    tool = Tool("strace", ("strace",), "strace", "no counts of system calls", option="-V")
    lines = (AddedLine("syscalls"),)

    def refusal(self, build: Path) -> Refusal | None:
        """Return why strace cannot count here: it is tried once."""
        strace = process.find("strace")
        reason = _refused(strace) if strace else ""
        return Refusal(reason) if reason else super().refusal(build)

    def wrap(self, start: Start, output: Path) -> Start:
        """Return `start` under strace, which writes its table to `output`."""
        args = ("-f", "-c", "-o", str(output), "--", start.program, *start.args)
        return replace(start, program=process.find("strace") or "strace", args=args)

    def after(self, subject: Subject) -> Columns:
        """Return the calls, each system call a column, and remove the table; {} without one."""
        if not files.is_file(subject.output):
            return {}
        text = files.read_bytes(subject.output).decode(errors="replace")
        files.remove(subject.output)
        return {"syscalls": parse_counts(text)}


def parse_counts(text: str) -> dict[str, list[int | str]]:
    """Return the calls of each system call of strace's table, by name, then `total`.

    The total is the sum of the rows: strace's own line comes in two forms.
    """
    rows = (re.fullmatch(_ROW, line.rstrip()) for line in text.splitlines())
    counts = {row[2]: int(row[1]) for row in rows if row and row[2] != "total"}
    return {**{name: [counts[name]] for name in sorted(counts)}, "total": [sum(counts.values())]}


@cache
def _refused(strace: str) -> str:
    done = process.run([strace, "-f", "-c", "-o", "/dev/null", "--", strace, "-V"], timeout_s=20)
    if done.code == 0:
        return ""
    said = (done.stderr.strip().splitlines() or [f"exit code {done.code}"])[0]
    return f"strace is refused here: {said}"
