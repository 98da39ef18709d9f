"""The only way to the terminal: a line is one line, and nothing in it hides or moves anything.

Names and values come from files that somebody else wrote. Whatever holds one passes `say`, which
escapes control, format and bidi characters, and line ends as well: a name cannot forge a line.
A terminal that is narrower than what is written for one gets it in lines that break no word.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import click

from fixturegen import bounds, errors
from fixturegen.visible import escape


@dataclass(frozen=True, slots=True)
class Coloured:
    """A line in which the first `word` has a colour, where the terminal shows any."""

    text: str
    word: str
    colour: str


Line: TypeAlias = str | Coloured


def say(*lines: Line, err: bool = False) -> None:
    """Write each of `lines` as one line, whatever it holds; on standard error with `err`."""
    columns = _narrow(err)
    _write([piece for line in lines for piece in _shown(line, columns)], err)


def say_error(error: errors.FixturegenError) -> None:
    """Say what happened, where, and what to do next."""
    first, *rest = error.lines()
    say(f"fixturegen: {first}", *rest, err=True)


def say_misuse(error: click.ClickException) -> None:
    """Say what click finds wrong with the command line: its own words around the user's."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None and isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(*context.get_help().split("\n"), err=True)
        return
    usage = []
    if context is not None:
        usage = [
            *context.get_usage().split("\n"),
            f"Try '{context.command_path} {context.help_option_names[-1]}' for help.",
            "",
        ]
    say(*usage, f"Error: {error.format_message()}", err=True)


def say_json(value: object) -> None:
    """Write `value` as JSON in ASCII; what would have to be escaped is, as JSON has it."""
    import json

    text = json.dumps(value, indent=1, ensure_ascii=True)
    _write([text.replace("\x7f", "\\u007f")], err=False)  # the one control that JSON lets through


def say_difference(old: bytes, new: str, path: str) -> None:
    """Write the difference between a file and what is rendered for it; tabs stay."""
    import difflib

    bounds.at(path)
    lines = difflib.unified_diff(
        _lines(old.decode(errors="backslashreplace")),
        _lines(new),
        path,
        f"{path} (rendered)",
        lineterm="",
    )
    _write(["\t".join(map(escape, line.split("\t"))) for line in lines], err=False)


def _lines(text: str) -> list[str]:
    """Return the lines of `text`; only LF ends one, so that a CR is seen."""
    return [line.removesuffix("\n") for line in io.StringIO(text, newline="\n")]


def _shown(line: Line, columns: int) -> list[str]:
    if isinstance(line, str):
        return _fitted(escape(line), columns)
    first, *rest = _fitted(escape(line.text), columns)
    if not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in ("", "dumb"):
        first = first.replace(line.word, click.style(line.word, fg=line.colour), 1)
    return [first, *rest]


def _narrow(err: bool) -> int:
    """Return the columns of a terminal that is narrower than a page; 0 for anything else."""
    stream = sys.stderr if err else sys.stdout
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):  # a file, closed, or closed from the start
        return 0
    from fixturegen.units import WIDTH

    return columns if columns < WIDTH else 0


def _fitted(line: str, columns: int) -> list[str]:
    """Return a line in pieces of at most `columns`, 0 for any, as far as its words let it."""
    if not columns or len(line) <= columns:
        return [line]
    import textwrap

    text = line.lstrip(" ")
    margin = " " * min(len(line) - len(text), columns // 4)
    pieces = textwrap.wrap(
        text,
        columns,
        initial_indent=margin,
        subsequent_indent=margin,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return pieces or [""]


class Help(click.HelpFormatter):
    """The help of a command, which click itself breaks within words on a narrow terminal."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        self._columns = _narrow(err=False)
        super().__init__(indent_increment, 78 if self._columns else width, max_width)

    def getvalue(self) -> str:
        """Return the text."""
        lines = super().getvalue().split("\n")
        return "\n".join(piece for line in lines for piece in _fitted(line, self._columns))


click.Context.formatter_class = Help


def _write(lines: Sequence[str], err: bool) -> None:
    """Write the lines, also where the terminal's encoding lacks some of their characters."""
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    text = "\n".join(lines).encode(encoding, "backslashreplace").decode(encoding)
    if lines:
        click.echo(text, err=err)


def flush() -> None:
    """Write what is left of standard output."""
    sys.stdout.flush()


def refused_stream(error: OSError) -> str:
    """Return which stream could not be written to, or "" if it was something else."""
    import traceback

    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is click.echo.__code__:
            return "standard error" if frame.f_locals.get("err") else "standard output"
        if frame.f_code is flush.__code__:
            return "standard output"
    return ""
