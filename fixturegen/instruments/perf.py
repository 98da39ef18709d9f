"""Processes under perf: how they are started, what it counted, and why it cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from fixturegen import files, process
from fixturegen.instruments.instrument import AddedLine, Refusal, UnreadError
from fixturegen.model import Columns, Text, Whole
from fixturegen.process import Tool

if TYPE_CHECKING:
    from fixturegen.launcher import Start


class Perf(Struct, frozen=True):
    """What perf could do; for each event and each picture "" or why there is none."""

    version: Text
    paranoid: Text
    frequency: Whole
    events: dict[Text, Text]
    pictures: dict[Text, Text] = field(default_factory=dict)


FREQUENCY = 4000  # samples a second of each thread
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
TOOL = Tool(
    "perf",
    ("perf",),
    "linux-perf",
    "no perf stat, no profiles, no flame graphs",
    elsewhere="Ubuntu: linux-tools-generic",
)
# What `perf stat` is asked to count, by the names of the columns, and how perf calls it.
EVENTS = {
    "task_clock": "task-clock",
    "page_faults": "page-faults",
    "context_switches": "context-switches",
    "cpu_migrations": "cpu-migrations",
    "cycles": "cycles",
    "instructions": "instructions",
    "cache_misses": "cache-misses",
    "branch_misses": "branch-misses",
}
COUNTED = (AddedLine("counted", tuple(EVENTS)), AddedLine("running", tuple(EVENTS)))
# Without the settings of user and system; a measured process has no HOME with any.
SETTINGS = {"PERF_CONFIG": "/dev/null"}
_NEVER_HERE = "this machine has no such counter, or does not show it to its guests"
_EVENT = r"(?:\w+/)?([\w-]+)[/:]?([A-Za-z]*)"  # compiled where it is used: not at the start
_SAYS = "perf says"
_KERNEL_ONLY = ("context_switches", "cpu_migrations")  # counted in the kernel: 0 without it


class Counts(Struct, frozen=True):
    """What `perf stat` counted: values as decimal text, and for the others the reason.

    running: percent of the time in which a counter counted; below 100 its value is scaled up.
    """

    values: dict[str, str] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def stat_argv(output: Path | None, cpu: int | None) -> list[str]:
    """Return `perf stat` up to the program: of the process, or of all that runs on `cpu`.

    Without an output it writes to its standard error.
    """
    place = [] if cpu is None else ["-a", "-C", str(cpu)]
    to = [] if output is None else ["-o", str(output)]
    return ["stat", "-x", ";", *to, *place, "-e", ",".join(EVENTS.values()), "--"]


def record_argv(output: Path) -> list[str]:
    """Return `perf record` up to the program: no copy of the binary in the user's ~/.debug."""
    return ["record", "-q", "-B", "-N", "-F", str(FREQUENCY), "-g", "-o", str(output), "--"]


def script_argv(data: Path) -> list[str]:
    """Return `perf script` of what was recorded, as `profile.read_script` reads it."""
    fields = "comm,tid,event,ip,sym,symoff,dso"
    return ["script", "-i", str(data), "--no-inline", "--show-lost-events", "-F", fields]


def wrapped(start: Start, options: Sequence[str]) -> Start:
    """Return `start` under perf with these arguments of its own in front."""
    perf = process.find("perf") or "perf"
    return replace(start, program=perf, args=(*options, start.program, *start.args))


def read_counts(output: Path) -> Columns:
    """Return the counts of the last process and remove their file.

    perf has no option for another environment than its program's: commas are read as points.
    Raises UnreadError if there is none, or an event that is neither counted nor said not to be.
    """
    if not files.is_file(output):
        raise UnreadError("perf wrote no counts")
    text = files.read_bytes(output).decode(errors="replace")
    files.remove(output)
    counts = parse_counts(text)
    if unread := [event for event in EVENTS if event not in {**counts.values, **counts.reasons}]:
        raise UnreadError(f"perf says nothing of {', '.join(unread)}")
    if odd := [why for why in counts.reasons.values() if why.startswith(_SAYS) and "<" not in why]:
        raise UnreadError(odd[0])
    return {
        name: {event: [_value(values[event])] if event in values else [] for event in EVENTS}
        for name, values in (("counted", counts.values), ("running", counts.running))
    }


def _value(text: str) -> int | str:
    return int(text) if text.isdigit() and len(text) < 20 else text


def parse_counts(text: str) -> Counts:
    """Return the counts of `perf stat -x ;`, as perf 4 to 6 write it.

    Rows are value, unit, event, ns counted, percent counted, and what perf makes of it. An event
    may carry modifiers (`cycles:u`) or, where cores differ, their kind (`cpu_core/cycles/`): its
    rows are added up.
    """
    names = {event: name for name, event in EVENTS.items()}
    values: dict[str, Decimal] = {}
    running: dict[str, Decimal] = {}
    reasons: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip().replace(",", ".") for cell in line.split(";")]
        if line.startswith("#") or len(cells) < 3:
            continue
        event = re.fullmatch(_EVENT, cells[2])
        name = names.get(event[1]) if event else None
        if event is None or name is None:
            continue
        reason = _uncounted(cells[0], name, event[2])
        if reason:
            reasons.setdefault(name, reason)
            continue
        values[name] = values.get(name, Decimal(0)) + Decimal(cells[0])
        share = _decimal(cells[4]) if len(cells) > 4 else None
        running[name] = min(running.get(name, Decimal(100)), share or Decimal(100))
    return Counts(
        {name: f"{value:f}" for name, value in values.items()},
        {name: f"{value:f}" for name, value in running.items()},
        {name: reason for name, reason in reasons.items() if name not in values},
    )


def _uncounted(value: str, name: str, modifiers: str) -> str:
    """Return why a row has no value of use, or ""."""
    if "not supported" in value:
        return _NEVER_HERE
    if _decimal(value) is None:
        return f"{_SAYS} {value}"
    if name in _KERNEL_ONLY and "u" in modifiers and "k" not in modifiers:
        return "it happens in the kernel, which this user may not count (perf_event_paranoid)"
    return ""


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


class Trial(Struct, frozen=True):
    """What came of trying perf once: "" or why it is refused, and what it counted."""

    refusal: str
    counts: Counts = Counts()


def refused(trial: Trial | None) -> Refusal | None:
    """Return why an instrument of perf cannot be used; no trial means that there is no perf."""
    if trial is None:
        return Refusal(TOOL.absent)
    return Refusal(trial.refusal, root_helps=True) if trial.refusal else None


def try_stat(cpu: int | None = None) -> Trial | None:
    """Return what came of counting a process, or all that runs on `cpu`; None without perf."""
    perf = process.find("perf")
    return _try_stat(perf, cpu) if perf else None


@cache
def _try_stat(perf: str, cpu: int | None) -> Trial:
    done = _run(perf, *stat_argv(None, cpu), "true")
    counts = parse_counts(done.stderr)
    refusal = _refusal(done, 2 if cpu is None else 0)
    if not refusal and cpu is None and not counts.values:
        refusal = "perf counts nothing here"
    return Trial(refusal, counts)


def try_record(folder: Path) -> Trial | None:
    """Return what came of recording a process in `folder` and line it; None without perf."""
    perf = process.find("perf")
    return _try_record(perf, folder) if perf else None


@cache
def _try_record(perf: str, folder: Path) -> Trial:
    data = folder / "perf-trial"
    files.make_folder(folder)
    try:
        done = _run(perf, *record_argv(data), "true")
        if done.code == 0:
            done = _run(perf, *script_argv(data))
        return Trial(_refusal(done, 2))
    finally:
        files.remove(data)


def _run(perf: str, *arguments: str) -> process.Finished:
    return process.run([perf, *arguments], extra=SETTINGS, timeout_s=20)


def _refusal(done: process.Finished, most: int) -> str:
    """Return why perf failed, or ""; `most` is the highest perf_event_paranoid that allows it."""
    if done.code == 0:
        return ""
    said = done.stderr
    if "Permission error mapping pages" in said:  # the long help of a refusal names mlock as well
        return "perf may not map its buffers here: kernel.perf_event_mlock_kb is too small"
    if re.search(r"perf_event_paranoid|Access to performance|[Pp]ermission|EACCES|EPERM", said):
        paranoid = _paranoid()
        if re.fullmatch(r"-?\d+", paranoid) and int(paranoid) <= most:
            return (
                f"perf is refused here, though kernel.perf_event_paranoid is {paranoid}: by a "
                "container's or the machine's security policy"
            )
        return (
            f"perf is refused here: kernel.perf_event_paranoid is {paranoid}, "
            f"and {most} or less is needed, or root"
        )
    lines = [line.strip() for line in said.splitlines() if line.strip(" .:") not in ("", "Error")]
    return f"perf fails here: {lines[0] if lines else f'exit code {done.code}'}"


def _paranoid() -> str:
    try:
        return PARANOID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def facts(pictures: dict[str, str]) -> Perf:
    """Return what a reader needs to know of perf here, and of the `pictures` that were drawn."""
    trial = try_stat()
    events = {}
    if trial is not None and not trial.refusal:
        events = {each: trial.counts.reasons.get(each, "") for each in EVENTS}
    printed = process.capture(["perf", "--version"]) if trial else None
    return Perf((printed or "").strip(), _paranoid(), FREQUENCY, events, pictures)
