"""`fixturegen inspect` and `fixturegen.elf` on what real compilers and linkers make.

The truth is readelf for the words and glibc's own LD_DEBUG for what is bound when.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fixturegen import elf
from fixturegen.cli.inspect import command
from fixturegen.errors import CheckError

pytestmark = pytest.mark.slow

CALL = "#include <stdlib.h>\nint main(void) { return (int)(random() & 1) - 1 > 0; }\n"
ADDRESS = (
    "#include <stdlib.h>\nlong (*volatile f)(void);\n"
    "int main(void) { f = random; return (int)(random() & 1) - 1 > 0; }\n"
)
RUST = (
    'extern "C" { fn random() -> i64; }\nfn main() { std::hint::black_box(unsafe { random() }); }\n'
)
FLAGS = " 0x000000000000001e (FLAGS)              "
FLAGS_1 = " 0x000000006ffffffb (FLAGS_1)            Flags: "
TAG = f" 0x0000000000000018 (BIND_NOW){' ' * 11}"
NOW = (f"{FLAGS}BIND_NOW", f"{FLAGS_1}NOW PIE")
NOW_OLD = (TAG, f"{FLAGS_1}NOW PIE")
PIE = (f"{FLAGS_1}PIE",)


@dataclass(frozen=True)
class Row:
    """A row of the table of docs: how it is built, and what must be said of it."""

    name: str
    build: tuple[str, ...]
    verdict: str
    relocation: str | None
    lines: tuple[str, ...]
    source: str = "call.c"
    linked: str = "dynamic, PIE"

    @property
    def is_native_glibc(self) -> bool:
        """Whether this machine's own ld.so can be asked what it does."""
        return self.linked.startswith("dynamic") and self.build[0] in ("gcc", "clang", "rustc")


SLOT, GLOB = "R_X86_64_JUMP_SLOT", "R_X86_64_GLOB_DAT"
LAZY, AS_NOW = "-Wl,-z,lazy", "-Wl,-z,now"
# -pie and -z lazy are given: distributions differ in what they do without.
ROWS = (
    Row("gcc-lazy", ("gcc", "-pie", LAZY), "lazy", SLOT, PIE),
    Row("gcc-no-pie", ("gcc", "-no-pie", LAZY), "lazy", SLOT, (), linked="dynamic, not PIE"),
    Row("gcc-now", ("gcc", "-pie", AS_NOW), "bound", SLOT, NOW),
    Row("gcc-now-tag", ("gcc", "-pie", f"{AS_NOW},--disable-new-dtags"), "bound", SLOT, NOW_OLD),
    Row("gcc-no-plt", ("gcc", "-O1", "-pie", "-fno-plt", LAZY), "bound", GLOB, PIE),
    Row("gcc-address", ("gcc", "-pie", LAZY), "bound", GLOB, PIE, source="address.c"),
    Row("gcc-static-pie", ("gcc", "-static-pie", LAZY), "static", None, PIE, linked="static-pie"),
    Row("gcc-static", ("gcc", "-static"), "static", None, (), linked="static"),
    Row("clang-lazy", ("clang", "-pie", LAZY), "lazy", SLOT, PIE),
    Row("musl-lazy", ("musl-gcc", "-pie", "-fPIE", LAZY), "bound", SLOT, PIE),
    Row("musl-static", ("musl-gcc", "-static", "-no-pie"), "static", None, (), linked="static"),
    Row("rust", ("rustc",), "bound", GLOB, NOW, source="call.rs"),
    Row("rust-lazy", ("rustc", "-Clink-arg=-Wl,-z,lazy"), "bound", GLOB, PIE, source="call.rs"),
    Row("rust-partial", ("rustc", "-Crelro-level=partial"), "lazy", SLOT, PIE, source="call.rs"),
    *(
        row
        for machine, slot in (("aarch64", "R_AARCH64_JUMP_SLOT"), ("riscv64", "R_RISCV_JUMP_SLOT"))
        for gcc in (f"{machine}-linux-gnu-gcc",)
        for row in (
            Row(f"{machine}-lazy", (gcc, "-pie", LAZY), "lazy", slot, PIE),
            Row(f"{machine}-now", (gcc, "-pie", AS_NOW), "bound", slot, NOW),
            Row(f"{machine}-static", (gcc, "-static"), "static", None, (), linked="static"),
        )
    ),
    Row(
        "aarch64-no-plt",
        ("aarch64-linux-gnu-gcc", "-pie", "-O1", "-fno-plt", LAZY),
        "bound",
        "R_AARCH64_GLOB_DAT",
        PIE,
    ),
)


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}, which is not installed")
    return found


def output(*words: str, **environment: str) -> str:
    """Return what a tool prints; it must succeed."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": os.environ.get("HOME", "")}
    done = subprocess.run(
        words, capture_output=True, text=True, env=env | environment, timeout=60, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect")
    (folder / "call.c").write_text(CALL)
    (folder / "address.c").write_text(ADDRESS)
    (folder / "call.rs").write_text(RUST)
    return folder


@pytest.fixture(scope="session")
def built(folder: Path) -> Callable[[Row], Path]:
    """Compile each row once, two at a time; the function waits for one row."""

    def build(row: Row) -> Path:
        target = folder / row.name
        if shutil.which(row.build[0]):
            output(*row.build, "-o", str(target), str(folder / row.source))
        return target

    with ThreadPoolExecutor(2) as pool:
        jobs = {row.name: pool.submit(build, row) for row in ROWS}

    def wait(row: Row) -> Path:
        tool(row.build[0])
        return jobs[row.name].result()

    return wait


each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])


@each_row
def test_each_row_of_the_table(built: Callable[[Row], Path], row: Row) -> None:
    path = built(row)
    facts = elf.read(path)
    found = elf.binding(facts, "random")
    assert (found.verdict, found.relocation and found.relocation.type) == (
        row.verdict,
        row.relocation,
    )
    assert facts.lines == row.lines
    text = run("-s", "random", path)
    assert text.exit_code == 0, text.output
    assert f"  linked       {row.linked}\n" in text.output
    assert found.reason in text.output or row.verdict == "static"
    for line in row.lines:
        assert line.rstrip() in text.output


@each_row
def test_the_words_are_readelfs(built: Callable[[Row], Path], row: Row) -> None:
    same_as_readelf(built(row))


@pytest.mark.parametrize("name", ["libc.so.6", "libstdc++.so.6", "libm.so.6"])
def test_the_words_are_readelfs_for_libraries(name: str) -> None:
    path = output(tool("gcc"), f"-print-file-name={name}").strip()
    same_as_readelf(Path(path))


def same_as_readelf(path: Path) -> None:
    readelf = tool("readelf")
    facts = elf.read(path)
    head = {
        key.strip(): value.strip()
        for key, _, value in (
            line.partition(":") for line in output(readelf, "-h", str(path)).splitlines()
        )
    }
    assert (facts.elf_class, facts.machine) == (head["Class"], head["Machine"])
    assert facts.type == head["Type"]
    dynamic = output(readelf, "-dW", str(path)).splitlines()
    tags = ("(FLAGS)", "(FLAGS_1)", "(BIND_NOW)")
    assert facts.lines == tuple(line for line in dynamic if any(tag in line for tag in tags))
    needed = [line.rpartition("[")[2].rstrip("]") for line in dynamic if "(NEEDED)" in line]
    assert list(facts.needed) == needed
    ids = [
        line.split()[-1]
        for line in output(readelf, "-n", str(path)).splitlines()
        if "Build ID:" in line
    ]
    assert facts.build_id == (ids[0] if ids else "")
    segments = output(readelf, "-lW", str(path))
    assert (facts.interpreter is not None) == ("INTERP" in segments.split())
    if facts.interpreter is not None:
        assert f"[Requesting program interpreter: {facts.interpreter}]" in segments
    assert (facts.relro != "none") == ("GNU_RELRO" in segments.split())
    mine = {(each.symbol, each.type, each.table == "DT_JMPREL") for each in facts.relocations}
    assert mine == readelf_relocations(output(readelf, "-rDW", str(path)))


def readelf_relocations(text: str) -> set[tuple[str, str, bool]]:
    found = set()
    in_slots = False
    for line in text.splitlines():
        words = line.split()
        if "relocation section at offset" in line:
            in_slots = line.startswith("'PLT'")
        elif len(words) >= 5 and words[2].startswith("R_"):
            found.add((words[4].partition("@")[0], words[2], in_slots))
    # RISC-V's linker counts DT_JMPREL's entries in DT_RELASZ too, so readelf shows them twice.
    return {each for each in found if each[2] or (*each[:2], True) not in found}


@each_row
def test_glibcs_own_ld_so_binds_as_was_said(built: Callable[[Row], Path], row: Row) -> None:
    path = built(row)
    if not row.is_native_glibc or os.uname().machine != "x86_64":
        assert elf.binding(elf.read(path), "random").verdict == row.verdict
        return
    facts = elf.read(path)
    for value in (None, "", "0", "1"):
        environment = {} if value is None else {"LD_BIND_NOW": value}
        said = elf.binding(facts, "random", bind_now_env=value)
        assert bound_late(path, **environment) == (said.verdict == "lazy"), (value, said)


def bound_late(path: Path, **environment: str) -> bool:
    """Ask ld.so whether `random` was looked up after the program had started."""
    env = {"PATH": os.environ["PATH"], "LD_DEBUG": "bindings,files"} | environment
    done = subprocess.run([path], capture_output=True, text=True, env=env, timeout=20, check=False)
    before, started, after = done.stderr.partition("transferring control")
    assert started
    mine = [f"binding file {path}", "`random'"]
    late = [line for line in after.splitlines() if all(part in line for part in mine)]
    early = [line for line in before.splitlines() if all(part in line for part in mine)]
    assert bool(late) != bool(early)
    return bool(late)


def test_without_section_headers_all_is_the_same(
    built: Callable[[Row], Path], tmp_path: Path
) -> None:
    for name in ("gcc-lazy", "rust-partial", "riscv64-now", "gcc-static-pie", "gcc-static"):
        row = next(row for row in ROWS if row.name == name)
        whole = built(row)
        data = bytearray(whole.read_bytes())
        struct.pack_into("<Q", data, 40, 0)  # e_shoff
        struct.pack_into("<HH", data, 60, 0, 0)  # e_shnum, e_shstrndx
        stripped = tmp_path / name
        stripped.write_bytes(data)
        assert replace(elf.read(stripped), path=whole) == elf.read(whole)
        assert elf.binding(elf.read(stripped, ["random"]), "random").verdict == row.verdict


def test_flags_of_all_bits_are_readelfs(built: Callable[[Row], Path], tmp_path: Path) -> None:
    readelf = tool("readelf")
    whole = built(next(row for row in ROWS if row.name == "gcc-now")).read_bytes()
    place_flags = whole.index(struct.pack("<QQ", 0x1E, 8)) + 8
    place_flags_1 = whole.index(struct.pack("<QQ", 0x6FFFFFFB, 0x08000001)) + 8
    path = tmp_path / "patched"
    generator = random.Random(1)
    values = [0, (1 << 64) - 1, *(generator.getrandbits(64) for _ in range(6))]
    for value in values:
        data = bytearray(whole)
        struct.pack_into("<Q", data, place_flags, value)
        struct.pack_into("<Q", data, place_flags_1, value)
        path.write_bytes(data)
        lines = output(readelf, "-dW", str(path)).splitlines()
        theirs = tuple(line for line in lines if "(FLAGS" in line)
        assert elf.read(path).lines == theirs


def test_a_32_bit_library(tmp_path: Path) -> None:
    source = tmp_path / "a.s"
    source.write_text(
        ".globl foo\nfoo: call random@PLT\nret\n.section .note.GNU-stack\n", encoding="ascii"
    )
    output(tool("as"), "--32", str(source), "-o", str(tmp_path / "a.o"))
    for keyword in ("lazy", "now"):
        path = tmp_path / keyword
        words = ("-m", "elf_i386", "-shared", "-z", keyword, str(tmp_path / "a.o"))
        output(tool("ld"), *words, "-o", str(path))
        same_as_readelf(path)
        found = elf.binding(elf.read(path), "random")
        assert found.verdict == ("lazy" if keyword == "lazy" else "bound")


def test_a_name_is_told_apart_as_inside_or_not_there(built: Callable[[Row], Path]) -> None:
    for name, verdicts in (
        ("gcc-lazy", {"random": "lazy", "main": "static", "nosuch": "absent"}),
        ("gcc-static", {"random": "static", "main": "static", "nosuch": "absent"}),
    ):
        facts = elf.read(built(next(row for row in ROWS if row.name == name)), list(verdicts))
        assert {symbol: elf.binding(facts, symbol).verdict for symbol in verdicts} == verdicts


def test_every_program_and_library_of_the_system_is_read_or_refused_in_one_line() -> None:
    folders = [Path("/usr/bin"), Path(output(tool("gcc"), "-print-file-name=libc.so.6")).parent]
    read = 0
    for folder in folders:
        for path in sorted(folder.iterdir())[:1500]:
            try:
                facts = elf.read(path)
            except CheckError as error:
                assert "\n" not in str(error)
                assert "damaged" not in str(error), str(error)
            else:
                read += 1
                assert facts.machine
    assert read > 50


def test_a_library_of_150_mb_is_read_by_its_relocations_alone() -> None:
    library = Path(output(tool("rustc"), "--print", "sysroot").strip(), "lib")
    path = max(library.glob("librustc_driver*.so"), key=lambda each: each.stat().st_size)
    before = time.process_time()
    facts = elf.read(path, ["malloc"])
    # 0.2 s where pyelftools, asked for every dynamic symbol, takes 8.
    assert time.process_time() - before < 2
    assert elf.binding(facts, "malloc").relocation is not None
    assert run(path).stdout.splitlines()[1] == "  linked       dynamic, shared library"


# --- damage ---------------------------------------------------------------------------------

FUZZ = """
import random, resource, sys, time
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
from fixturegen import elf
from fixturegen.errors import CheckError
path, rounds, slowest, read = Path(sys.argv[1]), int(sys.argv[2]), 0.0, 0
for name in sys.argv[3:]:
    whole = Path(name).read_bytes()
    generator = random.Random(name.rpartition("/")[2])
    # The headers and the tables that are read lie in front; the dynamic section further back.
    back = len(whole) * 2 // 3
    for number in range(rounds):
        data = bytearray(whole)
        if number % 4 == 3:
            del data[generator.randrange(len(data)):]
        for _ in range(generator.choice((1, 2, 8))):
            place = generator.choice((generator.randrange(64), generator.randrange(900),
                                      generator.randrange(5000), generator.randrange(back)))
            if place < len(data):
                data[place] = generator.choice((0, 1, 0x7f, 0x80, 0xff, generator.randrange(256)))
        path.write_bytes(data)
        before = time.process_time()
        try:
            facts = elf.read(path, ("random", "main"))
            list(elf.bindings(facts))
            read += 1
        except CheckError as error:
            assert "\\n" not in str(error) and str(path) in str(error), error
        slowest = max(slowest, time.process_time() - before)
print(read, round(slowest, 3))
"""


def test_thousands_of_mutations_end_in_facts_or_one_line(
    built: Callable[[Row], Path], tmp_path: Path
) -> None:
    names = ("gcc-lazy", "gcc-now-tag", "musl-lazy", "riscv64-lazy")
    paths = [str(built(row)) for row in ROWS if row.name in names]
    code = [sys.executable, "-c", FUZZ, str(tmp_path / "mutant"), "1500", *paths]
    done = subprocess.run(code, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    read, slowest = done.stdout.split()
    assert 100 < int(read) < 6000
    assert float(slowest) < 2


def test_truncated_programs_are_refused_at_every_length(
    built: Callable[[Row], Path], tmp_path: Path
) -> None:
    whole = built(ROWS[0]).read_bytes()
    path = tmp_path / "short"
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckError):
            elf.read(path)


# --- the command ----------------------------------------------------------------------------


def test_one_failing_file_hides_no_other_and_makes_the_exit_code_1(
    built: Callable[[Row], Path], tmp_path: Path
) -> None:
    good, text = built(ROWS[0]), tmp_path / "note\x1b[31m\u202e.txt"
    text.write_text("hello")
    result = run(text, good, tmp_path, good)
    assert result.exit_code == 1
    assert result.stdout.count("lazily for") == 2
    assert result.stderr.splitlines() == [
        f"fixturegen: {tmp_path}/note\\x1b[31m\\u202e.txt: not an ELF file",
        f"fixturegen: {tmp_path}: a directory, not an ELF file",
    ]


def test_json_holds_every_file_in_order(built: Callable[[Row], Path], tmp_path: Path) -> None:
    good = built(ROWS[0])
    result = run("--json", "-s", "random@GLIBC_2.2.5", "-s", "random", tmp_path / "none", good)
    assert (result.exit_code, result.stderr) == (1, "")
    failed, found = json.loads(result.stdout)
    missing = f"{tmp_path / 'none'}"
    assert failed == {
        "path": missing,
        "error": f"{missing}: cannot be read: No such file or directory",
    }
    assert found["path"] == str(good)
    assert found["readelf_lines"] == list(PIE)
    assert found["symbols"] == [
        {
            "symbol": "random",
            "relocation": SLOT,
            "table": "DT_JMPREL",
            "verdict": "lazy",
            "reason": "JUMP_SLOT in DT_JMPREL, no BIND_NOW, interpreter is glibc's",
        }
    ]
    everything = json.loads(run("--json", good).stdout)[0]["symbols"]
    assert "random" in [each["symbol"] for each in everything]


def test_without_a_symbol_it_counts_and_lists(built: Callable[[Row], Path]) -> None:
    result = run(built(ROWS[0]))
    assert result.exit_code == 0
    assert "  lazy         1 symbol: random\n" in result.stdout
    assert "  at start-up  " in result.stdout
    assert "__libc_start_main" in result.stdout


def test_the_block_reads_like_this(built: Callable[[Row], Path]) -> None:
    path = built(ROWS[0])
    facts = elf.read(path)
    count = len({each.symbol for each in facts.relocations})
    assert run("-s", "random", "-s", "nosuch", path).stdout.splitlines() == [
        str(path),
        "  linked       dynamic, PIE",
        f"  binding      lazily for 1 of {count} symbols: JUMP_SLOT in DT_JMPREL, no BIND_NOW, "
        "interpreter is glibc's",
        "  RELRO        partial",
        f"  interpreter  {facts.interpreter}",
        "  needs        libc.so.6",
        f"  build-id     {facts.build_id}",
        "  type         ELF64, DYN (Position-Independent Executable file)",
        "  machine      Advanced Micro Devices X86-64",
        f"  readelf -d   {PIE[0]}",
        "  random  R_X86_64_JUMP_SLOT  lazy    JUMP_SLOT in DT_JMPREL, no BIND_NOW, "
        "interpreter is glibc's",
        "  nosuch  -                   absent  no relocation names it, and the symbol table "
        "does not define it",
    ]


def test_a_fifo_and_devices_end_at_once_and_no_terminal_encoding_breaks_it(tmp_path: Path) -> None:
    fifo, odd = tmp_path / "fifo", tmp_path / "\u00e4\udcff"
    os.mkfifo(fifo)
    odd.write_text("")
    code = "from fixturegen.cli.inspect import command; command()"
    before = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, fifo, "/dev/zero", odd],
        capture_output=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert time.monotonic() - before < 30
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode("ascii").splitlines() == [
        f"fixturegen: {fifo}: a FIFO, not an ELF file",
        "fixturegen: /dev/zero: a character device, not an ELF file",
        f"fixturegen: {tmp_path}/\\xe4\\udcff: an empty file, not an ELF file",
    ]


def test_wrong_use_is_a_usage_error_and_help_teaches() -> None:
    assert run().exit_code == 2
    assert "fixturegen inspect -s random" in run("--help").output
