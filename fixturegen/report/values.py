"""What a report template sees of its run, as types: they are plain dictionaries behind the border.

`plain` is that border. A template gets no object of ours: nothing with methods, nothing whose text
is another one each time.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from fixturegen import visible
from fixturegen.instruments.perf import Perf
from fixturegen.launcher.hello import Hello
from fixturegen.model import Value

Number: TypeAlias = int | float
Plain: TypeAlias = Any  # numbers, texts, None, and lists and dictionaries of such: for Jinja

TEXT = 300  # most characters of a text that came from a run


class Language(Struct, frozen=True):
    """A language that the run has."""

    name: Annotated[str, Meta(description="as it stands in paths: `rust`")]
    label: Annotated[str, Meta(description="as people write it: `Rust`")]


class Groups(Struct, frozen=True):
    """The two groups that the processes of a path fall into."""

    low_n: Annotated[int, Meta(description="processes in the lower group")]
    high_n: Annotated[int, Meta(description="processes in the upper group")]
    low: Annotated[Number, Meta(description="median of the lower group")]
    high: Annotated[Number, Meta(description="median of the upper group")]


class Stat(Struct, frozen=True):
    """What `stat(path)` gives; every number is none if nothing was measured."""

    n: Annotated[int, Meta(description="processes")] = 0
    median: Annotated[Number | None, Meta(description="their median")] = None
    min: Annotated[Number | None, Meta(description="the smallest value")] = None
    max: Annotated[Number | None, Meta(description="the largest value")] = None
    q1: Annotated[Number | None, Meta(description="first quartile")] = None
    q3: Annotated[Number | None, Meta(description="third quartile")] = None
    iqr: Annotated[Number | None, Meta(description="interquartile range, q3 - q1")] = None
    mad: Annotated[Number | None, Meta(description="median absolute deviation")] = None
    groups: Annotated[Groups | None, Meta(description="none unless there are two groups")] = None
    unit: Annotated[str, Meta(description="as fixture.toml declares it")] = ""


class Half(Struct, frozen=True):
    """One of the two that `split(path, by)` gives: where `by` is 0, and where it is not."""

    n: Annotated[int, Meta(description="processes")]
    median: Annotated[Number | None, Meta(description="their median")]


class Above(Struct, frozen=True):
    """What `above(case, line, limit)` gives."""

    over: Annotated[int, Meta(description="messages above the limit")]
    of: Annotated[int, Meta(description="of so many")]
    share: Annotated[float | None, Meta(description="over / of")]


class Rung(Struct, frozen=True):
    """The machine's knobs while a rung ran, as they were read back."""

    turned: Annotated[tuple[str, ...], Meta(description="the knobs that the rung turned")]
    states: Annotated[dict[str, str], Meta(description="of every knob; `A, then B` if it changed")]
    reasons: Annotated[dict[str, str], Meta(description="of a knob whose state is unknown")]
    words: Annotated[str, Meta(description="the turned knobs with their states")]


class Row(Struct, frozen=True):
    """A case, as `cases(...)` gives it: a row of a table."""

    path: Annotated[str, Meta(description="`program.language[.build].mode`")]
    program: Annotated[str, Meta(description="its program")]
    language: Annotated[str, Meta(description="its language, as in paths")]
    label: Annotated[str, Meta(description="the language as people write it")]
    build: Annotated[str, Meta(description="its build; `default` without any")]
    mode: Annotated[str, Meta(description="its mode's name")]
    text: Annotated[str, Meta(description="what the row is called: else the mode's name")]
    n: Annotated[int, Meta(description="processes in the statistics")]
    failed: Annotated[int, Meta(description="processes that are not")]
    rcu: Annotated[int, Meta(description="processes with RCU work of the kernel in their window")]
    rung: Annotated[Rung | None, Meta(description="the machine's knobs meanwhile")] = None


class Process(Struct, frozen=True):
    """A process, as `processes(case)` gives it; beside these each metric by its name."""

    round: Annotated[int, Meta(description="the round in which it ran, from 1")]
    position: Annotated[int, Meta(description="its place in the order of the run")]
    path: Annotated[str, Meta(description="its case")]
    label: Annotated[str, Meta(description="the language as people write it")]
    build: Annotated[str, Meta(description="its build")]
    mode: Annotated[str, Meta(description="its mode's name")]
    after: Annotated[str, Meta(description="the case that ran before it")]


class Reason(Struct, frozen=True):
    """Why rows were not measured, as `reasons(rows)` gives it."""

    reason: Annotated[str, Meta(description="with the command that would help, if there is one")]
    rows: Annotated[tuple[dict[str, Plain], ...], Meta(description="those rows")]


class Metric(Struct, frozen=True):
    """A metric of a program."""

    name: Annotated[str, Meta(description="its name")]
    unit: Annotated[str, Meta(description="as fixture.toml declares it")]
    modes: Annotated[tuple[str, ...], Meta(description="the modes that have it; empty: all")]


class Program(Struct, frozen=True):
    """A program of the fixture."""

    name: Annotated[str, Meta(description="its name")]
    builds: Annotated[bool, Meta(description="whether it has another build than `default`")]
    metrics: Annotated[tuple[Metric, ...], Meta(description="in the order of declaration")]


class Toolchain(Struct, frozen=True):
    """What compiled the programs of a language."""

    language: Annotated[str, Meta(description="as people write it")]
    lines: Annotated[
        tuple[str, ...],
        Meta(
            description="the first lines that its tools print, then the commands of the builds "
            "that name their compiler"
        ),
    ]


class Used(Struct, frozen=True):
    """A path that a claim cites."""

    path: Annotated[str, Meta(description="the path")]
    median: Annotated[Number, Meta(description="over its processes")]
    shown: Annotated[str, Meta(description="the median in the digits that tell it from others")]
    n: Annotated[int, Meta(description="processes that gave it")]
    of: Annotated[int, Meta(description="processes of its case")]
    unit: Annotated[str, Meta(description="its unit")]


class Claim(Struct, frozen=True):
    """A claim of the fixture with its verdict."""

    text: Annotated[str, Meta(description="the sentence")]
    holds: Annotated[str, Meta(description="its condition")]
    of: Annotated[str, Meta(description="with `for`: the language, build or program, in words")]
    kind: Annotated[str, Meta(description="`count` if all that it cites are counts, else `time`")]
    state: Annotated[str, Meta(description="`holds`, `fails` or `undecided`")]
    words: Annotated[str, Meta(description="the state as a text says it")]
    reason: Annotated[str, Meta(description="why it does not hold, or is undecided")]
    used: Annotated[tuple[Used, ...], Meta(description="the paths that it cites")]


class Sentence(Struct, frozen=True):
    """A claim with all its verdicts: one, or one for each value of `for`."""

    text: Annotated[str, Meta(description="the sentence")]
    words: Annotated[str, Meta(description="its verdicts: `holds for C and Rust`")]
    holds: Annotated[str, Meta(description="its condition")]
    used: Annotated[tuple[Used, ...], Meta(description="each path that it cites, once")]
    reasons: Annotated[tuple[str, ...], Meta(description="why it does not hold, or is undecided")]


class Failure(Struct, frozen=True):
    """A process that is in no statistic."""

    case: Annotated[str, Meta(description="its case's path")]
    round: Annotated[int, Meta(description="its round")]
    status: Annotated[str, Meta(description="`exit`, `signal`, `timeout`, ...")]
    detail: Annotated[str, Meta(description="what happened")]


class Run(Struct, frozen=True, kw_only=True):
    """What `run` is in a report."""

    title: Annotated[str, Meta(description="the fixture's title")]
    fixture: Annotated[str, Meta(description="the fixture's name")]
    name: Annotated[str, Meta(description="the run's name")]
    date: Annotated[str, Meta(description="the day on which it began")]
    seed: Annotated[int, Meta(description="what decided the order")]
    params: Annotated[dict[str, Value], Meta(description="those that the run was started with")]
    rounds: Annotated[dict[str, int], Meta(description="of each program")]
    schedule: Annotated[str, Meta(description="of several programs, in words; empty for one")]
    languages: Annotated[tuple[Language, ...], Meta(description="that the run has, in order")]
    programs: Annotated[tuple[Program, ...], Meta(description="in the order of declaration")]
    samples: Annotated[int, Meta(description="how many processes were started")]
    digest: Annotated[str, Meta(description="SHA-256 of the samples")]
    command: Annotated[str, Meta(description="what repeats the run")]
    machine: Annotated[str, Meta(description="the machine in one line")]
    facts: Annotated[dict[str, str], Meta(description="of the machine: `run.facts.page_size`")]
    folios: Annotated[
        tuple[int, ...],
        Meta(description="sizes in KiB, other than a page, that one page fault may map"),
    ]
    machine_lines: Annotated[tuple[tuple[str, str], ...], Meta(description="the same, to show")]
    cpus: Annotated[str, Meta(description="the CPUs that programs were pinned to")]
    cpu_reason: Annotated[str, Meta(description="why these CPUs")]
    toolchain: Annotated[tuple[Toolchain, ...], Meta(description="of each language")]
    c_library: Annotated[str, Meta(description="which C library programs start with; may be empty")]
    output: Annotated[str, Meta(description="where output went, of programs that look; or empty")]
    launcher: Annotated[Hello, Meta(description="how fresh processes were started")]
    claims: Annotated[
        tuple[Claim, ...], Meta(description="with their verdicts; with `for` one for each value")
    ]
    sentences: Annotated[tuple[Sentence, ...], Meta(description="the claims, each text once")]
    disturbances: Annotated[tuple[str, ...], Meta(description="what else ran meanwhile")]
    notes: Annotated[tuple[str, ...], Meta(description="what was changed, skipped, or failed")]
    perf: Annotated[Perf, Meta(description="what perf could do; no version: it was not asked")]
    rungs: Annotated[dict[str, dict[str, Rung]], Meta(description="by program and mode")]
    storage: Annotated[dict[str, str], Meta(description="what each folder is stored on")]
    failures: Annotated[
        tuple[Failure, ...], Meta(description="the processes that are in no statistic")
    ] = field(default=())


NO_PERF = Perf(version="", paranoid="", frequency=0, events={})


def plain(value: Struct | tuple[Struct, ...] | list[Struct]) -> Plain:
    """Return typed values as a template gets them."""
    return msgspec.to_builtins(value)


def shown(value: Plain) -> Plain:
    """Return plain values whose texts are short and show control and bidi characters escaped."""
    if isinstance(value, str):
        return visible.escape(value, TEXT)
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {visible.escape(str(key), TEXT): shown(each) for key, each in value.items()}
    return value
