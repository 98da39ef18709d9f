"""An instrument that nobody has heard of: one class and one line in the registry, nothing else.

It starts the process under a shell script, looks before and after, and adds two lines.
"""

from __future__ import annotations

import gzip
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import laid
import pytest

from fixturegen.instruments import registry

ROOT = Path(__file__).parents[2]

NICELY = """\
import sys

from msgspec.structs import replace

from fixturegen import files, process
from fixturegen.instruments import registry
from fixturegen.instruments.instrument import AddedLine, Instrument, Refusal
from fixturegen.process import Tool


class Nicely(Instrument):
    name = "nicely"
    key = "wrapper"
    description = "started under nicely, which tells its niceness: column `nice.level`"
    tool = Tool("nicely", ("nicely",), "nicely-utils", "nothing is done nicely")
    lines = (AddedLine("nice", ("level",)), AddedLine("seen"))

    def refusal(self, build):
        if super().refusal(build) or process.run(["nicely"]).code == 0:
            return super().refusal(build)
        return Refusal("nobody is nice here", root_helps=True)

    def wrap(self, start, output):
        args = (str(output), start.program, *start.args)
        return replace(start, program=process.find("nicely"), args=args)

    def before(self, subject, arguments):
        return {"seen": {"folder": [int(subject.folder.is_dir())]}}

    def after(self, subject):
        level = int(files.read_bytes(subject.output))
        files.remove(subject.output)
        return {"nice": {"level": [level]}, "seen": {"folder": [2]}}


registry.INSTRUMENTS.append(Nicely())
"""
START = "import sys, nicely_; from fixturegen.__main__ import main; sys.exit(main())"
PAGE = (
    "import nicely_; from docs import generate; from fixturegen.fixture import schema; "
    "from fixturegen.languages import LANGUAGES; "
    "print(generate.fixture_toml()); print(schema.text(LANGUAGES))"
)
SCRIPT = '#!/bin/sh\n[ $# = 0 ] && exit\necho 7 > "$1"\nshift\nexec "$@"\n'

TOML = laid.changed(
    "metric.value =",
    'metric.level = { value = "nice.level[0]", unit = "count", modes = ["under"] }\n'
    'metric.seen = { value = "sum(seen.folder)", unit = "count", modes = ["under"] }\n'
    'metric.faults = { value = "process.minor_faults", unit = "faults", modes = ["plain"] }\n'
    "metric.value =",
)
MODES = '[[program.mode]]\nname = "plain"\n[[program.mode]]\nname = "under"\nwrapper = "nicely"\n'
TOML = TOML.replace("[[claim]]", f"{MODES}\n[[claim]]", 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project, beside it the instrument's file, and on PATH its tool."""
    laid.put(tmp_path, {"lib/nicely_.py": NICELY, "bin/nicely": SCRIPT})
    (tmp_path / "bin" / "nicely").chmod(0o755)
    return laid.project(tmp_path / "project", TOML)


def start(root: Path, *words: str, code: str = START, tool: bool = True) -> laid.Done:
    """Run Python code after the registry got its line."""
    path = laid.environment()["PATH"]
    env = laid.environment(
        {
            "PYTHONPATH": f"{root.parent / 'lib'}:{ROOT}",
            "PATH": f"{root.parent / 'bin'}:{path}" if tool else path,
        }
    )
    argv = [sys.executable, "-P", "-c", code, *words]
    done = subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    return laid.Done(done.returncode, done.stdout, done.stderr)


def samples_of(root: Path) -> list[dict[str, object]]:
    (path,) = (root / "fixtures").glob("*/now/samples.jsonl.gz")
    with gzip.open(path) as stream:
        return [json.loads(line) for line in stream]


def test_without_its_line_in_the_registry_the_word_is_unknown(root: Path) -> None:
    done = laid.run(root, "list")
    assert done.code == 3 and "wrapper = 'nicely': unknown name, expected strace-count" in done.err


@pytest.mark.slow
def test_what_it_tells_is_a_metric_and_its_needs_are_doctors(root: Path) -> None:
    done = start(root, "run", "--label", "now")
    assert done.code == 0, done.said
    under = [s["lines"] for s in samples_of(root) if str(s["case"]).endswith(".under")]
    assert len(under) == 2
    for lines in under:
        assert isinstance(lines, dict)
        assert lines["nice"] == {"level": [7]} and lines["seen"] == {"folder": [1, 2]}
        assert lines["value"]["n"] == [64]  # what the program prints comes through
    text = next((root / "fixtures").glob("*.txt")).read_text()
    assert "level" in text and "not measured" not in text
    assert not list(root.rglob("wrapped/*"))
    assert start(root, "check").code == 0

    rows = {f["name"]: f for f in json.loads(start(root, "doctor", "--json").out)["findings"]}
    assert rows["nicely"]["state"] == "ok" and rows["strace"] and rows["perf"]
    page = start(root, code=PAGE).out
    assert "| `nicely` | `wrapper` | nicely | started under nicely, which tells" in page
    assert '"nicely"' in page[page.index('"wrapper": {') :]  # the JSON schema's


@pytest.mark.slow
def test_where_it_cannot_be_used_the_case_says_why(root: Path) -> None:
    done = start(root, "run", "--label", "now", tool=False)
    assert done.code == 0, done.said
    assert {str(s["case"]).rpartition(".")[2] for s in samples_of(root)} == {"plain"}
    text = next((root / "fixtures").glob("*.txt")).read_text()
    assert "nicely is not on PATH (Debian: nicely-utils)" in " ".join(text.split())
    rows = {
        f["name"]: f
        for f in json.loads(start(root, "doctor", "--json", tool=False).out)["findings"]
    }
    assert rows["nicely"]["state"] == "absent"
    assert (rows["nicely"]["text"], rows["nicely"]["advice"]) == (
        "nothing is done nicely",
        "apt install nicely-utils",
    )
    (root.parent / "bin" / "nicely").write_text("#!/bin/sh\nexit 1\n")
    done = start(root, "run", "--label", "later")
    assert done.code == 0 and "nobody is nice here" in done.said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nice.level[0]", "nice.leve[0]", "nice.level"),
        ("lines.value", "lines.nice", "this name is taken"),
        ("lines.value", "lines.seen", "this name is taken"),
        ('modes = ["plain"] }', 'modes = ["under"] }', "is also that of nicely"),
        ('wrapper = "nicely"', 'watch = ["nicely"]', "watch = 'nicely': unknown name"),
        ('wrapper = "nicely"', 'wrapper = "nicel"', "nicely"),
    ],
)
def test_fixture_toml_is_checked_against_what_it_says_of_itself(
    root: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    monkeypatch.setattr(registry, "INSTRUMENTS", [*registry.INSTRUMENTS])
    runpy.run_path(str(root.parent / "lib" / "nicely_.py"))  # adds its line
    (path,) = root.glob("templates/*/fixture.toml")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    done = laid.call(root, "list")
    assert done.code == 3 and said in done.err, done.said


WARMED = """\
title = "A program that is started once before"

[[program]]
name = "shell"
languages = ["system"]
command = "sh"
rounds = 1
timeout_s = 0.5
exits = [0, 3]
lines.value = 'value (?P<n>\\d+)'
metric.n = {{ value = "value.n[0]", unit = "count" }}

[[program.mode]]
name = "warm"
args = ["-c", "echo value 1"]
env = {{ MARK = "seen" }}
prepare = ["warm-program {script}"]
"""


@pytest.fixture
def warmed(tmp_path: Path) -> Callable[[str], tuple[laid.Done, list[dict[str, Any]]]]:
    """Return what runs a fixture whose `warm-program` is a script, and reads its samples."""

    def run(script: str) -> tuple[laid.Done, list[dict[str, Any]]]:
        where = laid.put(tmp_path, {"script": script}) / "script"
        laid.project(tmp_path / "project", WARMED.format(script=where))
        done = laid.run(tmp_path / "project", "run", "--label", "now")
        data = tmp_path / "project/fixtures/p01/now/samples.jsonl.gz"
        with gzip.open(data, "rt") as lines:
            return done, [json.loads(line) for line in lines]

    return run


def test_a_warm_up_is_as_its_mode_says_and_what_it_leaves_has_ended(
    warmed: Callable[[str], tuple[laid.Done, list[dict[str, Any]]]], tmp_path: Path
) -> None:
    told = tmp_path / "told"
    script = f'echo "$MARK" > {told}\nsleep 600 & echo $! >> {told}\nsetsid sleep 600 & exit 3\n'
    done, samples = warmed(script)
    assert done.code == 0, done.said
    assert {sample["status"] for sample in samples} == {"ok"}
    mark, pid = told.read_text().split()
    assert mark == "seen"
    assert not Path("/proc", pid).exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo sorry >&2; exit 4", "prepare warm-program: exit code 4; stderr: sorry"),
        ("sleep 600", "prepare warm-program: "),
    ],
)
def test_a_warm_up_that_fails_or_never_ends_fails_the_sample(
    warmed: Callable[[str], tuple[laid.Done, list[dict[str, Any]]]], script: str, said: str
) -> None:
    done, samples = warmed(script + "\n")
    assert done.code == 5
    assert said in done.err
    assert {sample["status"] for sample in samples} == {"unstarted"}
    assert all(sample["detail"].startswith(said) for sample in samples)
