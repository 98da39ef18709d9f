"""What perf stat writes, of several versions, users and machines; what perf can do here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fixturegen.instruments import perf, registry
from fixturegen.instruments.instrument import UnreadError
from fixturegen.instruments.perf import EVENTS
from fixturegen.launcher import Start

PROGRAMS = Path(__file__).parents[1] / "programs" / "perf"

# Recorded from perf 6.1.187 on a virtual machine without counters, as root.
GUEST = """\
# started on Mon Nov 30 15:00:00 2026

998.13;msec;task-clock;998133277;100.00;1.000;CPUs utilized
51420;;page-faults;998133037;100.00;51.516;K/sec
716;;context-switches;998132896;100.00;717.339;/sec
13;;cpu-migrations;998132696;100.00;13.024;/sec
<not supported>;;cycles;0;100.00;;
<not supported>;;instructions;0;100.00;;
<not supported>;;cache-misses;0;100.00;;
<not supported>;;branch-misses;0;100.00;;
"""

# The same, as an ordinary user where kernel.perf_event_paranoid is 2.
ORDINARY = """\
1315.37;msec;task-clock:u;1315372364;100.00;0.472;CPUs utilized
30130;;page-faults:u;1315372364;100.00;22.906;K/sec
0;;context-switches:u;1315372364;100.00;0.000;/sec
0;;cpu-migrations:u;1315372364;100.00;0.000;/sec
<not supported>;;cycles:u;0;100.00;;
"""

# perf 4.9: no unit of the clock, no column behind the share.
OLD = """\
1052.340000;;task-clock;1052340000;100.00
30135;;page-faults;1052340000;100.00
4000000000;;cycles;657712500;62.50
10000000000;;instructions;526170000;50.00
"""

# perf 6.5 on a machine with two kinds of cores, with metrics in rows of their own.
HYBRID = """\
12.50;msec;task-clock;12500000;100.00;0.99;CPUs utilized
700;;cpu_core/cycles/u;8000000;64.00;;
<not counted>;;cpu_atom/cycles/u;0;0.00;;
900;;cpu_core/instructions/;8000000;64.00;1.3;insn per cycle
100;;cpu_atom/instructions/;4000000;36.00;0.4;insn per cycle
;;;8000000;64.00;0.10;frontend cycles idle
<not counted>;;cpu_core/cache-misses/;0;0.00;;
"""


@pytest.fixture
def own_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """PATH with a folder of ours alone."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "true", "cat", "sed", "dirname"):
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    return folder


PERFS = ("perf-stat", "perf-stat-cpu", "perf-record")
WRAPPERS = registry.at("wrapper")


def refusals(folder: Path) -> dict[str, str]:
    """Return why each of perf's instruments is refused here, or ""."""
    refused = {name: WRAPPERS[name].refusal(folder) for name in PERFS}
    return {name: why.reason if why else "" for name, why in refused.items()}


def stand_in(folder: Path, name: str) -> None:
    shutil.copy(PROGRAMS / name, folder / "perf")
    for text in PROGRAMS.glob("*.txt"):
        shutil.copy(text, folder)


def test_a_guest_without_counters_has_the_software_ones_and_reasons_for_the_others() -> None:
    found = perf.parse_counts(GUEST)
    assert found.values == {
        "task_clock": "998.13",
        "page_faults": "51420",
        "context_switches": "716",
        "cpu_migrations": "13",
    }
    assert set(found.reasons) == {"cycles", "instructions", "cache_misses", "branch_misses"}
    assert "does not show it to its guests" in found.reasons["cycles"]


def test_what_an_ordinary_user_may_not_count_is_no_zero() -> None:
    found = perf.parse_counts(ORDINARY)
    assert found.values == {"task_clock": "1315.37", "page_faults": "30130"}
    assert "which this user may not count" in found.reasons["context_switches"]
    assert "which this user may not count" in found.reasons["cpu_migrations"]


def test_hardware_counters_that_took_turns_say_how_long_they_counted() -> None:
    found = perf.parse_counts((PROGRAMS / "stat.txt").read_text())
    assert found.values["cycles"] == "4000000000"
    assert found.values["instructions"] == "10000000000"
    assert found.values["branch_misses"] == "20000"
    assert found.running["cycles"] == "62.50" and found.running["task_clock"] == "100"
    assert not found.reasons and set(found.values) == set(EVENTS)


def test_perf_4_writes_fewer_columns() -> None:
    found = perf.parse_counts(OLD)
    assert found.values["task_clock"] == "1052.340000"
    assert found.values["cycles"] == "4000000000"
    assert found.running["instructions"] == "50.00"


def test_counts_of_two_kinds_of_cores_are_added_up() -> None:
    found = perf.parse_counts(HYBRID)
    assert found.values["cycles"] == "700"
    assert found.values["instructions"] == "1000"
    assert found.running["instructions"] == "36.00"
    assert found.reasons == {"cache_misses": "perf says <not counted>"}


def test_decimal_commas_of_a_locale_are_read() -> None:
    found = perf.parse_counts("998,13;msec;task-clock;998133277;100,00;1,000;CPUs utilized\n")
    assert found.values == {"task_clock": "998.13"} and found.running == {"task_clock": "100"}


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "# started on\n", "nonsense\n", "1;2\n", "5;;unknown-event;1;100.00\n", ";;;;\n"],
)
def test_text_without_counts_gives_none(text: str) -> None:
    assert perf.parse_counts(text) == perf.Counts()


@pytest.mark.parametrize("value", ["NaN", "Infinity", "<not counted>", "", "abc", "1e"])
def test_a_value_that_is_no_number_is_a_reason(value: str) -> None:
    found = perf.parse_counts(f"{value};;cycles;1;100.00\n")
    assert found.values == {} and value in found.reasons["cycles"]


def test_columns_have_an_entry_where_there_is_a_value(tmp_path: Path) -> None:
    output = tmp_path / "perf-stat"
    output.write_text(GUEST)
    columns = perf.read_counts(output)
    assert columns["counted"]["page_faults"] == [51420]
    assert columns["counted"]["task_clock"] == ["998.13"]
    assert columns["counted"]["cycles"] == [] and columns["running"]["cycles"] == []
    assert set(columns["counted"]) == set(EVENTS)
    assert not output.exists()
    with pytest.raises(UnreadError, match="perf wrote no counts"):
        perf.read_counts(output)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "says nothing of task_clock, "),
        (GUEST[: GUEST.index("branch-misses") - 20], "says nothing of "),
        (GUEST.replace("51420", "5 1420"), "perf says 5 1420"),
    ],
)
def test_counts_that_cannot_be_read_are_no_counts(tmp_path: Path, text: str, said: str) -> None:
    output = tmp_path / "perf-stat"
    output.write_text(text)
    with pytest.raises(UnreadError, match=said):
        perf.read_counts(output)


def test_the_program_and_its_arguments_stand_behind_perfs_own(tmp_path: Path) -> None:
    start = Start("/bin/book", ("flat", "--"), {}, "/", 10, (2, 5), 4096, False, True)
    stat = WRAPPERS["perf-stat"].wrap(start, tmp_path / "out")
    assert stat.args[0] == "stat" and stat.args[-3:] == ("/bin/book", "flat", "--")
    assert "-a" not in stat.args and stat.cpus == (2, 5)
    cpu = WRAPPERS["perf-stat-cpu"].wrap(start, tmp_path / "out").args
    assert cpu[cpu.index("-C") + 1] == "5" and "-a" in cpu
    record = WRAPPERS["perf-record"].wrap(start, tmp_path / "out").args
    assert record[record.index("-F") + 1] == "4000" and "-g" in record
    assert "-N" in record  # nothing is copied into the user's ~/.debug


def test_without_perf_every_way_says_that_it_is_missing(own_path: Path) -> None:
    assert not (own_path / "perf").exists()
    absent = "perf is not on PATH (Debian: linux-perf, Ubuntu: linux-tools-generic)"
    for name in PERFS:
        refusal = WRAPPERS[name].refusal(own_path)
        assert refusal and refusal.reason == absent and not refusal.root_helps
    facts = perf.facts({})
    assert facts.version == "" and facts.events == {}


@pytest.mark.parametrize(
    ("level", "stat", "cpu"),
    [
        ("4", "is 4, and 2 or less is needed, or root", "is 4, and 0 or less is needed, or root"),
        ("2", "though kernel.perf_event_paranoid is 2", "is 2, and 0 or less is needed, or root"),
        ("-1", "though kernel.perf_event_paranoid is -1", "security policy"),
        (None, "is unknown, and 2 or less is needed", "is unknown, and 0 or less is needed"),
    ],
)
def test_a_refusal_names_the_setting_and_what_it_must_be(
    own_path: Path, monkeypatch: pytest.MonkeyPatch, level: str | None, stat: str, cpu: str
) -> None:
    stand_in(own_path, "refused")
    monkeypatch.setattr(perf, "PARANOID", own_path / "paranoid")
    if level is not None:
        (own_path / "paranoid").write_text(f"{level}\n")
    assert perf.facts({}).version == "perf version 6.1.187" and perf.facts({}).events == {}
    refused = refusals(own_path)
    assert stat in refused["perf-stat"] and stat in refused["perf-record"]
    assert cpu in refused["perf-stat-cpu"]
    refusal = WRAPPERS["perf-stat"].refusal(own_path)
    assert refusal and refusal.root_helps


def test_buffers_that_may_not_be_mapped_are_another_setting(own_path: Path) -> None:
    said = "Permission error mapping pages. Consider increasing /proc/sys/.../perf_event_mlock_kb"
    (own_path / "perf").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 255\n")
    (own_path / "perf").chmod(0o755)
    assert "perf_event_mlock_kb is too small" in refusals(own_path)["perf-record"]


def test_a_perf_that_fails_is_quoted(own_path: Path) -> None:
    stand_in(own_path, "other_kernel")
    assert refusals(own_path)["perf-stat"] == (
        "perf fails here: WARNING: perf not found for kernel 6.8.0-31"
    )


def test_a_perf_that_cannot_read_what_it_recorded_records_nothing(own_path: Path) -> None:
    stand_in(own_path, "hardware")
    (own_path / "script.txt").unlink()
    refused = refusals(own_path)
    assert refused["perf-stat"] == "" and "script.txt" in refused["perf-record"]


def test_a_perf_with_hardware_counters_lacks_nothing(own_path: Path) -> None:
    stand_in(own_path, "hardware")
    assert set(refusals(own_path).values()) == {""}
    facts = perf.facts({"book": "no tool"})
    assert facts.version == "perf version 6.9.12" and facts.pictures == {"book": "no tool"}
    assert facts.events == dict.fromkeys(EVENTS, "")


@pytest.mark.slow
def test_the_perf_of_this_machine_counts_or_says_why_not(tmp_path: Path) -> None:
    if shutil.which("perf") is None:
        pytest.skip("needs perf; stand-ins above")
    refused = refusals(tmp_path)
    for wrapper, words in (
        ("perf-stat", perf.stat_argv(None, None)),
        ("perf-stat-cpu", perf.stat_argv(None, 0)),
    ):
        code = os.system(f"perf {' '.join(words)} true >/dev/null 2>&1".replace(";", "';'"))
        assert (code == 0) == (refused[wrapper] == "")
    assert list(tmp_path.iterdir()) == []
    for event, reason in perf.facts({}).events.items():
        assert event in EVENTS and (reason == "" or "counter" in reason or "kernel" in reason)
