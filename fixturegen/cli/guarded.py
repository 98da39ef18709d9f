"""Which commands have the limits of `bounds`: those that are safe on a stranger's project."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fixturegen import bounds

if TYPE_CHECKING:
    import click

    from fixturegen.privileges import Aside


class Invocation(NamedTuple):
    """What click's contexts carry: whether there are limits, and root who acts as somebody else."""

    limits: bool = False
    aside: Aside | None = None


COMMANDS = ("list", "render", "report", "inspect", "doctor", "check", "new")  # and `run --plan`


def guard(ctx: click.Context) -> None:
    """Go on under the limits, in a child; the parent leaves here, with the child's exit code."""
    root = ctx.find_root()
    code = bounds.enter() if root.obj.limits and not root.params["no_limits"] else None
    if code is not None:
        ctx.exit(code)
