"""The one way to the terminal: what it escapes, and that there is no other."""

from __future__ import annotations

import ast
import contextlib
import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import fixturegen
from fixturegen import errors
from fixturegen.cli import terminal
from fixturegen.cli.main import cli, status

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


def on_terminal(columns: int, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what `act` writes to a terminal with so many columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    read = bytearray()

    def take() -> None:
        with contextlib.suppress(OSError):  # that the other end is closed
            while data := os.read(ours, 4096):
                read.extend(data)

    reader = threading.Thread(target=take)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        patched.setattr(sys, "stderr", stream)
        act()
    reader.join(20)
    os.close(ours)
    return read.decode().replace("\r\n", "\n")


def command(*words: str) -> Callable[[], object]:
    def act() -> object:
        return cli.main(list(words), prog_name="fixturegen", standalone_mode=False)

    return act


def table() -> None:
    terminal.say("", "case           median  unit", "-------------  ------  ----", "", "a" * 50)
    terminal.say(terminal.Coloured("  note    governor           powersave", "note", "yellow"))
    terminal.say(f"{' ' * 29}-> sudo fixturegen tune apply governor")


def error() -> None:
    terminal.say_error(errors.UsageError("there is no command 'chekc' here at all", "did you mean"))
    terminal.say_misuse(click.UsageError("No such option: --lable and a long explanation of it"))


@pytest.mark.parametrize("columns", [79, 40, 20, 1])
@pytest.mark.parametrize(
    "act",
    [command("--help"), command("run", "--help"), command("tune", "show", "--help"), table, error],
)
def test_a_narrow_terminal_breaks_no_word(
    act: Callable[[], object], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    whole = on_terminal(80, act, monkeypatch)
    text = on_terminal(columns, act, monkeypatch)
    assert text.split() == whole.split()
    long = [line for line in text.splitlines() if len(line) > columns]
    assert all(" " not in line.strip() for line in long), long


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": ""}, False),
        ({}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
    ],
)
def test_only_a_terminal_that_has_colours_gets_them(
    variables: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for columns in (80, 20):
        assert ("\x1b[33mnote\x1b[0m" in on_terminal(columns, table, monkeypatch)) == coloured
    table()
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["tune"]])
def test_a_command_that_needs_another_teaches_them(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["fixturegen", *words])
    assert status() == 2
    told = capsys.readouterr()
    assert told.out == "" and "\\n" not in told.err and "Error" not in told.err
    assert told.err.startswith(f"Usage: {' '.join(['fixturegen', *words])} ")
    assert "\nCommands:\n" in told.err
