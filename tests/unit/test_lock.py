"""requirements-dev.lock has all that pyproject.toml asks for, by hash, for every Python."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements-dev.lock").read_text()
ASKED = tomllib.loads((ROOT / "pyproject.toml").read_text())
WANTED = [
    *ASKED["project"]["dependencies"],
    *(line for lines in ASKED["project"]["optional-dependencies"].values() for line in lines),
    *ASKED["build-system"]["requires"],
]
ENTRIES = [
    line.split(" --hash=sha256:")
    for line in LOCK.replace("\\\n    ", "").splitlines()
    if not line.startswith("#")
]
PINNED = [Requirement(entry[0]) for entry in ENTRIES]


def pins(name: str) -> list[Requirement]:
    """Return the entries of one project: more than one where Pythons need different versions."""
    return [each for each in PINNED if canonicalize_name(each.name) == canonicalize_name(name)]


def version(pin: Requirement) -> str:
    """Return the version of an entry, which is one exact version."""
    (one,) = pin.specifier
    assert one.operator == "=="
    return one.version


@pytest.mark.parametrize("line", WANTED)
def test_all_that_is_asked_for_is_in_it_within_its_bound(line: str) -> None:
    wanted = Requirement(line)
    assert pins(wanted.name)
    for pin in pins(wanted.name):
        assert version(pin) in wanted.specifier, f"{pin}: make lock"


@pytest.mark.parametrize("minor", range(11, 16))
def test_every_python_takes_one_version_of_each(minor: int) -> None:
    python = {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0"}
    linux = python | {"sys_platform": "linux", "platform_python_implementation": "CPython"}
    for name in {pin.name for pin in PINNED} - {"colorama"}:  # Windows
        taken = [pin for pin in pins(name) if not pin.marker or pin.marker.evaluate(linux)]
        assert len(taken) == 1, (name, taken)


def test_every_entry_has_its_hashes_and_no_line_is_of_another_kind() -> None:
    assert len(ENTRIES) > len(WANTED)
    for entry, *hashes in ENTRIES:
        assert hashes, entry
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [a-z_' !<>=.0-9A-Z]+)?", entry.strip())
        assert all(re.fullmatch("[0-9a-f]{64}", each.strip()) for each in hashes), entry


def test_it_names_neither_a_host_nor_a_folder_and_says_how_it_is_made() -> None:
    assert "/" not in LOCK
    assert "make lock" in LOCK.splitlines()[1]


def test_what_checks_and_tests_is_installed_from_it_alone() -> None:
    argv = ["make", "--dry-run", "--always-make", "--no-print-directory", ".venv/.dev"]
    # Of a make that these tests may run under, as test-newest, nothing is taken over.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    installs = [line for line in done.stdout.splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert "--require-hashes --only-binary :all: --requirement requirements-dev.lock" in installs[0]
    assert "--no-deps --no-build-isolation --editable ." in installs[1]
