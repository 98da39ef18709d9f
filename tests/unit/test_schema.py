"""The JSON schema of fixture.toml: what editors are told is what `load` takes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fixturegen import errors
from fixturegen.fixture import load, schema
from fixturegen.languages import LANGUAGES
from tests import recorded
from tests.unit import test_conditions, test_paths, test_rungs, test_spec

ROOT = Path(__file__).parents[2]
SCHEMA = schema.json_schema(LANGUAGES)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
FILES = sorted(ROOT.glob("templates/*/fixture.toml"))
TEXTS = {
    **{path.parent.name: path.read_text(encoding="utf-8") for path in FILES},
    "recorded": recorded.TOML,
    "builds": test_paths.BUILT,
    "conditions": test_conditions.TOML.replace("MODE", "").replace("METRIC", ""),
    "rungs": test_rungs.TOML,
    "spec": test_spec.TOML,
}
# A program of everything, so that each place can be spoiled.
WHOLE = """
title = "A loop"
shared = ["measure"]
requires = ["c"]
[params]
skip = 1
[[program]]
name = "loop"
languages = ["c", "rust"]
lines.it = '(?P<ns>\\d+)'
metric.t = { value = "it.ns[0]", unit = "ns" }
[[program.build]]
name = "other"
c.ldflags = ["-static"]
rust.rustflags = []
[[program.mode]]
name = "one"
env = { A = "1" }
"""
WRONG = {
    "a key at the top": ('title = "A loop"', 'title = "A loop"\ntitel = "A loop"'),
    "a key of a program": ('name = "loop"', 'name = "loop"\nround = 3'),
    "a key of a build": ("c.ldflags", "cc.ldflags"),
    "a key of a mode": ("env =", "envs ="),
    "a key of a metric": ('unit = "ns"', 'unit = "ns", units = "ns"'),
    "no title": ('title = "A loop"\n', ""),
    "no program": ("[[program]]\n", "[[programs]]\n"),
    "no unit": (', unit = "ns"', ""),
    "a name of our own": ('title = "A loop"', 'title = "A loop"\n"(name)" = "x"'),
    "languages of our own": ("c.ldflags", '"(languages)".c.ldflags'),
    "an empty title": ('title = "A loop"', 'title = ""'),
    "a title that is a number": ('title = "A loop"', "title = 1"),
    "a table for a list": ("[[program.mode]]", "[program.mode]"),
    "no language": ('languages = ["c", "rust"]', "languages = []"),
    "an unknown language": ('languages = ["c", "rust"]', 'languages = ["c", "rust", "pascal"]'),
    "an unknown language is required": ('requires = ["c"]', 'requires = ["pascal"]'),
    "a name with a capital": ('name = "loop"', 'name = "Loop"'),
    "a mode with a blank": ('name = "one"', 'name = "one two"'),
    "a build with =": ('name = "other"', 'name = "a=b"'),
    "a variable with -": ("A = ", '"A-B" = '),
    "no rounds": ('name = "loop"', 'name = "loop"\nrounds = 0'),
    "half a round": ('name = "loop"', 'name = "loop"\nrounds = 1.5'),
    "no time": ('name = "loop"', 'name = "loop"\ntimeout_s = 0'),
    "an order": ('name = "loop"', 'name = "loop"\norder = "random"'),
    "cpus": ('name = "loop"', 'name = "loop"\ncpus = "some"'),
    "an exit code": ('name = "loop"', 'name = "loop"\nexits = [256]'),
    "a kind": ('unit = "ns"', 'unit = "ns", kind = "number"'),
    "a flag of another language": ("c.ldflags", "c.rustflags"),
    "a flag that is no list": ('["-static"]', '"-static"'),
    "a flag of two lines": ('["-static"]', '["-static\\n-g"]'),
    "a compiler that is a list": ("c.ldflags", "c.compiler"),
    "a compiler with a path": ('c.ldflags = ["-static"]', 'c.compiler = "/usr/bin/gcc"'),
    "a compiler of rustc": ('c.ldflags = ["-static"]', 'rust.compiler = "gcc"'),
    "an unknown watch": ('name = "one"', 'name = "one"\nwatch = ["meminfos"]'),
    "an unknown wrapper": ('name = "one"', 'name = "one"\nwrapper = "valgrind"'),
    "an unknown preparation": ('name = "one"', 'name = "one"\nprepare = ["evict {self}"]'),
    "an unknown permission": ('name = "one"', 'name = "one"\nallow = "everything"'),
    "an unknown knob": ('name = "one"', 'name = "one"\ntune = ["noise"]'),
    "a parameter that is a list": ("skip = 1", "skip = [1]"),
    "a parameter with a capital": ("skip = 1", "Skip = 1"),
    "a pattern that is a number": (r"'(?P<ns>\d+)'", "1"),
}


def tables(part: Any) -> Iterator[tuple[str, Any]]:
    """Return every key that the schema knows, with what it says of it."""
    if isinstance(part, list):
        for each in part:
            yield from tables(each)
    elif isinstance(part, dict):
        for key, each in part.get("properties", {}).items():
            yield key, each
        for each in part.values():
            yield from tables(each)


def test_it_is_a_schema_and_is_the_committed_one() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert json.loads((ROOT / "docs" / schema.NAME).read_text(encoding="utf-8")) == SCHEMA


def test_every_key_is_described_as_authors_write_it() -> None:
    keys = dict(tables(SCHEMA))
    assert {"title", "program", "build", "mode", "metric", "claim", "kind", "ldflags"} <= {*keys}
    for key, said in keys.items():
        assert re.fullmatch("[a-z_]+", key)
        assert said.get("description"), key
    assert r"\Z" not in json.dumps(SCHEMA)
    assert '"null"' not in json.dumps(SCHEMA) and ": null" not in json.dumps(SCHEMA)


@pytest.mark.parametrize("name", TEXTS)
def test_every_fixture_is_valid(name: str) -> None:
    VALIDATOR.validate(tomllib.loads(TEXTS[name]))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_the_first_line_leads_an_editor_to_it(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    named = re.fullmatch(r"#:schema (\S+)", first)
    assert named
    if path.parent.name == "_new":  # `new` writes it beside the copy
        assert named[1] == f"./{schema.NAME}"
    else:
        assert (path.parent / named[1]).resolve() == ROOT / "docs" / schema.NAME


def test_what_is_spoiled_below_is_right() -> None:
    VALIDATOR.validate(tomllib.loads(WHOLE))
    load(WHOLE.encode(), "p", "fixture.toml", LANGUAGES)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_by_both(name: str) -> None:
    before, after = WRONG[name]
    assert before in WHOLE
    text = WHOLE.replace(before, after, 1)
    assert not VALIDATOR.is_valid(tomllib.loads(text))
    with pytest.raises(errors.SpecError):
        load(text.encode(), "p", "fixture.toml", LANGUAGES)


def test_a_language_of_another_package_has_its_keys() -> None:
    class Zig:
        label = "Zig"
        flag_keys = {"zigflags": "added behind `zig build-exe`"}  # noqa: RUF012
        compilers = ()

    found = schema.json_schema({"zig": Zig()})  # type: ignore[dict-item]
    build = found["definitions"]["Build"]["properties"]
    assert build["zig"]["properties"]["zigflags"]["description"] == "added behind `zig build-exe`"
    assert "compiler" not in build["zig"]["properties"]
    assert found["definitions"]["Program"]["properties"]["languages"]["items"]["enum"] == ["zig"]
