"""The texts of first-touch-tail and noise-ladder on recorded samples of quiet and busy machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixturegen import report
from fixturegen.fixture import load as load_fixture
from fixturegen.fixture.printed import Reader
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture, Sample, Usage
from fixturegen.runs import record
from fixturegen.runs.context import ZEROS, Kept
from fixturegen.runs.summary import Summary
from tests.recorded import context

ROOT = Path(__file__).resolve().parents[2]
PLACES = (150_000, 200_000)  # the messages that write a page first
TIMED = ("plain", "mlockall", "prefault", "plain,stamps")


def fixture(name: str) -> Fixture:
    content = (ROOT / "templates" / name / "fixture.toml").read_bytes()
    return load_fixture(content, name, "fixture.toml", LANGUAGES)


def text_of(of: Fixture, outputs: dict[str, str]) -> str:
    """Return the text of a run in which every case printed what `outputs` has for its mode."""
    program = of.programs[0]
    reader = Reader(program.lines)
    samples = [
        Sample(
            case=case.path, round=number, position=0, after="", status="ok", detail="",
            usage=Usage(), lines=reader.read(outputs[case.mode].encode()),
        )
        for case in program.cases()
        for number in (1, 2)
        if case.mode in outputs
    ]  # fmt: skip
    summary = Summary(of, of.params).add_all(samples)
    assert summary.failures == []
    values = context(of, samples=Kept(len(samples), ZEROS), digest=ZEROS)
    stored = record.Stored(Path("/nonexistent"), values, "nonexistent")
    return report.render_report(Project(ROOT), of, stored, summary)


def book(mode: str, *, led: int, runs: int = 2, refused: bool = False) -> str:
    """Return what `book` prints on a machine where so many late runs are led by a first write."""
    fixed = mode in ("mlockall", "prefault") and not refused
    faults = 0 if fixed else len(PLACES)
    lines = [
        "plan: 300000 messages in 15000 bursts, 100000 of them to warm up, seed 1",
        "cpus: feed on CPU 0, strategy on CPU 1",
        "interrupts: 400 on CPU 1 in 1400 ms",
        "clock: cost 25 ns, step 10 ns",
        f"measured: 200000 messages in 936000 us, {faults} page faults, 0 voluntary and 7 "
        "involuntary switches, 0 migrations",
        f"faults: 2 of 256 pages first written after the warm-up, {faults} faults predicted, "
        f"{faults} measured",
        "checksum 15160000 of the quantities, signal 18157230034516147271",
    ]
    if mode == "mlockall":
        lines.append(f"mlockall: {'NOT FIXED' if refused else 'held'}, {faults} page faults")
    if mode == "mlockall" and refused:
        lines.append(
            "mlockall: refused: mlockall: Cannot allocate memory; RLIMIT_MEMLOCK 64 KiB, "
            "mapped 21464 KiB"
        )
    if mode == "prefault":
        lines.append("prefault: done, 0 page faults")
    if mode.startswith("where"):
        shift = 10 if mode.endswith("2") else 0
        lines += [
            f"fault  {i}: message {place + shift}, page {130 + i}, 1 page faults, 1 predicted"
            for i, place in enumerate(PLACES, 1)
        ]
    if mode in TIMED:
        service = 110 if fixed else 5500
        lines += [
            f"first write  {i}: message {place}, page {130 + i}, service {service} ns, of the next "
            f"150 ns, 20 behind it up to {service + 400} ns"
            for i, place in enumerate(PLACES, 1)
        ]
        lines += [
            f"late run   {i}: messages {100 * i} to {100 * i + 20}, up to 6000 ns, led by message "
            f"{PLACES[i - 1] if i <= led else 100 * i}: service 5500 ns, {int(i <= led)} pages "
            "first written"
            for i in range(1, runs + 1)
        ]
        lines += [
            f"late: 42 of 200000 messages over 1000 ns in {runs} runs, {led} of them led by "
            "a first write",
            "latency 290 ns: 199958 messages, 0 behind a first write",
            "latency 5600 ns: 42 messages, 40 behind a first write",
            "service 110 ns: 199998 messages",
            "service 5500 ns: 2 messages",
        ]
    if mode == "plain,stamps":
        lines += [
            f"worst {i:3}: message {100 + i}, latency 6000 ns: feed 40, hop 5500, decode 30, "
            "think 430 ns"
            for i in range(1, 101)
        ]
    return "\n".join(lines) + "\n"


def tail(**plain: int) -> str:
    of = fixture("first-touch-tail")
    outputs = {
        mode.name: book(mode.name, **(plain if mode.name.startswith("plain") else {"led": 0}))
        for mode in of.programs[0].modes
    }
    return text_of(of, outputs)


def flowed(text: str) -> str:
    return " ".join(text.split())


def test_a_quiet_machine_shows_the_whole_chain() -> None:
    text = flowed(tail(led=2))
    assert "C: 4 pages were first written after the warm-up of 2 plain processes" in text
    assert "took 5500 ns, the median message 110 ns: the fault, and reading again what" in text
    assert "caches, cost 5390 ns within that message; the two are not told apart" in text
    assert "The chain is found: 4 of 4 first writes led a run of late messages, with locked" in text
    assert "4 of the 4 runs were led by a message that took its fault" in text
    assert "This is what the late messages are: 4 of their 4 runs." in text
    assert "cannot tell the rest" not in text


def test_a_busy_machine_shows_it_among_other_causes() -> None:
    text = flowed(tail(led=2, runs=50))
    assert "The chain is found: 4 of 4 first writes" in text
    assert "96 of 100 runs of late messages were not led by one: what made these is not t" in text
    assert "the strategy had 14 involuntary switches." in text


def test_a_machine_that_cannot_tell_says_so_and_what_the_counts_say() -> None:
    text = flowed(tail(led=0, runs=50))
    assert "The chain is found" not in text
    assert "The latencies cannot tell the rest on this machine: only 0 of 4 first writes" in text
    assert "The counts do tell it: 4 predicted, 4 taken, 0 with locked memory." in text


def test_a_lock_that_was_refused_is_nowhere_a_fixed_row() -> None:
    of = fixture("first-touch-tail")
    outputs = {m.name: book(m.name, led=2, refused=True) for m in of.programs[0].modes}
    text = text_of(of, outputs)
    rows = [line for line in text.splitlines() if line.startswith(("C     mlock", "Rust  mlock"))]
    assert len(rows) >= 6
    assert all("mlockall (REFUSED: not fixed)" in row for row in rows)
    assert "RLIMIT_MEMLOCK is 64 KiB, the process had 21464 KiB mapped" in flowed(text)
    assert "undecided for C and Rust: Locked memory takes no page fault after the warm-up." in text
    assert "with locked memory" not in flowed(text).split("Claims of the article")[0]


def test_percentiles_say_how_many_messages_they_rest_on() -> None:
    text = tail(led=2)
    assert "p99 on the 2000 slowest" in text
    assert "the 200 slowest" in text
    row = next(line for line in text.splitlines() if line.startswith("C     plain "))
    assert row.split() == ["C", "plain", "2", "290", "290", "290", "5600", "42", "110", "110"]


def test_other_prices_fault_at_other_messages() -> None:
    assert "C: 0 of these 2 messages take a fault with other prices too." in tail(led=2)


def test_the_worst_messages_say_where_their_time_went() -> None:
    text = flowed(tail(led=2))
    assert "of the worst 100, 0 spent more than half of their latency in the feed" in text
    assert "which sent them late, 100 waiting in the ring" in text


# --------------------------------------------------------------------------------- noise-ladder


def bursts(ns: int, step: int, cpus: tuple[int, ...] = (1,)) -> str:
    """Return what `burst_sum` prints whose repetitions grow by `step` ns a burst."""
    of = fixture("noise-ladder").params
    repetitions, size = int(of["repetitions"]), int(of["bursts"])
    one = int(of["sums"]) * int(of["length"]) * (int(of["length"]) - 1) // 2
    lines = [
        f"burst {r:2}/{b:3}: {ns + step * r} ns on CPU {cpus[b % len(cpus)]}"
        for r in range(1, repetitions + 1)
        for b in range(1, size + 1)
    ]
    lines += [
        f"repetition {r:2}: {size * (ns + step * r)} ns in {size} bursts"
        for r in range(1, repetitions + 1)
    ]
    return "\n".join([
        *lines, f"checksum {repetitions * size * one}", "clock: cost 25 ns, step 10 ns",
        "core clock: before 3000 MHz, after 3100 MHz",
        f"cpus: {len(cpus)} allowed, {7 if len(cpus) > 1 else 0} moves between bursts, "
        "unknown migrations\n",
    ])  # fmt: skip


def test_each_rung_has_its_row_beside_the_first() -> None:
    outputs = {
        "untuned": bursts(99_000, 1000, (0, 1)),
        "pinned": bursts(49_500, 100),
        "untuned-again": bursts(100_000, 1000, (0, 1)),
    }
    text = text_of(fixture("noise-ladder"), outputs)
    table = text.partition("C, fast-math")[2]
    rows = [line.split() for line in table.splitlines() if line.startswith(("untuned ", "pinned "))]
    # 10 means 1,000 ns apart around 104,500 ns: sd 3,028 ns, 2.90 percent of the mean.
    assert rows[0][:5] == ["untuned", "2", "104500", "3028", "2.90%"]
    assert rows[0][7:] == ["1.00x", "3000", "/", "3100", "0-1", "14", "unknown", "-"]
    assert rows[1][:5] == ["pinned", "2", "50050", "303", "0.60%"]
    assert rows[1][7] == "2.09x"
    assert "untuned took 104500 ns at the beginning and 105500 ns at the end, 1.010x" in flowed(
        text
    )


@pytest.mark.parametrize("absent", ["pinned", "untuned-again"])
def test_a_rung_that_was_not_measured_has_a_reason_and_no_numbers(absent: str) -> None:
    outputs = {name: bursts(50_000, 100) for name in ("untuned", "pinned", "untuned-again")}
    del outputs[absent]
    text = text_of(fixture("noise-ladder"), outputs)
    table = text.partition("C, fast-math")[2]
    row = next(line for line in table.splitlines() if line.startswith(f"{absent} "))
    assert row.split()[1:3] == ["not", "measured"]
    assert not any(char.isdigit() for char in row)
    reason = flowed(table.partition("\n\n")[2].partition(": the run has no process of it")[0])
    assert absent in reason.split("-- ")[-1].replace(",", "").split()
