"""The words of the project as frozen values. No I/O, no clock.

From `Fixture` and the classes that it is made of, fixture.toml is read, and its reference page
and its JSON schema are written: a key, its type, its default and what it means stand here alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

Value = int | float | str | bool
Kind = Literal["time", "count"]
Order = Literal["shuffled", "fixed", "ladder"]
Status = Literal[
    "ok", "exit", "signal", "timeout", "flood", "stopped", "moved", "unstarted", "unread"
]

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

T = TypeVar("T")
Columns = dict[str, dict[str, list[int | str]]]  # of what was printed: line, column, entries

# What fixture.toml holds.
NAME = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*\Z"
LABEL = r"^[A-Za-z0-9][A-Za-z0-9,._+=-]*\Z"
BUILD = r"^[A-Za-z0-9][A-Za-z0-9,._+-]*\Z"  # no =: make would read an assignment
FUNCTION = r"^[A-Za-z_][A-Za-z0-9_]*\Z|^\Z"
SYMBOL = r"^[A-Za-z_.$][A-Za-z0-9_.$]*\Z"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*\Z"
COMMAND = r"^[A-Za-z0-9][A-Za-z0-9+._-]*\Z|^\Z"
PATTERNS = {  # what messages say instead of a pattern
    NAME: "words of a-z and 0-9 joined by _, the first letter a-z",
    LABEL: "letters, digits and , . _ + = -, the first a letter or digit",
    BUILD: "letters, digits and , . _ + -, the first a letter or digit",
    FUNCTION: "the name of a function: letters, digits and _",
    SYMBOL: "the name of a symbol: letters, digits, _ . and $",
    VARIABLE: "the name of a variable: letters, digits and _",
    COMMAND: "the name of a program on PATH, without a path",
}

# One underscore at a time: a path joins and compares names whose parts it separates by one.
Name = Annotated[str, Meta(pattern=NAME, max_length=40)]
Label = Annotated[str, Meta(pattern=LABEL, max_length=60)]
BuildLabel = Annotated[str, Meta(pattern=BUILD, max_length=60)]
Written = Annotated[str, Meta(min_length=1, max_length=2000)]
Cpus = Annotated[int, Meta(ge=1, le=4096)] | Literal["all"]

SYSTEM = "system"
REFERENCE = re.compile(r"\{([^{}]*)\}")  # in an argument: a name that stands for a path
# The fields that no key of fixture.toml gives: its folder's name; what is gathered of a build.
FOLDER, GATHERED = "(name)", "(languages)"
COMPILER = "compiler"  # the key of a build in which a language is told what compiles it
DEFAULT = "default"  # the build of a program that declares none; may be left out of a path


def path_part(name: str) -> str:
    """Return `name` as one part of a path: every run of other characters becomes `_`."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def canonical(path: str) -> str:
    """Return `program.language[.build]...` with the build left out if it is `default`.

    So a program's first [[program.build]] renames no path. No mode of a program that has this
    build is called as a build is: the third part of a path tells which of the two it is.
    """
    if f".{DEFAULT}" not in path:  # most, and each sample has two
        return path
    parts = path.split(".")
    named = parts[2:3] == [DEFAULT] and len(parts) <= 5  # a binary, a case, or a metric of one
    return ".".join(parts[:2] + parts[3:]) if named else path


class Paths(Mapping[str, T]):
    """Values by path: `default` may stand in the one that is asked for, or be left out."""

    def __init__(self, values: Mapping[str, T]) -> None:
        self._values = {canonical(path): value for path, value in values.items()}

    def __getitem__(self, path: str) -> T:
        return self._values[canonical(path)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Build(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[program.build]]`: a named set of flags. Without any, a program has the build `default`.

    That build may be left out of a path: a mode of its program cannot be called as a build is.
    """

    name: Annotated[BuildLabel, Meta(description="the build's name in paths and tables")]
    settings: Annotated[
        dict[str, dict[str, str | tuple[str, ...]]],
        Meta(
            description="`LANGUAGE.KEY`, as `c.ldflags = [...]`, `rust.rustflags = [...]`: the "
            "keys that the language has, and `compiler`; the languages named here have this "
            "build (all of the program's if none is named)"
        ),
    ] = field(default_factory=dict, name=GATHERED)

    def flags(self, language: str, key: str) -> tuple[str, ...]:
        """Return what the build adds to a language's command lines under one of its flag keys."""
        given = self.settings.get(language, {}).get(key, ())
        return () if isinstance(given, str) else given

    def compiler(self, language: str) -> str:
        """Return the compiler that the build names for a language; empty for the default one."""
        given = self.settings.get(language, {}).get(COMPILER, "")
        return given if isinstance(given, str) else ""


class Mode(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[program.mode]]`: how a program is started. Without any, a program has the mode `plain`."""

    name: Annotated[
        Label,
        Meta(
            description="the mode's name; as a part of a path every run of "
            "other characters than letters and digits is `_`"
        ),
    ]
    args: Annotated[
        tuple[str, ...],
        Meta(description="arguments; `{first_run.rust}` is the path of another program's binary"),
    ] = ()
    env: Annotated[
        dict[Annotated[str, Meta(pattern=VARIABLE)], str],
        Meta(description="variables added to the environment"),
    ] = {}
    languages: Annotated[
        tuple[str, ...], Meta(description="only these languages have this mode")
    ] = ()
    builds: Annotated[tuple[str, ...], Meta(description="only these builds have this mode")] = ()
    aslr: Annotated[bool, Meta(description="false: address randomisation off for its process")] = (
        True
    )
    cpus: Annotated[
        Cpus | None,
        Meta(description="CPUs that its process may use, if others than the program's"),
    ] = None
    prepare: Annotated[
        tuple[Written, ...],
        Meta(
            description="right before its process, in order: [instruments](#instruments) and what "
            "stands behind their names, as `evict-file {self}`"
        ),
    ] = ()
    allow: Annotated[
        str,
        Meta(
            description="the [instrument](#instruments) that must be allowed with `run --allow`; "
            "else its cases are not measured, and the text says so"
        ),
    ] = ""
    tune: Annotated[
        tuple[Literal["governor", "turbo", "smt", "nmi_watchdog", "aslr", "thp"], ...],
        Meta(
            description="knobs of the machine that are turned from its first process to its last "
            "(`fixturegen tune show`); must be allowed with `run --allow tune:KNOB,KNOB`, and "
            'needs `order = "ladder"`'
        ),
    ] = ()
    core: Annotated[
        Literal["", "class-0", "class-1", "class-2", "isolated"],
        Meta(
            description="its CPUs are cores of this kind: of a class of a hybrid processor, the "
            "fastest `class-0`; isolated at boot. Where there are none, it is not measured"
        ),
    ] = ""
    watch: Annotated[
        tuple[str, ...],
        Meta(description="[instruments](#instruments) that look before and after its process"),
    ] = ()
    wrapper: Annotated[
        str,
        Meta(
            description="the [instrument](#instruments) that its process is started under. What "
            "the kernel accounts is the wrapper's as well: no metric of `process.X`"
        ),
    ] = ""

    @property
    def references(self) -> list[str]:
        """The names of binaries and files that it stands on: `{first_run.rust}`."""
        named = (*self.args, *self.prepare)
        return [canonical(name) for text in named for name in REFERENCE.findall(text)]


class Metric(Struct, frozen=True, forbid_unknown_fields=True):
    """`metric.NAME`: one number per sample."""

    value: Annotated[
        Written,
        Meta(
            description="an expression over `LINE.COLUMN`, `params.X` and "
            "`process.X` (the kernel's accounting)"
        ),
    ]
    unit: Annotated[
        str, Meta(description="`count`, `ns`, `us`, `ms`, `s`, `MHz`, ...", max_length=20)
    ]
    declared_kind: Annotated[
        Kind | None,
        Meta(
            description="`count`: must be reproduced exactly; `time`: only its claims must. "
            "Default: `count` for the unit `count`, else `time`"
        ),
    ] = field(default=None, name="kind")
    modes: Annotated[tuple[str, ...], Meta(description="only these modes give this metric")] = ()
    optional: Annotated[
        bool, Meta(description="true: a sample whose lines do not give it is ok without it")
    ] = False

    @property
    def kind(self) -> Kind:
        """What must come out again: the number exactly, or only what claims say of it."""
        return self.declared_kind or ("count" if self.unit == "count" else "time")


class Program(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[program]]`: one source in one or more languages."""

    name: Annotated[Name, Meta(description="the source is NAME.c.j2, NAME.rs.j2, ...")]
    languages: Annotated[
        tuple[str, ...],
        Meta(
            description="`c`, `rust`, ...: those of docs/languages.md, and of other packages; or "
            '`["system"]` alone: a program found on PATH',
            min_length=1,
        ),
    ]
    rounds: Annotated[int, Meta(ge=1, le=1_000_000, description="fresh processes per case")] = 10
    timeout_s: Annotated[
        float,
        Meta(
            gt=0, le=86400, description="a process that takes longer is killed and kept as failed"
        ),
    ] = 30
    order: Annotated[
        Order,
        Meta(
            description="order of the cases within a round; `ladder`: as declared, and all rounds "
            "of a mode before the next mode"
        ),
    ] = "shuffled"
    cpus: Annotated[Cpus, Meta(description="CPUs that the process may use")] = 1
    output: Annotated[
        Literal["keep", "discard"], Meta(description="`discard`: standard output is /dev/null")
    ] = "keep"
    output_limit: Annotated[
        int,
        Meta(
            ge=4096,
            le=1 << 30,
            description="bytes of standard output after which a process counts as failed",
        ),
    ] = 16 << 20
    kernel: Annotated[
        str,
        Meta(
            pattern=FUNCTION,
            description="a function that must "
            "be in the machine code, and must not have become a memset",
        ),
    ] = ""
    symbols: Annotated[
        tuple[Annotated[str, Meta(pattern=SYMBOL)], ...],
        Meta(
            description="functions of shared libraries whose relocation "
            "and binding the report tells"
        ),
    ] = ()
    command: Annotated[
        str, Meta(pattern=COMMAND, description="the command of a system program: `find`")
    ] = ""
    exits: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=255)], ...],
        Meta(
            min_length=1,
            description="exit codes that count as success: `find` ends with 1 "
            "where it may not read a folder",
        ),
    ] = (0,)
    declared_builds: Annotated[tuple[Build, ...], Meta(description="see `[[program.build]]`")] = (
        field(default=(), name="build")
    )
    declared_modes: Annotated[tuple[Mode, ...], Meta(description="see `[[program.mode]]`")] = field(
        default=(), name="mode"
    )
    lines: Annotated[
        dict[Name, Written],
        Meta(
            description="`lines.NAME`: a regular expression for a whole printed line, each of "
            "its named groups a column of numbers"
        ),
    ] = {}
    metrics: Annotated[dict[Name, Metric], Meta(description="see `metric.NAME`")] = field(
        default_factory=dict, name="metric"
    )

    @property
    def builds(self) -> tuple[Build, ...]:
        """Its builds; one that is called `default` where it declares none."""
        return self.declared_builds or (Build(DEFAULT),)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Its modes; one that is called `plain` where it declares none."""
        return self.declared_modes or (Mode("plain"),)

    @property
    def builds_differ(self) -> bool:
        """Whether it has another build than `default`, so that a text says of which a row is."""
        return any(build.name != DEFAULT for build in self.builds)

    def builds_in(self, language: str) -> list[Build]:
        """Return the builds that one of its languages has."""
        return [b for b in self.builds if not b.settings or language in b.settings]

    def binary(self, language: str, build: Build) -> str:
        """Return the name of what a build makes: `program.language[.build]`."""
        return canonical(f"{self.name}.{language}.{path_part(build.name)}")

    def cases(self) -> list[Case]:
        """Return every case in the order of declaration: languages, then builds, then modes."""
        return [
            Case(self.name, language, build.name, mode.name)
            for language in self.languages
            for build in self.builds_in(language)
            for mode in self.modes
            if (not mode.languages or language in mode.languages)
            and (not mode.builds or build.name in mode.builds)
        ]

    def metrics_of(self, mode: str) -> dict[str, Metric]:
        """Return the metrics that a sample of `mode` gives, by name."""
        return {n: m for n, m in self.metrics.items() if not m.modes or mode in m.modes}

    def mode(self, name: str) -> Mode:
        """Return the mode called `name`; StopIteration if there is none."""
        return next(mode for mode in self.modes if mode.name == name)

    def build(self, name: str) -> Build:
        """Return the build called `name`; StopIteration if there is none."""
        return next(build for build in self.builds if build.name == name)


class Claim(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[claim]]`: a sentence of the article with the expression that must hold on a run."""

    text: Annotated[Written, Meta(description="the sentence")]
    holds: Annotated[
        Written, Meta(description="an expression over paths `program.language[.build].mode.metric`")
    ]
    otherwise: Annotated[
        str,
        Meta(
            max_length=2000,
            description="for a claim on times that a machine may not show though the article is "
            "right: why; where it does not hold it is then undecided",
        ),
    ] = ""
    needs: Annotated[
        Literal["", "single-pages"],
        Meta(
            description="what the sentence takes for granted: `single-pages`, that a page fault "
            "maps one page and no larger folio; where it does not hold and that is not so either, "
            "it is undecided"
        ),
    ] = ""
    for_each: Annotated[
        Literal["", "language", "build", "program"],
        Meta(
            description="what `*` in the paths of `holds` stands for: one claim for each language "
            "(`first_run.*.natural.iter1`), build or program whose paths are all there"
        ),
    ] = field(default="", name="for")
    only: Annotated[
        tuple[str, ...],
        Meta(description="with `for`: the languages, builds or programs that it is for"),
    ] = ()


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[file]]`: a file that the runner makes, its bytes pseudo-random and the same everywhere."""

    name: Annotated[Name, Meta(description="`{file.NAME}` in arguments and preparations")]
    bytes: Annotated[int, Meta(ge=0, le=1 << 32, description="its size")]


class Fixture(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The top of fixture.toml. The name of the fixture is that of its folder in templates/."""

    name: str = field(name=FOLDER)
    title: Annotated[Written, Meta(description="the report's first line")]
    params: Annotated[
        dict[Name, Value],
        Meta(description="values for the templates and expressions; `--set KEY=VALUE` changes one"),
    ] = {}
    shared: Annotated[
        tuple[Name, ...], Meta(description="pieces of templates/_lib/ rendered beside the programs")
    ] = ()
    requires: Annotated[
        tuple[str, ...],
        Meta(
            description="languages without which a run is not the fixture's text; of another one "
            "that cannot be built here the rows are absent, with the reason. Default: all"
        ),
    ] = ()
    interleave: Annotated[
        bool,
        Meta(
            description="true: one schedule over all programs, whose rounds are spread evenly over "
            "the run, for a fixture that compares programs; false: programs run one after the other"
        ),
    ] = False
    files: Annotated[tuple[File, ...], Meta(description="see `[[file]]`")] = field(
        default=(), name="file"
    )
    programs: Annotated[
        tuple[Program, ...], Meta(min_length=1, description="see `[[program]]`")
    ] = field(name="program")
    claims: Annotated[tuple[Claim, ...], Meta(description="see `[[claim]]`")] = field(
        default=(), name="claim"
    )

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

    @property
    def required(self) -> tuple[str, ...]:
        """The languages without which a run is not complete."""
        return self.requires or self.languages

    def binaries(self) -> dict[str, str]:
        """Return the name in arguments of every binary of its programs, with its language."""
        return {
            program.binary(language, build): language
            for program in self.programs
            for language in program.languages
            for build in program.builds_in(language)
        }


class Case(Struct, frozen=True, order=True, dict=True):
    """Program x language x build x mode: what a row of a table is about."""

    program: str
    language: str
    build: str
    mode: str

    @cached_property
    def path(self) -> str:
        """The case's name in expressions and tables: `program.language[.build].mode`."""
        names = (self.program, self.language, self.build, self.mode)
        return canonical(".".join(path_part(name) for name in names))


class Usage(Struct, frozen=True):
    """The kernel's accounting of one process, as wait4 gave it, and its wall time.

    A metric names it `process.FIELD`; each title is the unit.
    """

    wall_ns: Annotated[
        Count,
        Meta(title="ns", description="from before its start to its end, as seen by its parent"),
    ] = 0
    user_us: Annotated[Count, Meta(title="us", description="CPU time in its own code")] = 0
    system_us: Annotated[Count, Meta(title="us", description="CPU time in the kernel")] = 0
    maxrss_kb: Annotated[
        Count, Meta(title="kB", description="peak resident memory, in units of 1024 B")
    ] = 0
    minor_faults: Annotated[
        Count, Meta(title="count", description="page faults for which nothing was read from a disk")
    ] = 0
    major_faults: Annotated[
        Count, Meta(title="count", description="page faults that waited for a disk")
    ] = 0
    block_input: Annotated[
        Count, Meta(title="blocks", description="read from disk for it, in units of 512 B")
    ] = 0
    block_output: Annotated[
        Count, Meta(title="blocks", description="to be written to disk for it, in units of 512 B")
    ] = 0
    voluntary_switches: Annotated[
        Count, Meta(title="count", description="context switches because it waited")
    ] = 0
    involuntary_switches: Annotated[
        Count,
        Meta(title="count", description="context switches because another process got the CPU"),
    ] = 0


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

    def __post_init__(self) -> None:
        """Name the cases as they are named now, whether or not builds were declared."""
        force_setattr(self, "case", canonical(self.case))
        force_setattr(self, "after", canonical(self.after))


def written(value: Value) -> str:
    """Return a parameter's value as --set takes it: true and false as TOML has them."""
    return str(value).lower() if isinstance(value, bool) else str(value)
