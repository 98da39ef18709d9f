"""Projects laid out in a temporary folder, and the command line run on them as a user would."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fixturegen.cli.main import status

TOML = """\
title = "A small fixture"

[params]
length = 64
ratio = 0.5
word = "plain"
fast = true

[[program]]
name = "count"
languages = ["c"]
rounds = 2
lines.value = 'value (?P<n>\\d+)'
metric.value = { value = "value.n[0]", unit = "count" }

[[claim]]
text = "It prints its length."
holds = "each(count.c.plain.value == params.length)"
"""

SOURCE = """\
#include <stdio.h>

int main(void)
{
    printf("value %d\\n", /*{ params.length }*/);
    return 0;
}
"""

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
BUG = 70  # the exit code that must never be seen


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without what other tests may have put there."""
    dropped = ("CC", "CFLAGS", "RUSTFLAGS", "NO_COLOR", "FIXTUREGEN_TRACEBACK")
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    return {**kept, **(extra or {})}


def run(
    folder: Path,
    *words: str,
    extra: Mapping[str, str] | None = None,
    python: Sequence[str] = (),
    timeout_s: float = 120,
) -> Done:
    """Run `fixturegen WORDS` in `folder`; never accepts a traceback or a bug of ours."""
    done = subprocess.run(
        [sys.executable, *python, "-m", "fixturegen", *words],
        cwd=folder,
        env=environment(extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )
    found = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in found.said, found.said
    assert found.code != BUG, found.said
    return found


def call(folder: Path, *words: str) -> Done:
    """Do what `run` does within this process: for tests of many small cases."""
    before, handlers = Path.cwd(), [signal.getsignal(number) for number in SIGNALS]
    argv, sys.argv = sys.argv, ["fixturegen", *words]
    out, err = io.StringIO(), io.StringIO()
    try:
        os.chdir(folder)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = status()
    finally:
        os.chdir(before)
        sys.argv = argv
        for number, handler in zip(SIGNALS, handlers, strict=True):
            signal.signal(number, handler)
    found = Done(code, out.getvalue(), err.getvalue())
    assert "Traceback" not in found.said, found.said
    assert found.code != BUG, found.said
    return found


def put(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below `root`, exactly as given, and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def project(root: Path, toml: str | bytes = TOML, source: str = SOURCE, name: str = "p01") -> Path:
    """Lay out a project with one fixture of one C program, and return its root."""
    return put(
        root,
        {f"templates/{name}/fixture.toml": toml, f"templates/{name}/count.c.j2": source},
    )


def changed(old: str, new: str, text: str = TOML) -> str:
    """Return `text` with `old`, which must be there, replaced by `new`."""
    assert old in text, old
    return text.replace(old, new, 1)
