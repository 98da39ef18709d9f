"""What an editor or version control does to a text: conflict markers, line endings, a BOM."""

from __future__ import annotations

import re
from shlex import quote

BOM = b"\xef\xbb\xbf"
# Each alone may be somebody's text: a line of = is a rule below a heading.
_OPENS = re.compile(rb"^<{7}(?: .*)?\r?$", re.MULTILINE)
_PARTS = re.compile(rb"^={7}\r?$", re.MULTILINE)
_CLOSES = re.compile(rb"^>{7}(?: .*)?\r?$", re.MULTILINE)


def conflict(content: bytes) -> int:
    """Return the line at which a conflict of a merge begins that is not resolved; 0: there is none.

    A conflict is the three markers of git and others, in order, each at the start of a line.
    """
    if not (opens := _OPENS.search(content)):
        return 0
    parts = _PARTS.search(content, opens.end())
    closes = parts and _CLOSES.search(content, parts.end())
    return content.count(b"\n", 0, opens.start()) + 1 if closes else 0


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
    plain = content.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return plain.rstrip(b"\n") + b"\n" if plain.strip() else plain


def difference(content: bytes, expected: bytes) -> str:
    """Return what was done to a text that should be `expected`; "" if it is just another one."""
    if line := conflict(content):
        return f"has a merge conflict that is not resolved, at line {line}"
    if content != expected and undone(content) == undone(expected):
        return f"has {line_endings(content) or 'another number of final newlines'}"
    return ""


def repair(shown: str) -> str:
    """Return the command that gives a file the line endings that it must have."""
    return rf"sed -i -e '1s/^\xef\xbb\xbf//' -e 's/\r$//' -e 's/\r/\n/g' {quote(shown)}"


RESOLVE = "resolve it in an editor, or with git mergetool"
