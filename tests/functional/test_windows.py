"""The measured windows: C and Rust read clock and counters in one order, around the same calls."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from measured import ENVIRONMENT, LANGUAGES, Programs, call, succeed

pytestmark = pytest.mark.slow

# What begin_reading touches; what stands before the window, and begins it; what ends it.
READING = ["clock_gettime", "getrusage", "getrusage", "clock_gettime", "clock_gettime", "getrusage"]
READ = frozenset(READING)
CALL = re.compile(r"\t(?:call|jmp|bl|b|jal|j)\b.*?<([^<>+@]+(?:<.*>)?[^<>+@]*)(?:@[^>]*)?>$")


@pytest.fixture(scope="module")
def page_cache(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    programs = Programs("page-cache", tmp_path_factory.mktemp("page-cache"))
    programs.build()
    return programs


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    programs = Programs("p04-first-run", tmp_path_factory.mktemp("p04"))
    programs.build()
    return programs


def calls_of(binary: Path) -> dict[str, list[str]]:
    """Return for each function of a binary what it calls, in the order of the machine code."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in succeed("objdump", "-d", "-C", "--no-show-raw-insn", binary).splitlines():
        if head := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line):
            name = head[1]
            found.setdefault(name, [])
        elif called := CALL.search(line):
            found[name].append(called[1])
    return found


def order(calls: Mapping[str, Sequence[str]], name: str, depth: int = 3) -> list[str]:
    """Return the readings below a function, those of the program's own functions among them."""
    if name in READ:
        return [name]
    library = name.startswith(("std::", "core::", "alloc::", "<"))
    if depth == 0 or library or name.endswith("fatal"):
        return []
    inner = [other for other in calls.get(name, ()) if other != name]
    return [reading for other in inner for reading in order(calls, other, depth - 1)]


def main_of(name: str, language: str) -> str:
    return "main" if language == "c" else f"{name}::main"


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
@pytest.mark.parametrize("name", ["read_file", "read_mapped", "large"])
@pytest.mark.parametrize("made_by", ["gcc", "clang", "rust"])
def test_the_machine_code_reads_the_clock_last_and_then_first(
    page_cache: Programs, tmp_path: Path, name: str, made_by: str
) -> None:
    language = "rust" if made_by == "rust" else "c"
    if shutil.which(made_by) is None and language == "c":
        pytest.skip(f"needs {made_by}")
    binary = page_cache.binary(name, language)
    if made_by == "clang":
        binary = tmp_path / name
        source = page_cache.folders["c"] / f"{name}.c"
        succeed("clang", "-std=c11", "-O3", "-o", binary, source)
    assert order(calls_of(binary), main_of(name, language)) == READING


# ------------------------------------------------------------------------------- as it is called

SHIM = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int began; // with the first reading of the clock: what a runtime does before is its own

static void say(const char *name)
{
    if (began && write(2, name, strlen(name)) < 0) {
        _exit(9);
    }
}

#define PASS(type, name, declared, given) \\
    type name declared \\
    { \\
        type(*next) declared = (type(*) declared)dlsym(RTLD_NEXT, #name); \\
        say(#name "\\n"); \\
        return next given; \\
    }

int clock_gettime(clockid_t id, struct timespec *now)
{
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    began |= id == CLOCK_MONOTONIC;
    say(id == CLOCK_MONOTONIC ? "clock\\n" : "thread clock\\n");
    return next(id, now);
}

PASS(int, getrusage, (int who, struct rusage *usage), (who, usage))
PASS(ssize_t, read, (int file, void *to, size_t size), (file, to, size))
PASS(void *, mmap, (void *at, size_t size, int protection, int flags, int file, off_t from),
     (at, size, protection, flags, file, from))
PASS(long, random, (void), ())
PASS(int, waitpid, (int child, int *status, int options), (child, status, options))
"""


def run_traced(shim: Path, binary: Path, words: Sequence[str]) -> list[str]:
    """Return what the program calls from its first look at the clock on."""
    done = call(binary, *words, env={**ENVIRONMENT, "LD_PRELOAD": str(shim)})
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM, encoding="utf-8")
    made = folder / "shim.so"
    succeed("gcc", "-O1", "-w", "-shared", "-fPIC", "-o", made, folder / "shim.c", "-ldl")
    return made


def traces(programs: Programs, shim: Path, name: str, words: Sequence[str]) -> list[list[str]]:
    return [run_traced(shim, programs.binary(name, language), words) for language in LANGUAGES]


BEGUN = ["clock", "getrusage", "getrusage", "clock"]
ENDED = ["clock", "getrusage"]


def test_both_readings_have_the_same_calls_in_their_window(
    page_cache: Programs, shim: Path, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(300000))  # three blocks, the last one short
    inner = {"read_file": ["read"] * 4, "read_mapped": ["mmap"], "large": []}
    for name, window in inner.items():
        words = [] if name == "large" else [str(path)]
        c, rust = traces(page_cache, shim, name, words)
        expected = [*BEGUN, *window, *ENDED]
        assert c[: len(expected)] == rust[: len(expected)] == expected, name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("random_probe", []),
        ("launch", ["2", "/bin/true"]),
        ("first_run", ["natural"]),
        ("first_run", ["prefault,evict,touch"]),
    ],
)
def test_programs_make_the_same_calls_in_the_same_order(
    first_run: Programs, shim: Path, name: str, words: list[str]
) -> None:
    if words[:1] == ["2"] and not os.access(words[1], os.X_OK):
        pytest.skip("needs /bin/true")
    c, rust = traces(first_run, shim, name, words)
    ours = [[line for line in lines if line not in ("mmap", "read")] for lines in (c, rust)]
    assert ours[0] == ours[1] != []
