"""How a claim's verdict is shown: digits that tell values apart, processes that break an `each`."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixturegen import machine, report
from fixturegen.check.findings import Checked, check_runs
from fixturegen.fixture.project import Project
from fixturegen.machine.values import FolioSize
from fixturegen.model import Fixture, Sample
from fixturegen.report import text_path
from fixturegen.runs import record, states
from fixturegen.runs.summary import KEPT, Summary, summarise
from tests.recorded import TOML, fixture, lay, sample, samples, store

CLAIMS = TOML[: TOML.index("[[claim]]")]


def claim(holds: str) -> str:
    return f'{CLAIMS}[[claim]]\ntext = "So it is."\nholds = "{holds}"\n'


def broken(holds: str, of: list[Sample] | None = None) -> list[str]:
    known = fixture(claim(holds))
    summary = Summary(known, known.params).add_all(of or samples())
    (result,) = summary.claims()
    return summary.broken(result)


def text_of(root: Path, toml: str, given: list[Sample]) -> str:
    project, of = lay(root, toml), fixture(toml)
    return report.stored_text(project, of, store(project, of, samples=given))


# ------------------------------------------------------------------------------- which break it


def test_a_failed_each_names_the_processes_that_break_it() -> None:
    (words,) = broken("each(loop.rust.pre_fault.iter1 < 300)")
    assert words == (
        "each(loop.rust.pre_fault.iter1 < 300): not in 2 of 4 processes: round 2 (iter1 = 402 ns), "
        "round 4 (iter1 = 404 ns)"
    )


def test_of_many_the_first_are_shown_and_all_are_counted() -> None:
    (words,) = broken("each(loop.c.natural.iter1 < loop.c.natural.steady)")
    assert words.endswith(
        "not in 4 of 4 processes: round 1 (iter1 = 1001 ns, steady = 101 ns), round 2 "
        "(iter1 = 1002 ns, steady = 101 ns), round 3 (iter1 = 1003 ns, steady = 101 ns), ..."
    )


def test_failed_processes_do_not_move_the_rounds() -> None:
    given = [s for s in samples() if (s.case, s.round) != ("loop.rust.pre_fault", 1)]
    failed = sample("loop.rust.pre_fault", 1, [1], status="exit", detail="exit code 1")
    (words,) = broken("each(loop.rust.pre_fault.iter1 < 300)", [failed, *given])
    assert "not in 2 of 3 processes: round 2 (iter1 = 402 ns), round 4" in words


def test_only_those_that_are_not_true_are_told_and_numbers_are_worth_what_is_compared() -> None:
    holds = (
        "each(loop.c.natural.iter1 > 1) and max(loop.rust.pre_fault.iter1) < 404 "
        "and each(loop.c.natural.iter1 > 1003.5)"
    )
    numbers, each = broken(holds)
    assert numbers == "max(loop.rust.pre_fault.iter1) = 404"
    assert "not in 3 of 4 processes: round 1" in each


def test_what_holds_and_what_is_of_medians_alone_has_no_such_words() -> None:
    assert broken("loop.c.natural.iter1 > 5") == []
    assert broken("loop.c.natural.iter1 < 5") == []


def test_the_text_and_check_say_it(tmp_path: Path) -> None:
    toml = claim("each(loop.rust.pre_fault.iter1 < 300)")
    text = text_of(tmp_path, toml, samples())
    assert "not in 2 of 4 processes: round 2 (iter1 = 402 ns), round 4" in " ".join(text.split())
    project, of = lay(tmp_path / "other", toml), fixture(toml)
    stored = store(project, of)
    path = text_path(project, of.name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(report.stored_text(project, of, stored))
    checked = Checked()
    check_runs(project, of, {}, checked)
    (finding,) = [each for each in checked.findings if each.kind == "claim"]
    assert "not in 2 of 4 processes: round 2 (iter1 = 402 ns)" in finding.what


# -------------------------------------------------------------------------------------- digits

SMALL = CLAIMS.replace('"iteration.ns[0]", unit', '"iteration.ns[0] / 4000", unit')


def test_values_below_1_of_their_unit_are_seen(tmp_path: Path) -> None:
    toml = SMALL + '[[claim]]\ntext = "It is twice as slow."\n'
    toml += 'holds = "loop.c.natural.iter1 > 2 * loop.rust.pre_fault.iter1"\n'
    text = text_of(tmp_path, toml, samples())
    assert "loop.c.natural.iter1 = 0.251 ns (median of 4)" in text
    assert "loop.rust.pre_fault.iter1 = 0.0756 ns (median of 4)" in text


def test_what_a_claim_tells_apart_looks_different(tmp_path: Path) -> None:
    toml = CLAIMS + '[[claim]]\ntext = "It is faster."\n'
    toml += 'holds = "loop.c.natural.iter1 < loop.rust.natural.iter1 < 1002.61"\n'
    given = [
        sample("loop.c.natural", 1, [1002, 5]), sample("loop.c.natural", 2, [1002, 5]),
        sample("loop.rust.natural", 1, [1002, 5]), sample("loop.rust.natural", 2, [1003, 5]),
    ]  # fmt: skip
    text = text_of(tmp_path, toml, given)
    assert "loop.c.natural.iter1 = 1002 ns (median of 2)" in text
    assert "loop.rust.natural.iter1 = 1002.5 ns (median of 2)" in text


# ---------------------------------------------------------------- what a sentence takes for granted

NEEDS = 'needs = "single-pages"\n'


@pytest.mark.parametrize(
    ("thp", "sizes", "state"),
    [
        ("madvise", [(64, "never"), (2048, "inherit")], "fails"),
        ("madvise", [(64, "always"), (2048, "inherit")], "undecided"),
        ("madvise", [(64, "madvise")], "fails"),
        ("always", [(64, "inherit"), (2048, "inherit")], "undecided"),
        ("never", [(64, "inherit"), (2048, "always")], "undecided"),
        ("always", [], "fails"),
    ],
)
def test_a_claim_about_single_pages_is_undecided_where_larger_folios_are_mapped(
    tmp_path: Path, thp: str, sizes: list[tuple[int, str]], state: str
) -> None:
    toml = claim("each(loop.c.natural.faults == 129)") + NEEDS
    project, of = lay(tmp_path, toml), fixture(toml)
    known = machine.describe(tmp_path)
    folios = tuple(FolioSize(kib, enabled) for kib, enabled in sizes)
    stored = store(project, of, machine=replace(known, thp=thp, folio_sizes=folios))
    (result,) = summarise(of, stored).claims()
    assert result.verdict.state == state
    said = "a page fault may map 64 KiB at once here" in result.verdict.reason
    assert said == (state == "undecided" and sizes[0][1] == "always")


def test_what_holds_all_the_same_holds(tmp_path: Path) -> None:
    of = fixture(claim("each(loop.c.natural.faults == 128)") + NEEDS)
    (result,) = Summary(of, of.params, (64,)).add_all(samples()).claims()
    assert result.verdict.state == "holds"


def test_the_text_says_what_fewer_faults_than_pages_are_made_of() -> None:
    root = Path(__file__).parents[2]
    project = Project(root)
    of = project.load("p04-first-run")
    stored = states.stored(project, of.name, "reference")
    before = summarise(of, stored)
    assert "may map" not in report.render_report(project, of, stored, before)
    summary = Summary(of, before.params, (64,)).add_all(stored.samples())
    cases = {name: summary.cases[f"first_run.{name}.where"].values for name in ("c", "rust")}
    for name, faults in (("c", 23), ("rust", 8)):
        cases[name]["faults"] = [faults] * len(cases[name]["faults"])
    text = report.render_report(project, of, stored, summary)
    assert "A page fault may map 64 KiB at once here" in text
    assert "C    128 pages of the output in 23 faults: 7 x 64 KiB and 16 single pages.\n" in text
    assert "Rust 128 pages of the output in 8 faults: 8 x 64 KiB.\n" in text


# --------------------------------------------------- what p04-first-run says beside the article


def p04() -> tuple[Project, Fixture, record.Stored, Summary]:
    project = Project(Path(__file__).parents[2])
    of = project.load("p04-first-run")
    stored = states.stored(project, of.name, "reference")
    return project, of, stored, summarise(of, stored)


def test_a_count_that_is_not_the_article_s_is_called_unexplained() -> None:
    project, of, stored, summary = p04()

    def text(**faults: int) -> str:
        for mode, count in faults.items():
            values = summary.cases[f"first_run.rust.unprimed_{mode}"].values
            values["faults"] = [count] * len(values["faults"])
        return " ".join(report.render_report(project, of, stored, summary).split())

    article = {"prefault": 2, "prefault_evict": 2, "prefault_sleep": 1}
    spins = {"prefault_spin": 0, "prefault_spin_touch": 0}
    assert "Not explained here" not in text(**article, **spins)
    assert (
        "Not explained here: no Rust process has the article's number in unprimed,prefault,spin "
        "(1 against 0). " in text(prefault_spin=1)
    )
    values = summary.cases["first_run.rust.unprimed_prefault_spin"].values["faults"]
    values[0] = 0
    assert "Not explained here" not in text()  # one process has it


def test_what_is_counted_is_called_a_loop_only_if_there_is_one() -> None:
    project, of, stored, summary = p04()
    plain = report.render_report(project, of, stored, summary)
    name = "first_run.c" if "first_run.c" in stored.context.binaries else "first_run.c.default"
    binary = stored.context.binaries[name]
    assert f"C    the loop is {binary.kernel.loop} instructions, scalar" in plain
    flat = replace(binary, kernel=replace(binary.kernel, loop=0, instructions=11))
    context = replace(stored.context, binaries={**stored.context.binaries, name: flat})
    other = record.Stored(stored.folder, context, stored.shown)
    text = report.render_report(project, of, other, summary)
    assert "C    the function is 11 instructions, scalar" in text


# -------------------------------------------------------- statistics do not rest on what is kept


def histogram_toml() -> str:
    line = "lines.latency = 'value +(?P<ns>\\d+) (?P<count>\\d+)'\n"
    return CLAIMS.replace("metric.iter1", f"{line}metric.iter1", 1)


def with_histogram(number: int, late: int) -> Sample:
    made = sample("loop.c.natural", number, [1000, 100])
    return sample(
        "loop.c.natural", number, [1000, 100],
        lines={**made.lines, "latency": {"ns": [10, 90], "count": [100 - late, late]}},
    )  # fmt: skip


def test_the_share_of_late_messages_is_of_every_process(tmp_path: Path) -> None:
    toml = histogram_toml()
    project, of = lay(tmp_path, toml), fixture(toml)
    late = [with_histogram(number, 10 if number > KEPT else 0) for number in range(1, KEPT + 5)]
    stored = store(project, of, samples=late)
    template = '{% set x = above("loop.c.natural", "latency", 50) %}\n{{ x.over }} of {{ x.of }}\n'
    (project.folder(of.name) / "report.txt.j2").write_text(template)
    text = report.stored_text(project, of, stored)
    assert text == "40 of 900\n"
