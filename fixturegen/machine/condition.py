"""One line of `fixturegen doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "absent"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A fact with its verdict.

    `state`: "ok", "note" (it works, and changes what the numbers mean), or "absent" (it is not
    there or could not be read). `advice` says what to do about it. `cannot` is what can then not
    be shown, `beware` what numbers made here are subject to, both in the words of the summary.
    """

    section: str
    name: str
    state: State
    text: str
    advice: str = ""
    cannot: str = ""
    beware: str = ""
