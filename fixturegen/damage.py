"""What an editor or version control does to a text: conflict markers, line endings, a BOM."""

from __future__ import annotations

import re
from collections.abc import Callable
from shlex import quote

BOM = b"\xef\xbb\xbf"
# Each alone may be somebody's text: a line of = is a rule below a heading.
_OPENS = re.compile(rb"^<{7}(?: .*)?\r?$", re.MULTILINE)
_PARTS = re.compile(rb"^={7}\r?$", re.MULTILINE)
_CLOSES = re.compile(rb"^>{7}(?: .*)?\r?$", re.MULTILINE)
_MARKER = re.compile(rb"^(?:<{7}|\|{7}|>{7})(?: .*)?\r?$|^={7}\r?$", re.MULTILINE)
_ENDING = re.compile(rb"\r*\n|\r")


def conflict(content: bytes) -> int:
    """Return the line at which a conflict of a merge begins that is not resolved; 0: there is none.

    A conflict is the three markers of git and others, in order, each at the start of a line.
    """
    if not (opens := _OPENS.search(content)):
        return 0
    parts = _PARTS.search(content, opens.end())
    closes = parts and _CLOSES.search(content, parts.end())
    return content.count(b"\n", 0, opens.start()) + 1 if closes else 0


def marker(content: bytes, expected: bytes = b"") -> int:
    """Return the line of the first marker of a conflict which `expected` does not have; 0: none.

    For a file that is known to be wrong: there a marker is one, also where others were taken out.
    """
    meant = set(expected.split(b"\n"))
    strange = (each for each in _MARKER.finditer(content) if each[0].rstrip(b"\r") not in meant)
    first = next(strange, None)
    return content.count(b"\n", 0, first.start()) + 1 if first else 0


def line_endings(content: bytes) -> str:
    """Return what is wrong with a text's line endings and its first bytes, "" if they are ours."""
    wrong = ["a byte order mark"] if content.startswith(BOM) else []
    if crlf := content.count(b"\r\n"):
        wrong.append(f"CR LF line endings in {crlf} of {content.count(bytes([10]))} lines")
    elif b"\r" in content:
        wrong.append("CR line endings")
    return " and ".join(wrong)


def undone(content: bytes) -> bytes:
    """Return a text with LF line endings, without a byte order mark, with one final newline."""
    plain = _ENDING.sub(b"\n", content.removeprefix(BOM))
    return plain.rstrip(b"\n") + b"\n" if plain.strip() else plain


def difference(content: bytes, expected: bytes) -> str:
    """Return what was done to a text that should be `expected`; "" if it is just another one."""
    if content == expected:
        return ""
    if line := marker(content, expected):
        return f"has a merge conflict that is not resolved, at line {line}"
    return f"has {_endings(content)}" if undone(content) == undone(expected) else ""


def kept(content: bytes, shown: str, proven: Callable[[bytes], bool]) -> tuple[str, str] | None:
    """Return what was done to a file of stored data, and the repair; None if nothing we know.

    content: what it has, and should not; proven: whether other bytes are those that were kept.
    """
    if proven(undone(content)):
        return f"has {_endings(content)}", repair(shown)
    if line := marker(content):
        return f"line {line}: has a merge conflict", ""
    return None


def _endings(content: bytes) -> str:
    return line_endings(content) or "another number of final newlines"


def repair(shown: str) -> str:
    """Return the command that does to a file what `undone` does to its content."""
    ours = r"s/^\xef\xbb\xbf//; s/\r*\n|\r/\n/g; s/\n*\z/\n/"
    return f"perl -0777 -pi -e {quote(ours)} {quote(shown)}"


RESOLVE = "resolve it in an editor, or with git mergetool"
