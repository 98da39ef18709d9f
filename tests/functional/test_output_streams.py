"""Whoever takes the output, or does not: full devices, readers that go away, closed descriptors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import laid
import pytest

COMMANDS = ("--version", "--help", "list", "render", "check", "run --plan", "doctor")


def shell(folder: Path, words: str, script: str) -> tuple[int, str]:
    """Run `script` of bash, in which "$@" is fixturegen with `words`; return code and stderr."""
    done = subprocess.run(
        ["bash", "-c", script, "bash", sys.executable, "-m", "fixturegen", *words.split()],
        cwd=folder,
        env=laid.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr and "bug" not in done.stderr, done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_device_is_named_as_standard_output(tmp_path: Path, words: str) -> None:
    laid.project(tmp_path)
    code, said = shell(tmp_path, words, '"$@" > /dev/full')
    assert (code, said) == (74, "fixturegen: standard output: No space left on device\n")


@pytest.mark.parametrize("words", COMMANDS)
def test_a_reader_that_has_gone_is_no_drift(tmp_path: Path, words: str) -> None:
    laid.project(tmp_path)
    pipe = 'set +o pipefail; { sleep 0.3; "$@"; } | true; exit ${PIPESTATUS[0]}'
    assert shell(tmp_path, words, pipe) == (141, "")


@pytest.mark.parametrize("words", [*COMMANDS, f"inspect {sys.executable}"])
@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_what_is_closed_from_the_start_is_not_missed(
    tmp_path: Path, words: str, closed: str
) -> None:
    laid.project(tmp_path)
    assert laid.call(tmp_path, "render").code == 0
    (tmp_path / "fixtures").mkdir()
    code, said = shell(tmp_path, words, f'"$@" {closed}')
    assert (code, said) == (0, "")


def test_a_wrong_usage_keeps_its_code_when_nobody_can_be_told(tmp_path: Path) -> None:
    assert shell(tmp_path, "list --wrong", '"$@" 2> /dev/full')[0] == 2
    assert shell(tmp_path, "list nothing", '"$@" 2> /dev/full')[0] == 2
