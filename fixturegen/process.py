"""The only place that starts helpers: compilers, cargo, objdump, tools asked for their version."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

# What a helper may see of the user's environment. Everything that changes what a compiler makes
# (CFLAGS, CPATH, LD_RUN_PATH, RUSTFLAGS, ...) is left out and so cannot change it without a word.
PASSED_ON = (
    "PATH",
    "HOME",
    "TMPDIR",
    "USER",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)


class Finished(Struct, frozen=True):
    """How a helper ended: `code` is its exit code, negative for a signal, 127 if not started."""

    code: int
    stdout: str
    stderr: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a helper's environment: an allow-list, the C locale, and `extra`."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "LC_ALL": "C", **(extra or {})}


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
    timeout_s: float = 600,
) -> Finished:
    """Run a helper to its end with no input; its output is text, odd bytes replaced.

    A helper that cannot be started has code 127, one that takes longer than `timeout_s` -9.
    """
    import subprocess

    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env=environment(extra),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finished(-9, "", f"{argv[0]}: no end within {timeout_s:g} s")
    except OSError as error:
        return Finished(127, "", f"{argv[0]}: {error.strerror}")
    return Finished(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def capture(argv: Sequence[str], timeout_s: float = 20) -> str | None:
    """Return what a helper prints, or None if it fails or is not there."""
    done = run(argv, timeout_s=timeout_s)
    return done.stdout if done.code == 0 else None


def find(tool: str) -> str | None:
    """Return the path of `tool` on PATH, or None."""
    import shutil

    return shutil.which(tool)
