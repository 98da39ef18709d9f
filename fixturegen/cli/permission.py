"""What a run may do to the machine: said with --allow, done by a guardian, put back at its end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fixturegen import errors
from fixturegen.cli.terminal import say
from fixturegen.model import Fixture

if TYPE_CHECKING:
    from fixturegen.tune import Guard


def allowed(fixtures: Sequence[Fixture], given: Sequence[str]) -> tuple[str, ...]:
    """Return what may be done to the machine; raises errors.UsageError for what nobody asks for."""
    if not given:
        return ()
    from fixturegen.spec.conditions import ALLOWED, DROP, permitted_knobs
    from fixturegen.tune import KNOBS

    asked = set().union(*map(_asked, fixtures))
    for what in given:
        if not ALLOWED.fullmatch(what):
            raise errors.UsageError(
                f"--allow {what}: not known", f"{DROP}, or tune:KNOB,KNOB: fixturegen tune show"
            )
        knobs = permitted_knobs([what])
        for knob in knobs:
            if knob not in KNOBS:
                raise errors.UsageError(
                    f"--allow {what}: there is no knob {knob!r}", f"knobs: {', '.join(KNOBS)}"
                )
        for one in [f"tune:{knob}" for knob in knobs] or [what]:
            if one not in asked:
                raise errors.UsageError(
                    f"--allow {one}: none of the chosen fixtures asks for it", "leave it out"
                )
    return tuple(dict.fromkeys(given))


def _asked(fixture: Fixture) -> set[str]:
    """Return what the modes of a fixture ask for, each knob by itself: `tune:KNOB`."""
    modes = [mode for program in fixture.programs for mode in program.modes]
    return {m.allow for m in modes} | {f"tune:{knob}" for m in modes for knob in m.tune}


def own(fixture: Fixture, allow: Sequence[str]) -> tuple[str, ...]:
    """Return what of `allow` the fixture itself asks for: so its run is recorded and repeated."""
    from fixturegen.spec.conditions import TUNE, permitted_knobs

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
def standby(allow: Sequence[str], root: Path) -> Iterator[Guard | None]:
    """Start the guardian if there is something that it may do and root to do it, else give None.

    Under sudo this process then is the user who typed it, for good: nothing that it builds, runs
    or writes is root's. Call it before anything is written.
    """
    if not allow or (root == Path("/") and os.geteuid() != 0):
        yield None  # the cases that ask for it say what is missing
        return
    from fixturegen import tune
    from fixturegen.spec.conditions import DROP, permitted_knobs

    with tune.standby(permitted_knobs(allow), root, caches=DROP in allow) as guard:
        user = tune.drop_privileges()
        if user is not None and not os.access(os.__file__, os.R_OK):
            raise errors.UsageError(
                f"{user.name or f'user {user.uid}'} cannot read the Python that root has started, "
                f"and nothing but the knobs is left to root: {Path(os.__file__).parent}",
                "use a Python that this user can read, or unset SUDO_UID and SUDO_GID to stay root",
            )
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
