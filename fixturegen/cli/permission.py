"""What a run may do to the machine: said with --allow, done by a guardian, put back at its end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fixturegen import errors, privileges
from fixturegen.cli.terminal import say
from fixturegen.model import Fixture

if TYPE_CHECKING:
    from fixturegen.tune import Guard


def known(given: Sequence[str]) -> tuple[str, ...]:
    """Return the words of --allow; raises errors.UsageError for what cannot be allowed at all."""
    if not given:
        return ()
    from fixturegen.fixture.conditions import allowable, permitted_knobs
    from fixturegen.instruments.registry import permissions
    from fixturegen.tune import KNOBS

    for what in given:
        if not allowable(what):
            raise errors.UsageError(
                f"--allow {what}: not known",
                f"{', '.join(permissions())}, or tune:KNOB,KNOB: fixturegen tune show",
            )
        for knob in permitted_knobs([what]):
            if knob not in KNOBS:
                raise errors.UsageError(
                    f"--allow {what}: there is no knob {knob!r}", f"knobs: {', '.join(KNOBS)}"
                )
    return tuple(dict.fromkeys(given))


def need_asked(fixtures: Sequence[Fixture], allow: Sequence[str]) -> None:
    """Raise errors.UsageError for what of `allow` none of the fixtures asks for."""
    from fixturegen.fixture.conditions import TUNE, permitted_knobs

    asked = set().union(*map(_asked, fixtures))
    for what in allow:
        for one in [f"{TUNE}{knob}" for knob in permitted_knobs([what])] or [what]:
            if one not in asked:
                raise errors.UsageError(
                    f"--allow {one}: none of the chosen fixtures asks for it", "leave it out"
                )


def _asked(fixture: Fixture) -> set[str]:
    """Return what the modes of a fixture ask for, each knob by itself: `tune:KNOB`."""
    modes = [mode for program in fixture.programs for mode in program.modes]
    return {m.allow for m in modes} | {f"tune:{knob}" for m in modes for knob in m.tune}


def own(fixture: Fixture, allow: Sequence[str]) -> tuple[str, ...]:
    """Return what of `allow` the fixture itself asks for: so its run is recorded and repeated."""
    from fixturegen.fixture.conditions import TUNE, permitted_knobs

    asked = _asked(fixture)
    kept = []
    for what in allow:
        knobs = [knob for knob in permitted_knobs([what]) if f"{TUNE}{knob}" in asked]
        if knobs:
            kept.append(TUNE + ",".join(knobs))
        elif what in asked:
            kept.append(what)
    return tuple(kept)


@contextlib.contextmanager
def standby(
    allow: Sequence[str], root: Path, aside: privileges.Aside | None, *, as_root: bool = False
) -> Iterator[Guard | None]:
    """Start the guardian if there is something that it may do and root to do it, else give None.

    Under sudo (`aside`) this process then is the user who typed it, for good: nothing that it
    reads, builds, runs or writes is root's, unless `as_root`. Call it before the project is
    touched. Raises errors.UsageError if `as_root` and this is not root.
    """
    if aside is not None and (allow or as_root):
        aside.become_root()
    if as_root and os.geteuid() != 0:
        raise errors.UsageError(
            "--as-root: this is not root, and fixturegen never calls sudo itself",
            f"leave it out, or: {privileges.SUDO}fixturegen run --as-root",
        )
    with contextlib.ExitStack() as stack:
        guard = None
        if allow and (root != Path("/") or os.geteuid() == 0):  # else cases say what is missing
            from fixturegen import tune
            from fixturegen.fixture.conditions import permitted_knobs
            from fixturegen.instruments.drop_caches import DropCaches

            caches = DropCaches.name in allow
            guard = stack.enter_context(tune.standby(permitted_knobs(allow), root, caches=caches))
        if aside is not None and not as_root:
            aside.become_caller()
        yield guard


@contextlib.contextmanager
def holding(guard: Guard | None) -> Iterator[None]:
    """Hold the knobs while the block runs; say what has to be known of them afterwards."""
    if guard is None:
        yield
        return
    from fixturegen.tune.lasting import RESTORE

    said = ""
    try:
        with guard.holding():
            yield
    except BaseException as error:
        said = str(error)
        raise
    finally:
        notes = [*guard.notes, *([] if guard.end() else [RESTORE])]
        for note in notes:
            if note not in said:
                with contextlib.suppress(OSError):  # whoever closed stderr is not to be told
                    say(note, err=True)
