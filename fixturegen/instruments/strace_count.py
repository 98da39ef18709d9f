"""`strace-count`: the process runs under strace, which counts its system calls."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fixturegen import files, process
from fixturegen.instruments.instrument import (
    AddedLine,
    Instrument,
    Refusal,
    Subject,
    UnreadError,
)
from fixturegen.model import Columns
from fixturegen.process import Tool
from fixturegen.visible import escape

if TYPE_CHECKING:
    from fixturegen.launcher import Start

# The table of strace -c. Where a mean or errors are left out, the columns alone tell which.
_HEAD = re.compile(r"% time +seconds +usecs/call +calls +errors +syscall")
_ROW = re.compile(r" *\d+\.\d+ +\d+\.\d+((?: +\d+){1,3}) +([a-z_]\w*) *")
_RULE = re.compile(r"-+( -+)+ *")


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
        """Return `start` under strace, which writes its table to `output`, under C."""
        from fixturegen.launcher.start import environment, variables

        own = environment({})
        others = {name: value for name, value in start.env.items() if own.get(name) != value}
        sets = [word for each in variables(others) for word in ("-E", each)]
        args = ("-f", "-c", "-o", str(output), *sets, "--", start.program, *start.args)
        return replace(start, program=process.find("strace") or "strace", args=args, env=own)

    def after(self, subject: Subject) -> Columns:
        """Return the calls, each system call a column, and remove the table."""
        if not files.is_file(subject.output):
            raise UnreadError("strace wrote no table")
        text = files.read_bytes(subject.output).decode(errors="replace")
        files.remove(subject.output)
        return {"syscalls": parse_counts(text)}


def parse_counts(text: str) -> dict[str, list[int | str]]:
    """Return the calls of each system call of strace's table, by name, then `total`.

    Raises UnreadError unless the whole table can be read and its rows make up its total.
    """
    counts: dict[str, int] = {}
    head, *lines = text.splitlines() or [""]
    if not _HEAD.fullmatch(head.rstrip()):
        raise _unread(head)
    edge = head.index("errors")  # what ends before it is no error
    for line in lines:
        if row := _ROW.fullmatch(line):
            numbers = row[1].split()
            with_errors = row.end(1) > edge + 1 and len(numbers) > 1
            counts[row[2]] = int(numbers[-2 if with_errors else -1])
        elif not _RULE.fullmatch(line):
            raise _unread(line)
    total = counts.pop("total", 0)
    if not total or total != sum(counts.values()):
        raise UnreadError("strace's table is not complete")
    return {**{name: [counts[name]] for name in sorted(counts)}, "total": [total]}


def _unread(line: str) -> UnreadError:
    return UnreadError(f"strace's table has the line {escape(line, 80)!r}")


@cache
def _refused(strace: str) -> str:
    done = process.run([strace, "-f", "-c", "-o", "/dev/null", "--", strace, "-V"], timeout_s=20)
    if done.code == 0:
        return ""
    said = (done.stderr.strip().splitlines() or [f"exit code {done.code}"])[0]
    return f"strace is refused here: {said}"
