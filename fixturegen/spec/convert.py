"""Checked tables to model values: names, patterns, references and expressions all resolve."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from fixturegen import bounds, errors, expression
from fixturegen.model import (
    SYSTEM,
    Build,
    Claim,
    File,
    Fixture,
    Flags,
    Metric,
    Mode,
    Program,
    Usage,
    path_part,
)
from fixturegen.spec import schema
from fixturegen.spec.checks import (
    check_argument,
    check_flag,
    check_param,
    check_pattern,
    check_references,
    check_text,
    members,
    no_collisions,
    no_twins,
    references,
)
from fixturegen.spec.conditions import check_command, check_conditions, column_names
from fixturegen.spec.near import nearest
from fixturegen.spec.toml import parse

__all__ = ["binary_names", "check_param", "load", "metric_names", "references"]

PROCESS = tuple(f"process.{name}" for name in Usage.__struct_fields__)


class Words(Protocol):
    """What a language says to the checks: the keys of its flags, names its tools cannot take."""

    @property
    def flag_keys(self) -> tuple[str, ...]:
        """`cflags`, `rustflags`, ..."""

    @property
    def reserved(self) -> tuple[str, ...]:
        """Names that no program of the language can have."""


def load(content: bytes, name: str, where: str, languages: Mapping[str, Words]) -> Fixture:
    """Return the fixture `name` from the bytes of its fixture.toml.

    where: how the file is named in messages; languages: the known ones. Raises errors.SpecError.
    """
    bounds.at(where)
    table = parse(content, where, languages)
    check_text(table.title, f"{where}: title")
    for key, value in table.params.items():
        check_param(key, value, where)
    programs = tuple(_program(entry, where, languages) for entry in table.program)
    no_twins((p.name for p in programs), f"{where}: two programs are called")
    no_twins(table.shared, f"{where}: shared names twice")
    no_twins([*table.shared, *(p.name for p in programs)], f"{where}: a shared piece and a program")
    claims = tuple(Claim(c.text, c.holds, c.otherwise) for c in table.claim)
    for claim in claims:
        check_text(claim.text, f"{where}: claim: text")
        check_text(claim.otherwise, f"{where}: claim: otherwise")
    no_twins((f.name for f in table.file), f"{where}: two files are called")
    made = tuple(File(f.name, f.bytes) for f in table.file)
    fixture = Fixture(name, table.title, table.params, tuple(table.shared), programs, claims, made)
    known = [*binary_names(fixture), *(f"file.{f.name}" for f in made)]
    for program in programs:
        for mode in program.modes:
            at = f"{where}: program {program.name!r}: mode {mode.name!r}"
            check_references(mode.args, known, f"{at}: args")
            check_references(mode.prepare, [*known, "self"], f"{at}: prepare")
            check_conditions(mode, at)
    _check_expressions(fixture, where)
    return fixture


def _program(table: schema.ProgramTable, where: str, known: Mapping[str, Words]) -> Program:
    at = f"{where}: program {table.name!r}"
    members(table.languages, known, f"{at}: languages")
    no_twins(table.languages, f"{at}: languages names twice")
    for language in table.languages:
        if table.name in known[language].reserved:
            raise errors.SpecError(
                f"{at}: name: {language} has no program of this name", "rename it"
            )
    builds = tuple(_build(b, table, at, known) for b in table.build) or (
        Build("default", {language: Flags() for language in table.languages}),
    )
    modes = tuple(_mode(m, at) for m in table.mode) or (Mode("plain"),)
    for kind, names in (("build", [b.name for b in builds]), ("mode", [m.name for m in modes])):
        no_twins(names, f"{at}: two {kind}s are called")
        no_collisions(names, f"{at}: the {kind}s")
    for name, pattern in table.lines.items():
        check_pattern(name, pattern, at)
    program = Program(
        name=table.name,
        languages=tuple(table.languages),
        rounds=table.rounds,
        timeout_s=table.timeout_s,
        builds=builds,
        modes=modes,
        lines=table.lines,
        metrics=tuple(_metric(name, m, modes, at) for name, m in table.metric.items()),
        order=table.order,
        cpus=table.cpus,
        output=table.output,
        output_limit=table.output_limit,
        declares_builds=bool(table.build),
        kernel=table.kernel,
        symbols=tuple(table.symbols),
        command=table.command,
        exits=tuple(table.exits),
    )
    _check_modes(program, at)
    check_command(program, SYSTEM in program.languages, at)
    return program


def _check_modes(program: Program, at: str) -> None:
    """Every mode is one of some case: what it narrows to is there."""
    used = {case.mode for case in program.cases()}
    for mode in program.modes:
        place = f"{at}: mode {mode.name!r}"
        members(mode.languages, program.languages, f"{place}: languages")
        members(mode.builds, [b.name for b in program.builds], f"{place}: builds")
        no_twins(mode.tune, f"{place}: tune names twice")
        if mode.tune and program.order != "ladder":
            raise errors.SpecError(
                f"{place}: tune: the processes of a rung follow each other, so that a knob is "
                "turned once",
                'give the program order = "ladder"',
            )
        if mode.name not in used:
            raise errors.SpecError(
                f"{place}: no build of the program has these languages and builds",
                "correct languages or builds, or take the mode out",
            )


def _build(
    table: schema.BuildTable, program: schema.ProgramTable, at: str, known: Mapping[str, Words]
) -> Build:
    place = f"{at}: build {table.name!r}"
    members(table.flags, program.languages, place)
    for language, given in table.flags.items():
        for key in schema.FlagsTable.__struct_fields__:
            flags = getattr(given, key)
            if flags and key not in known[language].flag_keys:
                raise errors.SpecError(
                    f"{place}: {language}.{key}: {language} has no such flags",
                    nearest(key, known[language].flag_keys),
                )
            for flag in flags:
                check_flag(flag, f"{place}: {language}.{key}")
    given_flags = {
        language: Flags(tuple(f.cflags), tuple(f.ldflags), tuple(f.rustflags))
        for language, f in table.flags.items()
    }
    return Build(table.name, given_flags or {language: Flags() for language in program.languages})


def _mode(table: schema.ModeTable, at: str) -> Mode:
    for arg in table.args:
        check_argument(arg, f"{at}: mode {table.name!r}: args")
    for step in table.prepare:
        check_argument(step, f"{at}: mode {table.name!r}: prepare")
    for key, value in table.env.items():
        check_argument(value, f"{at}: mode {table.name!r}: env.{key}")
    return Mode(
        table.name,
        tuple(table.args),
        table.env,
        tuple(table.languages),
        tuple(table.builds),
        table.aslr,
        tuple(table.prepare),
        table.allow,
        tuple(table.watch),
        table.wrapper,
        table.cpus,
        tuple(table.tune),
        table.core,
    )


def _metric(name: str, table: schema.MetricTable, modes: tuple[Mode, ...], at: str) -> Metric:
    members(table.modes, [m.name for m in modes], f"{at}: metric {name!r}: modes")
    check_text(table.unit, f"{at}: metric {name!r}: unit")
    kind = table.kind or ("count" if table.unit == "count" else "time")
    return Metric(name, table.value, table.unit, kind, tuple(table.modes), table.optional)


def binary_names(fixture: Fixture) -> dict[str, tuple[str, str, str]]:
    """Return each binary's name in arguments with its program, language and build."""
    names = {}
    for program in fixture.programs:
        for language in program.languages:
            for build in program.builds:
                if language in build.flags:
                    middle = f".{path_part(build.name)}" if program.declares_builds else ""
                    key = f"{program.name}.{language}{middle}"
                    names[key] = (program.name, language, build.name)
    return names


def metric_names(fixture: Fixture, program: Program) -> dict[str, Literal["vector", "scalar"]]:
    """Return every name that a metric of `program` may use, and whether it is a column."""
    names: dict[str, Literal["vector", "scalar"]] = {
        f"{line}.{column}": "vector"
        for line, pattern in program.lines.items()
        for column in re.compile(pattern, re.ASCII).groupindex
    }
    for name in (*PROCESS, *_numbers(fixture)):
        names[name] = "scalar"
    return names


def _numbers(fixture: Fixture) -> list[str]:
    """Return the parameters that an expression may name: text is none."""
    return [f"params.{key}" for key, value in fixture.params.items() if not isinstance(value, str)]


def _parsed(fixture: Fixture, text: str) -> expression.Expression:
    """Parse an expression; raises errors.SpecError where it names a parameter that is text."""
    parsed = expression.parse(text)
    for path in parsed.paths:
        if isinstance(fixture.params.get(path.removeprefix("params.")), str) and path.startswith(
            "params."
        ):
            raise errors.SpecError(f"{path} is text, and an expression takes numbers", parsed.text)
    return parsed


@contextlib.contextmanager
def _placed(place: str) -> Iterator[None]:
    """Put where an expression stands in front of what is wrong with it."""
    try:
        yield
    except errors.SpecError as error:
        raise errors.SpecError(f"{place}: {error.what}", error.hint, error.quoted) from error


def _check_expressions(fixture: Fixture, where: str) -> None:
    paths = set(_numbers(fixture))
    for program in fixture.programs:
        names = metric_names(fixture, program)
        for metric in program.metrics:
            with _placed(f"{where}: program {program.name!r}: metric.{metric.name}"):
                parsed = _parsed(fixture, metric.value)
                modes = [m for m in program.modes if not metric.modes or m.name in metric.modes]
                expression.check_metric(parsed, {**names, **column_names(modes, parsed.paths)})
        for case in program.cases():
            paths |= {f"{case.path}.{m.name}" for m in program.metrics_of(case.mode)}
    for claim in fixture.claims:
        with _placed(f"{where}: claim {claim.text!r}"):
            parsed = _parsed(fixture, claim.holds)
            expression.check_claim(parsed, paths)
            if all(path.startswith("params.") for path in parsed.paths):
                raise errors.SpecError(
                    f"holds = {claim.holds!r}: names nothing that is measured",
                    "a claim names at least one program.language[.build].mode.metric",
                )
