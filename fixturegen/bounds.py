"""What a stranger's project may cost: one guard around every command that is safe to use on it.

The command goes on in a child under the kernel's own limits, which no loop in C can put off; the
parent only waits, and says which file was too much. Whatever is the user's own (`build`, `run`,
--no-limits) is not guarded.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fixturegen import errors

if TYPE_CHECKING:
    from mmap import mmap

MEMORY = 900 << 20  # bytes of address space: what is resident is less, so 1 GB is never reached
CPU_S = 18  # seconds of computing; `check` of 1,000 fixtures takes 5 to 8
LATER_S = 2  # seconds after which a child that is just writing is killed all the same
WRITTEN = 64 << 20  # bytes of all the files that one command writes
DEAF_S = 1.0  # an interrupted child that computes in C does not hear; it is killed after this
NO_MEMORY = 199  # exit code of the child for its parent alone
HINT = "if it is your own and may be so large: fixturegen --no-limits COMMAND"
_PAGE = 4096  # bytes for the name of what is read or rendered
_HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ENDING = (signal.SIGXCPU, signal.SIGIO)

_page: mmap | None = None  # shared with the parent; None where nothing is guarded
_now = ""
_soft: dict[int, int] = {}  # the limits there were before
_written = 0


def at(what: str) -> None:
    """Note what is being read or rendered: the file that is named if it is too much."""
    global _now
    _now = what
    if _page is not None:
        name = what.encode(errors="replace")[: _PAGE - 1] + b"\0"
        _page[: len(name)] = name


def spend(what: str, size: int) -> None:
    """Count `size` bytes that are going to be written; raises errors.LimitError if too many."""
    global _written
    _written += size if _page is not None else 0
    if _written > WRITTEN:
        raise errors.LimitError(f"{what}: more than {WRITTEN >> 20} MB to write in all", HINT)


def out_of_memory() -> errors.LimitError:
    """Return the error of a MemoryError; a guarded child ends, for its parent has room to say it.

    To be called when the MemoryError is gone, and with it what filled the memory.
    """
    if _page is not None:
        os._exit(NO_MEMORY)
    return errors.LimitError(f"{_shown(_now)}: not enough memory")


def too_deep() -> errors.LimitError:
    """Return the error of a RecursionError in what was read last."""
    return errors.LimitError(f"{_shown(_now)}: nested too deeply")


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Put the end of a guarded child off while a file is written, so that none is torn."""
    if _page is None:
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


@contextlib.contextmanager
def lifted() -> Iterator[None]:
    """Let a helper that is started meanwhile have the limits that there were before."""
    if _page is None:
        yield
        return
    import resource

    own = {number: resource.getrlimit(number) for number in _soft}
    try:
        for number, (_, hard) in own.items():
            _set_soft(number, _soft[number], hard)
        yield
    finally:
        for number, pair in own.items():
            resource.setrlimit(number, pair)


def enter() -> int | None:
    """Go on in a child under the limits: None there, in the parent the child's exit code.

    Raises in the parent errors.LimitError with the file that was too much, KeyboardInterrupt if
    the child had to be killed when it was interrupted, and errors.FixturegenError if it crashed.
    """
    if _page is not None:
        return None
    import mmap

    page = mmap.mmap(-1, _PAGE)
    sys.stdout.flush()
    alive, held = os.pipe()
    heard = [number for number in _HEARD if signal.getsignal(number) != signal.SIG_IGN]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [*heard, signal.SIGCHLD])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would take the exit code away
    child = os.fork()
    if child == 0:
        os.close(held)
        _begin(alive, page, heard)
        signal.pthread_sigmask(signal.SIG_SETMASK, before - {*_ENDING})
        return None
    os.close(alive)  # `held` is closed by our end, of whatever kind, and that ends the child
    try:
        return _outcome(*_wait(child, heard), page)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(alive: int, page: mmap, heard: list[signal.Signals]) -> None:
    """Make this process the guarded child."""
    global _page
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    # The end of the pipe's other side is a SIGIO, whose default action no loop can put off.
    fcntl.fcntl(alive, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(alive, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        os.read(alive, 1)  # an end that came before
        os._exit(errors.InterruptedRunError.exit_code)

    def once(number: int, frame: object) -> None:
        for each in heard:  # a terminal tells us as well, and so may our parent
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in heard:
        signal.signal(number, once)
    import resource

    for limit, value in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        _soft[limit], hard = resource.getrlimit(limit)
        _set_soft(limit, value, hard)
    limit = resource.RLIMIT_CPU
    _soft[limit], hard = resource.getrlimit(limit)
    soft = _least(CPU_S, _soft[limit])
    resource.setrlimit(limit, (soft, _least(soft + LATER_S, hard)))
    _page = page
    at(_now)


def _set_soft(limit: int, value: int, hard: int) -> None:
    """Set a soft limit, to what is allowed and was not stricter before."""
    import resource

    resource.setrlimit(limit, (_least(value, _least(_soft[limit], hard)), hard))


def _least(one: int, other: int) -> int:
    """Return the stricter of two limits; a negative one is none."""
    return one if other < 0 else other if one < 0 else min(one, other)


def _wait(child: int, heard: list[signal.Signals]) -> tuple[int, float, bool]:
    """Wait for the child, telling it what we are told: its status, CPU seconds, whether killed."""
    awaited = [*heard, signal.SIGCHLD]
    patience_end, killed = 0.0, False
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return status, usage.ru_utime + usage.ru_stime, killed
        left = max(0.0, patience_end - time.monotonic()) if patience_end and not killed else 3600.0
        told = signal.sigtimedwait(awaited, left)
        if told is None and patience_end:
            os.kill(child, signal.SIGKILL)
            killed = True
        elif told is not None and told.si_signo != signal.SIGCHLD:
            patience_end = patience_end or time.monotonic() + DEAF_S
            if told.si_code <= 0:  # from a process; a terminal has told the child as well
                os.kill(child, told.si_signo)


def _outcome(status: int, cpu_s: float, killed: bool, page: mmap) -> int:
    """Return the child's exit code, or raise what became of it."""
    if killed:
        raise KeyboardInterrupt
    what = _shown(page[:].partition(b"\0")[0].decode(errors="replace"))
    code = os.waitstatus_to_exitcode(status)
    cpu_limit = _cpu_limit()
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu_s >= cpu_limit):
        raise errors.LimitError(f"{what}: more than {cpu_limit} s of computing", HINT)
    if code == NO_MEMORY:
        raise errors.LimitError(f"{what}: more than {MEMORY >> 20} MB of memory", HINT)
    if code == -signal.SIGKILL:
        raise errors.LimitError(f"{what}: more memory than this machine has left (SIGKILL)")
    if code in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGFPE, -signal.SIGILL):
        raise errors.FixturegenError(
            f"a bug of ours: {signal.Signals(-code).name} at {what}",
            "please report it with the command that was run and that file",
        )
    return code if code >= 0 else 128 - code


def _cpu_limit() -> int:
    import resource

    return _least(CPU_S, resource.getrlimit(resource.RLIMIT_CPU)[0])


def _shown(what: str) -> str:
    """Return a path as a user of the current folder writes it."""
    with contextlib.suppress(OSError):
        what = what.removeprefix(f"{Path.cwd()}/")
    return what or "this command"
