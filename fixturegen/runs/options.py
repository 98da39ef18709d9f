"""What a run was asked to be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from msgspec import Struct, field, structs

from fixturegen.model import Fixture, Value, written
from fixturegen.runs.context import Asked


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

    @classmethod
    def of(cls, asked: Asked, sets: Mapping[str, Value]) -> Options:
        """Return what a recorded run was asked to be; sets: its changed parameters."""
        return cls(**structs.asdict(asked), sets=sets)

    @property
    def asked(self) -> Asked:
        """What a run records of its options; the parameters stand there by themselves."""
        return Asked(**{key: getattr(self, key) for key in Asked.__struct_fields__})

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

    def typed(self) -> list[str]:
        """Return the options as typed, only those that differ from the default."""
        options = [f"--rounds {self.rounds}"] if self.rounds else []
        options += [f"--seed {self.seed}"] if self.seed != 1 else []
        options += [
            f"--set {quote(f'{key}={written(value)}')}" for key, value in sorted(self.sets.items())
        ]
        options += [f"--language {name}" for name in self.languages]
        options += [f"--cpu {self.cpu}"] if self.cpu is not None else []
        options += [f"--sysfs {quote(self.sysfs)}"] if self.sysfs else []
        options += ["--as-root"] if self.as_root else []
        return options + [f"--allow {what}" for what in self.allow]
