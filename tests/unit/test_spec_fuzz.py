"""Whatever stands in a fixture.toml or a template, the answer is a value or a SpecError."""

from __future__ import annotations

import copy
import datetime
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixturegen import errors, render
from fixturegen.fixture import load as load_fixture
from fixturegen.fixture import schema
from fixturegen.fixture.project import builtin_templates
from fixturegen.languages import LANGUAGES

WHOLE = tomllib.loads((builtin_templates() / "p04-first-run" / "fixture.toml").read_text())
WHOLE["program"] = WHOLE["program"][1:2]  # one program with builds, modes, lines and metrics
WHOLE["claim"] = [c for c in WHOLE["claim"] if "first_run" not in c["holds"]][:1]

VALIDATOR = jsonschema.Draft7Validator(schema.json_schema(LANGUAGES))

TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["c", "rust", "a b", "..", "a/b", "", "{x}", "{random_probe.c.lazy}", "(?P<n>"]
    ),
    st.sampled_from(["1 < 2", "random_probe.c.lazy.plain.first > 1", "call.first[0]", "count"]),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),  # stands for: take the key out
        TEXTS,
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.just(datetime.date(2020, 1, 1)),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)


def toml(value: Any) -> str:
    """Return a value as TOML writes it in one line."""
    if isinstance(value, dict):
        inner = (f"{toml(str(k))} = {toml(v)}" for k, v in value.items() if v is not None)
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(each) for each in value if each is not None) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
    return str(value)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every place within a value."""
    if isinstance(value, dict):
        inner = list(value.items())
    else:
        inner = list(enumerate(value)) if isinstance(value, list) else []
    return [at, *(place for key, each in inner for place in places(each, (*at, key)))]


PLACES = places(WHOLE)[1:]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.sampled_from(PLACES), value=VALUES, key=st.one_of(st.none(), TEXTS))
def test_a_spoiled_fixture_is_a_fixture_or_an_error(
    place: tuple[Any, ...], value: Any, key: str | None
) -> None:
    spoiled = copy.deepcopy(WHOLE)
    into = spoiled
    for step in place[:-1]:
        into = into[step]
    if key is not None and isinstance(into, dict):
        into[key] = value
    else:
        into[place[-1]] = value
    text = "".join(f"{toml(k)} = {toml(v)}\n" for k, v in spoiled.items() if v is not None)
    try:
        found = load_fixture(text.encode(), "p", "fixture.toml", LANGUAGES)
    except errors.SpecError as error:
        assert error.what.startswith("fixture.toml: ")
        assert len(error.what) < 6000
    else:
        assert len({case.path for case in found.cases()}) == len(found.cases())
        VALIDATOR.validate(tomllib.loads(text))  # an editor finds nothing in what is right


PIECES = st.lists(
    st.sampled_from(
        [
            "/*{ ", " }*/", "\n//% ", "\n//# ", "for i in ", "range(9)", "\n//% endfor", "if ",
            "\n//% endif", "params", ".x", "[0]", "|", "join", "(", ")", "'a'", "9", "*", "~", "%",
            "set y = ", "include ", '"x.j2"', '"../x"', "macro m(n)", "\n//% endmacro", "m(1)",
            "not ", " if y else 1", " if y", ".__class__", ".format", "import ", "raw", "\n", "x",
            ",", "-", "**", "==", "is defined", "namespace()", "block b", "\n//% endblock",
            "call m(1)", "\n//% endcall", "filter upper", "\n//% endfilter", "recursive",
            "loop(y)", "self.b()",
        ]
    ),
    max_size=25,
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pieces=PIECES)
def test_any_template_is_a_text_or_an_error(folder: Path, pieces: list[str]) -> None:
    (folder / "x.j2").write_text("".join(pieces))
    created = render.environment([folder], LANGUAGES["c"].literal)
    try:
        text = render.render_text(created, "x.j2", {"params": {"x": 1}}, "templates/p/x.j2")
    except errors.SpecError as error:
        assert "\n" not in error.what
        assert str(folder) not in error.what
    else:
        assert text.endswith("\n")
