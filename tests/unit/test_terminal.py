"""The one way to the terminal: what it escapes, and that there is no other."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import fixturegen
from fixturegen import errors
from fixturegen.cli import terminal

PACKAGE = Path(fixturegen.__file__).parent
NASTY = "a\x1b[31m\r\x9b\x7f\u202e\u200b\udc9b\nall agree"
SHOWN = "a\\x1b[31m\\x0d\\x9b\\x7f\\u202e\\u200b\\udc9b\\nall agree"


def test_each_line_is_one_line_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say("first", NASTY, "")
    terminal.say(f"tab\t{NASTY}", err=True)
    assert capsys.readouterr() == (f"first\n{SHOWN}\n\n", f"tab\\x09{SHOWN}\n")


def test_nothing_is_said_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say()
    assert capsys.readouterr() == ("", "")


def test_an_error_is_what_happened_then_what_was_read_then_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal.say_error(errors.BuildError(NASTY, NASTY, [NASTY, "  ^"]))
    assert capsys.readouterr().err == f"fixturegen: {SHOWN}\n  {SHOWN}\n    ^\n  {SHOWN}\n"


@pytest.mark.parametrize("error", [click.UsageError(NASTY), click.ClickException(NASTY)])
def test_what_click_repeats_of_the_command_line_is_one_line(
    error: click.ClickException, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.say_misuse(error)
    assert capsys.readouterr().err == f"Error: {SHOWN}\n"


def test_json_says_the_same_in_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say_json({NASTY: [NASTY]})
    out = capsys.readouterr().out
    assert json.loads(out) == {NASTY: [NASTY]}
    assert all(char == "\n" or " " <= char <= "~" for char in out)


def test_a_difference_keeps_tabs_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say_difference(b"same\n\told\r\x1b\xff\n\xe2\x80\xae", "same\n\tnew\r\x1b\n", "a\nb")
    assert capsys.readouterr().out == (
        "--- a\\nb\n+++ a\\nb (rendered)\n@@ -1,3 +1,2 @@\n same\n"
        "-\told\\x0d\\x1b\\xff\n-\\u202e\n+\tnew\\x0d\\x1b\n"
    )


def test_an_encoding_that_lacks_a_character_is_given_its_number() -> None:
    code = "from fixturegen.cli.terminal import say; say('\u00e4\u2500'); say('\u00e4', err=True)"
    for encoding, shown in (("ascii", b"\\xe4\\u2500\n"), ("latin-1", b"\xe4\\u2500\n")):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
        assert (done.stdout, done.stderr) == (shown, shown.replace(b"\\u2500", b""))


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def writes(tree: ast.AST) -> Iterator[str]:
    """Yield what in a module writes to a terminal: click, print, and the streams themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "click":
            yield from (f"from click import {alias.name}" for alias in node.names)
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        name = ast.unparse(node)
        if name in ("print", "pprint") or name.startswith(("click.echo", "click.secho")):
            yield name
        if name in ("click.style", "click.prompt", "click.confirm"):
            yield name
        if isinstance(node, ast.Attribute) and node.attr in ("write", "writelines", "buffer"):
            streams = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
            if name.startswith(streams):
                yield name


# __main__ says its own version before anything is imported; the guardian's stdout is a pipe to us.
OTHERS = {"__main__.py": {"sys.stdout.write"}, "guardian.py": {"sys.stdout.buffer"}}


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.name)
def test_only_one_module_writes_to_the_terminal(module: Path) -> None:
    found = set(writes(ast.parse(module.read_text())))
    if module == PACKAGE / "cli" / "terminal.py":
        assert "click.echo" in found
    else:
        assert found <= OTHERS.get(module.name, set())
