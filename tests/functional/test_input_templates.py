"""A wrong template gets one message with its line, exit 3; nothing outside is read or written."""

from __future__ import annotations

import re
from pathlib import Path

import laid
import pytest
from laid import SOURCE, changed

AT = "templates/p01/count.c.j2"


def value(expression: str) -> str:
    """Return the source with another expression in its line 5."""
    return changed("params.length", expression, SOURCE)


def above(*lines: str) -> str:
    """Return the source with lines above it."""
    return "".join(f"{line}\n" for line in lines) + SOURCE


UNKNOWN = {
    "parameter": (value("params.lenght"), [f"{AT}:5", "'lenght'", "did you mean 'length'"]),
    "value": (value("lenght"), [f"{AT}:5", "'lenght' is undefined", "known: "]),
    "in an include": (above('//% import "measure.h.j2" as m'), ["_lib/measure.h.j2:1", "context"]),
    "include": (above('//% include "measur.h.j2"'), [f"{AT}:1", "'measur.h.j2'"]),
    "filter": (value("params.word|uper"), [f"{AT}:5", "'uper'"]),
    "test": (above("//% if params.length is evn", "//% endif"), [f"{AT}:1", "'evn'"]),
    "tag": (above("//% fro i in [1]"), [f"{AT}:1", "'fro'"]),
    "open loop": (above("//% for i in [1]"), [f"{AT}:", "endfor"]),
    "open value": (changed(" }*/", "", SOURCE), [f"{AT}:5"]),
}

VALUES = {
    "if without else, false": (value("1 if not params.fast"), [f"{AT}:5", "needs an `else`"]),
    "if without else, true": (value("1 if params.fast"), [f"{AT}:5", "needs an `else`"]),
    "if without else, joined": (value("'a' ~ ('b' if params.fast)"), ["needs an `else`"]),
    "list": (value("[1]"), [f"{AT}:5", "cannot place a list"]),
    "none": (value("none"), ["cannot place a NoneType"]),
    "infinite": (value("1e308 * 10"), ["inf is not a finite number"]),
    "65 bits": (value("2 ** 64"), ["18446744073709551616 does not fit in 64 bits"]),
    "NUL": (value(r"'a\0'"), ["NUL"]),
    "surrogate": (value(r"'\ud800'"), ["surrogate"]),
    "ends a comment": (above("// /*{ 'a*/b' | raw }*/"), [f"{AT}:1", "'a*/b'"]),
    "ends a line": (above("// /*{ 'a\\nb' | raw }*/"), [f"{AT}:1", "comment"]),
    "joins lines": (above("// /*{ 'a\\\\' | raw }*/"), [f"{AT}:1", "comment"]),
}

PYTHON = {
    "class of the parameters": value("params.__class__"),
    "classes of a tuple": value("().__class__.__mro__"),
    "subclasses": value("''.__class__.__mro__[1].__subclasses__()"),
    "through a format": value("'{0.__class__}'.format(1)"),
    "through a filter": value("params|attr('__class__')"),
    "globals": value("namespace.__init__.__globals__"),
    "of the template": value("self._TemplateReference__context"),
    "a change": above("//% set x = params.update({'a': 1})"),
    "chance": value("[1, 2]|random"),
    "chance in words": value("lipsum()"),
}

TOO_MUCH = {
    "range": (above("//% for i in range(10**9)", "//% endfor"), "too much for a template"),
    "itself": (above('//% include "count.c.j2"'), "calls itself without end"),
    "a macro of itself": (
        above("//% macro f()", "/*{ f() }*/", "//% endmacro", "/*{ f() }*/"),
        "calls itself without end",
    ),
}
# One allocation that the system itself refuses; what grows or runs slowly is in tests/hostile.
TOO_LARGE = {
    "text times": value("'a' * 10**17"),
    "list times": above("//% for i in [0] * 10**17", "//% endfor"),
    "adjusted": value("'a'.rjust(10**17)"),
    "centred": value("'a'|center(10**17)"),
}

# Expressions whose text would be Python's own, with an address.
SHAPELESS = {
    "a function": "range|string",
    "joined": "namespace ~ ''",
    "formatted": "'%s' % namespace",
    "formatted by a filter": "'%s'|format(range)",
    "formatted by a method": "'{}'.format(range)",
    "formatted in a field": "'{0.upper}'.format('a')",
    "in a list": "[dict]|string",
    "in a list in a dict": "{'a': [dict]}|string",
    "in a tuple, formatted": "'%s' % ([range],)",
    "a method": "''.join|string",
    "a method by its name in brackets": "''['join']|string",
    "a method of a list": "[1].index|string",
    "a method of the parameters": "params.items|string",
    "mapped": "['a']|map(attribute='upper')|map('string')|join",
    "mapped to methods": "['a']|map(attribute='upper')|list|string",
    "of this template": "self.part|string",
    "a part of it": "(range|string)[-8:]",
    "padded": "range|string|center(60)",
    "capital": "range|upper",
    "joined by a filter": "[range]|join",
    "replaced": "'a'|replace('a', range)",
    "a macro's method": "''.format|string",
    "a variable that is a function": "f|string",
}
STEADY = {
    "mapped": ("['a']|map('upper')|string", "['A']"),
    "selected": ("[1, 2]|select('odd')|string", "[1]"),
    "rejected": ("[1, 2]|reject('odd')|string", "[2]"),
    "reversed": ("[1, 2]|reverse|string", "[2, 1]"),
    "in batches": ("[1, 2, 3]|batch(2)|string", "[[1, 2], [3]]"),
    "in slices": ("[1, 2]|slice(2)|string", "[[1], [2]]"),
    "unique": ("[1, 1]|unique|string", "[1]"),
    "items": ("{'a': 1}|items|string", "[('a', 1)]"),
    "called": ("namespace(x='a').x ~ dict(b='c').b ~ range(3)|join", "ac012"),
    "a method called": ("'a'.upper() ~ 'b'['upper']()", "AB"),
    "callable": ("(range is callable)|string", "True"),
    "undefined": ("(nothing is defined)|string", "False"),
}

OUTSIDE = {
    "upwards": above('//% include "../p01/fixture.toml"'),
    "absolute": above('//% include "/etc/passwd"'),
    "here": above('//% include "./count.c.j2"'),
    "long": above(f'//% include "{"a" * 5000}"'),
}
NO_NAMES = {
    "control character": above('//% include "a\\0b"'),
    "backslash": above('//% include "..\\\\x"'),
    "apostrophe": above('//% include "a\'b.h.j2"'),
    "brackets": above('//% include "{{ x }}.j2"'),
    "space": above('//% include "a b.j2"'),
    "letter": above('//% include "ä.j2"'),
    "line": above('//% include "a.j2\\n"'),
}

CHARACTERS = {
    "CR LF": (
        SOURCE.replace("\n", "\r\n"),
        [AT, "has CR LF line endings in 7 of 7 lines", "perl -0777 -pi"],
    ),
    "BOM": ("\ufeff" + SOURCE, [AT, "has a byte order mark"]),
    "NUL": (SOURCE + "\0", [f"{AT}:8", r"'\x00'"]),
    "vertical tab": (SOURCE + "\x0b", [f"{AT}:8", r"'\x0b'"]),
    "Latin-1": (SOURCE.replace("value", "größe").encode("latin-1"), [AT, "UTF-8", "0xf6"]),
}


def refused(root: Path, source: str | bytes, *wanted: str) -> None:
    laid.project(root)
    laid.put(root, {AT: source})
    done = laid.call(root, "render")
    assert done.code == 3, done.said
    for words in wanted:
        assert words in done.err
    assert str(root) not in done.err
    assert len(done.err.splitlines()) <= 3
    assert not (root / "c").exists()


CASES = {**UNKNOWN, **VALUES, **CHARACTERS}


@pytest.mark.parametrize(("source", "wanted"), CASES.values(), ids=CASES)
def test_it_is_refused_with_its_line(
    tmp_path: Path, source: str | bytes, wanted: list[str]
) -> None:
    refused(tmp_path, source, *wanted)


@pytest.mark.parametrize("source", PYTHON.values(), ids=PYTHON)
def test_no_template_reaches_python(tmp_path: Path, source: str) -> None:
    refused(tmp_path, source, f"{AT}:")


@pytest.mark.parametrize(("source", "wanted"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_no_template_runs_without_end(tmp_path: Path, source: str, wanted: str) -> None:
    refused(tmp_path, source, AT, wanted)


@pytest.mark.parametrize("source", TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_larger_than_any_memory_is_told_with_its_line(tmp_path: Path, source: str) -> None:
    """In a command that is guarded, and in one that is the user's own."""
    root = laid.project(tmp_path, source=source)
    for command in ("render", "build"):
        done = laid.run(root, command)
        assert done.code == 3
        assert f"{AT}:" in done.err
        assert re.search("(of|enough) memory|too much for a template", done.err)
        assert not (root / "c").exists()


@pytest.mark.parametrize("expression", SHAPELESS.values(), ids=SHAPELESS)
def test_no_text_has_an_address(tmp_path: Path, expression: str) -> None:
    before = [
        "//% block part",
        "//% endblock",
        "//% set f = namespace",
    ]
    for place in (f"/*{{ {expression} }}*/", f"//% set x = ({expression})|length"):
        refused(tmp_path, above(*before, place), f"{AT}:4", "is a function: write ")


@pytest.mark.parametrize(("expression", "wanted"), STEADY.values(), ids=STEADY)
def test_what_has_a_text_keeps_it(tmp_path: Path, expression: str, wanted: str) -> None:
    root = laid.project(tmp_path, source=above(f"/*{{ ({expression})|raw }}*/"))
    done = laid.call(root, "render")
    assert done.code == 0, done.err
    assert (root / "c/p01/count.c").read_text().splitlines()[0] == wanted


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE)
def test_no_include_leads_outside(tmp_path: Path, source: str) -> None:
    refused(tmp_path, source, "leads outside the templates")


@pytest.mark.parametrize("source", NO_NAMES.values(), ids=NO_NAMES)
def test_a_template_has_a_plain_name(tmp_path: Path, source: str) -> None:
    refused(tmp_path, source, f"{AT}:1", "not the name of a template", "a-z and A-Z")


def test_an_include_of_a_shared_piece_is_taken_in(tmp_path: Path) -> None:
    root = laid.project(tmp_path, source=above('//% include "own.h.j2"'))
    laid.put(root, {"templates/_lib/own.h.j2": "// own, /*{ params.word }*/\n"})
    assert laid.call(root, "render").code == 0
    assert (root / "c/p01/count.c").read_text().startswith('// own, "plain"\n#include')


def test_a_template_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside\n")
    root = laid.project(tmp_path / "project")
    (root / AT).unlink()
    (root / AT).symlink_to(tmp_path / "secret")
    done = laid.call(root, "render")
    assert done.code == 3
    assert f"{AT}: a link, and nothing behind a link is read" in done.err


def test_a_linked_fixture_toml_is_refused(tmp_path: Path) -> None:
    root = laid.project(tmp_path / "project")
    (root / "templates/p01/fixture.toml").rename(tmp_path / "outside.toml")
    (root / "templates/p01/fixture.toml").symlink_to(tmp_path / "outside.toml")
    done = laid.call(root, "list")
    assert done.code == 3
    assert "templates/p01/fixture.toml: a link, and nothing behind a link is read" in done.err


def test_a_linked_fixture_folder_is_refused(tmp_path: Path) -> None:
    other = laid.project(tmp_path / "other")
    root = laid.project(tmp_path / "project", name="p02")
    (root / "templates/p01").symlink_to(other / "templates/p01")
    done = laid.call(root, "list")
    assert done.code == 3
    assert "templates/p01: a link, and nothing behind a link is read" in done.err


def test_linked_templates_are_refused(tmp_path: Path) -> None:
    other = laid.project(tmp_path / "other")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/templates").symlink_to(other / "templates")
    done = laid.call(tmp_path / "project", "list")
    assert done.code == 3
    assert "templates: a link, and nothing behind a link is read" in done.err


def test_nothing_is_written_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    root = laid.project(tmp_path / "project")
    (root / "c").symlink_to(tmp_path / "elsewhere")
    for command in ("render", "build"):
        done = laid.call(root, command)
        assert done.code == 3
        assert "/c: a link, and nothing behind a link is read or written" in done.err
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("name", ["P01", "p 01", "1st", "p01-", "p_01"])
def test_a_folder_that_is_no_name_is_told(tmp_path: Path, name: str) -> None:
    root = laid.project(tmp_path, name=name)
    done = laid.call(root, "list")
    assert done.code == 3
    assert repr(name) in done.err
    assert "a-z, 0-9 and -" in done.err
