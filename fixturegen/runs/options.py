"""What a run was asked to be, and what an interrupted one was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from msgspec import Struct, field, structs

from fixturegen import errors
from fixturegen.fixture.project import Project
from fixturegen.model import Fixture, Value, written
from fixturegen.runs import record


class Options(Struct, frozen=True):
    """What a run was asked to be; None and empty mean: as the fixture declares."""

    rounds: int | None = None
    seed: int = 1
    sets: Mapping[str, Value] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    cpu: int | None = None
    allow: tuple[str, ...] = ()
    as_root: bool = False
    sysfs: str = ""  # a folder whose knobs and machine stand for this one's, for tests

    @property
    def root(self) -> Path:
        """The folder below which the machine's files are."""
        return Path(self.sysfs or "/").resolve()

    def parameters(self, fixture: Fixture) -> dict[str, Value]:
        """Return the parameters in force."""
        return {**fixture.params, **{k: v for k, v in self.sets.items() if k in fixture.params}}

    def chosen(self, fixture: Fixture) -> list[str]:
        """Return the fixture's languages that are wanted."""
        wanted = self.languages or fixture.languages
        return [name for name in fixture.languages if name in wanted]

    def words(self) -> list[str]:
        """Return the options as typed, only those that differ from the default."""
        typed = [f"--rounds {self.rounds}"] if self.rounds else []
        typed += [f"--seed {self.seed}"] if self.seed != 1 else []
        typed += [
            f"--set {quote(f'{key}={written(value)}')}" for key, value in sorted(self.sets.items())
        ]
        typed += [f"--language {name}" for name in self.languages]
        typed += [f"--cpu {self.cpu}"] if self.cpu is not None else []
        typed += [f"--sysfs {quote(self.sysfs)}"] if self.sysfs else []
        typed += ["--as-root"] if self.as_root else []
        return typed + [f"--allow {what}" for what in self.allow]


def recorded_options(project: Project, fixture: Fixture, name: str, given: Options) -> Options:
    """Return the options that an interrupted run began with; `given` may only repeat them.

    Raises errors.UsageError if an option was given that differs.
    """
    folder = record.unfinished_folder(project, fixture.name) / name
    context = record.read_context(project, folder)
    sets = {k: v for k, v in context.params.items() if fixture.params.get(k) != v}
    recorded = Options(**structs.asdict(context.asked), sets=sets)
    # Never taken from a file: the machine is not ours.
    if any(getattr(given, key) != getattr(recorded, key) for key in ("allow", "as_root", "sysfs")):
        words = " ".join(
            ["--as-root"] * recorded.as_root + [f"--allow {quote(a)}" for a in recorded.allow]
        )
        raise errors.UsageError(
            f"cannot resume {fixture.name} run {name!r}: what may be done to the machine, "
            "or as whom, is another matter than when it began",
            f"fixturegen run {fixture.name} --resume {words}".rstrip(),
        )
    default = Options()
    for key in ("rounds", "seed", "sets", "languages", "cpu"):
        wanted = getattr(given, key)
        if wanted != getattr(default, key) and wanted != getattr(recorded, key):
            raise errors.UsageError(
                f"cannot resume {fixture.name} run {name!r} with other {key} than it began with",
                "leave the option out, or start anew without --resume",
            )
    return recorded
