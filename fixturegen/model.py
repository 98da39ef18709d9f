"""The words of the project as frozen values. No I/O, no clock."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Value = int | float | str | bool
Kind = Literal["time", "count"]
Order = Literal["shuffled", "fixed", "ladder"]
Status = Literal["ok", "exit", "signal", "timeout", "flood", "unstarted", "unread"]

# What a sample holds: counts, and numbers as programs print them (units.parse_number).
Count = Annotated[int, Meta(ge=0)]
Line = Annotated[str, Meta(max_length=10_000)]
Decimal = Annotated[str, Meta(pattern=r"^-?[0-9]+\.[0-9]+\Z", max_length=64)]

# What a stored context holds: bounded, for it may come from a stranger.
LONGEST = 10_000  # characters of a text in a context
Text = Annotated[str, Meta(max_length=LONGEST)]
Texts = tuple[Text, ...]
Whole = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]

Columns = dict[str, dict[str, list[int | str]]]  # of what was printed: line, column, entries

SYSTEM = "system"


def path_part(name: str) -> str:
    """Return `name` as one part of a path: every run of other characters becomes `_`."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


class Flags(Struct, frozen=True):
    """What a build adds to one language's compiler command lines."""

    cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    rustflags: tuple[str, ...] = ()


class Build(Struct, frozen=True):
    """A named set of flags; `flags` has one entry for each language that has this build."""

    name: str
    flags: dict[str, Flags]


class Mode(Struct, frozen=True):
    """How a program is started: arguments, environment, conditions."""

    name: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    aslr: bool = True
    prepare: tuple[str, ...] = ()
    allow: str = ""
    watch: tuple[str, ...] = ()
    wrapper: str = ""
    cpus: int | Literal["all"] | None = None
    tune: tuple[str, ...] = ()
    core: str = ""

    @property
    def alone(self) -> bool:
        """Whether something is done right before or after its process, and none is in flight."""
        return bool(self.prepare or self.watch or self.wrapper)


class Metric(Struct, frozen=True):
    """One number per sample: `value` is an expression over the lines of a sample."""

    name: str
    value: str
    unit: str
    kind: Kind
    modes: tuple[str, ...] = ()
    optional: bool = False


class Program(Struct, frozen=True):
    """A small source in one or more languages, with its builds, modes, lines and metrics."""

    name: str
    languages: tuple[str, ...]
    rounds: int
    timeout_s: float
    builds: tuple[Build, ...]
    modes: tuple[Mode, ...]
    lines: dict[str, str]
    metrics: tuple[Metric, ...]
    order: Order = "shuffled"
    cpus: int | Literal["all"] = 1
    output: Literal["keep", "discard"] = "keep"
    output_limit: int = 16 * 1024 * 1024
    declares_builds: bool = False
    kernel: str = ""
    symbols: tuple[str, ...] = ()
    command: str = ""
    exits: tuple[int, ...] = (0,)

    def cases(self) -> list[Case]:
        """Return every case in the order of declaration: languages, then builds, then modes."""
        return [
            Case(self.name, language, build.name, mode.name, self.declares_builds)
            for language in self.languages
            for build in self.builds
            if language in build.flags
            for mode in self.modes
            if (not mode.languages or language in mode.languages)
            and (not mode.builds or build.name in mode.builds)
        ]

    def metrics_of(self, mode: str) -> list[Metric]:
        """Return the metrics that a sample of `mode` gives."""
        return [metric for metric in self.metrics if not metric.modes or mode in metric.modes]

    def mode(self, name: str) -> Mode:
        """Return the mode called `name`; StopIteration if there is none."""
        return next(mode for mode in self.modes if mode.name == name)

    def build(self, name: str) -> Build:
        """Return the build called `name`; StopIteration if there is none."""
        return next(build for build in self.builds if build.name == name)


class Claim(Struct, frozen=True):
    """A sentence of the article with the expression that must hold on a run."""

    text: str
    holds: str
    otherwise: str = ""


class File(Struct, frozen=True):
    """A file of that many bytes that the runner makes, `{file.NAME}` in arguments."""

    name: str
    bytes: int


class Fixture(Struct, frozen=True):
    """One folder in templates/: everything that its fixture.toml says."""

    name: str
    title: str
    params: dict[str, Value]
    shared: tuple[str, ...]
    programs: tuple[Program, ...]
    claims: tuple[Claim, ...]
    files: tuple[File, ...] = ()

    def program(self, name: str) -> Program:
        """Return the program called `name`; KeyError if there is none."""
        for program in self.programs:
            if program.name == name:
                return program
        raise KeyError(name)

    def cases(self) -> list[Case]:
        """Return the cases of all programs, in the order of declaration."""
        return [case for program in self.programs for case in program.cases()]

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language that some program is written in, in order of appearance."""
        return tuple(dict.fromkeys(lang for p in self.programs for lang in p.languages))


class Case(Struct, frozen=True, order=True, dict=True):
    """Program x language x build x mode: what a row of a table is about.

    `build` is "default" for a program that declares none; it stands in `path` only if it does.
    """

    program: str
    language: str
    build: str
    mode: str
    shows_build: bool = False

    @cached_property
    def path(self) -> str:
        """The case's name in expressions and tables: `program.language[.build].mode`."""
        build = [self.build] if self.shows_build else []
        names = [self.program, self.language, *build, self.mode]
        return ".".join(path_part(name) for name in names)


class Usage(Struct, frozen=True):
    """The kernel's accounting of one process, as wait4 gave it, and its wall time."""

    wall_ns: Count = 0
    user_us: Count = 0
    system_us: Count = 0
    maxrss_kb: Count = 0
    minor_faults: Count = 0
    major_faults: Count = 0
    block_input: Count = 0
    block_output: Count = 0
    voluntary_switches: Count = 0
    involuntary_switches: Count = 0


class Sample(Struct, frozen=True):
    """What one fresh process gave.

    `lines` maps a line's name to its columns, each a list with one entry per printed line, an
    integer or the exact decimal text. `after` is the path of the case that ran before it, empty
    for the first of a run. `status` is "ok" for a sample that may enter a statistic; else
    `detail` says why.
    `leftovers` counts processes that outlived it and were killed; `rcu` the kernel's RCU
    callbacks batches on its CPU in its window (-1: not recorded).
    """

    case: Line
    round: Count
    position: Count
    after: Line
    status: Status
    detail: Line
    usage: Usage
    lines: dict[str, dict[str, list[int | Decimal]]]
    leftovers: Count = 0
    rcu: Annotated[int, Meta(ge=-1)] = -1


def written(value: Value) -> str:
    """Return a parameter's value as --set takes it: true and false as TOML has them."""
    return str(value).lower() if isinstance(value, bool) else str(value)
