"""The measured programs of p04-first-run, as a reader compiles and runs them by hand.

What is tested are the committed folders c/, cpp/, go/ and rust/, in copies: `make`, `go build`,
`cargo build`, and then only what the programs print, how they end and what their machine code says.
"""

from __future__ import annotations

import itertools
import mmap
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from measured import ENVIRONMENT, LINES_AT_MOST, LINTS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAME = "p04-first-run"
FIXTURE = tomllib.loads((ROOT / "templates" / NAME / "fixture.toml").read_text(encoding="utf-8"))
PARAMS = FIXTURE["params"]
PROGRAMS = {program["name"]: program for program in FIXTURE["program"]}
COMPILERS = {"c": "gcc", "cpp": "g++", "go": "go", "rust": "cargo"}
LANGUAGES = [name for name, tool in COMPILERS.items() if shutil.which(tool)]
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
STANDARDS = {"c": "-std=c11", "cpp": "-std=c++20"}
CARGO = ("--release", "--offline", "--locked")
SINK = 1804289383 + 846930886 + 1681692777  # glibc's first three values of random()
PAGE = mmap.PAGESIZE
OUTPUT_PAGES = PARAMS["length"] * 8 // PAGE

GO = {**ENVIRONMENT, "GOPROXY": "off", "GOFLAGS": "-mod=readonly -buildvcs=false"}

Completed = subprocess.CompletedProcess[str]


def call(*command: str | Path, **options: Any) -> Completed:
    given: dict[str, Any] = {"env": ENVIRONMENT, "timeout": 120, "capture_output": True, **options}
    return subprocess.run([str(word) for word in command], text=True, check=False, **given)


def succeed(*command: str | Path, **options: Any) -> str:
    done = call(*command, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copies of the committed folders, without what somebody built in them."""
    base = tmp_path_factory.mktemp("programs")
    for language in LANGUAGES:
        ignored = shutil.ignore_patterns("out", "target")
        shutil.copytree(ROOT / language / NAME, base / language, ignore=ignored)
    return {language: base / language for language in LANGUAGES}


@pytest.fixture(scope="session")
def built(folders: dict[str, Path]) -> dict[str, Path]:
    """The folder of the default binaries of each language."""
    for name in {"c", "cpp"} & {*folders}:
        succeed("make", "-C", folders[name])
    if "go" in folders:
        succeed("go", "build", "-o", "out/", "./...", cwd=folders["go"], env=GO)
    if "rust" in folders:
        succeed("cargo", "build", *CARGO, cwd=folders["rust"])
    places = {"rust": "target/release"}
    return {name: folder / places.get(name, "out") for name, folder in folders.items()}


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def binary(built: dict[str, Path], language: str) -> Callable[[str], Path]:
    def path(name: str) -> Path:
        if language not in PROGRAMS[name]["languages"]:
            pytest.skip(f"{name} is not written in {language}")
        return built[language] / name

    return path


@pytest.fixture
def with_libc(language: str) -> None:
    """Skip a language whose programs are linked with no libc that another could stand in for."""
    if language == "go":
        pytest.skip("a Go program without cgo has no libc")


Lines = list[tuple[str, dict[str, str]]]


def read(program: str, text: str) -> Lines:
    """Read a program's lines with the fixture's own patterns: each must match exactly one."""
    patterns = PROGRAMS[program]["lines"]
    lines: Lines = []
    for line in text.splitlines():
        found = [(name, re.fullmatch(pattern, line)) for name, pattern in patterns.items()]
        known = [(name, match.groupdict()) for name, match in found if match]
        assert len(known) == 1, f"{line!r} matches {[name for name, _ in known]}"
        lines += known
    return lines


def first_run(path: Path, mode: str) -> Lines:
    return read("first_run", succeed(path, mode))


def faults(lines: Lines) -> list[int]:
    return [int(groups["faults"]) for name, groups in lines if name == "iteration"]


def where(lines: Lines) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, groups in lines:
        if name == "where_unknown":
            pytest.skip("needs a /proc/self/pagemap that can be read")
        if name == "where_total":
            found |= {"faults": int(groups["faults"]), "mapped": int(groups["mapped"])}
        elif name.startswith("where_"):
            found[name.removeprefix("where_")] = int(groups["pages"])
    return found


@pytest.fixture
def single_pages() -> None:
    """Skip where the kernel maps several pages at one fault."""
    sizes = Path("/sys/kernel/mm").glob("transparent_hugepage/**/enabled")
    if any("[always]" in path.read_text(encoding="ascii") for path in sizes):
        pytest.skip("needs transparent huge pages that are not [always]")


# ------------------------------------------------------------------------------- what is printed

PREPARED = ("prefault", "evict", "touch")
MODES = (
    "natural",
    "prefault",
    "prefault,evict",
    "prefault,sleep",
    "prefault,spin,touch",
    "unprimed",
    "where",
    "unprimed,where",
    "natural,unprimed,where",
)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_prints_the_same_lines_in_all_languages(
    built: dict[str, Path], mode: str
) -> None:
    runs = {lang: first_run(path / "first_run", mode) for lang, path in built.items()}

    names = [name for name, _ in runs["c"]]
    assert {lang: [name for name, _ in lines] for lang, lines in runs.items()} == dict.fromkeys(
        runs, names
    )
    count = PARAMS["iterations"]
    assert names[:count] == ["iteration"] * count
    waits = "sleep" in mode or "spin" in mode
    assert names[count : count + 3] == ["checksum", "clock", "core"]
    assert [name for name in names if name == "pause"] == ["pause"] * waits
    assert ("where_total" in names or "where_unknown" in names) == ("where" in mode)
    for lines in runs.values():
        indices = [int(groups["index"]) for name, groups in lines if name == "iteration"]
        assert indices == list(range(1, count + 1))


def test_the_checksum_is_the_same_in_every_mode_and_language(built: dict[str, Path]) -> None:
    length = PARAMS["length"]
    expected = (3 * length * (length - 1) // 2 + length) % 2**64
    for path, mode in itertools.product(built.values(), ("once", "natural", "prefault,evict")):
        lines = dict(first_run(path / "first_run", mode))
        assert lines["checksum"] == {"value": str(expected)}


def test_once_prints_its_checksum_and_nothing_else(binary: Callable[[str], Path]) -> None:
    assert [name for name, _ in first_run(binary("first_run"), "once")] == ["checksum"]


def test_core_clock_and_clock_are_plausible(binary: Callable[[str], Path]) -> None:
    lines = dict(first_run(binary("first_run"), "natural"))
    for when in ("before", "after"):
        assert 50 < int(lines["core"][when]) < 20_000
    assert int(lines["clock"]["step"]) >= 1
    assert int(lines["clock"]["cost"]) < 1_000_000


def test_a_pause_says_what_the_kernel_did_meanwhile(
    binary: Callable[[str], Path], language: str
) -> None:
    sleep = dict(first_run(binary("first_run"), "prefault,sleep"))["pause"]
    spin = dict(first_run(binary("first_run"), "prefault,spin"))["pause"]
    assert int(sleep["voluntary"]) >= 1
    for pause in (sleep, spin):
        assert int(pause["ms"]) == PARAMS["pause_ms"] <= int(pause["window"])
    # Go's runtime may take a thread's turn from it, which the kernel counts as given away.
    assert int(spin["voluntary"]) == 0 or language == "go"


def used(path: Path, mode: str) -> resource.struct_rusage:
    """Return what one process took, as the kernel counted it."""
    with subprocess.Popen([str(path), mode], env=ENVIRONMENT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage


def test_a_spinning_pause_keeps_the_core_and_a_sleeping_one_does_not(
    binary: Callable[[str], Path],
) -> None:
    # Beside each other: apart from the pause both do the same.
    usages = [used(binary("first_run"), f"prefault,{word}") for word in ("sleep", "spin")]
    sleep, spin = (usage.ru_utime + usage.ru_stime for usage in usages)
    assert spin - sleep > PARAMS["pause_ms"] / 1000 / 3


@pytest.mark.usefixtures("single_pages")
def test_touch_reads_every_page_of_the_output(binary: Callable[[str], Path]) -> None:
    # Read first, a page is one of zeros for all, and writing it later faults once more. The fewest
    # of several: with the threads that it happens to start, Go's runtime faults on up to 25 pages
    # more in one process than in another, which is a fifth of the output.
    natural, touch = (
        min(used(binary("first_run"), mode).ru_minflt for _ in range(10))
        for mode in ("natural", "touch")
    )
    assert 0.9 * OUTPUT_PAGES < touch - natural < 1.5 * OUTPUT_PAGES


@pytest.mark.usefixtures("with_libc")
@pytest.mark.usefixtures("single_pages")
def test_touch_reads_every_page_of_both_buffers(
    binary: Callable[[str], Path], preloaded: dict[str, str]
) -> None:
    # The pause takes all pages of the buffers away. What touch has read is mapped again, so that
    # iteration 1 faults only where it writes.
    first = {
        mode: faults(read("first_run", succeed(binary("first_run"), mode, env=preloaded)))[0]
        for mode in ("sleep", "sleep,touch")
    }
    assert first["sleep"] > 1.9 * OUTPUT_PAGES
    assert 0.9 * OUTPUT_PAGES < first["sleep,touch"] < 1.1 * OUTPUT_PAGES


def interrupts_of(cpu: int) -> int:
    head, *rows = Path("/proc/interrupts").read_text(encoding="ascii").splitlines()
    names = head.split()
    column, total = names.index(f"CPU{cpu}"), 0
    for row in rows:
        counts = row.partition(":")[2].split()[: len(names)]
        if len(counts) == len(names) and all(word.isdigit() for word in counts):
            total += int(counts[column])
    return total


def test_the_interrupts_are_those_of_its_own_core(binary: Callable[[str], Path]) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    for own, other in ((cpus[0], cpus[1]), (cpus[1], cpus[0])):
        busy = subprocess.Popen(
            [sys.executable, "-c", "import time\nwhile True: time.sleep(0.0001)"],
            preexec_fn=lambda o=other: os.sched_setaffinity(0, {o}),
        )  # thousands of timer interrupts a second on the other core
        try:
            time.sleep(0.2)
            before = interrupts_of(own)
            pinned = {"preexec_fn": lambda o=own: os.sched_setaffinity(0, {o})}
            text = succeed(binary("first_run"), "prefault,sleep", **pinned)
            after = interrupts_of(own)
        finally:
            busy.kill()
            busy.wait()
        counted = int(dict(read("first_run", text))["pause"]["interrupts"])
        assert 1 <= counted <= after - before


PRELOADED = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The nth call sleeps, touches n * n pages of its own, and returns n.
long random(void)
{
    static long n;
    static const long ms[] = {5, 30, 150};
    struct timespec rest = {0, ms[n % 3] * 1000000};
    syscall(SYS_nanosleep, &rest, 0);
    n++;
    size_t size = (size_t)(n * n) * (size_t)sysconf(_SC_PAGESIZE);
    int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    volatile char *pages = mmap(0, size, access, kind, -1, 0);
    for (size_t i = 0; i < size; i += size / (size_t)(n * n)) {
        pages[i] = 1;
    }
    return n;
}

// A clock that goes forward in steps of 100 ns.
int clock_gettime(clockid_t id, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, id, now);
    now->tv_nsec -= now->tv_nsec % 100;
    return (int)result;
}

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
static struct { uintptr_t start; size_t size; } block[64];
static size_t blocks;

static void *noted(void *start, size_t size)
{
    if (size == BUFFER && blocks < 64) {
        block[blocks].start = (uintptr_t)start;
        block[blocks++].size = size;
    }
    return start;
}

void *malloc(size_t size)
{
    return noted(__libc_malloc(size), size);
}

void *calloc(size_t count, size_t size)
{
    return noted(__libc_calloc(count, size), count * size);
}

// A pause after which no whole page of a buffer is mapped.
static int pause_and_take(const struct timespec *rest)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    syscall(SYS_nanosleep, rest, 0);
    for (size_t i = 0; i < blocks; i++) {
        uintptr_t start = (block[i].start + page - 1) / page * page;
        uintptr_t end = (block[i].start + block[i].size) / page * page;
        madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

int nanosleep(const struct timespec *rest, struct timespec *left)
{
    (void)left;
    return pause_and_take(rest);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *rest, struct timespec *left)
{
    (void)id, (void)flags, (void)left;
    return pause_and_take(rest);
}
"""


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which random(), clock and pauses behave in a way that is known."""
    folder = tmp_path_factory.mktemp("preloaded")
    (folder / "known.c").write_text(PRELOADED, encoding="ascii")
    buffer = f"-DBUFFER={PARAMS['length'] * 8}"
    shared = ("-shared", "-fPIC", "-O1", "-fno-builtin", buffer)
    succeed("gcc", *shared, "-o", folder / "known.so", folder / "known.c")
    return {**ENVIRONMENT, "LD_PRELOAD": str(folder / "known.so")}


@pytest.mark.usefixtures("single_pages")
def test_each_call_of_random_has_its_own_time_and_faults(
    binary: Callable[[str], Path], preloaded: dict[str, str]
) -> None:
    lines = dict(read("random_probe", succeed(binary("random_probe"), env=preloaded)))
    ns = [int(lines["call"][n]) for n in ("first", "second", "third")]
    assert [took >= ms * 1_000_000 for took, ms in zip(ns, (5, 30, 150), strict=True)] == [True] * 3
    assert ns[0] < ns[1] < ns[2]
    assert lines["call"]["sink"] == str(1 + 2 + 3)
    faults = [int(lines["faults"][n]) for n in ("first", "second", "third")]
    assert faults[0] >= 1
    assert faults[1:] == [4, 9]


@pytest.mark.usefixtures("with_libc")
def test_the_step_of_the_clock_is_found(
    binary: Callable[[str], Path], preloaded: dict[str, str]
) -> None:
    lines = dict(read("first_run", succeed(binary("first_run"), "natural", env=preloaded)))
    assert int(lines["clock"]["step"]) >= 100
    assert int(lines["clock"]["step"]) % 100 == 0


# ------------------------------------------------------------------------------------ page faults


@pytest.mark.usefixtures("single_pages")
def test_the_natural_first_iteration_faults_once_per_page_and_the_others_never(
    binary: Callable[[str], Path],
) -> None:
    for _ in range(5):  # the positions are random: each process must give the same
        assert faults(first_run(binary("first_run"), "natural")) == [
            OUTPUT_PAGES,
            *[0] * (PARAMS["iterations"] - 1),
        ]


@pytest.mark.parametrize("mode", ["prefault", "prefault,evict", "touch,evict,prefault"])
def test_a_prefaulted_output_makes_no_fault(binary: Callable[[str], Path], mode: str) -> None:
    assert sum(faults(first_run(binary("first_run"), mode))) == 0


@pytest.mark.usefixtures("single_pages")
def test_unprimed_shows_the_two_faults_that_the_article_left_open(
    binary: Callable[[str], Path], language: str
) -> None:
    lines = first_run(binary("first_run"), "unprimed,where")
    clock = language != "go"  # Go's runtime has read the clock before main
    # One more where randomisation puts the loop's code into a window of pages of its own.
    assert OUTPUT_PAGES + 1 + clock <= faults(lines)[0] <= OUTPUT_PAGES + 2 + clock
    found = where(lines)
    assert (found["output"], found["samples"], found["clock"]) == (OUTPUT_PAGES, 1, clock)


@pytest.mark.usefixtures("single_pages")
@pytest.mark.parametrize("mode", ["where", "where,evict", "where,touch", "where,sleep"])
def test_where_finds_every_fault_in_the_output(binary: Callable[[str], Path], mode: str) -> None:
    lines = first_run(binary("first_run"), mode)
    found = where(lines)
    assert found.pop("faults") == faults(lines)[0] == OUTPUT_PAGES
    assert found.pop("mapped") == OUTPUT_PAGES == found.pop("output")
    assert set(found) == {"input", "samples", "clock", "stack", "libc", "other"}
    assert sum(found.values()) == 0


def test_where_finds_nothing_after_prefaulting(binary: Callable[[str], Path]) -> None:
    found = where(first_run(binary("first_run"), "where,prefault"))
    assert sum(found.values()) == 0


def wait_until_asleep(pid: int) -> None:
    """Return once a process was found sleeping at three looks in a row."""
    status, looks = Path(f"/proc/{pid}/status"), 0
    for _ in range(1000):
        looks = looks + 1 if "State:\tS" in status.read_text(encoding="ascii") else 0
        if looks == 3:
            return
        time.sleep(0.01)
    raise AssertionError("never asleep")


def test_what_the_kernel_does_not_say_is_unknown(binary: Callable[[str], Path]) -> None:
    command = [str(binary("first_run")), "where,sleep"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        wait_until_asleep(process.pid)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, 3))  # no file can be opened
        text, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    lines = read("first_run", text)
    assert [name for name, _ in lines][-2:] == ["pause", "where_unknown"]
    assert dict(lines)["pause"]["interrupts"] is None
    assert " unknown interrupts on the core " in text


# ----------------------------------------------------------------------------- words and mistakes


@pytest.mark.parametrize("words", list(itertools.permutations(PREPARED)))
def test_words_stand_in_any_order(binary: Callable[[str], Path], words: Sequence[str]) -> None:
    assert faults(first_run(binary("first_run"), ",".join(words)))[0] == 0


WRONG: tuple[list[str], ...] = (
    [],
    [""],
    [","],
    ["natural,"],
    ["natural", "where"],
    ["Natural"],
    ["prefaul"],
    ["prefault,prefault"],
    ["where,natural,where"],
    ["natural,prefault"],
    ["evict,natural"],
    ["touch,natural"],
    ["sleep,natural"],
    ["sleep,spin"],
    ["once,natural"],
    ["prefault,once"],
)


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_words_end_with_100_and_the_usage(built: dict[str, Path], words: list[str]) -> None:
    said = {call(path / "first_run", *words).stderr for path in built.values()}
    assert len(said) == 1
    message = said.pop()
    assert message.startswith("usage: first_run WORD")
    assert message.splitlines()[-1].startswith("first_run: fatal: ")
    for path in built.values():
        done = call(path / "first_run", *words)
        assert (done.returncode, done.stdout) == (100, "")


@pytest.mark.parametrize(
    "command",
    [["first_run", "natural"], ["first_run", "once"], ["random_probe"], ["launch", "1", "true"]],
    ids=" ".join,
)
def test_output_that_does_not_arrive_ends_with_111(
    binary: Callable[[str], Path], command: list[str]
) -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        done = call(binary(command[0]), *command[1:], capture_output=False, stdout=full, stderr=-1)
    expected = f"{command[0]}: fatal: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (111, expected)


@pytest.mark.parametrize("mode", ["natural", "where"])
def test_a_closed_standard_output_ends_with_111_and_with_0_in_rust(
    binary: Callable[[str], Path], language: str, mode: str
) -> None:
    done = call("sh", "-c", f"{binary('first_run')} {mode} >&-")
    expected = [(111, "first_run: fatal: standard output: Bad file descriptor\n")]
    if language in ("go", "rust"):  # the runtime puts /dev/null there before main; Go's since 1.21
        expected = [(0, "")] if language == "rust" else [*expected, (0, "")]
    assert (done.returncode, done.stderr) in expected


def test_a_reader_that_goes_away_ends_it_quietly(binary: Callable[[str], Path]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = call(binary("first_run"), "natural", capture_output=False, stdout=writing, stderr=-1)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


@pytest.mark.usefixtures("with_libc")  # Go's runtime reserves more before main
def test_memory_that_the_system_refuses_ends_with_111(binary: Callable[[str], Path]) -> None:
    limit = 16 << 20
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    texts = [path.read_text(encoding="ascii").strip() for path in sizes]
    units = {"K": 1 << 10, "M": 1 << 20}
    caches = [int(text[:-1]) * units[text[-1]] for text in texts] or [64 << 20]
    if 3 * max(caches) < limit:
        pytest.skip("needs a last-level cache of 6 MiB")

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = call(binary("first_run"), "evict", preexec_fn=little_memory)
    expected = "first_run: fatal: memory: Cannot allocate memory\n"
    assert (done.returncode, done.stdout, done.stderr) == (111, "", expected)


# ------------------------------------------------------------------------------------ machine code


def functions(path: Path) -> Iterator[tuple[str, str]]:
    text = succeed("objdump", "-d", "--no-show-raw-insn", path)
    for block in text.split("\n\n"):
        head = re.match(r"\n*[0-9a-f]+ <(.+)>:\n", block)
        if head:
            yield head[1], block[head.end() :]


def test_the_kernel_exists_is_called_and_calls_nothing(
    binary: Callable[[str], Path], language: str
) -> None:
    bodies = dict(functions(binary("first_run")))
    name = "main.kernel" if language == "go" else "kernel"
    kernel = bodies.pop(name)
    calls = re.compile(r"\t(call|bl|blr|jal|jalr)\b")
    # Go's only call is behind its loop: what it does if the input were shorter than the output.
    wanted = ["panicSlice"] if language == "go" else []
    lines = [line for line in kernel.splitlines() if calls.search(line)]
    assert len(lines) == len(wanted) and all(w in x for w, x in zip(wanted, lines, strict=True))
    assert "memset" not in kernel
    assert len(kernel.splitlines()) >= 5
    assert any(
        calls.search(line) and f"<{name}>" in line
        for body in bodies.values()
        for line in body.splitlines()
    )


# ------------------------------------------------------------------------------------ random_probe

C_BUILDS = {
    "lazy": ["-Wl,-z,lazy"],
    "now": ["-Wl,-z,now"],
    "no-plt": ["-fno-plt"],
    "static": ["-static"],
}
RUST_BUILDS = {
    "partial": ["-C", "relro-level=partial"],
    "default": [],
    "static": ["-C", "target-feature=+crt-static"],
}


@pytest.fixture(scope="session")
def probes(folders: dict[str, Path]) -> dict[str, Path]:
    made: dict[str, Path] = {}
    for name, flags in C_BUILDS.items():
        made[f"c-{name}"] = out = folders["c"] / f"probe-{name}"
        succeed(
            "gcc",
            STANDARDS["c"],
            "-O2",
            *WARNINGS,
            *flags,
            "-o",
            out,
            folders["c"] / "random_probe.c",
        )
    for name, flags in RUST_BUILDS.items():
        target = folders["rust"] / "target" / name
        what = ["--bin", "random_probe", "--target-dir", str(target)]
        succeed("cargo", "rustc", *CARGO, *what, "--", *flags, cwd=folders["rust"])
        made[f"rust-{name}"] = target / "release" / "random_probe"
    return made


PROBES = [*(f"c-{name}" for name in C_BUILDS), *(f"rust-{name}" for name in RUST_BUILDS)]


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("words", [[], ["touched"]], ids=["plain", "touched"])
def test_random_gives_the_same_sum_however_it_is_bound(
    probes: dict[str, Path], probe: str, words: list[str]
) -> None:
    for bound in ("", "1"):
        environment = {**ENVIRONMENT, "LD_BIND_NOW": bound}
        lines = read("random_probe", succeed(probes[probe], *words, env=environment))
        assert [name for name, _ in lines] == ["call", "faults"]
        assert dict(lines)["call"]["sink"] == str(SINK)
        counts = dict(lines)["faults"]
        assert (counts["second"], counts["third"]) == ("0", "0")


@pytest.mark.parametrize(
    ("probe", "relocation", "now"),
    [
        ("c-lazy", "JUMP_SLO", False),
        ("c-now", "JUMP_SLO", True),
        ("c-no-plt", "GLOB_DAT", None),
        ("c-static", None, None),
        ("rust-partial", "JUMP_SLO", False),
        ("rust-default", "GLOB_DAT", True),
        ("rust-static", None, None),
    ],
)
def test_random_is_called_through_what_the_build_says(
    probes: dict[str, Path], probe: str, relocation: str | None, now: bool | None
) -> None:
    rows = succeed("readelf", "-rW", probes[probe]).splitlines()
    used = [row for row in rows if re.search(r"\brandom\b", row)]
    assert len(used) == (relocation is not None)
    assert all(str(relocation) in row for row in used)
    if now is not None:
        dynamic = succeed("readelf", "-dW", probes[probe])
        assert bool(re.search(r"BIND_NOW|Flags: NOW", dynamic)) == now


@pytest.mark.parametrize(("bound", "before"), [("", False), ("1", True)], ids=["lazy", "now"])
def test_the_measured_call_is_the_one_that_binds(
    probes: dict[str, Path], bound: str, before: bool
) -> None:
    environment = {**ENVIRONMENT, "LD_DEBUG": "bindings,files", "LD_BIND_NOW": bound}
    text = call(probes["c-lazy"], env=environment).stderr
    if "transferring control" not in text:
        pytest.skip("needs glibc's LD_DEBUG")
    assert (text.index("symbol `random'") < text.index("transferring control")) == before


def test_random_probe_refuses_other_words(binary: Callable[[str], Path]) -> None:
    for words in (["x"], ["touched", "touched"], [""]):
        done = call(binary("random_probe"), *words)
        assert (done.returncode, done.stdout) == (100, "")
        assert done.stderr.startswith("usage: random_probe [touched]\nrandom_probe: fatal: ")


# ------------------------------------------------------------------- launch, and what does nothing


def test_launch_starts_as_many_as_it_says(binary: Callable[[str], Path], tmp_path: Path) -> None:
    script = f"echo started >> {tmp_path}/log; echo not shown"
    text = succeed(binary("launch"), "7", "/bin/sh", "-c", script)
    assert text.startswith(f"7 fresh processes of sh -c {script}: first ")
    (_, groups), *rest = read("launch", text)
    assert rest == []
    first, low, median, high = (int(groups[n]) for n in ("first", "min", "median", "max"))
    assert 0 < low <= median <= high
    assert low <= first <= high
    assert (tmp_path / "log").read_text(encoding="ascii") == "started\n" * 7


def test_launch_starts_first_run_of_every_language(built: dict[str, Path]) -> None:
    for launcher, started in itertools.product(built.values(), built.values()):
        text = succeed(launcher / "launch", "3", started / "first_run", "once")
        assert text.startswith("3 fresh processes of first_run once: first ")


def test_launch_gives_its_children_the_signals_of_a_shell(binary: Callable[[str], Path]) -> None:
    # SIGPIPE is bit 12: the lowest of the fourth digit from the right.
    check = 'grep -Eq "^SigIgn:.*[02468ace][0-9a-f]{3}$" /proc/self/status'
    succeed(binary("launch"), "1", "sh", "-c", check)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["2", "false"], "false: ended with exit code 1"),
        (["2", "sh", "-c", "exit 7"], "sh: ended with exit code 7"),
        (["2", "sh", "-c", "kill -9 $$"], "sh: killed by signal 9"),
        (["2", "/nonexistent/x"], "/nonexistent/x: No such file or directory"),
        (["2", "/etc/passwd"], "/etc/passwd: Permission denied"),
    ],
)
def test_launch_names_the_child_that_failed(
    binary: Callable[[str], Path], words: list[str], why: str
) -> None:
    done = call(binary("launch"), *words)
    assert (done.returncode, done.stdout, done.stderr) == (111, "", f"launch: fatal: {why}\n")


@pytest.mark.parametrize("count", ["0", "-1", "+1", "", " 1", "1x", "1000001", "9" * 30])
def test_launch_refuses_a_wrong_count(built: dict[str, Path], count: str) -> None:
    runs = [call(path / "launch", count, "true") for path in built.values()]
    assert {(run.returncode, run.stdout) for run in runs} == {(100, "")}
    assert len({run.stderr for run in runs}) == 1


def test_launch_needs_a_program(binary: Callable[[str], Path]) -> None:
    for words in ([], ["1"]):
        done = call(binary("launch"), *words)
        assert done.returncode == 100
        assert done.stderr.endswith("launch: fatal: arguments: a count and a program are needed\n")


def test_the_programs_that_do_nothing_do_nothing(built: dict[str, Path]) -> None:
    for path in (*(each / "empty" for each in built.values()), built["c"] / "floor"):
        done = call(path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_floor_has_neither_loader_nor_libc(built: dict[str, Path]) -> None:
    headers = succeed("readelf", "-lW", built["c"] / "floor")
    assert "INTERP" not in headers
    assert "DYNAMIC" not in headers
    assert [name for name, _ in functions(built["c"] / "floor")] == ["_start"]


# ------------------------------------------------------------------------------------- the sources


SUFFIXES = {"c": ".c", "cpp": ".cpp", "go": ".go", "rust": ".rs"}


def sources(language: str) -> list[Path]:
    names = [name for name, p in PROGRAMS.items() if language in p["languages"]]
    folder = ROOT / language / NAME
    return [
        (folder / name if language == "go" else folder) / f"{name}{SUFFIXES[language]}"
        for name in names
    ]


def test_no_program_and_no_piece_of_one_is_longer_than_150_lines() -> None:
    found = [*ROOT.glob("c/*/*.[ch]"), *ROOT.glob("rust/*/*.rs")]
    fixtures = {path.parent.name for path in ROOT.glob("templates/[!_]*/fixture.toml")}
    assert {path.parent.name for path in found} == fixtures
    found += [*ROOT.glob("cpp/*/*.[ch]pp"), *ROOT.glob("go/*/*/*.go")]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in found}
    assert {path: count for path, count in lengths.items() if count > LINES_AT_MOST} == {}


@pytest.mark.parametrize(
    "path",
    [path for language in SUFFIXES if language != "c" for path in sources(language)],
    ids=lambda path: path.name,
)
def test_every_language_introduces_a_program_with_the_same_words(path: Path) -> None:
    twin = ROOT / "c" / NAME / f"{path.stem}.c"
    heads = []
    for source in (path, twin):
        text = source.read_text(encoding="utf-8").split("\n\n", 1)[0]
        heads.append(text.split("\n//\n")[1])
        assert re.match(r"// generated by `fixturegen render` from templates/", text)
        assert re.search(r"^//   (gcc|g\+\+|go|cargo) .+$", text, re.MULTILINE)
    assert heads[0] == heads[1]


@pytest.mark.parametrize(
    ("language", "compiler"), [("c", "gcc"), ("c", "clang"), ("cpp", "g++"), ("cpp", "clang++")]
)
@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
def test_it_compiles_without_a_warning(
    folders: dict[str, Path], tmp_path: Path, language: str, compiler: str, level: str
) -> None:
    if shutil.which(compiler) is None or language not in folders:
        pytest.skip(f"needs {compiler}")
    for path in sources(language):
        flags = (STANDARDS[language], level, *WARNINGS)
        succeed(compiler, *flags, "-c", "-o", tmp_path / path.stem, folders[language] / path.name)


def test_go_is_formatted_and_vet_is_silent(folders: dict[str, Path]) -> None:
    if "go" not in folders:
        pytest.skip("needs go")
    assert succeed("gofmt", "-l", ".", cwd=folders["go"]) == ""
    succeed("go", "vet", "./...", cwd=folders["go"], env=GO)


def test_rust_is_formatted_and_clippy_is_silent(folders: dict[str, Path], tmp_path: Path) -> None:
    if shutil.which("rustfmt") is None or shutil.which("cargo-clippy") is None:
        pytest.skip("needs rustfmt and clippy")
    succeed("rustfmt", "--check", "--edition", "2021", *sorted(folders["rust"].glob("*.rs")))
    lints = ["--target-dir", str(tmp_path), "--", *LINTS]
    succeed("cargo", "clippy", *CARGO, *lints, cwd=folders["rust"])


def test_rust_has_unsafe_only_around_a_call_of_libc() -> None:
    for path in (ROOT / "rust" / NAME).glob("*.rs"):
        text = path.read_text(encoding="utf-8")
        declared = {
            name
            for block in re.findall(r'extern "C" \{(.*?)\n\}', text, re.DOTALL)
            for name in re.findall(r"fn (\w+)", block)
        }
        used = re.findall(r"unsafe\b\s*(?:\{\s*(\w+)\()?", text)
        assert set(used) == declared, path


@pytest.mark.parametrize("name", sorted({"c", "cpp"} & {*LANGUAGES}))
def test_make_builds_everything_and_cleans_up(
    folders: dict[str, Path], tmp_path: Path, name: str
) -> None:
    if shutil.which("clang") is None:
        pytest.skip("needs clang, which a build names")
    copy = tmp_path / name
    shutil.copytree(folders[name], copy, ignore=shutil.ignore_patterns("out", "probe-*"))
    before = sorted(copy.rglob("*"))
    succeed("make", "-C", copy, "builds")
    made = {path.name for path in (copy / "out").iterdir()}
    assert {path.stem for path in sources(name)} <= made
    assert call("make", "-q", "-C", copy, "builds").returncode == 0
    succeed("make", "-C", copy, "clean")
    assert sorted(copy.rglob("*")) == before
