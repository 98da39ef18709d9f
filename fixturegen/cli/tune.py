"""`fixturegen tune`: the machine's knobs, shown, turned, put back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fixturegen import errors
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixturegen.tune import KnobState
    from fixturegen.tune.journal import Journal

FORMAT = 1
root_option = click.option(
    "--sysfs",
    "root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="A folder that stands for /: DIR/sys/... and DIR/proc/... No root needed.",
)

HELP = """Show the machine's knobs, turn them for quiet measurements, and put them back.

The knobs are governor, turbo, smt, nmi_watchdog, aslr and thp. `show` changes nothing and says
what each one is. `apply` without names turns all but smt and aslr. What it turned stays so until
`restore` or the next boot; a run turns them for itself only, with
`fixturegen run --allow tune:governor,turbo`.

\b
Examples:
  fixturegen tune show
  sudo fixturegen tune apply governor turbo
  sudo fixturegen tune restore
"""


@click.group(
    "tune",
    help=HELP,
    context_settings=HELP_OPTIONS,
    short_help="Show, turn and restore the machine's knobs.",
)
def command() -> None:
    """Hold the three commands together."""


@command.command("show", short_help="What each knob is, and what it would be set to.")
@root_option
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as one JSON object.")
def show(root: Path | None, as_json: bool) -> None:
    """Say what each knob is, its files, its value, and whether it can be set."""
    from fixturegen.tune import journal, states
    from fixturegen.tune.page import show_lines

    place = _place(root)
    knobs = states(place)
    try:
        turned, trouble = journal.peek(place), ""
    except errors.FixturegenError as error:
        turned, trouble = None, error.what
    current = turned is None or turned.boot == journal.boot_of(place)
    if as_json:
        say_json(_facts(knobs, turned, current, trouble))
        return
    note = f"Journal: {trouble}" if trouble else _journal_line(turned, current)
    say(*show_lines(knobs, note, _hints(root, knobs, turned)))


def _place(root: Path | None) -> Path:
    """Return the root that is meant; another name of / is /, with all that goes with it."""
    return (root or Path("/")).resolve()


def _journal_line(turned: Journal | None, current: bool) -> str:
    if turned is None:
        return ""
    who = "`fixturegen tune apply`" if turned.by == "apply" else f"a run (process {turned.pid})"
    if not current:
        return f"A journal of {who} is from an earlier boot; its values ended with it."
    return f"Knobs are turned by {who}: what they were before is in the journal."


def _hints(root: Path | None, knobs: Sequence[KnobState], turned: Journal | None) -> list[str]:
    """Return the commands that would turn what can be turned, or put it back."""
    if turned is not None:
        return ["To put the old values back:", f"  {_line(root, 'restore')}"]
    names = [k.knob for k in knobs if k.verdict in {"yes", "root"} and k.implied]
    if not names:
        return ["No knob here is turned unless it is named."]
    return [
        "To turn them, and to put them back:",
        f"  {_line(root, 'apply', *names)}",
        f"  {_line(root, 'restore')}",
    ]


def _line(root: Path | None, *arguments: str) -> str:
    """Return the command line for a person to type, with sudo where it needs root."""
    import os
    import shlex

    from fixturegen.privileges import sudo_line

    if root is not None:
        return shlex.join(["fixturegen", "tune", *arguments, "--sysfs", str(root)])
    if os.geteuid() == 0:
        return shlex.join(["fixturegen", "tune", *arguments])
    return sudo_line("tune", *arguments)


def _facts(
    knobs: Sequence[KnobState], turned: Journal | None, current: bool, trouble: str
) -> dict[str, object]:
    import msgspec

    facts: dict[str, object] = {
        "format": FORMAT,
        "knobs": msgspec.to_builtins(knobs),
        "journal": None,
        "journal_trouble": trouble,
    }
    if turned is not None:
        facts["journal"] = {**msgspec.to_builtins(turned), "this_boot": current}
    return facts


@command.command("apply", short_help="Turn knobs until restore or the next boot.")
@root_option
@click.argument("names", metavar="[KNOB]...", nargs=-1)
def apply(root: Path | None, names: tuple[str, ...]) -> None:
    """Turn knobs; it lasts until `fixturegen tune restore`, or until the next boot.

    Needs root. Without names all that can be turned are, but neither smt nor aslr: these take CPUs
    and protection from every program, and have to be named. Named knobs are turned all or not at
    all. The old values are written to /run/fixturegen before the first new one; while they are
    there, a second apply refuses (exit code 7).
    """
    from fixturegen import privileges, tune
    from fixturegen.tune.page import applied_lines

    place = _place(root)
    privileges.need_root(place, "tune", "apply", *names)
    before = tune.states(place)
    values = {each.knob: each.value for each in before}
    done = tune.apply(place, names)
    turned = {each.knob for each in done.turned}
    left = [] if names else [k for k in before if k.knob not in turned and k.verdict == "yes"]
    if not names:
        say(f"No knob is named: all but {_unnamed(before)} are turned.")
    say(*applied_lines(values, done, left, _line(root, "restore")))


def _unnamed(knobs: Sequence[KnobState]) -> str:
    return " and ".join(each.knob for each in knobs if not each.implied)


@command.command("restore", short_help="Put back what apply turned.")
@root_option
def restore(root: Path | None) -> None:
    """Put the exact old values back, after `apply` or after a run that was killed with its helper.

    Needs root. A value that someone else changed meanwhile is left as it is, and named. It may be
    called at any time: without a journal there is nothing to do.
    """
    from fixturegen import privileges, tune
    from fixturegen.tune.lasting import RESTORE
    from fixturegen.tune.page import restored_lines

    place = _place(root)
    privileges.need_root(place, "tune", "restore")
    done = tune.restore(place)
    now = {each.knob: each.value for each in tune.states(place)}
    say(*restored_lines(done, now))
    if done.failed:
        raise errors.FileError(
            "some values could not be put back; the journal still holds them", RESTORE
        )
