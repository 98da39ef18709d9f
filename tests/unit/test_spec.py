"""The text of fixture.toml to a Fixture: defaults, order, what a build and a mode narrow."""

from __future__ import annotations

from typing import ClassVar

import pytest

from fixturegen import errors
from fixturegen.fixture import load as load_fixture
from fixturegen.fixture.checks import metric_names
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture

TOML = """
title = "A fixture"
shared = ["measure"]
[params]
n = 3
word = "x"
[[program]]
name = "first_run"
languages = ["c", "rust"]
lines.it = '(?P<ns>\\d+) (?P<faults>\\d+)'
metric.t = { value = "it.ns[0]", unit = "ns" }
metric.f = { value = "it.faults[0]", unit = "count", modes = ["b,c"] }
metric.g = { value = "process.minor_faults", unit = "faults", kind = "count" }
[[program.build]]
name = "default"
[[program.build]]
name = "no-plt"
c.cflags = ["-fno-plt"]
[[program.mode]]
name = "a"
[[program.mode]]
name = "b,c"
builds = ["default"]
languages = ["rust"]
env = { X = "1" }
[[program]]
name = "other"
languages = ["c"]
rounds = 3
[[program.mode]]
name = "a"
args = ["{first_run.c.no_plt}", "x"]
"""


def load(text: str = TOML) -> Fixture:
    return load_fixture(text.encode(), "a-fixture", "fixture.toml", LANGUAGES)


def test_defaults_are_those_of_the_page() -> None:
    program = load().program("first_run")
    assert (program.rounds, program.timeout_s, program.order) == (10, 30, "shuffled")
    assert (program.cpus, program.output, program.kernel) == (1, "keep", "")
    other = load('title = "x"\n[[program]]\nname = "a"\nlanguages = ["c"]\n').programs[0]
    assert [build.name for build in other.builds] == ["default"]
    assert [mode.name for mode in other.modes] == ["plain"]
    assert [case.path for case in other.cases()] == ["a.c.plain"]


def test_cases_are_what_builds_and_modes_leave() -> None:
    assert [case.path for case in load().cases()] == [
        "first_run.c.a",
        "first_run.c.no_plt.a",
        "first_run.rust.a",
        "first_run.rust.b_c",
        "other.c.a",
    ]


def test_a_build_without_flags_is_for_every_language() -> None:
    program = load().program("first_run")
    default, plt = program.builds
    assert program.builds_in("c") == [default, plt]
    assert program.builds_in("rust") == [default]
    assert plt.flags("c", "cflags") == ("-fno-plt",)
    assert plt.flags("c", "ldflags") == default.flags("c", "cflags") == ()


def test_the_kind_follows_the_unit_unless_said() -> None:
    kinds = {name: metric.kind for name, metric in load().program("first_run").metrics.items()}
    assert kinds == {"t": "time", "f": "count", "g": "count"}


def test_names_of_binaries_and_metrics() -> None:
    fixture = load()
    assert list(fixture.binaries()) == [
        "first_run.c",
        "first_run.c.no_plt",
        "first_run.rust",
        "other.c",
    ]
    names = metric_names(fixture, fixture.program("first_run"))
    assert names["it.ns"] == "vector"
    assert names["params.n"] == "scalar"
    assert "params.word" not in names  # text is no number


def test_a_language_of_tomorrow_needs_no_new_key() -> None:
    class Zig:
        flag_keys: ClassVar = {"zigflags": "added behind `zig build-exe`"}
        reserved = ()

    text = TOML.replace("c.cflags", "zig.zigflags").replace('"c", "rust"', '"c", "zig"')
    text = text.replace('languages = ["rust"]', 'languages = ["zig"]').replace("no_plt", "default")
    known = {"c": LANGUAGES["c"], "zig": Zig()}
    fixture = load_fixture(text.encode(), "a-fixture", "fixture.toml", known)
    assert fixture.program("first_run").builds[1].flags("zig", "zigflags") == ("-fno-plt",)


@pytest.mark.parametrize("name", ["a__b", "_a", "a_", "A", "1a", "a-b", "a.b", "ä", "a\n", ""])
def test_names_that_would_not_survive_a_path(name: str) -> None:
    text = f'title = "x"\n[[program]]\nname = {name!r}\nlanguages = ["c"]\n'.replace("'", '"')
    with pytest.raises(errors.SpecError, match="name = "):
        load(text)


def test_the_place_of_an_error_without_a_name() -> None:
    text = 'title = "x"\n[[program]]\nname = "a"\nlanguages = ["c"]\n[[program]]\nrounds = 1\n'
    with pytest.raises(errors.SpecError, match=r"fixture.toml: program 2: lacks the key 'name'"):
        load(text)


def test_a_claim_on_a_metric_that_the_mode_does_not_give() -> None:
    claim = '[[claim]]\ntext = "x"\nholds = "first_run.c.default.a.f > 1"\n'
    with pytest.raises(errors.SpecError, match=r"unknown name 'first_run.c.default.a.f'"):
        load(TOML + claim)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("c.cflags = 3", "build 'no-plt': c.cflags = 3: expected a list, not a whole number"),
        ('c.cflags = "-g"', "build 'no-plt': c.cflags = '-g': expected a list"),
        ("c.cflags = [3]", "build 'no-plt': c.cflags[0] = 3: expected text, not a whole number"),
        ("c.compiler = 3", "build 'no-plt': c.compiler = 3: expected text, not a whole number"),
        ("c = 3", "build 'no-plt': c = 3: expected a table, not a whole number"),
        ('c.rustflags = ["-g"]', "build 'no-plt': c.rustflags: c has no key 'rustflags'"),
        ('"(languages)" = {}', "unknown key '(languages)'"),
    ],
)
def test_a_key_of_a_language_that_is_wrong(line: str, said: str) -> None:
    with pytest.raises(errors.SpecError) as raised:
        load(TOML.replace('c.cflags = ["-fno-plt"]', line))
    assert said in raised.value.what


def test_the_name_of_the_folder_is_no_key() -> None:
    with pytest.raises(errors.SpecError, match=r"unknown key '\(name\)'"):
        load('"(name)" = "x"\n' + TOML)


def test_a_language_that_no_build_names_is_an_error() -> None:
    toml = 'title = "x"\n[[program]]\nname = "a"\nlanguages = ["c", "rust"]\n[[program.build]]\n'
    with pytest.raises(errors.SpecError, match="rust has no build") as caught:
        load(f'{toml}name = "default"\nc.cflags = []\n')
    assert "rust.rustflags = []" in caught.value.hint
    assert load(f'{toml}name = "default"\nc.cflags = []\nrust.rustflags = []\n')
