"""Starts fresh processes through the compiled launcher, and tells what became of each.

The launcher (`launcher.c`) is started once and kept. It is a child of the thread that made the
`Launcher`: when that thread ends, the kernel ends the launcher and all it has started.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fixturegen.errors import FixturegenError, ProgramError
from fixturegen.launcher.compiling import build_launcher
from fixturegen.launcher.hello import Hello
from fixturegen.launcher.start import Outcome, Start, environment, padded_environments, variables
from fixturegen.model import Status, Usage

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = [
    "Hello", "Launcher", "Outcome", "Start", "build_launcher", "environment", "padded_environments",
]  # fmt: skip

BLOCK = 1024  # most samples in one request (launcher.c: BLOCK_MOST); two are in flight
AHEAD_NS = 50_000_000  # a block is no longer than this, if it has more than one sample
SPARE_NS = 30_000_000  # work ahead of the launcher, in which Python may do something else
PIPE = 1 << 20  # bytes of replies that wait for Python meanwhile; what Linux lets anyone have

# The numbers and their order are launcher.h's.
_DEFINE, _RUN = 1, 2
_DISCARD, _NO_ASLR = 1, 2
_TIMED_OUT, _FLOODED, _STOPPED, _MOVED = 1, 2, 4, 8
_HEAD = struct.Struct("=2q")
_LENGTH = struct.Struct("=q")
_REPORT = struct.Struct("=22q")
_STAGES = (
    "",
    "cannot start",
    "cannot make a process",
    "cannot enter the working folder",
    "cannot pin to the CPUs",
    "cannot switch address randomisation",
    "cannot make the files for its output",
)


class Launcher:
    """The running launcher; a context manager that closes it, or aborts it on an exception."""

    def __init__(self, binary: Path, project: Path) -> None:
        """Start `binary`; `project` is only shown on its command line, for others to find it.

        Raises FixturegenError if it cannot be started.
        """
        import subprocess

        self._complaints = os.memfd_create("launcher-stderr")
        self._running = False  # requests were sent whose replies are not all read
        self._timeouts: list[float] = []
        self._limits: list[int] = []
        self.meanwhile: Callable[[], None] | None = None  # done in `run` while there is time
        command = [str(binary), "--project", str(project), "--parent", str(os.getpid())]
        pipe = subprocess.PIPE
        try:
            self._process: Popen[bytes] | None = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=self._complaints, env={}
            )
        except OSError as error:
            os.close(self._complaints)
            what = f"the launcher {binary} cannot be started: {error.strerror}"
            raise FixturegenError(what, "delete it to have it built again") from error
        if self._process.stdout:
            with suppress(OSError):  # a smaller one only means that the launcher waits sooner
                fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, PIPE)
        try:
            (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
            facts = dict(line.split("=", 1) for line in self._read(length).decode().splitlines())
        except BaseException:
            self.abort()
            raise
        self.hello = Hello(facts["start"], facts["linked"], facts["rcu"], facts["tree"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    @property
    def pid(self) -> int:
        """The launcher's process id, 0 once it has ended."""
        return self._process.pid if self._process else 0

    def define(self, start: Start) -> int:
        """Make `start` known; return the number that `run` takes for it. Not during `run`."""
        self._be_idle()
        case = len(self._timeouts)
        strings = [start.program, start.cwd, *start.args, *variables(start.env)]
        if any("\0" in string for string in strings):
            raise FixturegenError(f"{start.program}: an argument or variable contains a NUL")
        flags = _DISCARD * start.discard | _NO_ASLR * (not start.aslr)
        timeout_ns = max(1, round(start.timeout_s * 1e9))
        counts = (len(start.cpus), len(start.args), len(start.env))
        numbers = (case, timeout_ns, start.output_limit, flags, *counts, *start.cpus)
        text = b"".join(os.fsencode(string) + b"\0" for string in strings)
        self._send(_DEFINE, struct.pack(f"={len(numbers)}q", *numbers) + text)
        self._timeouts.append(start.timeout_s)
        self._limits.append(start.output_limit)
        return case

    def run(self, schedule: Iterable[int]) -> Iterator[Outcome]:
        """Start the cases of `schedule` one after the other; yield their outcomes in that order.

        The schedule is read up to two blocks ahead. Blocks grow from one sample to 50 ms where
        programs are short, and stay at one where they take long, so that a schedule may react to
        outcomes. `meanwhile` is called now and then while the launcher has work for SPARE_NS or
        more. An iteration that is not finished leaves the launcher good for nothing but `abort`.
        Raises FixturegenError if the launcher ends.
        """
        self._be_idle()
        self._running = True
        cases = iter(schedule)
        blocks: deque[int] = deque()
        sent = received = 0
        size, mean_ns = 1, 0
        while True:
            while len(blocks) < 2 and (block := list(islice(cases, size))):
                self._send(_RUN, struct.pack(f"={len(block) + 1}q", sent, *block))
                blocks.append(len(block))
                sent += len(block)
            if not blocks:
                break
            if self.meanwhile and sum(blocks) * mean_ns > SPARE_NS:
                self.meanwhile()
            count, wall_ns = blocks.popleft(), 1
            for _ in range(count):
                outcome = self._receive(received)
                received += 1
                wall_ns += outcome.usage.wall_ns
                yield outcome
            mean_ns = max(1, wall_ns // count)
            size = max(1, min(BLOCK, 8 * size, AHEAD_NS // mean_ns))
        self._running = False

    def close(self) -> None:
        """End the launcher; at once if an iteration of `run` was not finished."""
        process = self._process
        if process is None:
            return
        if not self._running and process.stdin:
            with suppress(OSError):  # it has ended already
                process.stdin.close()
            with suppress(TimeoutError):
                self._wait(5)
        self.abort()

    def abort(self) -> None:
        """End the launcher and all it has started: SIGTERM, and SIGKILL after 2 seconds."""
        process = self._process
        if process is None:
            return
        for number, seconds in ((signal.SIGTERM, 2.0), (signal.SIGKILL, None)):
            if process.poll() is None:
                process.send_signal(number)
                with suppress(TimeoutError):
                    self._wait(seconds)
        self._process = None
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # what was still to be flushed has no reader
                if stream:
                    stream.close()
        os.close(self._complaints)

    def _wait(self, seconds: float | None) -> None:
        """Wait for the launcher's end; TimeoutError if it takes longer."""
        import subprocess

        assert self._process
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def _alive(self) -> Popen[bytes]:
        if self._process is None:
            raise FixturegenError("the launcher has ended", "make a new Launcher")
        return self._process

    def _be_idle(self) -> None:
        self._alive()
        if self._running:
            raise FixturegenError("the launcher has an unfinished run", "make a new Launcher")

    def _send(self, kind: int, payload: bytes) -> None:
        process = self._alive()
        assert process.stdin
        try:
            process.stdin.write(_HEAD.pack(kind, len(payload)) + payload)
            process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _read(self, length: int) -> bytes:
        process = self._alive()
        assert process.stdout
        data = process.stdout.read(length)
        if len(data) < length:
            raise self._ended()
        return data

    def _ended(self) -> ProgramError:
        """Reap the launcher; return an error that says how it ended and what it said."""
        assert self._process
        self._running = True
        with suppress(TimeoutError):
            self._wait(2)
        code = self._process.poll()
        said = os.pread(self._complaints, 4096, 0).decode(errors="replace").strip()
        self.abort()
        how = "closed its pipe" if code is None else _describe_end(code)
        return ProgramError(f"the launcher ended unexpectedly ({how})", quoted=said.splitlines())

    def _receive(self, expected: int) -> Outcome:
        """Read the next reply."""
        # fmt: off
        (sequence, case, stage, code, flags, started, wall, user, system, maxrss, minor, major,
         blocks_in, blocks_out, voluntary, involuntary, leftovers, rcu, _, _, out, err,
         ) = _REPORT.unpack(self._read(_REPORT.size))
        # fmt: on
        if sequence != expected:
            raise FixturegenError(f"the launcher sent sample {sequence}, expected {expected}")
        data = self._read(out + err) if out + err else b""
        status, detail = self._judge(case, stage, code, flags)
        usage = Usage(
            wall, user, system, maxrss, minor, major, blocks_in, blocks_out, voluntary, involuntary
        )
        return Outcome(
            sequence, case, status, detail, usage, started, leftovers, rcu, data[:out], data[out:]
        )

    def _judge(self, case: int, stage: int, code: int, flags: int) -> tuple[Status, str]:
        """Return status and detail; what came of its own will is said last."""
        if not (stage or code or flags):  # nearly all, and each while the next one runs
            return "ok", ""
        if stage:
            return "unstarted", f"{_STAGES[stage]}: {os.strerror(code)}"
        if flags & _TIMED_OUT:
            end = f"no end within {self._timeouts[case]:g} s"
        else:
            end = _describe_end(os.waitstatus_to_exitcode(code))
        if flags & _FLOODED:
            limit = self._limits[case]
            return "flood", f"more output than its limit ({limit} bytes: output_limit), {end}"
        if flags & _TIMED_OUT:
            return "timeout", end
        if flags & _STOPPED:
            return "stopped", f"stopped for a time (SIGSTOP or the like), {end}"
        if flags & _MOVED:
            return "moved", f"its CPUs were taken away while it ran (a cpuset), {end}"
        return ("ok", "") if code == 0 else ("signal" if code & 0x7F else "exit", end)


def _describe_end(code: int) -> str:
    """Return how a process ended, from its exit code or minus its signal's number."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-code}"
