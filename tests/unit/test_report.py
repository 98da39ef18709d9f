from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixturegen import errors, render, report
from fixturegen.check import Checked, check_fixture
from fixturegen.model import Fixture
from fixturegen.report.formats import number, pad, ratio, short, wrap
from fixturegen.report.table import aligned
from fixturegen.report.view import View
from fixturegen.runs import record, states
from fixturegen.runs.summary import Summary
from tests.recorded import TOML, context, fixture, lay, rewrite, sample, samples, store


def view() -> View:
    of = fixture()
    return View(Summary(of, of.params).add_all(samples()), stored_of(of))


def stored_of(of: Fixture) -> record.Stored:
    return record.Stored(Path("/nonexistent"), context(of), "nonexistent")


def test_a_table_is_aligned_and_parses_no_number() -> None:
    text = aligned(["name", "value"], [["a", "1.50"], ["bb", "42924e28"], ["c", "6.10"]])
    assert text.splitlines() == [
        "name       value",
        "------  --------",
        "a           1.50",
        "bb      42924e28",
        "c           6.10",
    ]


def test_a_table_without_rows_or_headers_is_no_error() -> None:
    assert "name" in aligned(["name", "value"], [])
    assert aligned([], [["a", "b"]], "ll") == "a  b"


def test_what_was_not_measured_is_a_dash() -> None:
    found = view().stat("loop.c.pre_fault.iter1")
    assert found["n"] == 0
    assert found["median"] is None
    assert [number(None), pad(None, 4), short(None), ratio(None, 3), ratio(3, None)] == [
        "-", "   -", "-", "-", "-",
    ]  # fmt: skip


def test_a_stat_names_its_spread_and_its_count() -> None:
    found = view().stat("loop.c.natural.iter1")
    assert (found["n"], found["median"], found["min"], found["max"]) == (4, 1002.5, 1001, 1004)
    assert (found["q1"], found["q3"], found["iqr"]) == (1001.75, 1003.25, 1.5)
    assert found["groups"] is None


def test_two_groups_are_told_with_their_sizes() -> None:
    assert view().stat("loop.rust.pre_fault.iter1")["groups"] == {
        "low_n": 2, "high_n": 2, "low": 202, "high": 403,
    }  # fmt: skip


def test_a_clock_that_moved_with_the_groups_explains_them() -> None:
    of = fixture()
    found = Summary(of, of.params)
    for number_, (ns, wall) in enumerate([(100, 30), (101, 30), (200, 60), (201, 61)], 1):
        lines = sample("loop.c.natural", number_, [ns, 1])
        found.add(lines, {"iter1": ns, "steady": 1, "faults": 1, "wall": wall})
    shown = View(found, stored_of(of))
    assert shown.explained("loop.c.natural.iter1", "loop.c.natural.wall") == "yes"
    assert shown.explained("loop.c.natural.iter1", "loop.c.natural.faults") == "no"
    assert shown.explained("loop.c.natural.steady", "loop.c.natural.wall") == "-"


def test_half_even_on_exact_decimals() -> None:
    assert [number(0.5), number(1.5), number(2.5), number(2.675, 2)] == ["0.5", "2", "2", "2.68"]


def test_wrapped_text_keeps_its_margin() -> None:
    assert wrap("one two three", 2, 9) == "  one two\n  three"


def test_the_text_says_what_the_reader_wants_first(tmp_path: Path) -> None:
    project = lay(tmp_path)
    stored = store(project, fixture())
    text = report.stored_text(project, fixture(), stored)
    lines = text.splitlines()
    assert lines[0] == "A loop"
    assert "run        noon, 2026-11-30, seed 1" in lines
    assert "claims     2 of 2 hold" in lines
    assert "repeat     fixturegen run a-loop" in lines
    assert any(
        line.startswith("samples    12 fresh processes; the run's sha256 ") for line in lines
    )
    assert any(line.endswith("max  two groups") for line in lines)
    assert any(line.endswith("2 around 202, 2 around 403") for line in lines)
    assert text.endswith("no process failed.\n")
    assert all(line == line.rstrip() for line in lines)
    assert "\n\n\n" not in text
    assert str(tmp_path) not in text


TENTH = 'metric.tenth = { value = "iteration.ns[0] / 10", unit = "us" }\nmetric.wall'


def default_rows(root: Path, toml: str, firsts: list[int], case: str) -> list[str]:
    """Return what stands under the program in the text that no template of its own makes."""
    of = fixture(toml)
    taken = [sample(case, i, [ns, 50, 51, 52]) for i, ns in enumerate(firsts, 1)]
    project = lay(root, toml)
    text = report.stored_text(project, of, store(project, of, samples=taken))
    return text.partition("\nloop\n----\n\n")[2].partition("\nClaims of")[0].splitlines()


def cells(lines: list[str], mode: str, metric: str) -> list[str]:
    rows = [line.split() for line in lines if line.startswith("C ")]
    return next(row for row in rows if row[1:3] == [mode, metric])


def test_the_table_of_every_metric_has_decimals_only_where_they_say_something(
    tmp_path: Path,
) -> None:
    toml = TOML.replace("metric.wall", TENTH)
    lines = default_rows(tmp_path, toml, [20, 21, 22, 23], "loop.c.natural")
    assert " ".join(lines[0].split()) == "build mode metric unit n median IQR min max"
    assert cells(lines, "natural", "iter1")[4:] == ["4", "21.5", "1.5", "20", "23"]
    assert cells(lines, "natural", "faults")[4:] == ["4", "128", "0", "128", "128"]
    assert cells(lines, "natural", "tenth")[4:] == ["4", "2.15", "0.15", "2", "2.3"]
    assert cells(lines, "natural", "wall")[4:] == ["4", "1002", "1.5", "1001", "1004"]
    assert cells(lines, "pre-fault", "faults")[4:] == ["0", "-", "-", "-", "-"]


def test_two_groups_that_lie_close_keep_their_decimals(tmp_path: Path) -> None:
    toml = TOML.replace("metric.wall", TENTH)
    lines = default_rows(tmp_path, toml, [20, 20, 26, 26], "loop.c.natural")
    assert lines[0].endswith("  two groups")
    row = next(line for line in lines if " tenth " in line)
    assert row.endswith("  2 around 2, 2 around 2.6")


def test_groups_stand_below_a_table_that_would_become_too_wide(tmp_path: Path) -> None:
    long = "sorted-before-the-measurement-with-all-buffers-written"
    toml = TOML.replace('name = "natural"', f'name = "{long}"').partition("[[claim]]")[0]
    lines = default_rows(tmp_path, toml, [20, 20, 40, 40], f"loop.c.{long.replace('-', '_')}")
    table_ends = lines.index("")
    assert max(len(line) for line in lines[:table_ends]) <= 120
    assert "two groups" not in lines[0]
    assert lines[table_ends + 1] == "Rows whose processes fall into two groups:"
    assert lines[table_ends + 3].endswith(".iter1: 2 around 20, 2 around 40")


def test_the_same_samples_give_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        project = lay(tmp_path / name)
        stored = store(project, fixture())
        texts.append(report.stored_text(project, fixture(), stored))
    assert texts[0] == texts[1]


def test_changes_failures_and_disturbances_are_in_the_text(tmp_path: Path) -> None:
    project = lay(tmp_path)
    bad = sample("loop.c.natural", 4, [], status="signal", detail="killed by SIGSEGV \x1b[2J")
    stored = store(
        project, fixture(), samples=[*samples()[:-3], bad],
        missing={"rust": "Rust left out: no cargo"},
        lacking=("1 failed samples",), disturbances=("another run (pid 7)",), resumed=(5,),
        skipped={"loop.c.natural": 2},
    )  # fmt: skip
    text = report.stored_text(project, fixture(), stored)
    for words in (
        "Rust left out: no cargo", "1 failed samples", "disturbed: another run (pid 7)",
        "interrupted and resumed after 5 samples", "loop.c.natural, round 4: killed by SIGSEGV",
        "the last 2 samples skipped",
    ):  # fmt: skip
        assert words in text
    assert "\x1b" not in text


def test_the_line_that_repeats_a_run_is_one_command_whatever_the_file_says(tmp_path: Path) -> None:
    project = lay(tmp_path)
    options = ("--set 'word=a b'", "--label x; touch gone", "--set $(touch gone)=1")
    text = report.stored_text(project, fixture(), store(project, fixture(), options=options))
    wanted = "--set 'word=a b' --label 'x;' touch gone --set '$(touch' 'gone)=1'"
    assert f"fixturegen run a-loop {wanted}\n" in text


def test_a_changed_parameter_is_used_again_when_the_text_is(tmp_path: Path) -> None:
    project = lay(tmp_path)
    stored = store(project, fixture(), params={"skip": 3})
    assert report.summarise(fixture(), stored).values("loop.c.natural.steady") == [102] * 4


def test_the_text_names_the_run_that_it_is_of(tmp_path: Path) -> None:
    project = lay(tmp_path)
    store(project, fixture(), "noon")
    store(project, fixture(), "night", number=2)
    store(project, fixture(), "partial", number=3, lacking=("fewer rounds",))
    assert report.current_run(project, "a-loop") == "night"
    head = "A loop\n\nfixture    a-loop\nrun        {}, 2026-11-30, seed 1\n"
    report.text_path(project, "a-loop").write_text(head.format("noon"))
    assert report.current_run(project, "a-loop") == "noon"
    report.text_path(project, "a-loop").write_text(head.format("gone"))
    with pytest.raises(errors.CheckError, match="comes from run gone, which is not stored"):
        report.current_run(project, "a-loop")


def findings(project: object) -> list[tuple[str, str]]:
    checked = Checked()
    check_fixture(project, fixture(), checked)  # type: ignore[arg-type]
    return [(f.kind, f.repair) for f in checked.findings or [] if f.kind != "render"]


def lay_with_sources(root: Path) -> object:
    project = lay(root)
    for suffix in ("c", "rs"):
        (root / "templates" / "a-loop" / f"loop.{suffix}.j2").write_text("//#\n")
    return project


def test_check_finds_drift_of_the_text_and_names_the_repair(tmp_path: Path) -> None:
    project = lay_with_sources(tmp_path)
    stored = store(project, fixture())  # type: ignore[arg-type]
    path = report.text_path(project, "a-loop")  # type: ignore[arg-type]
    path.write_text(report.stored_text(project, fixture(), stored))  # type: ignore[arg-type]
    assert findings(project) == []
    path.write_text(path.read_text().replace("1002", "1003"))
    assert findings(project) == [("report", "fixturegen report a-loop")]


def test_check_finds_damaged_samples(tmp_path: Path) -> None:
    project = lay_with_sources(tmp_path)
    stored = store(project, fixture())  # type: ignore[arg-type]
    packed = stored.folder / "samples.jsonl.gz"
    packed.write_bytes(packed.read_bytes()[:-20])
    assert [kind for kind, _ in findings(project)] == ["data"]


def test_check_finds_exchanged_samples(tmp_path: Path) -> None:
    project = lay_with_sources(tmp_path)
    stored = store(project, fixture())  # type: ignore[arg-type]
    other = store(project, fixture(), "other", samples=samples()[:-1])  # type: ignore[arg-type]
    (stored.folder / "samples.jsonl.gz").write_bytes(
        (other.folder / "samples.jsonl.gz").read_bytes()
    )
    assert ("data", "restore it from version control") in findings(project)


def test_an_unknown_version_is_refused_with_the_one_that_can_read_it(tmp_path: Path) -> None:
    project = lay(tmp_path)
    stored = store(project, fixture())
    path = stored.folder / "context.json"
    rewrite(path.parent, lambda plain: plain.update(format=99, fixturegen="7.0"))
    with pytest.raises(errors.CheckError, match="format 99") as caught:
        states.stored(project, "a-loop", "noon")
    assert "fixturegen 7.0" in caught.value.hint


def test_a_claim_that_fails_is_a_finding(tmp_path: Path) -> None:
    project = lay_with_sources(tmp_path)
    stored = store(project, fixture())  # type: ignore[arg-type]
    of = fixture(TOML.replace("== 128", "== 127"))
    path = report.text_path(project, "a-loop")  # type: ignore[arg-type]
    path.write_text(report.stored_text(project, of, stored))  # type: ignore[arg-type]
    checked = Checked()
    check_fixture(project, of, checked)  # type: ignore[arg-type]
    (repair,) = [f.repair for f in checked.findings or [] if f.kind == "claim"]
    assert repair.startswith("the sentence or the program: this run shows the contrary")
    assert "DOES NOT HOLD: It makes 128 faults." in path.read_text()


@pytest.mark.parametrize(
    "expression",
    [
        "table|string",
        "table ~ ''",
        "'%s' % table",
        "'{}'.format(stat)",
        "[table]|string",
        "(table|string)[-8:]",
        "pad([table]|string, 3)",
        "table(['a'], [[stat]])",
        "plural(1, table)",
        "attachment|upper",
        "self.part|string",
        "run.title.upper|string",
        "table",
    ],
)
def test_no_function_has_a_text(tmp_path: Path, expression: str) -> None:
    """Its text would be an address, another one each time."""
    project = lay(tmp_path)
    stored = store(project, fixture())
    template = project.folder(fixture().name) / "report.txt.j2"
    template.write_text("{% block part %}{% endblock %}\n{{ " + expression + " }}\n")
    with pytest.raises(errors.SpecError, match=r"report\.txt\.j2:2: \w+ is a function: write "):
        report.stored_text(project, fixture(), stored)


def test_a_block_that_replaces_another_has_no_address_either(tmp_path: Path) -> None:
    project = lay(tmp_path)
    stored = store(project, fixture())
    folder = project.folder(fixture().name)
    (folder / "outer.j2").write_text("{% block part %}outer{% endblock %}\n")
    inner = '{% extends "outer.j2" %}{% block part %}SUPER{% endblock %}\n'
    (folder / "report.txt.j2").write_text(inner.replace("SUPER", "{{ super() }}"))
    assert report.stored_text(project, fixture(), stored) == "outer\n"
    (folder / "report.txt.j2").write_text(inner.replace("SUPER", "{{ super|string }}"))
    with pytest.raises(errors.SpecError, match="super is a function"):
        report.stored_text(project, fixture(), stored)


def test_an_error_about_a_list_has_no_address(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot place a list in the text: \[<object>\]"):
        render.finalizer(None)([object()])


def test_a_claim_says_of_how_many_processes_it_has_no_value(tmp_path: Path) -> None:
    toml = TOML.replace(
        '"iteration.faults[0]", unit = "count"',
        '"iteration.faults[0]", unit = "count", optional = true',
    )
    of, project = fixture(toml), lay(tmp_path, toml)
    some = [
        replace(s, lines={**s.lines, "iteration": {**s.lines["iteration"], "faults": []}})
        if s.round == 2
        else s
        for s in samples()
    ]
    text = report.stored_text(project, of, store(project, of, samples=some))
    assert "loop.c.natural.faults = 128 (median of 3, of 4 processes)" in text
    assert "(median of 4)" in text
