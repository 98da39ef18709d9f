"""What the launcher says of itself."""

from __future__ import annotations

from msgspec import Struct

from fixturegen.model import Text


class Hello(Struct, frozen=True):
    """What the launcher says of itself; empty before it was started.

    `start` is "clone", or "vfork" where clone is refused; `linked` is the compiler that linked it,
    with "-static" if it did; `rcu` is "recorded" or why not; `tree` is "walked", or why leftovers
    outside of the program's process group cannot be found.
    """

    start: Text = ""
    linked: Text = ""
    rcu: Text = ""
    tree: Text = ""
