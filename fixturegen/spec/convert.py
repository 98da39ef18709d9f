"""Checked tables to model values: names, patterns, references and expressions all resolve."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from fixturegen import errors, expression
from fixturegen.model import (
    Build,
    Claim,
    Fixture,
    Flags,
    Metric,
    Mode,
    Program,
    Usage,
    Value,
    path_part,
)
from fixturegen.spec import schema
from fixturegen.spec.toml import nearest, parse

PROCESS = tuple(f"process.{name}" for name in Usage.__struct_fields__)


def load(content: bytes, name: str, where: str, languages: Iterable[str]) -> Fixture:
    """Return the fixture `name` from the bytes of its fixture.toml.

    where: how the file is named in messages; languages: the known ones. Raises errors.SpecError.
    """
    known = tuple(languages)
    table = parse(content, where, known)
    for key, value in table.params.items():
        check_param(key, value, where)
    programs = tuple(_program(entry, where, known) for entry in table.program)
    _no_twins((p.name for p in programs), f"{where}: two programs are called")
    _no_twins(table.shared, f"{where}: shared names twice")
    claims = tuple(Claim(c.text, c.holds) for c in table.claim)
    fixture = Fixture(name, table.title, table.params, tuple(table.shared), programs, claims)
    _check_references(fixture, where)
    _check_expressions(fixture, where)
    return fixture


def check_param(key: str, value: Value, where: str) -> None:
    """Raise errors.SpecError for a value that no language has a literal for."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        raise errors.SpecError(f"{where}: params.{key} = {value}: does not fit in 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise errors.SpecError(f"{where}: params.{key} = {value}: not a finite number")
    if isinstance(value, str) and not value.isprintable():
        raise errors.SpecError(f"{where}: params.{key} = {value!r}: has a control character")


def _no_twins(names: Iterable[str], what: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise errors.SpecError(f"{what} {name!r}", "give each its own name")


def _no_collisions(names: Iterable[str], what: str) -> None:
    """Names that differ may still be the same part of a path: `a,b` and `a-b`."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(path_part(name), name)
        if other != name:
            raise errors.SpecError(
                f"{what} {other!r} and {name!r} are both {path_part(name)!r} in a path",
                "rename one of them",
            )


def _program(table: schema.ProgramTable, where: str, known: tuple[str, ...]) -> Program:
    at = f"{where}: program {table.name!r}"
    _members(table.languages, known, f"{at}: languages")
    _no_twins(table.languages, f"{at}: languages names twice")
    builds = tuple(_build(b, table, at) for b in table.build) or (
        Build("default", {language: Flags() for language in table.languages}),
    )
    modes = tuple(_mode(m) for m in table.mode) or (Mode("plain"),)
    for kind, names in (("build", [b.name for b in builds]), ("mode", [m.name for m in modes])):
        _no_twins(names, f"{at}: two {kind}s are called")
        _no_collisions(names, f"{at}: the {kind}s")
    for mode in modes:
        _members(mode.languages, table.languages, f"{at}: mode {mode.name!r}: languages")
        _members(mode.builds, [b.name for b in builds], f"{at}: mode {mode.name!r}: builds")
    for name, pattern in table.lines.items():
        _check_pattern(name, pattern, at)
    metrics = tuple(_metric(name, m, modes, at) for name, m in table.metric.items())
    return Program(
        name=table.name,
        languages=tuple(table.languages),
        rounds=table.rounds,
        timeout_s=table.timeout_s,
        builds=builds,
        modes=modes,
        lines=table.lines,
        metrics=metrics,
        order=table.order,
        cpus=table.cpus,
        output=table.output,
        output_limit=table.output_limit,
        declares_builds=bool(table.build),
        kernel=table.kernel,
        symbols=tuple(table.symbols),
    )


def _members(names: Iterable[str], known: Iterable[str], what: str) -> None:
    allowed = list(known)
    for name in names:
        if name not in allowed:
            raise errors.SpecError(f"{what}: unknown name {name!r}", nearest(name, allowed))


def _build(table: schema.BuildTable, program: schema.ProgramTable, at: str) -> Build:
    _members(table.flags, program.languages, f"{at}: build {table.name!r}")
    given = {
        language: Flags(tuple(f.cflags), tuple(f.ldflags), tuple(f.rustflags))
        for language, f in table.flags.items()
    }
    return Build(table.name, given or {language: Flags() for language in program.languages})


def _mode(table: schema.ModeTable) -> Mode:
    return Mode(
        table.name,
        tuple(table.args),
        table.env,
        tuple(table.languages),
        tuple(table.builds),
        table.aslr,
    )


def _metric(name: str, table: schema.MetricTable, modes: tuple[Mode, ...], at: str) -> Metric:
    _members(table.modes, [m.name for m in modes], f"{at}: metric {name!r}: modes")
    kind = table.kind or ("count" if table.unit == "count" else "time")
    return Metric(name, table.value, table.unit, kind, tuple(table.modes), table.optional)


def _check_pattern(name: str, pattern: str, at: str) -> None:
    if name in ("params", "process"):
        raise errors.SpecError(f"{at}: lines.{name}: this name is taken", "choose another name")
    try:
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise errors.SpecError(
            f"{at}: lines.{name} = {pattern!r}: does not compile: {error}"
        ) from error
    if compiled.groups != len(compiled.groupindex):
        raise errors.SpecError(
            f"{at}: lines.{name}: a group without a name would be dropped",
            "name it (?P<column>...), or do not capture: (?:...)",
        )


def _check_references(fixture: Fixture, where: str) -> None:
    """Every `{program.language[.build]}` of an argument names a binary that is built."""
    known = binary_names(fixture)
    for program in fixture.programs:
        for mode in program.modes:
            for reference in references(mode.args):
                if reference not in known:
                    raise errors.SpecError(
                        f"{where}: program {program.name!r}: mode {mode.name!r}: "
                        f"args names no binary: {{{reference}}}",
                        nearest(reference, known),
                    )


def references(args: Iterable[str]) -> list[str]:
    """Return the names of binaries that arguments stand for: `{first_run.rust}`."""
    return [found for arg in args for found in re.findall(r"\{([^{}]*)\}", arg)]


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
    for name in (*PROCESS, *(f"params.{key}" for key in fixture.params)):
        names[name] = "scalar"
    return names


@contextlib.contextmanager
def _placed(place: str) -> Iterator[None]:
    """Put where an expression stands in front of what is wrong with it."""
    try:
        yield
    except errors.SpecError as error:
        raise errors.SpecError(f"{place}: {error.what}", error.hint) from error


def _check_expressions(fixture: Fixture, where: str) -> None:
    paths = {f"params.{key}" for key in fixture.params}
    for program in fixture.programs:
        names = metric_names(fixture, program)
        for metric in program.metrics:
            with _placed(f"{where}: program {program.name!r}: metric.{metric.name}"):
                expression.check_metric(expression.parse(metric.value), names)
        for case in program.cases():
            paths |= {f"{case.path}.{m.name}" for m in program.metrics_of(case.mode)}
    for claim in fixture.claims:
        with _placed(f"{where}: claim {claim.text!r}"):
            expression.check_claim(expression.parse(claim.holds), paths)
