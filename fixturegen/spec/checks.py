"""What the shapes of tables cannot say: patterns compile, names are distinct, text is one line."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence

from fixturegen import errors
from fixturegen.model import Value, path_part
from fixturegen.spec.conditions import TAKEN
from fixturegen.spec.near import nearest
from fixturegen.visible import HIDDEN

LONGEST = 1000  # characters of a parameter: C compilers promise 4095 bytes of a string


def check_param(key: str, value: Value, where: str) -> None:
    """Raise errors.SpecError for a value that no language has a literal for."""
    at = f"{where}: params.{key}"
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        raise errors.SpecError(f"{at} = {shortened(value)}: does not fit in 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise errors.SpecError(f"{at} = {value}: not a finite number")
    if isinstance(value, str):
        check_text(value, at)
        if len(value) > LONGEST:
            raise errors.SpecError(f"{at}: {len(value)} characters, {LONGEST} are allowed")


def shortened(value: int) -> str:
    """Return an integer's digits, those of a huge one cut."""
    if value.bit_length() > 400:
        return f"(an integer of {value.bit_length()} bits)"
    return str(value)


def check_text(text: str, at: str) -> None:
    """Raise errors.SpecError for a character that would break a line, or that nobody sees."""
    found = HIDDEN.search(text)
    if found:
        raise errors.SpecError(
            f"{at} = {text!r}: has the character {found[0]!a}",
            "one line of visible characters is wanted",
        )


def check_argument(text: str, at: str) -> None:
    """Raise errors.SpecError for an argument or variable that no process can be given."""
    if "\0" in text:
        raise errors.SpecError(f"{at} = {text!r}: a process cannot be given a NUL")


def check_flag(text: str, at: str) -> None:
    """Raise errors.SpecError for a flag that could not stand in a comment or a Makefile."""
    if not text or not text.isascii() or not text.isprintable():
        raise errors.SpecError(f"{at}: {text!r}: a flag is one line of ASCII characters")
    if "*/" in text or "??/" in text or text.endswith("\\"):
        raise errors.SpecError(f"{at}: {text!r}: cannot stand in the comment of a source")


def no_twins(names: Iterable[str], what: str) -> None:
    """Raise errors.SpecError for a name that stands twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise errors.SpecError(f"{what} {name!r}", "give each its own name")


def no_collisions(names: Iterable[str], what: str) -> None:
    """Names that differ may still be the same part of a path: `a,b` and `a-b`."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(path_part(name), name)
        if other != name:
            raise errors.SpecError(
                f"{what} {other!r} and {name!r} are both {path_part(name)!r} in a path",
                "rename one of them",
            )


def members(names: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise errors.SpecError for a name that is not among the known ones."""
    allowed = list(known)
    for name in names:
        if name not in allowed:
            raise errors.SpecError(f"{what}: unknown name {name!r}", nearest(name, allowed))


def check_pattern(name: str, pattern: str, at: str) -> None:
    """Raise errors.SpecError unless `pattern` compiles, for one line, with named groups alone."""
    place = f"{at}: lines.{name} = {pattern!r}"
    if name in TAKEN:
        raise errors.SpecError(f"{at}: lines.{name}: this name is taken", "choose another name")
    if "\n" in pattern:
        raise errors.SpecError(f"{place}: matches one printed line, so it is one line itself")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # `[[a]`: will mean something else one day
            compiled = re.compile(pattern, re.ASCII)
    except (re.error, ValueError, RecursionError, OverflowError, Warning) as error:
        raise errors.SpecError(f"{place}: does not compile: {error}") from error
    if compiled.groups != len(compiled.groupindex):
        raise errors.SpecError(
            f"{place}: a group without a name would be dropped",
            "name it (?P<column>...), or do not capture: (?:...)",
        )
    for column in compiled.groupindex:
        if not column.isascii():
            raise errors.SpecError(f"{place}: the name of a column is ASCII, not {column!r}")


def references(args: Iterable[str]) -> list[str]:
    """Return the names of binaries that arguments stand for: `{first_run.rust}`."""
    return [found for arg in args for found in re.findall(r"\{([^{}]*)\}", arg)]


def check_references(args: Sequence[str], known: Iterable[str], at: str) -> None:
    """Raise errors.SpecError unless every `{program.language[.build]}` names a binary."""
    names = list(known)
    for reference in references(args):
        if reference not in names:
            raise errors.SpecError(
                f"{at}: names no binary: {{{reference}}}", nearest(reference, names)
            )
    for arg in args:
        if re.search(r"[{}]", re.sub(r"\{[^{}]*\}", "", arg)):
            raise errors.SpecError(
                f"{at}: {arg!r} has a brace without its other one",
                "{program.language} stands for a binary's path",
            )
