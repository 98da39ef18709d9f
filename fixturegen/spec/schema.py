"""What may stand in a fixture.toml. docs/fixture-toml.md is generated from these classes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

NAME = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*\Z"
LABEL = r"^[A-Za-z0-9][A-Za-z0-9,._+=-]*\Z"
BUILD = r"^[A-Za-z0-9][A-Za-z0-9,._+-]*\Z"  # no =: make would read an assignment
FUNCTION = r"^[A-Za-z_][A-Za-z0-9_]*\Z|^\Z"
SYMBOL = r"^[A-Za-z_.$][A-Za-z0-9_.$]*\Z"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*\Z"
COMMAND = r"^[A-Za-z0-9][A-Za-z0-9+._-]*\Z|^\Z"
ALLOW = r"^(drop-caches)?\Z"
WORDS = {  # what messages say instead of a pattern
    NAME: "words of a-z and 0-9 joined by _, the first letter a-z",
    LABEL: "letters, digits and , . _ + = -, the first a letter or digit",
    BUILD: "letters, digits and , . _ + -, the first a letter or digit",
    FUNCTION: "the name of a function: letters, digits and _",
    SYMBOL: "the name of a symbol: letters, digits, _ . and $",
    VARIABLE: "the name of a variable: letters, digits and _",
    COMMAND: "the name of a program on PATH, without a path",
    ALLOW: "drop-caches",
}

# One underscore at a time: a path joins and compares names whose parts it separates by one.
Name = Annotated[str, Meta(pattern=NAME, max_length=40)]
Label = Annotated[str, Meta(pattern=LABEL, max_length=60)]
BuildLabel = Annotated[str, Meta(pattern=BUILD, max_length=60)]
Text = Annotated[str, Meta(min_length=1, max_length=2000)]


class FlagsTable(Struct, forbid_unknown_fields=True):
    """`[program.build]`'s `c` or `rust`: what the build adds to the command line."""

    cflags: Annotated[list[str], Meta(description="added before the source (C)")] = []
    ldflags: Annotated[list[str], Meta(description="added after the source (C)")] = []
    rustflags: Annotated[list[str], Meta(description="added behind `cargo rustc --` (Rust)")] = []


class BuildTable(Struct, forbid_unknown_fields=True):
    """`[[program.build]]`: a named set of flags. Without any, a program has the build `default`."""

    name: Annotated[BuildLabel, Meta(description="the build's name in paths and tables")]
    flags: Annotated[
        dict[str, FlagsTable],
        Meta(
            description="written as `c.ldflags = [...]`, `rust.rustflags = [...]`; the languages "
            "that have this build (all of the program's if none is named)"
        ),
    ] = field(default_factory=dict, name="(flags)")  # no key of the file: gathered by `toml`


class ModeTable(Struct, forbid_unknown_fields=True):
    """`[[program.mode]]`: how a program is started. Without any, a program has the mode `plain`."""

    name: Annotated[
        Label,
        Meta(
            description="the mode's name; as a part of a path every run of "
            "other characters than letters and digits is `_`"
        ),
    ]
    args: Annotated[
        list[str],
        Meta(description="arguments; `{first_run.rust}` is the path of another program's binary"),
    ] = []
    env: Annotated[
        dict[Annotated[str, Meta(pattern=VARIABLE)], str],
        Meta(description="variables added to the environment"),
    ] = {}
    languages: Annotated[list[str], Meta(description="only these languages have this mode")] = []
    builds: Annotated[list[str], Meta(description="only these builds have this mode")] = []
    aslr: Annotated[bool, Meta(description="false: address randomisation off for its process")] = (
        True
    )
    cpus: Annotated[
        Annotated[int, Meta(ge=1, le=4096)] | Literal["all"] | None,
        Meta(description="CPUs that its process may use, if others than the program's"),
    ] = None
    prepare: Annotated[
        list[Text],
        Meta(
            description="right before its process, in order: `evict-file PATH` (`{self}`: its own "
            "binary), `drop-caches`, "
            "`warm-program ARG...` (one start of the program with these arguments)"
        ),
    ] = []
    allow: Annotated[
        str,
        Meta(
            pattern=ALLOW,
            description="what must be allowed with `run --allow`: `drop-caches`; else its cases "
            "are not measured, and the text says so",
        ),
    ] = ""
    tune: Annotated[
        list[Literal["governor", "turbo", "smt", "nmi_watchdog", "aslr", "thp"]],
        Meta(
            description="knobs of the machine that are turned from its first process to its last "
            "(`fixturegen tune show`); must be allowed with `run --allow tune:KNOB,KNOB`, and "
            'needs `order = "ladder"`'
        ),
    ] = []
    core: Annotated[
        Literal["", "class-0", "class-1", "class-2", "isolated"],
        Meta(
            description="its CPUs are cores of this kind: of a class of a hybrid processor, the "
            "fastest `class-0`; isolated at boot. Where there are none, it is not measured"
        ),
    ] = ""
    watch: Annotated[
        list[str],
        Meta(
            description="`meminfo`: columns `meminfo.buffers`, `.cached`, `.reclaimable` in kB, "
            "entry 0 before and entry 1 after the process"
        ),
    ] = []
    wrapper: Annotated[
        Literal["", "strace-count", "perf-stat", "perf-stat-cpu", "perf-record"],
        Meta(
            description="`strace-count`: started under strace, which counts its system calls: "
            "columns `syscalls.NAME` and `syscalls.total`; `perf-stat`: under perf, which counts "
            "the events of the process; `perf-stat-cpu`: all that runs on the last of its CPUs: "
            "columns `counted.EVENT`, and `running.EVENT`, percent of the time in which it "
            "counted; `perf-record`: under perf, which samples its stacks: columns "
            "`profile.samples`, `.lost`, `.thread` (of the thread with most of `kernel`), and of "
            "that thread `own.FUNCTION`, `total.FUNCTION`"
        ),
    ] = ""


class MetricTable(Struct, forbid_unknown_fields=True):
    """`metric.NAME`: one number per sample."""

    value: Annotated[
        Text,
        Meta(
            description="an expression over `LINE.COLUMN`, `params.X` and "
            "`process.X` (the kernel's accounting)"
        ),
    ]
    unit: Annotated[
        str, Meta(description="`count`, `ns`, `us`, `ms`, `s`, `MHz`, ...", max_length=20)
    ]
    kind: Annotated[
        Literal["time", "count"] | None,
        Meta(
            description="`count`: must come out again exactly; `time`: only its claims must. "
            "Default: `count` for the unit `count`, else `time`"
        ),
    ] = None
    modes: Annotated[list[str], Meta(description="only these modes give this metric")] = []
    optional: Annotated[
        bool, Meta(description="true: a sample whose lines do not give it is ok without it")
    ] = False


class ProgramTable(Struct, forbid_unknown_fields=True):
    """`[[program]]`: one source in one or more languages."""

    name: Annotated[Name, Meta(description="the source is NAME.c.j2, NAME.rs.j2, ...")]
    languages: Annotated[
        list[str],
        Meta(
            description='`c`, `rust`; or `["system"]` alone: a program found on PATH', min_length=1
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
        Literal["shuffled", "fixed", "ladder"],
        Meta(
            description="order of the cases within a round; `ladder`: as declared, and all rounds "
            "of a mode before the next mode"
        ),
    ] = "shuffled"
    cpus: Annotated[
        Annotated[int, Meta(ge=1, le=4096)] | Literal["all"],
        Meta(description="CPUs that the process may use"),
    ] = 1
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
        list[Annotated[str, Meta(pattern=SYMBOL)]],
        Meta(
            description="functions of shared libraries whose relocation "
            "and binding the report tells"
        ),
    ] = []
    command: Annotated[
        str, Meta(pattern=COMMAND, description="the command of a system program: `find`")
    ] = ""
    exits: Annotated[
        list[Annotated[int, Meta(ge=0, le=255)]],
        Meta(
            min_length=1,
            description="exit codes that count as success: `find` ends with 1 "
            "where it may not read a folder",
        ),
    ] = field(default_factory=lambda: [0])
    build: Annotated[list[BuildTable], Meta(description="see `[[program.build]]`")] = []
    mode: Annotated[list[ModeTable], Meta(description="see `[[program.mode]]`")] = []
    lines: Annotated[
        dict[Name, Text],
        Meta(
            description="`lines.NAME`: a regular expression for a whole printed line, each of "
            "its named groups a column of numbers"
        ),
    ] = {}
    metric: Annotated[dict[Name, MetricTable], Meta(description="see `metric.NAME`")] = {}


class ClaimTable(Struct, forbid_unknown_fields=True):
    """`[[claim]]`: a sentence of the article with the expression that must hold on a run."""

    text: Annotated[Text, Meta(description="the sentence")]
    holds: Annotated[
        Text, Meta(description="an expression over paths `program.language[.build].mode.metric`")
    ]
    otherwise: Annotated[
        str,
        Meta(
            max_length=2000,
            description="for a claim on times that a machine may not show though the article is "
            "right: why; where it does not hold it is then undecided",
        ),
    ] = ""


class FileTable(Struct, forbid_unknown_fields=True):
    """`[[file]]`: a file that the runner makes, its bytes pseudo-random and the same everywhere."""

    name: Annotated[Name, Meta(description="`{file.NAME}` in arguments and preparations")]
    bytes: Annotated[int, Meta(ge=0, le=1 << 32, description="its size")]


class FixtureTable(Struct, forbid_unknown_fields=True, kw_only=True):
    """The top of fixture.toml."""

    title: Annotated[Text, Meta(description="the report's first line")]
    params: Annotated[
        dict[Name, int | float | str | bool],
        Meta(description="values for the templates and expressions; `--set KEY=VALUE` changes one"),
    ] = {}
    shared: Annotated[
        list[Name], Meta(description="pieces of templates/_lib/ rendered beside the programs")
    ] = []
    file: Annotated[list[FileTable], Meta(description="see `[[file]]`")] = []
    program: Annotated[list[ProgramTable], Meta(min_length=1, description="see `[[program]]`")]
    claim: Annotated[list[ClaimTable], Meta(description="see `[[claim]]`")] = []
