"""Templates and values to text: sandboxed, strict, nothing loaded from outside the templates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixturegen import errors, files
from fixturegen.languages import LANGUAGES, Rendered
from fixturegen.model import Fixture, Value
from fixturegen.project import Project
from fixturegen.spec.checks import LONGEST
from fixturegen.spec.near import nearest

if TYPE_CHECKING:
    from fixturegen.sandbox import Sandbox

_NEVER = "\x00"  # in no template: the loader refuses control characters


class Raw(str):
    """Text that a template places as it is, because `raw` has found nothing dangerous in it."""

    __slots__ = ()


def raw(text: object) -> Raw:
    """Return text for a comment; raises ValueError if it could end that comment or its line."""
    value = str(text)
    if not value.isprintable() or value.endswith("\\") or "*/" in value or "??/" in value:
        raise ValueError(f"cannot stand in a comment: {value!r}")
    return Raw(value)


def read_template(name: str, folders: Sequence[Path]) -> tuple[str, str]:
    """Return the text and the path of template `name` in the first folder that has it.

    Raises LookupError if none has, and errors.SpecError for a name or link that leads outside.
    """
    parts = name.split("/")
    odd = "\\" in name or not name.isprintable() or len(name) > 200
    if odd or not all(parts) or ".." in parts or "." in parts:
        raise errors.SpecError(
            f"template {name[:200]!r}: leads outside the templates",
            "an include names a file in the fixture's folder or in _lib",
        )
    for folder in folders:
        path = folder / name
        if path.is_file():
            shown = f"templates/{folder.name}/{name}"
            if not path.resolve().is_relative_to(folder.resolve()):
                raise errors.SpecError(
                    f"{shown}: a link out of the templates", "copy the file here"
                )
            return _checked_text(files.read_bytes(path), shown), shown
    raise LookupError(name)


def _checked_text(content: bytes, shown: str) -> str:
    """Return a template's text; raises errors.SpecError for what no editor shows."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise errors.SpecError(
            f"{shown}: not UTF-8: byte {error.start} is 0x{content[error.start]:02x}",
            "save the file as UTF-8",
        ) from error
    bad = re.search(r"[\x00-\x08\x0b-\x1f\x7f\ufeff]", text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        raise errors.SpecError(
            f"{shown}:{line}: has the control character {bad[0]!r}",
            "templates have LF line ends, no byte order mark, and no other control characters "
            "than tabs",
        )
    return text


def environment(folders: Sequence[Path], dialect: str, finalize: Callable[[Any], str]) -> Sandbox:
    """Return a sandboxed environment; `dialect` is "source" or "text" (Jinja's own delimiters)."""
    from jinja2 import FunctionLoader

    from fixturegen.sandbox import Sandbox

    delimiters: dict[str, Any] = {}
    if dialect == "source":
        delimiters = {
            "variable_start_string": "/*{",
            "variable_end_string": "}*/",
            "block_start_string": _NEVER + "b",
            "block_end_string": "b" + _NEVER,
            "comment_start_string": _NEVER + "c",
            "comment_end_string": "c" + _NEVER,
            "line_statement_prefix": "//%",
            "line_comment_prefix": "//#",
        }

    def load(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        try:
            text, path = read_template(name, folders)
        except LookupError:
            return None
        return text, path, lambda: read_template(name, folders)[0] == text

    created = Sandbox(
        loader=FunctionLoader(load),
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **delimiters,
    )
    created.filters["raw"] = raw
    return created


def finalizer(literal: Callable[[Value], str] | None) -> Callable[[Any], str]:
    """Return what every value passes on its way into the text: a literal of the language.

    literal None: plain text, in which only strings and whole numbers may stand.
    """
    from fixturegen.sandbox import measured

    def finalize(value: Any) -> str:
        if isinstance(value, Raw):
            return value
        if literal is not None and isinstance(value, bool | int | float | str):
            return literal(_placeable(measured(value)))
        if literal is None and isinstance(value, str | int) and not isinstance(value, bool):
            return str(measured(value))
        str(value)  # an unknown name says here what it is
        raise ValueError(f"a template cannot place a {type(value).__name__} in the text: {value!r}")

    return finalize


def _placeable(value: Value) -> Value:
    """Return a value that has a literal in every language; raises ValueError for any other."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError(f"{value} does not fit in 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    if isinstance(value, str) and (len(value) > LONGEST or re.search("[\0\ud800-\udfff]", value)):
        raise ValueError(
            f"a literal has {LONGEST} characters at most, no NUL and no surrogate, "
            f"not {value[:80]!r}"
        )
    return value


def render_text(created: Sandbox, template: str, values: Mapping[str, Any], shown: str) -> str:
    """Return a rendered template with one final newline; `shown` names it in messages."""
    import jinja2

    from fixturegen import sandbox

    created.left = sandbox.STEPS
    try:
        text = "".join(sandbox.pieces(created.get_template(template).generate(values)))
    except jinja2.TemplateNotFound as error:
        hint = "it is looked for in the fixture's folder and in templates/_lib"
        at = _place(error, shown)
        raise errors.SpecError(f"{at}: there is no template {error.name!r}", hint) from error
    except jinja2.TemplateSyntaxError as error:
        at = f"{error.filename or shown}:{error.lineno}"
        raise errors.SpecError(f"{at}: {error.message}") from error
    except jinja2.exceptions.SecurityError as error:
        raise errors.SpecError(f"{_place(error, shown)}: {error}") from error
    except jinja2.UndefinedError as error:
        raise errors.SpecError(
            f"{_place(error, shown)}: {error}", _near(str(error), values)
        ) from error
    except errors.FixturegenError:
        raise
    except Exception as error:  # a template can raise anything: its author is told where
        raise errors.SpecError(f"{_place(error, shown)}: {_said(error)}") from error
    if "\r" in text:
        raise errors.SpecError(f"{shown}: a value put a CR into the text")
    return text.rstrip("\n") + "\n"


def _said(error: Exception) -> str:
    """Return what went wrong in a template, in its author's words."""
    from fixturegen.sandbox import LimitError

    if isinstance(error, LimitError | OverflowError | MemoryError):
        return f"too much for a template: {error or 'out of memory'}"
    if isinstance(error, RecursionError):
        return "includes or calls itself without end"
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _place(error: BaseException, shown: str) -> str:
    """Return template and line in which `error` arose: Jinja rewrites the traceback so."""
    place, step = shown, error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name.startswith("templates/"):
            place = f"{name}:{step.tb_lineno}"
        step = step.tb_next
    return place


def _near(message: str, values: Mapping[str, Any]) -> str:
    """Return a hint for an unknown name; of a dict, which may be any, only a close one."""
    attribute = re.search(r"attribute '(\w+)'", message)
    if attribute:
        hint = nearest(attribute[1], values.get("params", {}))
        return hint if hint.startswith("did") else ""
    name = re.search(r"'(\w+)' is undefined", message)
    if name and name[1] in values:
        return "an import sees no values unless it ends in `with context`"
    return nearest(name[1], values) if name else ""


def fixture_files(
    project: Project, fixture: Fixture, params: Mapping[str, Value], languages: Sequence[str]
) -> dict[str, str]:
    """Return every source file of a fixture: path (`c/<fixture>/...`) to text."""
    folder = project.folder(fixture.name)
    folders = [folder, *project.shared(fixture.name)]
    rendered: dict[str, str] = {}
    for name in languages:
        language = LANGUAGES[name]
        environments: dict[str, Sandbox] = {}
        for entry in language.layout(fixture):
            if entry.dialect not in environments:
                literal = language.literal if entry.dialect == "source" else None
                environments[entry.dialect] = environment(
                    folders, entry.dialect, finalizer(literal)
                )
            values = {
                "params": dict(params),
                "fixture": fixture.name,
                "title": fixture.title,
                "header": _header(folders, entry),
                **entry.values,
            }
            _insist(entry, folders, fixture, project)
            shown = _shown(project, folders, entry.template)
            text = render_text(environments[entry.dialect], entry.template, values, shown)
            rendered[f"{name}/{fixture.name}/{entry.target}"] = text
    return rendered


def _insist(entry: Rendered, folders: Sequence[Path], fixture: Fixture, project: Project) -> None:
    """Raise errors.SpecError with the nearest template there is if `entry` has none."""
    if any((folder / entry.template).is_file() for folder in folders):
        return
    stem = entry.template.split(".")[0]
    what = f"shared: {stem!r}" if stem in fixture.shared else f"program {stem!r}"
    suffix = entry.template.removeprefix(stem)
    known = [path.name for folder in folders for path in folder.glob(f"*{suffix}")]
    where = project.shown(project.folder(fixture.name) / "fixture.toml")
    raise errors.SpecError(
        f"{where}: {what}: there is no {entry.template!r} in "
        f"templates/{fixture.name} or templates/_lib",
        nearest(entry.template, known),
    )


def _header(folders: Sequence[Path], entry: Rendered) -> str:
    source = _source(folders, entry.template)
    return f"generated by `fixturegen render` from {source}: edit that file, not this one"


def _source(folders: Sequence[Path], template: str) -> str:
    for folder in folders:
        if (folder / template).is_file():
            return f"templates/{folder.name}/{template}"
    return template


def _shown(project: Project, folders: Sequence[Path], template: str) -> str:
    for folder in folders:
        if (folder / template).is_file():
            return project.shown(folder / template)
    return template
