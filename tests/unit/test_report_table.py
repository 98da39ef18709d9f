"""The tables that a report template declares: rows, columns, and what stands where nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixturegen import errors, report
from tests.recorded import TOML, fixture, lay, sample, store

ROWS = 'cases("loop")'


def text_of(root: Path, template: str, toml: str = TOML, **changes: object) -> str:
    """Return the text that a template gives of the recorded run, without its final newline."""
    project = lay(root, toml)
    of = fixture(toml)
    stored = store(project, of, **changes)
    (project.folder(of.name) / "report.txt.j2").write_text("{{ " + template + " }}\n")
    return report.stored_text(project, of, stored).removesuffix("\n")


def lines_of(root: Path, columns: str, rows: str = ROWS, more: str = "", **given: object) -> object:
    """Return the lines below the heading of a table."""
    whole = text_of(root, f"table([{columns}], {rows}{more})", **given)
    return [line.split() for line in whole.splitlines()[2:]]


def test_a_row_is_a_case_and_a_column_what_claims_may_say_of_it(tmp_path: Path) -> None:
    whole = text_of(
        tmp_path,
        """table([
          text("mode"),
          text("", "{label}"),
          count("iter1"),
          column("iter1", "iter1"),
          column("IQR", "iqr(iter1)", decimals=1),
          column("to steady", "iter1 / steady", unit="x", decimals=1),
          column("to C", "iter1 / c.iter1", unit="x", decimals=2),
        ], cases("loop", by="mode"))""",
    )
    assert whole.splitlines() == [
        "mode               n    iter1    IQR    to steady    to C",
        "---------  ----  ---  -------  -----  -----------  ------",
        "natural    C       4     1002    1.5         9.9x   1.00x",
        "natural    Rust    4      902    1.5        17.7x   0.90x",
        "pre-fault  C       0        -      -            -       -",
        "pre-fault  Rust    4      302  200.0         5.9x       -",
    ]


def test_a_path_leaves_out_what_it_shares_with_its_row(tmp_path: Path) -> None:
    cells = 'column("a", "natural.iter1"), column("b", "rust.iter1"), '
    cells += 'column("c", "rust.natural.iter1"), '
    cells += 'column("d", "loop.c.natural.iter1"), column("e", "params.skip + 1")'
    rows = 'cases("loop", mode="pre-fault")'
    c, rust = lines_of(tmp_path, cells, rows)  # type: ignore[misc]
    assert c == ["1002", "302", "902", "1002", "2"]
    assert rust == ["902", "302", "902", "1002", "2"]


def test_a_column_may_lead_to_what_the_first_process_printed(tmp_path: Path) -> None:
    cells = (
        'column("", "natural.iteration.ns", decimals=1), column("n", "count(natural.iteration.ns)")'
    )
    assert lines_of(tmp_path, cells, 'cases("loop", "c", mode="natural")') == [["101.5", "4"]]


def test_a_row_without_processes_has_its_reason_and_no_number(tmp_path: Path) -> None:
    cells = 'text("mode"), count("iter1"), column("ns", "iter1", none="unknown")'
    shown = 'cases("loop", "c")'
    absent = lines_of(tmp_path / "1", cells, shown, more=', absent="not measured"')
    assert absent == [["natural", "4", "1002"], ["pre-fault", "not", "measured", "-"]]
    assert lines_of(tmp_path / "2", cells, shown)[1] == ["pre-fault", "0", "unknown"]  # type: ignore[index]
    why = "reasons(cases('loop'))|map(attribute='reason')|join"
    unmeasured = {"loop.c.pre_fault": "there is no perf"}
    assert text_of(tmp_path / "3", why, unmeasured=unmeasured) == "there is no perf"
    assert text_of(tmp_path / "4", why) == "the run has no process of it"
    bad = [sample("loop.c.pre_fault", 1, [], status="exit", detail="exit 1")]
    rows = why.replace("'loop'", "'loop', 'c', mode='pre-fault'")
    assert text_of(tmp_path / "5", rows, samples=bad) == "no process of it ended well"


def test_several_cells_stand_in_one_column(tmp_path: Path) -> None:
    cells = 'column("a", "iter1", "steady"), column("b", "min(iter1)", "max(iter1)", join="-"), '
    cells += 'column("c", "min(steady)", "max(steady)", join="-", unit="ns")'
    got = lines_of(tmp_path, cells, 'cases("loop", mode="natural")')
    assert got == [
        ["1002", "/", "101", "1001-1004", "101", "ns"],
        ["902", "/", "51", "901-904", "51", "ns"],
    ]


SPLIT = TOML.replace(
    "metric.wall", 'metric.odd = { value = "iteration.index[0] % 2", unit = "count" }\nmetric.wall'
)


def test_a_column_may_be_of_the_processes_in_which_another_metric_is_not_0(tmp_path: Path) -> None:
    taken = [sample("loop.c.natural", n, [100 * n, 1]) for n in range(1, 4)]
    for each in taken[1:]:
        each.lines["iteration"]["index"][0] = 2
    cells = ", ".join(
        f'count("iter1", where="{where}"), column("", "iter1", where="{where}")'
        for where in ("odd", "not odd")
    )
    rows = 'cases("loop", "c", mode="natural")'
    assert lines_of(tmp_path, cells, rows, toml=SPLIT, samples=taken) == [["1", "100", "2", "250"]]


def test_rows_of_metrics_and_of_groups(tmp_path: Path) -> None:
    template = """table([
      text("mode"), text("metric"), text("unit"), column("median", "{metric}"),
    ], metrics(cases("loop", "rust", mode="pre-fault"), ["iter1", "faults"]))"""
    assert [line.split() for line in text_of(tmp_path / "1", template).splitlines()[2:]] == [
        ["pre-fault", "iter1", "ns", "302"],
        ["pre-fault", "faults", "count", "128"],
    ]
    template = """table([
      text("", "{label}"), column("", "{low_n}", "{low}", join=" around ", unit="ns"),
      text("explained"),
    ], groups(metrics(cases("loop"), ["iter1"]), explained_by="faults"))"""
    assert text_of(tmp_path / "2", template).splitlines()[2:] == ["Rust  2 around 202 ns  no"]


def test_a_row_of_one_round_is_of_that_round_in_every_case(tmp_path: Path) -> None:
    cells = 'text("", "round {round}"), column("C", "c.natural.iter1"), column("Rust", "iter1")'
    rows = 'rounds(cases("loop", "rust", mode="pre-fault"))'
    assert lines_of(tmp_path, cells, rows)[1] == ["round", "2", "1002", "402"]  # type: ignore[index]


def test_rows_are_called_in_words_and_in_the_order_that_is_wanted(tmp_path: Path) -> None:
    mode = '{"pre-fault": "{label}, touched", "natural": "{label}"}'
    rows = f'cases("loop", mode={mode})'
    whole = text_of(tmp_path, f'table([text("", "{{text}}"), count("iter1")], {rows})')
    assert [line[:14].strip() for line in whole.splitlines()[2:]] == [
        "C, touched", "C", "Rust, touched", "Rust",
    ]  # fmt: skip


def test_marks_stand_behind_words_where_a_metric_is_not_0(tmp_path: Path) -> None:
    cells = 'text("mode", marks={"faults": " (faulted)"})'
    got = text_of(tmp_path, f'table([{cells}], cases("loop", "c"))')
    assert got.splitlines()[2:] == ["natural (faulted)", "pre-fault"]


def test_columns_for_each_of_several_things(tmp_path: Path) -> None:
    template = """table([
      text("part", "{name}"),
      per(run.languages, [
        column("{label} ns", "loop.{name}.natural.{metric}"),
        count("loop.{name}.natural.iter1"),
      ]),
    ], [{"name": "first", "metric": "iter1"}, {"name": "later", "metric": "steady"}])"""
    assert text_of(tmp_path, template).splitlines() == [
        "part      C ns    n    Rust ns    n",
        "------  ------  ---  ---------  ---",
        "first     1002    4        902    4",
        "later      101    4         51    4",
    ]


def test_an_expression_of_a_row_and_a_cell_that_it_leaves_empty(tmp_path: Path) -> None:
    rows = """[
      {"part": "all", "ns": "(loop.c.natural.iter1)", "other": ""},
      {"part": "rest", "ns": "(loop.c.natural.iter1 - loop.c.natural.steady)",
       "other": "(iqr(loop.c.natural.iter1))"}]"""
    cells = 'text("part"), column("ns", "{ns}"), '
    cells += 'column("IQRs", "iqr(loop.c.natural.iter1)", "{other}", join=", ")'
    assert lines_of(tmp_path, cells, rows) == [["all", "1002", "2"], ["rest", "902", "2,", "2"]]


def test_languages_that_the_run_lacks_have_no_rows(tmp_path: Path) -> None:
    template = "cases('loop')|map(attribute='path')|join(' ')"
    got = text_of(tmp_path, template, languages=("rust",), missing={"c": "no gcc"})
    assert got == "loop.rust.natural loop.rust.pre_fault"


def test_wrapped_text_may_stand_on_lines_of_its_own(tmp_path: Path) -> None:
    got = text_of(
        tmp_path, '""}}{% filter wrap(2) %}\none\ntwo {{ "three" }}\n{% endfilter %}{{ ""'
    )
    assert got.strip("\n") == "  one two three"


WRONG = {
    'stat("loop.c.natural.iter2")': ("'loop.c.natural.iter2'", "'loop.c.natural.iter1'"),
    'values("loop.c.naturl.iter1")': ("unknown path", "'loop.c.natural.iter1'"),
    'processes("loop.c.naturl")': ("unknown case 'loop.c.naturl'", "'loop.c.natural'"),
    'cases("lop")': ("unknown program 'lop'", "'loop'"),
    'cases("loop", mode="naturl")': ("unknown mode 'naturl'", "'natural'"),
    'cases("loop", names={"naturl": "n"})': ("unknown mode 'naturl'", "'natural'"),
    'cases("loop", by="mod")': ("by='mod'", "'mode'"),
    'binary("lop", "c")': ("unknown program 'lop'", "'loop'"),
    'metrics(cases("loop"), ["itr1"])': ("unknown metric 'itr1'", "'iter1'"),
    'table([text("moed")], cases("loop"))': ("a row has no field 'moed'", "'mode'"),
    'table([column("", "itr1")], cases("loop"))': ("unknown metric 'itr1' of loop", "'iter1'"),
    'table([column("", "rsut.iter1")], cases("loop"))': ("path 'rsut.iter1'", "rust.iter1'"),
    'table([column("", "params.skp")], cases("loop"))': ("params has no number 'skp'", "'skip'"),
    'table([column("", "medain(iter1)")], cases("loop"))': ("function 'medain'", "'median'"),
    'table([column("", "iter1 > 3")], cases("loop"))': ("not a condition", ""),
    'table([column("", "iter1[0]")], cases("loop"))': ("", "index"),
    'table([column("", "iter1", decimals="many")], cases("loop"))': ("decimals='many'", "auto"),
    'table([{"head": "n"}], cases("loop"))': ("not a column", "column("),
    'table([text("mode")], [["a"]])': ("row 1 is a list", "case"),
    'table(["a", "b"], [["x", "y"], ["z"]])': ("row 2 has 1 of 2 cells", 'write "-"'),
    'table(["a"], ["x"])': ("row 1 is not a list", "list of texts"),
    'table(["a", "b"], [["x", "y"]], "l")': ("align='l'", "each of 2"),
    'table(["a"])': ("table(): missing a required argument: 'rows'", "table(columns, rows"),
    "number(1, 2, 3)": ("number(): too many positional arguments", "number(value, decimals=0)"),
    "number(vlaue=1)": ("number(): ", "number(value, decimals=0)"),
    'column("ns")': ("no expression", "column("),
    "tabel([], [])": ("'tabel' is undefined", "'table'"),
    "summarise()": ("'summarise' is undefined", "known: above, attached, attachment"),
    'stat("loop.c.natural.iter1").medain': ("there is no 'medain' here", "'median'"),
    "run.fixtur": ("there is no 'fixtur' here", "'fixture'"),
    "[].append(1)": ("append()", "rows = rows + [row]"),
    "{}.update(a=1)": ("update()", "dict(d, name=value)"),
    "wrap(1)": ("wrap() of 1", "number("),
}  # fmt: skip


@pytest.mark.parametrize("template", WRONG)
def test_a_mistake_is_told_with_its_line_and_what_to_write(tmp_path: Path, template: str) -> None:
    with pytest.raises(errors.SpecError) as caught:
        text_of(tmp_path, f'""}}}}\n{{{{ {template}')
    told = str(caught.value)
    assert told.startswith("templates/a-loop/report.txt.j2:2: ")
    for part in WRONG[template]:
        assert part in told
    assert "row." not in told and "Error" not in told and "object" not in told


def test_a_text_that_is_a_number_stays_that_number(tmp_path: Path) -> None:
    rows = '[{"v": "-3"}, {"v": "-1.5"}, {"v": 2}]'
    cells = lines_of(tmp_path, 'column("x", "2 * {v}")', rows)
    assert cells == [["-6"], ["-3"], ["4"]]


def test_small_numbers_keep_their_digits(tmp_path: Path) -> None:
    rows = '[{"v": 0.005}, {"v": 0.0000025}, {"v": 0.05}, {"v": 0}]'
    cells = lines_of(tmp_path, 'column("x", "{v}", decimals="auto")', rows)
    assert cells == [["0.0050"], ["0.0000025"], ["0.05"], ["0"]]


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        ('column("x", "natural.rust.iter1")', ROWS, "unknown path 'natural.rust.iter1'"),
        ('column("x", "c.c.iter1")', ROWS, "unknown path 'c.c.iter1'"),
        ('column("x", "iter1", decimals=1000)', ROWS, "decimals=1000"),
        ('column("x", "iter1", decimals=true)', ROWS, "decimals=True"),
        ('column("x", "iteration.ns")', f"rounds({ROWS})", "is printed by a case's first process"),
    ],
)
def test_what_would_be_another_number_is_a_mistake(
    tmp_path: Path, columns: str, rows: str, message: str
) -> None:
    with pytest.raises(errors.SpecError) as caught:
        text_of(tmp_path, f"table([{columns}], {rows})")
    assert message in caught.value.what


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("iteration", "'iteration' of loop is not a histogram"),
        ("iterations", "no line 'iterations'"),
    ],
)
def test_a_line_that_is_no_histogram_is_a_mistake_of_the_template(
    tmp_path: Path, line: str, message: str
) -> None:
    with pytest.raises(errors.SpecError) as caught:
        text_of(tmp_path, f'table([share_above("x", "{line}", "3")], {ROWS})')
    assert message in caught.value.what
