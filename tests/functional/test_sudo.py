"""Under sudo every command but `tune` is the user who typed it, before it touches anything."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import laid
import pytest
from sudo import NOBODY, VARIABLES, OpenPython, give, owners

from fixturegen import errors

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
from knobs import held

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="needs root to become another user; the order of the steps stands in, unit/"
        "test_privileges.py",
    ),
]

WHO = """\
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    printf("value %d\\n", (int)(/*{ params.length }*/ - 64 + getuid()));
    return 0;
}
"""
TOML = laid.changed(
    '"each(count.c.plain.value == params.length)"', '"each(count.c.plain.value >= 0)"'
)
LADDER = """\
title = "A ladder"

[[program]]
name = "sleep"
command = "sleep"
languages = ["system"]
rounds = 1
order = "ladder"

[[program.mode]]
name = "one"
args = ["0"]
"""
# Each command with words that do all it can; all of them read templates/p01/fixture.toml.
READ = ["list", "render", "report", "check", "build", "run --label now", "run --plan"]
ROOTS_PYTHON = Path(os.__file__).parent


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="fixturegen-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def root(outside: Path) -> Path:
    found = laid.project(outside / "project", toml=TOML, source=WHO)
    give(found)
    return found


def uids(root: Path, run: str = "now") -> set[int]:
    """Return what the measured processes said of who they are."""
    with gzip.open(root / "fixtures" / "p01" / run / "samples.jsonl.gz") as stream:
        return {int(n) for line in stream for n in json.loads(line)["lines"]["value"]["n"]}


@pytest.mark.parametrize("words", READ)
def test_what_root_alone_can_read_is_refused(
    open_python: OpenPython, root: Path, words: str
) -> None:
    if words in {"report", "check"}:
        assert open_python.run(root, "run", "--label", "now", extra=VARIABLES).code == 0
    secret = root / "templates" / "p01" / "fixture.toml"
    os.chown(secret, 0, 0)
    secret.chmod(0o600)
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    done = open_python.run(root, *words.split(), extra=VARIABLES)
    assert done.code != 0 and "ermission denied" in done.said, done.said
    assert "A small fixture" not in done.said
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before


@pytest.mark.parametrize(
    "words", [*READ, "inspect /bin/true", "doctor", "new p02", "run --as-root"]
)
def test_dash_c_does_not_enter_a_folder_of_root_s(
    open_python: OpenPython, outside: Path, words: str
) -> None:
    hidden = laid.project(outside / "hidden")
    hidden.chmod(0o700)
    done = open_python.run(outside, "-C", str(hidden), *words.split(), extra=VARIABLES)
    assert done.code == 2 and f"-C {hidden}: Permission denied" in done.err, done.said
    assert owners(hidden) == {0} and not (hidden / "templates" / "p02").exists()


@pytest.mark.parametrize("words", ["inspect {}", "doctor --sysfs {}", "run --sysfs {}"])
def test_not_even_the_words_of_a_command_are_looked_up_as_root(
    open_python: OpenPython, outside: Path, words: str
) -> None:
    hidden = outside / "hidden"
    (hidden / "sys").mkdir(parents=True)
    hidden.chmod(0o700)
    done = open_python.run(outside, *words.format(hidden / "sys").split(), extra=VARIABLES)
    assert done.code != 0, done.said
    assert "denied" in done.err or "does not exist" in done.err, done.said


@pytest.mark.parametrize(
    "words", ["render", "build", "run --label now", "new p02", "doctor --picture machine.svg"]
)
def test_what_is_written_belongs_to_the_user(
    open_python: OpenPython, root: Path, words: str
) -> None:
    if words.startswith("doctor") and not shutil.which("lstopo-no-graphics"):
        pytest.skip("needs lstopo")
    done = open_python.run(root, *words.split(), extra=VARIABLES)
    assert done.code == 0, done.said
    assert owners(root) == {NOBODY}


def test_a_folder_of_root_s_is_not_written_to(open_python: OpenPython, root: Path) -> None:
    os.chown(root, 0, 0)
    for words in ("render", "build", "run"):
        done = open_python.run(root, *words.split(), extra=VARIABLES)
        assert done.code != 0 and "ermission denied" in done.err, (words, done.said)
    assert {path.name for path in root.iterdir()} == {"templates"}


def test_programs_are_started_as_the_user_unless_as_root(
    open_python: OpenPython, root: Path
) -> None:
    done = open_python.run(root, "run", "--label", "now", extra=VARIABLES)
    assert done.code == 0, done.said
    assert uids(root) == {NOBODY}
    done = open_python.run(root, "run", "--as-root", "--label", "root", extra=VARIABLES)
    assert done.code == 0, done.said
    assert uids(root, "root") == {0}
    context = json.loads((root / "fixtures" / "p01" / "root" / "context.json").read_text())
    assert context["asked"]["as_root"] is True and context["options"] == ["--as-root"]
    assert "--as-root" in (root / "fixtures" / "p01.txt").read_text()


def test_a_plan_is_the_user_s_also_as_root(open_python: OpenPython, root: Path) -> None:
    plan = open_python.run(root, "run", "--plan", extra=VARIABLES)
    assert plan.code == 0
    assert open_python.run(root, "run", "--plan", "--as-root", extra=VARIABLES) == plan
    (root / "templates" / "p01" / "fixture.toml").chmod(0)
    done = open_python.run(root, "run", "--plan", "--as-root", extra=VARIABLES)
    assert done.code == 74 and "ermission denied" in done.err


def test_as_root_reads_what_is_root_s_after_the_words_are_read(
    open_python: OpenPython, root: Path
) -> None:
    """It is the whole of root again, its groups too: what --as-root promises."""
    folder = root / "templates" / "p01"
    os.chown(folder / "fixture.toml", 0, 0)
    (folder / "fixture.toml").chmod(0o600)
    assert open_python.run(root, "run", "--as-root", "--label", "now", extra=VARIABLES).code == 0


def test_an_interrupted_run_as_root_is_resumed_only_when_it_is_said_again(
    open_python: OpenPython, root: Path
) -> None:
    assert open_python.run(root, "run", "--label", "now", extra=VARIABLES).code == 0
    folder = root / "build" / "runs" / "p01"
    folder.mkdir(parents=True, exist_ok=True)
    (root / "fixtures" / "p01" / "now").rename(folder / "now")
    context = json.loads((folder / "now" / "context.json").read_text())
    context["asked"]["as_root"] = True
    for key in ("samples", "digest"):
        context.pop(key, None)
    (folder / "now" / "context.json").write_text(json.dumps(context))
    give(root)
    done = open_python.run(root, "run", "--resume", extra=VARIABLES)
    assert done.code == 2 and "or as whom" in done.err, done.said
    assert "--resume --as-root" in done.err
    assert owners(root) == {NOBODY}


def test_root_without_sudo_stays_root_in_somebody_s_folder(
    open_python: OpenPython, root: Path
) -> None:
    """As in a container, whose project is a bind mount."""
    for words in ("list", "run --label now", "check", "report --check"):
        assert open_python.run(root, *words.split()).code == 0, words
    assert uids(root) == {0}
    mine = {"SUDO_UID": "0", "SUDO_GID": "0"}
    assert open_python.run(root, "run", "--label", "again", extra=mine).code == 0
    assert uids(root, "again") == {0}


@pytest.mark.parametrize(
    ("allow", "code", "said"),
    [
        ("tune:governor", errors.FileError.exit_code, "Permission denied"),
        ("tune:turbo", errors.UsageError.exit_code, "none of the chosen fixtures asks for it"),
        ("tune:none", errors.UsageError.exit_code, "there is no knob 'none'"),
        ("root", errors.UsageError.exit_code, "not known"),
    ],
)
def test_what_is_allowed_to_the_guardian_is_not_to_the_run(
    open_python: OpenPython, root: Path, outside: Path, allow: str, code: int, said: str
) -> None:
    machine = knobs.intel(outside / "machine")
    before = held(machine)
    toml = root / "templates" / "p01" / "fixture.toml"
    ladder = f"{LADDER}tune = ['governor']\n"
    toml.write_text(ladder)
    if said == "Permission denied":
        os.chown(toml, 0, 0)
        toml.chmod(0o600)
    words = ("run", "--sysfs", str(machine), "--allow", allow)
    done = open_python.run(root, *words, extra=VARIABLES)
    assert done.code == code and said in done.err, done.said
    assert held(machine) == before and owners(root) <= {NOBODY, 0}
    assert not (root / "build").exists() and not (machine / "run").exists()


def test_tune_stays_root(open_python: OpenPython, outside: Path) -> None:
    machine = knobs.intel(outside / "machine")
    machine.chmod(0o700)
    before = held(machine)
    for words in ("show", "apply governor", "restore"):
        done = open_python.run(
            outside, "tune", *words.split(), "--sysfs", str(machine), extra=VARIABLES
        )
        assert done.code == 0, done.said
    assert held(machine) == before


@pytest.mark.parametrize("words", ["list", "check", "doctor", "run --plan", "run --as-root"])
@pytest.mark.parametrize("uid", ["x", "", "65534 "])
def test_variables_that_are_not_sudo_s_are_refused(
    open_python: OpenPython, root: Path, words: str, uid: str
) -> None:
    done = open_python.run(root, *words.split(), extra={**VARIABLES, "SUDO_UID": uid})
    assert done.code == 2 and "not what sudo sets" in done.err, done.said
    assert "unset both" in done.err


def test_help_and_version_need_no_user(open_python: OpenPython, root: Path) -> None:
    for word in ("--help", "--version"):
        assert open_python.run(root, word, extra={"SUDO_UID": "x"}).code == 0


@pytest.mark.parametrize(
    "words", [*READ, "inspect /bin/true", "doctor", "new p02", "run --as-root"]
)
def test_a_python_that_the_user_cannot_read_is_told(root: Path, words: str) -> None:
    if all(folder.stat().st_mode & 0o005 == 0o005 for folder in ROOTS_PYTHON.parents):
        pytest.skip("needs a Python that only root can read")
    done = laid.run(root, *words.split(), extra=VARIABLES)
    assert done.code == errors.UsageError.exit_code, done.said
    assert "nobody cannot read the Python" in done.err
    assert "unset SUDO_UID SUDO_GID" in done.err
    assert {path.name for path in root.iterdir()} == {"templates"}


def test_no_folder_of_root_s_is_left_in_the_environment(
    open_python: OpenPython, root: Path, outside: Path
) -> None:
    """As `sudo -E` of a shell of root's would: what cargo, gcc and our cache look into."""
    roots, own = outside / "root", outside / "own"
    for folder, mode in ((roots, 0o700), (own, 0o755)):
        folder.mkdir(mode=mode)
    give(own)
    tools = outside / "bin"
    laid.put(tools, {"gcc": f'#!/bin/sh\nenv > {own}/seen\nexec /usr/bin/gcc "$@"\n'})
    (tools / "gcc").chmod(0o755)
    names = ("CARGO_HOME", "RUSTUP_HOME", "TMPDIR", "XDG_CACHE_HOME")
    extra = {**VARIABLES, "PATH": f"{tools}:/usr/bin:/bin", "HOME": str(roots), "USER": "root"}
    extra |= {name: str(roots) for name in names}
    done = open_python.run(root, "build", extra=extra)
    assert done.code == 0, done.said
    seen = dict(x.split("=", 1) for x in (own / "seen").read_text().splitlines() if "=" in x)
    assert not [name for name, value in seen.items() if str(roots) in value]
    assert seen["USER"] == "nobody" and "TMPDIR" not in seen
    (root / "build").rename(root / "before")
    assert open_python.run(root, "build", extra={**extra, "TMPDIR": str(own)}).code == 0
    assert f"TMPDIR={own}" in (own / "seen").read_text().splitlines()
    assert list(roots.iterdir()) == []
