"""The only place that starts helpers: compilers, cargo, objdump, tools asked for their version.

Nobody's project decides which helper is started: it is looked for in the absolute folders of PATH,
and started in `/` unless a folder is named, since rustup and cargo obey files of the current one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fixturegen import bounds

if TYPE_CHECKING:
    from subprocess import Popen

# What a helper may see of the user's environment. Everything that changes what a compiler makes
# (CFLAGS, CPATH, LD_RUN_PATH, RUSTFLAGS, ...) is left out and so cannot change it without a word.
PASSED_ON = (
    "HOME",
    "TMPDIR",
    "USER",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)


COMPILING_S = 600.0
NOWHERE = "/dev/null"  # a PATH without a tool in it; an empty one would be the current folder


class Finished(Struct, frozen=True):
    """How a helper ended: `code` is its exit code, negative for a signal, 127 if not started."""

    code: int
    stdout: str
    stderr: str


class Tool(Struct, frozen=True):
    """A tool by the names it may have on PATH, and its Debian package.

    `without` is what cannot be done if it is missing; `cannot` the same in the summary's words.
    `elsewhere` names the package of another distribution.
    """

    name: str
    commands: tuple[str, ...]
    package: str
    without: str
    cannot: str = ""
    option: str = "--version"
    elsewhere: str = ""

    @property
    def absent(self) -> str:
        """That it is missing, and in which packages it is."""
        packages = ", ".join(filter(None, (f"Debian: {self.package}", self.elsewhere)))
        return f"{self.name} is not on PATH ({packages})"


def search_path() -> str:
    """Return the absolute folders of the user's PATH: `.` and an empty one are the project's."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry.startswith("/")) or NOWHERE


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a helper's environment: an allow-list, the C locale, and `extra`."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "PATH": search_path(), "LC_ALL": "C", **(extra or {})}


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
    timeout_s: float = COMPILING_S,
    given: str = "",
) -> Finished:
    """Run a helper in `cwd` (/) to its end; its output is text, odd bytes replaced.

    given: its input. A helper that cannot be started has code 127, one that takes longer than
    `timeout_s` -9.
    """
    return _finish(_start(argv, cwd, extra, timeout_s, given), argv, timeout_s, given)


def begin(asked: Sequence[tuple[Sequence[str], Path]]) -> Callable[[], list[Finished]]:
    """Start helpers that print little, each in its folder; return what waits for their ends.

    That returns how they ended, in order: meanwhile the caller has better to do.
    """
    started = [(_start(argv, cwd, None, 20), argv) for argv, cwd in asked]
    return lambda: [_finish(each, argv, 20) for each, argv in started]


def _start(
    argv: Sequence[str],
    cwd: Path | None,
    extra: Mapping[str, str] | None,
    timeout_s: float,
    given: str = "",
) -> Popen[bytes] | OSError:
    import subprocess

    pipe = subprocess.PIPE
    try:
        with bounds.lifted():
            return subprocess.Popen(
                list(argv),
                cwd=cwd or "/",
                env=environment(extra),
                stdin=pipe if given else subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                # A compiler stays in our group: a thread waits for it, and only Ctrl-C reaches it.
                process_group=None if timeout_s == COMPILING_S else 0,
            )
    except OSError as error:
        return error


def _finish(
    started: Popen[bytes] | OSError, argv: Sequence[str], timeout_s: float, given: str = ""
) -> Finished:
    import subprocess

    if isinstance(started, OSError):
        return Finished(127, "", f"{argv[0]}: {started.strerror}")
    with started:
        try:
            out, err = started.communicate(given.encode() or None, timeout_s)
        except subprocess.TimeoutExpired:
            _kill(started)
            return Finished(-9, "", f"{argv[0]}: no end within {timeout_s:g} s")
        except BaseException:
            _kill(started)
            raise
    return Finished(started.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def _kill(started: Popen[bytes]) -> None:
    """Kill a helper that nobody has waited for yet and, where it leads a group, what it started."""
    if started.returncode is None and os.getpgid(started.pid) == started.pid:
        os.killpg(started.pid, signal.SIGKILL)
    started.kill()


def capture(argv: Sequence[str], timeout_s: float = 20) -> str | None:
    """Return what a helper prints, or None if it fails or is not there."""
    done = run(argv, timeout_s=timeout_s)
    return done.stdout if done.code == 0 else None


def find(tool: str, beside: str = "") -> str | None:
    """Return the path of `tool` in the folder `beside`, or an absolute one of PATH, or None."""
    import shutil

    return shutil.which(tool, path=os.pathsep.join(filter(None, (beside, search_path()))))
