"""No name and no value of a stranger's project reaches the terminal as it is: all commands."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fixturegen.visible import HIDDEN
from tests.functional import laid
from tests.hostile.names import (
    ANGRY,
    BYTES,
    CALM,
    FORGED,
    NAME,
    TEXT,
    lay,
    leaves,
    quoted,
    replaced,
    spoil,
)
from tests.unit.test_elf_forge import JUMP_SLOT, Forge

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
import trees

RUN = "quiet"

pytestmark = pytest.mark.slow


def assert_clean(said: str, *, tabs: bool = False) -> None:
    """Nothing that moves, hides or rearranges; and no line of theirs stands as one of ours."""
    for line in said.split("\n"):
        found = HIDDEN.search(line.replace("\t", "") if tabs else line)
        assert not found, f"{found!r} in {line!r}"
        assert line.strip() != FORGED, said
    assert "a bug of ours" not in said, said


def clean(folder: Path, *words: str, tabs: bool = False, **more: object) -> laid.Done:
    done = laid.run(folder, *words, **more)  # type: ignore[arg-type]
    assert_clean(done.out, tabs=tabs)
    assert_clean(done.err)
    return done


def said_clean(folder: Path, *words: str) -> laid.Done:
    """Do what `clean` does within this process: what is hidden is looked for in the same text."""
    done = laid.call(folder, *words)
    assert_clean(done.out)
    assert_clean(done.err)
    return done


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a complete run of `calm`, and a run of `angry` whose one sample failed."""
    root = lay(tmp_path_factory.mktemp("hostile"))
    assert clean(root, "build").code == 0
    assert clean(root, "run", CALM, "--label", RUN).code == 0
    failed = clean(root, "run", ANGRY, "--label", RUN)
    assert failed.code == 5 and "\\x9b2J" in failed.err
    return root


@pytest.fixture
def root(measured: Path, tmp_path: Path) -> Path:
    return shutil.copytree(measured, tmp_path / NAME, symlinks=True)


WORDS = (
    ("list",),
    ("list", CALM, ANGRY),
    ("list", "--json"),
    ("render", "--check"),
    ("report", "--run", NAME, CALM),
    ("check",),
    ("check", "--json"),
    ("run", "--plan"),
    ("run", "--plan", "--json"),
    ("run", CALM, "--resume"),
    ("run", CALM, "--resume", "--label", NAME),
    ("run", CALM, "--label", "other"),
    ("run", ANGRY, "--label", "other"),
    ("build",),
    ("build", "--set", f"word={NAME}"),
    ("report", "--check"),
    ("report",),
    ("render",),
    ("new", "another"),
    ("new", NAME),
)
WRONG = (
    (NAME,),
    ("list", NAME),
    ("list", f"--{NAME}"),
    ("list", f"--json={NAME}"),
    ("render", NAME),
    ("report", CALM, "--run", NAME + "1"),
    ("report", "--run", NAME),
    ("check", NAME),
    ("run", NAME),
    ("run", CALM, "--label", NAME),
    ("run", CALM, "--rounds", NAME),
    ("run", CALM, "--language", NAME),
    ("run", CALM, "--allow", NAME),
    ("run", CALM, "--allow", f"tune:{NAME}"),
    ("run", CALM, "--set", NAME),
    ("run", CALM, "--set", f"{NAME}=1"),
    ("run", CALM, "--sysfs", NAME),
    ("build", "--set", f"wird={NAME}"),
    ("inspect", NAME),
    ("doctor", "--sysfs", NAME),
    ("doctor", "--picture", NAME),
    ("doctor", NAME),
    ("tune", NAME),
    ("tune", "apply", "--sysfs", ".", NAME),
    ("-C", NAME, "list"),
)


def test_every_command_on_a_hostile_project(root: Path) -> None:
    spoil(root, RUN)
    for words in WORDS:
        clean(root, *words)
    spoilt = clean(root, "check").out
    assert "\\x1b[31m\\x1b]0;t\\x07\\x08" in spoilt


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words[0][:6])
def test_what_was_typed_is_quoted_and_not_obeyed(measured: Path, words: tuple[str, ...]) -> None:
    done = said_clean(measured, *words)
    assert done.code in (1, 2, 3, 74) and done.err


def test_differences_show_what_a_file_hides(root: Path) -> None:
    spoil(root, RUN)
    for words in (("render", CALM, "--check", "--diff"), ("report", CALM, "--check")):
        done = clean(root, *words, tabs=True)
        assert done.code == 1
        assert "\n-\tx\\x1b[31m\\x1b]0;t\\x07\\x08\\x0d\\x0b\\x7f\\x9b2J\\u202e" in done.out
        assert f"\n-{FORGED}\n" in done.out
    assert "remove     c/calm/x\\x1b" in clean(root, "render", "--check").out


def test_who_holds_the_lock_is_told_in_one_line(root: Path) -> None:
    lock = root / "build/lock"
    lock.write_bytes(BYTES)
    with lock.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        done = clean(root, "build")
        assert done.code == 7 and FORGED in done.err
        waiting = subprocess.Popen(
            [sys.executable, "-m", "fixturegen", "run", CALM, "--wait"],
            cwd=root,
            env=laid.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        first = (waiting.stderr.readline() if waiting.stderr else b"").decode()
    assert first.startswith("waiting for the lock") and FORGED in first
    out, err = waiting.communicate(timeout=60)
    assert_clean(first + out.decode() + err.decode())


SPECS: dict[str, dict[str, str | bytes]] = {
    "a folder's name": {f"templates/{NAME}/fixture.toml": laid.TOML},
    "not TOML": {"templates/p01/fixture.toml": BYTES},
    "a title": {"templates/p01/fixture.toml": f"title = {quoted(TEXT)}"},
    "a key": {"templates/p01/fixture.toml": laid.TOML + f"{quoted(TEXT)} = 1\n"},
    "a parameter's name": {
        "templates/p01/fixture.toml": laid.changed("[params]", f"[params]\n{quoted(TEXT)} = 1")
    },
    "a language": {"templates/p01/fixture.toml": laid.changed('"c"', quoted(TEXT))},
    "a pattern": {"templates/p01/fixture.toml": laid.changed("'value ", f"{quoted(TEXT)} #")},
    "a metric": {"templates/p01/fixture.toml": laid.changed('"value.n[0]"', quoted(TEXT))},
    "a unit": {"templates/p01/fixture.toml": laid.changed('"count" }', quoted(TEXT) + "}")},
    "a claim": {
        "templates/p01/fixture.toml": laid.changed('"It prints its length."', quoted(TEXT))
    },
    "what holds": {
        "templates/p01/fixture.toml": laid.changed('"each(', f'{quoted(TEXT)} # "each(')
    },
    "an include": {"templates/p01/count.c.j2": f"//% include {TEXT!r}\n"},
    "an unknown name": {"templates/p01/count.c.j2": f"/*{{ params[{TEXT!r}] }}*/\n"},
    "what it raises": {"templates/p01/count.c.j2": f"/*{{ {TEXT!r} | raw }}*/\n"},
    "a control character": {"templates/p01/count.c.j2": TEXT},
    "no UTF-8": {"templates/p01/count.c.j2": BYTES},
    "a compiler's words": {"templates/p01/count.c.j2": f'#error "{FORGED}\u202e\u200b"\n'},
}


@pytest.mark.parametrize("files", SPECS.values(), ids=SPECS)
def test_a_fixture_or_template_that_is_wrong(tmp_path: Path, files: dict[str, str]) -> None:
    laid.put(laid.project(tmp_path), files)
    codes = [
        said_clean(tmp_path, *words).code
        for words in (("list",), ("render", "--check"), ("check", "--json"), ("check",))
    ]
    codes.append(clean(tmp_path, "build").code)
    assert any(code in (3, 4, 74) for code in codes), codes


def test_a_template_without_its_folder_is_named(tmp_path: Path) -> None:
    hostile = tmp_path / NAME
    hostile.mkdir()
    done = clean(hostile, "check", extra={"HOME": str(hostile), "TMPDIR": str(hostile)})
    assert done.code in (0, 1)
    assert "x" in clean(laid.project(hostile), "build", extra={"CC": NAME}).err


def context_of(root: Path) -> Path:
    return root / "fixtures" / CALM / RUN / "context.json"


def test_every_string_of_a_context(root: Path) -> None:
    """Each in its turn, with what reads it; a name that must be one of ours may be refused."""
    path = context_of(root)
    whole = json.loads(path.read_text())
    text = TEXT + "\udc9b"
    for place in leaves(whole):
        path.write_text(
            json.dumps(replaced(whole, lambda at, old: text if at == place else old))  # noqa: B023
        )
        for words in (("check", CALM), ("report", CALM, "--check")):
            done = laid.call(root, *words)
            assert_clean(done.out, tabs=True)
            assert_clean(done.err)
    path.write_text(json.dumps(replaced(whole, lambda at, old: text)))
    for words in WORDS:
        clean(root, *words)


def test_no_value_of_a_context_becomes_part_of_a_command(root: Path) -> None:
    path = context_of(root)
    whole = json.loads(path.read_text())
    for version in ("1; rm -rf ~", "$(reboot)", "1 && x", TEXT, ["1"], None):
        path.write_text(json.dumps({**whole, "format": 99, "fixturegen": version}))
        done = clean(root, "check", CALM)
        assert "repair: fixturegen (newer) wrote it and can read it" in done.out, done.out
    path.write_text(json.dumps({**whole, "format": 99, "fixturegen": "2.1.0"}))
    assert "repair: fixturegen 2.1.0 wrote it" in clean(root, "check", CALM).out


def test_an_attachment_and_a_sample(root: Path) -> None:
    path = context_of(root)
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, "attachments": {NAME: "0"}}))
    (path.parent / NAME).write_bytes(BYTES)
    assert clean(root, "check", CALM).code in (1, 3)
    clean(root, "report", CALM, "--check")


def test_a_run_that_is_repeated_with_other_rights_quotes_them(root: Path) -> None:
    """What an interrupted run says of --allow is a stranger's: it stands quoted in the command."""
    stored = root / "fixtures" / CALM / RUN
    folder = shutil.copytree(stored, root / "build/runs" / CALM / "left")
    whole = json.loads((folder / "context.json").read_text())
    whole["asked"] = {**whole["asked"], "allow": ["drop-caches; reboot"]}
    del whole["samples"]  # as while it is under way
    (folder / "context.json").write_text(json.dumps(whole))
    done = clean(root, "run", CALM, "--resume")
    assert done.code in (2, 3)
    assert "; reboot" not in done.err.replace("--allow 'drop-caches; reboot'", "")


def test_what_tools_say_of_themselves(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "said").write_bytes(BYTES)
    for tool in ("gcc", "cargo", "rustc", "perf", "make", "strace", "readelf", "hyperfine"):
        script = folder / tool
        script.write_text(f"#!/bin/sh\n/bin/cat '{folder}/said'\n")
        script.chmod(0o755)
    for words in (("doctor",), ("doctor", "--json")):
        assert clean(tmp_path, *words, extra={"PATH": str(folder)}).code == 0
    script = folder / "lstopo"
    script.write_text(f"#!/bin/sh\n/bin/cat '{folder}/said' >&2\nexit 1\n")
    script.chmod(0o755)
    done = clean(tmp_path, "doctor", "--picture", "a.svg", extra={"PATH": str(folder)})
    assert done.code == 74 and "made none" in done.err
    script = folder / "gcc"
    script.write_text(f"#!/bin/sh\n/bin/cat '{folder}/said' >&2\nexit 1\n")
    done = clean(laid.project(tmp_path / "p"), "build", extra={"PATH": str(folder)})
    assert done.code == 4 and "  | " in done.err


@pytest.mark.parametrize("make", [trees.intel_pstate, knobs.intel], ids=["machine", "knobs"])
def test_a_machine_of_hostile_files(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    """Each file of the tree in its turn, then all at once; folders with hostile names beside."""
    whole = make(tmp_path / "whole")
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    root = tmp_path / NAME
    shutil.copytree(whole, root)
    (root / "sys/bus/pci/devices" / NAME).mkdir(parents=True)
    (root / "sys/class/net" / NAME).mkdir(parents=True)
    commands = (("doctor",), ("tune", "show"), ("doctor", "--json"), ("tune", "show", "--json"))
    for file in files:
        before = (root / file).read_bytes()
        (root / file).write_bytes(before + BYTES)
        for words in commands[:2]:
            done = laid.call(tmp_path, *words, "--sysfs", str(root))
            assert_clean(done.said)
        (root / file).write_bytes(before)
    for file in files:
        (root / file).write_bytes(BYTES)
    for words in commands:
        clean(tmp_path, *words, "--sysfs", str(root))


def test_an_elf_file_of_hostile_strings(tmp_path: Path) -> None:
    forged = Forge(interpreter=TEXT, needed=(NAME, "libc.so.6"), slots=((NAME, JUMP_SLOT, 0),))
    path = forged.write(tmp_path / NAME)
    for words in ((), ("--json",), ("-s", NAME), ("-s", NAME, "--json")):
        assert clean(tmp_path, "inspect", *words, str(path)).code == 0
    path.write_bytes(BYTES)
    assert clean(tmp_path, "inspect", str(path), NAME).code == 1


def test_a_bug_of_ours_shows_its_traceback_without_obeying_it(tmp_path: Path) -> None:
    code = (
        "import sys; from fixturegen.cli import main, listing;"
        "from fixturegen.fixture.project import Project\n"
        "def fail(*given): raise RuntimeError(sys.argv.pop())\n"
        "Project.choose = fail; sys.exit(main.status())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "list", NAME],
        cwd=laid.project(tmp_path),
        env=laid.environment({"FIXTUREGEN_TRACEBACK": "1"}),
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode()
    assert done.returncode == laid.BUG and "Traceback" in said
    assert_clean(said.replace("a bug of ours", ""))


def test_colours_are_for_terminals_that_show_them(tmp_path: Path) -> None:
    for extra, coloured in (
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ):
        ours, theirs = os.openpty()
        done = subprocess.Popen(
            [sys.executable, "-m", "fixturegen", "doctor", "--sysfs", str(tmp_path)],
            env=laid.environment(extra),
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        said = b""
        while piece := _read(ours):
            said += piece
        os.close(ours)
        assert done.wait(60) == 0
        assert (b"\x1b[" in said) == coloured


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # EIO: whoever held the other side has ended
        return b""
