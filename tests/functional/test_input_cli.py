"""A wrong command line gets one message with the nearest known name, and exit 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import laid
import pytest
from laid import TOML, changed

from fixturegen.cli.main import COMMANDS

ARABIC = "\u0663"

WRONG = {
    "command": (["rnu"], ["'rnu'", "did you mean 'run'"]),
    "option": (["render", "--chek"], ["--chek", "--check"]),
    "option of the group": (["--verison"], ["--verison", "--version"]),
    "short option": (["list", "-x"], ["-x"]),
    "fixture": (["render", "p02"], ["'p02'", "did you mean 'p01'"]),
    "fixture upwards": (["render", "../p01"], ["'../p01'"]),
    "fixture with a slash": (["run", "templates/p01"], ["'templates/p01'"]),
    "empty fixture": (["list", ""], ["''"]),
    "language": (["build", "--language", "rst"], ["'rst'", "'rust'"]),
    "no value": (["run", "--rounds"], ["--rounds", "argument"]),
    "negative rounds": (["run", "--rounds", "-1"], ["--rounds", "-1"]),
    "no rounds": (["run", "--rounds", "0"], ["--rounds", "0"]),
    "rounds with _": (["run", "--plan", "--rounds", "1_000"], ["--rounds", "'1_000'", "digits"]),
    "Arabic rounds": (["run", "--plan", "--rounds", ARABIC], ["--rounds", "digits 0-9"]),
    "rounds with a blank": (["run", "--plan", "--rounds", " 3"], ["--rounds", "' 3'"]),
    "many digits": (["run", "--plan", "--rounds", "9" * 5000], ["--rounds"]),
    "seed with _": (["run", "--plan", "--seed", "1_0"], ["--seed", "'1_0'"]),
    "Arabic seed": (["run", "--plan", "--seed", ARABIC], ["--seed"]),
    "CPU with _": (["run", "--plan", "--cpu", "1_0"], ["--cpu"]),
    "Arabic CPU": (["run", "--plan", "--cpu", ARABIC], ["--cpu"]),
    "no =": (["build", "--set", "length"], ["--set length", "KEY=VALUE"]),
    "no such key": (["build", "--set", "lenght=3"], ["'lenght'", "did you mean 'length'"]),
    "text for a number": (["build", "--set", "length=x"], ["length=x", "a whole number"]),
    "_ in a number": (["build", "--set", "length=1_000"], ["'1_000'", "a whole number"]),
    "Arabic number": (["build", "--set", f"length={ARABIC}"], ["a whole number"]),
    "point": (["build", "--set", "length=1.0"], ["'1.0'", "a whole number"]),
    "65 bits": (["build", "--set", f"length={2**64}"], ["64 bits"]),
    "digits": (["build", "--set", f"length={'9' * 5000}"], ["a whole number"]),
    "infinite": (["build", "--set", "ratio=inf"], ["ratio", "not a finite number"]),
    "too large": (["build", "--set", "ratio=1e999"], ["ratio", "not a finite number"]),
    "no truth": (["build", "--set", "fast=yes"], ["fast=yes", "true or false"]),
    "line break": (["build", "--set", "word=a\nb"], ["word", r"'\n'"]),
    "set twice": (["build", "--set", "length=1", "--set", "length=2"], ["length", "twice"]),
    "--json alone": (["run", "--json"], ["--json needs --plan"]),
    "label": (["run", "--label", "../x"], ["'../x'"]),
    "run": (["report", "p01", "--run", "../../x"], ["'../../x'"]),
    "no file": (["inspect"], ["FILE"]),
    "new without a name": (["new"], ["NAME"]),
    "-C": (["-C", "nowhere", "list"], ["-C nowhere", "No such file"]),
    "-C to a file": (["-C", "templates/p01/fixture.toml", "list"], ["Not a directory"]),
}


@pytest.mark.parametrize(("words", "wanted"), WRONG.values(), ids=WRONG)
def test_it_is_refused(tmp_path: Path, words: list[str], wanted: list[str]) -> None:
    laid.project(tmp_path)
    done = laid.call(tmp_path, *words)
    assert (done.code, done.out) == (2, ""), done.said
    for each in wanted:
        assert each in done.err
    assert not (tmp_path / "c").exists()
    assert not (tmp_path / "fixtures").exists()


@pytest.mark.parametrize("name", ["../../elsewhere", "..", ".", "/tmp"])
def test_a_run_is_looked_for_among_the_runs_alone(tmp_path: Path, name: str) -> None:
    laid.project(tmp_path)
    laid.put(tmp_path, {"elsewhere/context.json": "{}", "fixtures/context.json": "{}"})
    laid.put(tmp_path, {"fixtures/p01/context.json": "{}"})
    done = laid.call(tmp_path, "report", "p01", "--run", name)
    assert done.code == 2, done.said
    assert "p01 has no" in done.err


def test_a_key_of_two_types_asks_for_one_fixture(tmp_path: Path) -> None:
    laid.project(tmp_path)
    laid.project(tmp_path, changed("length = 64", 'length = "x"'), "", name="p02")
    laid.put(tmp_path, {"templates/p02/fixture.toml": TOML.replace("ratio = 0.5", 'ratio = "x"')})
    done = laid.call(tmp_path, "run", "--plan", "--set", "ratio=1.5")
    assert done.code == 2
    assert "another type" in done.err
    assert laid.call(tmp_path, "run", "p01", "--plan", "--set", "ratio=1.5").code == 0


def test_bytes_that_are_no_text_are_told_and_not_a_bug(tmp_path: Path) -> None:
    laid.project(tmp_path)
    for words in (["list", b"\xff"], ["build", "--set", b"word=\xff"], ["-C", b"\xff", "list"]):
        done = subprocess.run(
            [sys.executable, "-m", "fixturegen", *words],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 2, done.stderr
        assert b"Traceback" not in done.stderr


def test_what_a_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    laid.project(tmp_path, changed("A small", "漢字: a small"))
    done = laid.run(tmp_path, "list", extra={"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"})
    assert done.code == 0
    assert r"\u6f22\u5b57" in done.out


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_teaches_on_80_columns(tmp_path: Path, name: str) -> None:
    done = laid.call(tmp_path, *([name] if name else []), "--help")
    assert done.code == 0
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    examples = [line for line in lines if line.strip().startswith(f"fixturegen {name}".strip())]
    assert examples, "no example"
    assert laid.call(tmp_path, *([name] if name else []), "-h").out == done.out


@pytest.mark.parametrize(
    "words",
    [
        ["list", "--json"],
        ["check", "--json"],
        ["run", "--plan", "--json"],
        ["doctor", "--json"],
        ["inspect", "--json", sys.executable],
    ],
    ids=lambda words: words[0],
)
def test_json_is_json(tmp_path: Path, words: list[str]) -> None:
    laid.project(tmp_path, changed("A small", r"\u00dc \\\" \u6f22"))
    done = laid.run(tmp_path, *words)
    assert json.loads(done.out)
    assert done.out.isascii()
    assert done.err == ""


def test_the_version_costs_no_library(tmp_path: Path) -> None:
    done = laid.run(tmp_path, "--version", python=["-X", "importtime"])
    assert (done.code, done.out.split()[0]) == (0, "fixturegen")
    for library in ("click", "jinja2", "msgspec", "rich"):
        assert f"| {library}" not in done.err
