"""`burst_sum` of noise-ladder: what it prints, that its sums are made, what it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from measured import CARGO, COMPILERS, LANGUAGES, Programs, call, succeed

from fixturegen.model import Columns

pytestmark = pytest.mark.slow

BUILDS = ("c-fast-math", "c-strict", "rust-native")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    made = Programs("noise-ladder", tmp_path_factory.mktemp("burst") / "all")
    made.build()
    succeed("make", "-C", made.folders["c"], "builds")
    flags = next(b for b in made.toml["program"][0]["build"] if b["name"] == "native")
    native = ["--target-dir", "native", "--", *flags["rust"]["rustflags"]]
    succeed("cargo", "rustc", *CARGO, "--bin", "burst_sum", *native, cwd=made.folders["rust"])
    return made


def binary(programs: Programs, build: str) -> Path:
    return {
        "c-fast-math": programs.folders["c"] / "out" / "burst_sum",
        "c-strict": programs.folders["c"] / "out" / "burst_sum-strict",
        "rust-native": programs.folders["rust"] / "native" / "release" / "burst_sum",
    }[build]


@pytest.fixture(scope="module")
def printed(programs: Programs) -> dict[str, str]:
    return {build: succeed(binary(programs, build)) for build in BUILDS}


@pytest.fixture(scope="module")
def found(programs: Programs, printed: dict[str, str]) -> dict[str, Columns]:
    return {build: programs.read("burst_sum", text) for build, text in printed.items()}


def column(columns: Columns, line: str, name: str) -> list[int]:
    return [int(value) for value in columns[line][name]]


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_build_prints_the_same_lines_in_the_same_order(printed: dict[str, str]) -> None:
    kinds = {b: [line.split()[0] for line in text.splitlines()] for b, text in printed.items()}
    assert kinds["c-fast-math"] == kinds["c-strict"] == kinds["rust-native"]


def test_every_burst_is_printed_in_order(
    found: dict[str, Columns], programs: Programs, build: str
) -> None:
    repetitions, bursts = programs.params["repetitions"], programs.params["bursts"]
    places = zip(
        column(found[build], "burst", "repetition"),
        column(found[build], "burst", "index"),
        strict=True,
    )
    assert list(places) == [(r, b) for r in range(1, repetitions + 1) for b in range(1, bursts + 1)]


def test_a_repetition_is_the_sum_of_its_bursts(
    found: dict[str, Columns], programs: Programs, build: str
) -> None:
    ns, size = column(found[build], "burst", "ns"), programs.params["bursts"]
    sums = [sum(ns[start : start + size]) for start in range(0, len(ns), size)]
    assert sums == column(found[build], "repetition", "ns")


def test_the_checksum_is_that_of_all_sums(
    found: dict[str, Columns], programs: Programs, build: str
) -> None:
    p = programs.params
    one = p["length"] * (p["length"] - 1) // 2
    expected = p["repetitions"] * p["bursts"] * p["sums"] * one
    assert column(found[build], "checksum", "value") == [expected]


def test_moves_are_those_that_the_bursts_show(found: dict[str, Columns], build: str) -> None:
    cpus = column(found[build], "burst", "cpu")
    assert column(found[build], "cpus", "moves") == [sum(a != b for a, b in pairwise(cpus))]
    assert set(cpus) <= os.sched_getaffinity(0)
    assert column(found[build], "cpus", "allowed") == [len(os.sched_getaffinity(0))]


def test_a_pinned_process_never_moves(programs: Programs, build: str) -> None:
    cpu = max(os.sched_getaffinity(0))
    text = succeed(binary(programs, build), preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    found = programs.read("burst_sum", text)
    assert set(column(found, "burst", "cpu")) == {cpu}
    assert column(found, "cpus", "moves") == [0]
    assert column(found, "cpus", "allowed") == [1]


def test_the_sums_take_time_that_is_theirs(found: dict[str, Columns], programs: Programs) -> None:
    """A million additions in a burst: none is faster than the widest machine could make them."""
    additions = programs.params["sums"] * programs.params["length"]
    for build in BUILDS:
        assert min(column(found[build], "burst", "ns")) > additions / 100


def test_an_addition_that_waits_for_the_one_before_is_slower(found: dict[str, Columns]) -> None:
    fast, strict = (min(column(found[b], "burst", "ns")) for b in ("c-fast-math", "c-strict"))
    assert strict > 2 * fast


def functions(path: Path) -> Iterator[tuple[str, str]]:
    for block in succeed("objdump", "-d", "--no-show-raw-insn", path).split("\n\n"):
        head, _, body = block.strip().partition(":\n")
        yield head.partition("<")[2].rstrip(">"), body


def test_the_kernel_is_a_function_that_is_called_and_calls_nothing(
    programs: Programs, build: str
) -> None:
    bodies = dict(functions(binary(programs, build)))
    kernel = bodies.pop("sum_doubles")
    assert "add" in kernel
    assert "call" not in kernel
    assert any("<sum_doubles>" in body for body in bodies.values())


def test_arguments_are_refused(programs: Programs) -> None:
    for build in BUILDS:
        done = call(binary(programs, build), "1")
        expected = "burst_sum: fatal: arguments: none is needed\n"
        assert (done.returncode, done.stdout, done.stderr) == (100, "", expected)


def test_output_that_does_not_arrive_ends_with_111(programs: Programs, build: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = call(
            binary(programs, build), capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 111
    assert done.stderr.startswith("burst_sum: fatal: standard output: ")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_it_compiles_without_a_warning(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    done = Programs("noise-ladder", tmp_path / "all").compile_with(compiler)
    assert (done.returncode, done.stderr) == (0, "")


def test_clippy_and_rustfmt_have_nothing_to_say(tmp_path: Path) -> None:
    for done in Programs("noise-ladder", tmp_path / "all").lint():
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_file_can_be_read_at_once(programs: Programs) -> None:
    assert programs.long_files() == []
    assert {path.suffix for path in programs.sources()} == {".c", ".h", ".rs"}
    assert set(programs.folders) == set(LANGUAGES)
