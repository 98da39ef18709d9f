"""Templates and values to text: sandboxed, strict, nothing loaded from outside the templates."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixturegen import errors, files
from fixturegen.languages import LANGUAGES, Rendered
from fixturegen.model import Fixture, Value
from fixturegen.project import Project

if TYPE_CHECKING:
    import jinja2

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
    if name.startswith("/") or ".." in parts or "\\" in name or not name.isprintable():
        raise errors.SpecError(
            f"template {name!r}: leads outside the templates",
            "an include names a file in the fixture's folder or in _lib",
        )
    for folder in folders:
        path = folder / name
        if path.is_file():
            if not path.resolve().is_relative_to(folder.resolve()):
                raise errors.SpecError(f"{path}: a link out of the templates", "copy the file here")
            text = files.read_text(path)
            bad = re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
            if bad:
                line = text.count("\n", 0, bad.start()) + 1
                raise errors.SpecError(
                    f"{path}:{line}: has the control character {bad[0]!r}",
                    "templates have LF line ends and no other control characters than tabs",
                )
            return text, str(path)
    raise LookupError(name)


def environment(
    folders: Sequence[Path], dialect: str, finalize: Callable[[Any], str]
) -> jinja2.Environment:
    """Return a sandboxed environment; `dialect` is "source" or "text" (Jinja's own delimiters)."""
    from jinja2 import FunctionLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

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
        return text, path, lambda: True

    created = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        **delimiters,
    )
    created.filters["raw"] = raw
    return created


def finalizer(literal: Callable[[Value], str] | None) -> Callable[[Any], str]:
    """Return what every value passes on its way into the text: a literal of the language.

    literal None: plain text, in which only strings and whole numbers may stand.
    """
    from jinja2 import Undefined

    def finalize(value: Any) -> str:
        if isinstance(value, Raw):
            return value
        if isinstance(value, Undefined):
            # An inline `if` without `else` would be '' without a word.
            raise ValueError("an inline `if` needs an `else`")
        if literal is not None and isinstance(value, bool | int | float | str):
            return literal(value)
        if literal is None and isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
        raise ValueError(f"a template cannot place a {type(value).__name__} in the text: {value!r}")

    return finalize


def render_text(
    created: jinja2.Environment, template: str, values: Mapping[str, Any], shown: str
) -> str:
    """Return a rendered template with one final newline; `shown` names it in messages."""
    import jinja2

    try:
        text = created.get_template(template).render(values)
    except jinja2.TemplateNotFound as error:
        hint = "it is looked for in the fixture's folder and in templates/_lib"
        raise errors.SpecError(f"{shown}: there is no template {error.name!r}", hint) from error
    except jinja2.TemplateSyntaxError as error:
        raise errors.SpecError(f"{shown}:{error.lineno}: {error.message}") from error
    except (jinja2.UndefinedError, jinja2.exceptions.SecurityError) as error:
        raise errors.SpecError(
            f"{shown}:{_line(error)}: {error}", _near(str(error), values)
        ) from error
    except errors.FixturegenError:
        raise
    except Exception as error:  # a template can raise anything: its author is told where
        raise errors.SpecError(
            f"{shown}:{_line(error)}: {type(error).__name__}: {error}"
        ) from error
    if "\r" in text:
        raise errors.SpecError(f"{shown}: a value put a CR into the text")
    return text.rstrip("\n") + "\n"


def _line(error: BaseException) -> int:
    """Return the template line in which `error` arose: Jinja rewrites the traceback so."""
    line, step = 0, error.__traceback__
    while step is not None:
        if "top-level template" in step.tb_frame.f_code.co_name or step.tb_frame.f_code.co_name in (
            "template",
            "macro",
        ):
            line = step.tb_lineno
        step = step.tb_next
    return line


def _near(message: str, values: Mapping[str, Any]) -> str:
    names = {**values, **values["params"]} if isinstance(values.get("params"), dict) else values
    found = re.search(r"attribute '(\w+)'|'(\w+)' is undefined", message)
    unknown = (found[1] or found[2]) if found else ""
    close = difflib.get_close_matches(unknown, list(names), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def fixture_files(
    project: Project, fixture: Fixture, params: Mapping[str, Value], languages: Sequence[str]
) -> dict[str, str]:
    """Return every source file of a fixture: path (`c/<fixture>/...`) to text."""
    folder = project.folder(fixture.name)
    folders = [folder, *project.shared(fixture.name)]
    rendered: dict[str, str] = {}
    for name in languages:
        language = LANGUAGES[name]
        environments: dict[str, jinja2.Environment] = {}
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
            shown = _shown(project, folders, entry.template)
            text = render_text(environments[entry.dialect], entry.template, values, shown)
            rendered[f"{name}/{fixture.name}/{entry.target}"] = text
    return rendered


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
