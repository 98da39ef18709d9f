"""`book` of first-touch-tail: what it prints, which faults it takes, what it refuses."""

from __future__ import annotations

import functools
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from measured import COMPILERS, LANGUAGES, Programs, call, succeed

from fixturegen.model import Columns

pytestmark = pytest.mark.slow

MODES = ("plain", "mlockall", "prefault", "plain,stamps", "where", "where,seed=2", "flat")
NOBODY = 65534
FEW_CPUS = len(os.sched_getaffinity(0)) < 2


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    """Copies that other users may read too: some tests run the programs as nobody."""
    base = Path(tempfile.mkdtemp(prefix="book-"))
    base.chmod(0o755)
    made = Programs("first-touch-tail", base)
    made.build()
    yield made
    shutil.rmtree(base)


@pytest.fixture(scope="module")
def small(programs: Programs) -> Programs:
    """The same with a tenth of the messages; of 2,000,000 the committed run speaks.

    Its memory is less than any usual limit.
    """
    made = Programs("first-touch-tail", programs.folders["c"].parent / "small")
    for path in made.sources():
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"\b(WARMUP|MESSAGES|FLAT)((?:: usize)? = \d+)0\b", r"\1\2", text)
        path.write_text(text, encoding="utf-8")
    for name in ("messages", "warmup", "flat_messages"):
        made.params[name] //= 10
    made.build()
    return made


Run = Callable[[str, str], Columns]


@pytest.fixture(scope="module")
def run(small: Programs) -> Run:
    """Return what `book MODE` printed in a language; each is run once."""

    @functools.cache
    def once(language: str, mode: str) -> Columns:
        return small.read("book", succeed(small.binary("book", language), mode))

    return once


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def one(columns: Columns, line: str, column: str) -> int:
    (value,) = columns[line][column]
    assert isinstance(value, int)
    return value


def column(columns: Columns, line: str, name: str) -> list[int]:
    return [int(value) for value in columns.get(line, {}).get(name, [])]


# ---------------------------------------------------------------------------- what it prints


@pytest.mark.parametrize("mode", MODES)
def test_the_languages_print_the_same_lines(run: Run, mode: str) -> None:
    c, rust = (set(run(language, mode)) - {"run"} for language in LANGUAGES)
    assert c == rust


@pytest.mark.parametrize("mode", MODES)
def test_the_languages_send_the_same_messages_and_think_the_same(run: Run, mode: str) -> None:
    c, rust = (run(language, mode) for language in LANGUAGES)
    assert c["plan"] == rust["plan"]
    assert c["book"] == rust["book"]
    for name in ("message", "page", "behind"):
        assert column(c, "first", name) == column(rust, "first", name)


def test_no_mode_changes_what_is_computed(run: Run, language: str) -> None:
    books = [run(language, mode)["book"] for mode in MODES if mode not in ("flat", "where,seed=2")]
    assert all(book == books[0] for book in books)
    assert run(language, "where,seed=2")["book"] != books[0]


def test_every_message_that_counts_is_in_both_histograms(
    run: Run, small: Programs, language: str
) -> None:
    counted = small.params["messages"] - small.params["warmup"]
    for mode in ("plain", "mlockall", "plain,stamps"):
        found = run(language, mode)
        for name in ("latency", "service"):
            values = column(found, name, "ns")
            assert values == sorted(set(values))
            assert sum(column(found, name, "count")) == counted
        behind = sum(column(found, "latency", "behind"))
        assert 0 < behind <= sum(column(found, "first", "behind"))


def test_late_messages_are_those_of_the_histogram(run: Run, language: str) -> None:
    found = run(language, "plain")
    over = one(found, "late", "over")
    pairs = zip(column(found, "latency", "ns"), column(found, "latency", "count"), strict=True)
    assert one(found, "late", "late") == sum(count for ns, count in pairs if ns > over)
    runs = column(found, "run", "first")
    assert len(runs) == min(one(found, "late", "runs"), 100)
    assert all(
        first <= last for first, last in zip(runs, column(found, "run", "last"), strict=True)
    )
    writers = set(column(found, "first", "message"))
    for leader, writes in zip(
        column(found, "run", "leader"), column(found, "run", "writes"), strict=True
    ):
        assert (leader in writers) == bool(writes)


def test_the_stages_of_the_worst_messages_add_up(run: Run, language: str) -> None:
    found = run(language, "plain,stamps")
    latencies = column(found, "worst", "latency")
    assert len(latencies) == 100
    assert latencies == sorted(latencies, reverse=True)
    assert latencies[0] == column(found, "latency", "ns")[-1]
    stages = [column(found, "worst", name) for name in ("feed", "hop", "decode", "think")]
    assert [sum(parts) for parts in zip(*stages, strict=True)] == latencies


def test_only_stamped_runs_have_stages_and_only_timed_ones_have_times(
    run: Run, language: str
) -> None:
    assert "worst" not in run(language, "plain")
    for mode in ("where", "flat"):
        assert not {"latency", "service", "late", "first"} & set(run(language, mode))
    assert "fault" not in run(language, "plain")


def test_flat_sends_more_messages(run: Run, small: Programs, language: str) -> None:
    assert one(run(language, "flat"), "plan", "messages") == small.params["flat_messages"]


# ---------------------------------------------------------------------------- which faults it takes


@pytest.mark.parametrize("mode", ["plain", "plain,stamps", "flat", "seed=3", "where,seed=2"])
def test_the_prices_predict_every_fault(run: Run, language: str, mode: str) -> None:
    found = run(language, mode)
    assert one(found, "faults", "pages") > 0
    assert one(found, "faults", "predicted") == one(found, "faults", "pages")
    assert one(found, "faults", "measured") == one(found, "faults", "predicted")
    assert one(found, "measured", "faults") == one(found, "faults", "measured")


def test_locked_memory_takes_none(run: Run, language: str) -> None:
    found = run(language, "mlockall")
    if "held" not in found:
        pytest.skip("needs root, or a larger RLIMIT_MEMLOCK")
    assert one(found, "held", "faults") == 0
    assert one(found, "faults", "predicted") == one(found, "faults", "measured") == 0
    assert one(found, "faults", "pages") > 0


def test_a_book_that_was_written_takes_none(run: Run, language: str) -> None:
    found = run(language, "prefault")
    assert one(found, "prefault", "faults") == one(found, "faults", "measured") == 0


def test_the_messages_that_fault_are_those_that_write_a_page_first(run: Run, language: str) -> None:
    where, plain = run(language, "where"), run(language, "plain")
    assert column(where, "fault", "message") == column(plain, "first", "message")
    assert column(where, "fault", "page") == column(plain, "first", "page")
    assert set(column(where, "fault", "faults")) == set(column(where, "fault", "predicted")) == {1}


def test_the_same_prices_fault_at_the_same_messages_and_others_at_others(
    run: Run, small: Programs, language: str
) -> None:
    first = run(language, "where")
    again = small.read("book", succeed(small.binary("book", language), "where,seed=1"))
    assert again["fault"] == first["fault"]
    other = run(language, "where,seed=2")
    assert not {*column(other, "fault", "message")} & {*column(first, "fault", "message")}


# ------------------------------------------------------------------------------- what is refused


def limited(path: Path, kib: int, mode: str = "mlockall") -> subprocess.CompletedProcess[str]:
    """Run as a user without privileges, who may lock so much memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (kib * 1024, kib * 1024))
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    return call(path, mode, preexec_fn=limit, cwd="/")


def assert_not_fixed(found: Columns) -> None:
    assert "held" not in found
    assert one(found, "unfixed", "faults") == one(found, "faults", "measured") > 0
    assert one(found, "faults", "predicted") == one(found, "faults", "measured")


@pytest.mark.parametrize("kib", [64, 8192])
def test_a_lock_that_is_refused_is_said_and_nothing_is_fixed(
    programs: Programs, language: str, kib: int
) -> None:
    done = limited(programs.binary("book", language), kib)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mlockall: refused: mlockall: Cannot allocate memory; RLIMIT_MEMLOCK" in done.stdout
    found = programs.read("book", done.stdout)
    assert one(found, "refused", "limit") == kib
    assert one(found, "refused", "mapped") > kib
    assert_not_fixed(found)


@pytest.mark.parametrize("more", [100, 400])
def test_a_lock_that_leaves_no_room_for_a_thread_is_given_up(
    small: Programs, language: str, more: int
) -> None:
    path = small.binary("book", language)
    mapped = one(small.read("book", limited(path, 64).stdout), "refused", "mapped")
    done = limited(path, mapped + more)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mlockall: refused: thread: Resource temporarily unavailable" in done.stdout
    assert_not_fixed(small.read("book", done.stdout))


def test_one_cpu_is_said_and_the_counts_hold(programs: Programs, language: str) -> None:
    cpu = min(os.sched_getaffinity(0))
    done = succeed(
        programs.binary("book", language),
        "plain",
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    assert f"cpus: only CPU {cpu} is allowed: the threads share it, the times say nothing\n" in done
    found = programs.read("book", done)
    assert one(found, "shared", "cpu") == cpu
    assert one(found, "faults", "measured") == one(found, "faults", "predicted") > 0


@pytest.mark.skipif(FEW_CPUS, reason="needs two CPUs")
def test_each_thread_has_a_cpu_of_its_own_and_stays_there(run: Run, language: str) -> None:
    found = run(language, "plain")
    allowed = os.sched_getaffinity(0)
    assert {one(found, "cpus", "feed"), one(found, "cpus", "strategy")} <= allowed
    assert one(found, "cpus", "feed") != one(found, "cpus", "strategy")
    assert column(found, "measured", "migrations") in ([], [0])


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["plain", "stamps"],
        [""],
        ["plane"],
        ["plain,"],
        [",plain"],
        ["stamps,stamps"],
        ["plain,mlockall"],
        ["prefault,plain"],
        ["where,flat"],
        ["where,stamps"],
        ["seed="],
        ["seed=x"],
        ["seed=+2"],
        ["seed=-2"],
        ["seed=1e3"],
        ["seed= 2"],
        ["seed=18446744073709551616"],
        ["seed=1,seed=2"],
        ["flat,seed"],
    ],
)
def test_wrong_words_end_with_100_and_the_usage(programs: Programs, words: list[str]) -> None:
    done = {language: call(programs.binary("book", language), *words) for language in LANGUAGES}
    for found in done.values():
        assert (found.returncode, found.stdout) == (100, "")
        assert found.stderr.startswith("usage: book WORD")
        assert "book: fatal: " in found.stderr
    assert done["c"].stderr == done["rust"].stderr


def test_words_stand_in_any_order(small: Programs, language: str) -> None:
    path = small.binary("book", language)
    texts = [succeed(path, words) for words in ("seed=2,flat", "flat,seed=2", "seed=002,flat")]
    books = [small.read("book", text)["book"] for text in texts]
    assert books[0] == books[1] == books[2]


def test_output_that_does_not_arrive_ends_with_111(small: Programs, language: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = call(
            small.binary("book", language),
            "flat",
            capture_output=False,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 111
    assert done.stderr.startswith("book: fatal: standard output: ")


# ------------------------------------------------------------------------------------ the sources


@pytest.mark.parametrize("compiler", COMPILERS)
def test_it_compiles_without_a_warning(programs: Programs, compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    done = Programs("first-touch-tail", tmp_path).compile_with(compiler)
    assert (done.returncode, done.stderr) == (0, "")


def test_clippy_and_rustfmt_have_nothing_to_say(tmp_path: Path) -> None:
    for done in Programs("first-touch-tail", tmp_path).lint():
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_file_can_be_read_at_once(programs: Programs) -> None:
    assert programs.long_files() == []


def test_the_stages_are_functions_of_their_own(programs: Programs, language: str) -> None:
    names = {
        line.split()[-1] for line in succeed("nm", programs.binary("book", language)).splitlines()
    }
    assert {"decode", "apply", "think"} <= names
