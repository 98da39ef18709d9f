"""Text in which everything is seen: what would not show, or would move something, is an escape."""

from __future__ import annotations

import re

ELLIPSIS = "..."

# Controls, blanks other than the space, format and bidi characters, fillers that show nothing,
# variation selectors, surrogates, private use, noncharacters. Written out, because str.isprintable
# changes with each Python's Unicode, and a report must not.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
    "\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U0010ffff]"
)


def _shown(char: str) -> str:
    code = ord(char)
    if char == "\n":
        return "\\n"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape(text: str, limit: int | None = None) -> str:
    r"""Return `text` with what would not show, or would rearrange a line, escaped.

    LF is `\n`; other controls, blanks, zero-width, bidi, surrogate and private characters are
    `\xNN`, `\uNNNN` or `\UNNNNNNNN`. Wide characters and backslashes stay. With `limit`
    the result has at most so many characters and ends in "..." if something was cut, never
    inside an escape.
    """
    if text.isascii() and text.isprintable() and (limit is None or len(text) <= limit):
        return text
    if limit is None or len(text) <= limit:
        whole = HIDDEN.sub(lambda match: _shown(match[0]), text)
        if limit is None or len(whole) <= limit:
            return whole
    room = max(limit - len(ELLIPSIS), 0)
    kept: list[str] = []
    for char in text[:room]:
        piece = _shown(char) if HIDDEN.match(char) else char
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + ELLIPSIS[:limit]
