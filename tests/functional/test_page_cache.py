"""page-cache: its programs as a reader runs them, and what the runner does around a process."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import alone
import laid
import pytest
from laid import Done
from measured import Programs
from tiny import folder_of_tools

from fixturegen.fixture.project import Project
from fixturegen.instruments.evict_file import evict
from fixturegen.instruments.made import make_files
from fixturegen.instruments.strace_count import StraceCount
from fixturegen.machine import storage

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAME = "page-cache"
LANGUAGES = ("c", "rust")
PROGRAMS = ("walk", "read_file", "read_mapped", "large")
WARNINGS = ("-std=c11", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
READING = re.compile(
    r"(\d+) bytes, checksum (\d+)\nreading: (\d+) ns, (\d+) major and (\d+) minor page faults\n"
)

needs_root = pytest.mark.skipif(
    not (IS_ROOT and os.access("/proc/sys/vm/drop_caches", os.W_OK)),
    reason="needs root and a /proc/sys/vm/drop_caches that can be written",
)
needs_strace = pytest.mark.skipif(
    StraceCount().refusal(ROOT) is not None, reason="needs a strace that may trace"
)


@pytest.fixture(autouse=True)
def alone_with_the_caches() -> Iterator[None]:
    with alone.page_cache():
        yield


def call(*command: str | Path, **given: Any) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    options: dict[str, Any] = {"capture_output": True, "timeout": 120, **given}
    return subprocess.run(words, text=True, check=False, **options)


def succeed(*command: str | Path, **given: Any) -> str:
    done = call(*command, **given)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def on_disk(path: Path) -> None:
    """Skip where files are in memory and nowhere else."""
    if storage.of(path).get("type") in storage.IN_MEMORY:
        pytest.skip(f"needs a temporary folder on a disk, not on {storage.of(path)['type']}")


# ------------------------------------------------------------------------ the programs, by hand


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of the binaries of each language, made as their first lines say."""
    base = tmp_path_factory.mktemp("programs")
    for language in LANGUAGES:
        ignored = shutil.ignore_patterns("out", "target")
        shutil.copytree(ROOT / language / NAME, base / language, ignore=ignored)
    succeed("make", "-C", base / "c")
    succeed("cargo", "build", "--release", "--offline", "--locked", cwd=base / "rust")
    return {"c": base / "c" / "out", "rust": base / "rust" / "target" / "release"}


@pytest.fixture(params=LANGUAGES)
def binary(request: pytest.FixtureRequest, built: dict[str, Path]) -> Callable[[str], Path]:
    return lambda name: built[request.param] / name


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with files, a link to a folder, an empty folder and odd names."""
    root = tmp_path / "tree"
    laid.put(root, {"a": "12345", "b/c": "67", "b/d/e f": "", "b/d/\u00fc": "x"})
    (root / "empty").mkdir()
    (root / "link").symlink_to("b")
    return root


def test_clippy_and_rustfmt_have_nothing_to_say(tmp_path: Path) -> None:
    if shutil.which("rustfmt") is None or shutil.which("cargo-clippy") is None:
        pytest.skip("needs rustfmt and clippy")
    for done in Programs(NAME, tmp_path).lint():
        assert done.returncode == 0, done.stdout + done.stderr


def entries_of(root: Path) -> list[Path]:
    return [root, *root.rglob("*")]


def test_walk_counts_what_is_there_and_follows_no_link(
    binary: Callable[[str], Path], tree: Path
) -> None:
    found = entries_of(tree)
    folders = [path for path in found if path.is_dir() and not path.is_symlink()]
    size = sum(path.lstat().st_size for path in found)
    expected = f"{len(found)} entries, {size} bytes\n{len(folders)} directories read, 0 refused\n"
    assert succeed(binary("walk"), tree) == expected


def test_walk_goes_on_where_it_may_not_read(binary: Callable[[str], Path], tree: Path) -> None:
    (tree / "b").chmod(0)
    prefix = ordinary() if IS_ROOT else ()
    open_to_all(tree)
    open_to_all(binary("walk"))
    said = succeed(*prefix, binary("walk"), tree)
    (tree / "b").chmod(0o755)
    assert "5 entries" in said and "2 directories read, 1 refused" in said


@pytest.mark.parametrize("program", ["read_file", "read_mapped"])
def test_both_readings_sum_the_same_bytes(
    binary: Callable[[str], Path], tmp_path: Path, program: str
) -> None:
    data = bytes(range(256)) * 700 + b"tail"
    path = tmp_path / "file"
    path.write_bytes(data)
    found = READING.fullmatch(succeed(binary(program), path))
    assert found and [int(found[1]), int(found[2])] == [len(data), sum(data)]


def test_reading_makes_no_fault_and_mapping_makes_some(
    binary: Callable[[str], Path], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(4 << 20))
    faults = {}
    for program in ("read_file", "read_mapped"):
        found = READING.fullmatch(succeed(binary(program), path))
        assert found
        faults[program] = (int(found[4]), int(found[5]))
    assert faults["read_file"] == (0, 0)
    assert faults["read_mapped"][0] == 0 and faults["read_mapped"][1] > 0


def test_an_evicted_file_arrives_through_major_faults_only_if_it_is_mapped(
    binary: Callable[[str], Path], tmp_path: Path
) -> None:
    on_disk(tmp_path)
    path = tmp_path / "file"
    path.write_bytes(bytes(8 << 20))
    for program, some in (("read_file", False), ("read_mapped", True)):
        size, resident = evict(path)
        assert (size, resident) == (8 << 20, 0)
        found = READING.fullmatch(succeed(binary(program), path))
        assert found and (int(found[4]) > 0) is some


def test_large_carries_its_table_and_looks_at_every_page(binary: Callable[[str], Path]) -> None:
    assert binary("large").stat().st_size > 8 << 20
    found = READING.fullmatch(succeed(binary("large")))
    assert found and (int(found[1]), int(found[2])) == ((8 << 20) // 4096, 1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_wrong_use_ends_with_100_and_the_usage(built: dict[str, Path], program: str) -> None:
    said = set()
    for folder in built.values():
        done = call(folder / program, "one", "two")
        assert (done.returncode, done.stdout) == (100, "")
        said.add(done.stderr)
    assert len(said) == 1 and said.pop().startswith(f"usage: {program}")


@pytest.mark.parametrize("program", PROGRAMS[:3])
def test_what_the_system_refuses_ends_with_111(
    built: dict[str, Path], tmp_path: Path, program: str
) -> None:
    for folder in built.values():
        done = call(folder / program, tmp_path / "absent")
        expected = f"{program}: fatal: {tmp_path}/absent: No such file or directory\n"
        assert (done.returncode, done.stdout, done.stderr) == (111, "", expected)


@pytest.mark.parametrize("program", PROGRAMS)
def test_output_that_does_not_arrive_ends_with_111(
    binary: Callable[[str], Path], tmp_path: Path, program: str
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    words = {"walk": [str(tmp_path)], "large": []}.get(program, [str(tmp_path / "file")])
    with Path("/dev/full").open("w", encoding="ascii") as full:
        done = call(binary(program), *words, capture_output=False, stdout=full, stderr=-1)
    expected = f"{program}: fatal: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (111, expected)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_has_no_warning(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    for program in PROGRAMS:
        succeed(compiler, *WARNINGS, "-o", tmp_path / program, ROOT / "c" / NAME / f"{program}.c")


def test_rust_is_formatted_and_programs_are_short() -> None:
    for language in LANGUAGES:
        for path in (ROOT / language / NAME).glob("*.[cr]*"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 150, path
    if shutil.which("rustfmt") is None:
        pytest.skip("needs rustfmt")
    sources = sorted((ROOT / "rust" / NAME).glob("*.rs"))
    succeed("rustfmt", "--edition", "2021", "--check", *sources)


# -------------------------------------------------------------------- a small project, really run

TOML = """\
title = "Caches, in small"
shared = ["measure", "reading"]

[[file]]
name = "data"
bytes = 3000001

[[program]]
name = "read_mapped"
languages = ["c"]
rounds = 2
order = "fixed"
lines.sum = '(?P<bytes>\\d+) bytes, checksum (?P<value>\\d+)'
lines.reading = 'reading: (?P<ns>\\d+) ns, (?P<major>\\d+) major and (?P<minor>\\d+) minor .*'
metric.major = { value = "reading.major[0]", unit = "faults" }
metric.bytes = { value = "sum.bytes[0]", unit = "count" }
metric.resident = { value = "sum(evict.resident)", unit = "bytes", modes = ["cold"] }
metric.grown = { value = "meminfo.cached[1] - meminfo.cached[0]", unit = "kB", modes = ["watched"] }
[[program.mode]]
name = "cold"
args = ["{file.data}"]
prepare = ["warm-program {file.data}", "evict-file {file.data}", "evict-file {self}"]
[[program.mode]]
name = "warm"
args = ["{file.data}"]
[[program.mode]]
name = "watched"
args = ["{file.data}"]
watch = ["meminfo"]

[[program]]
name = "walk"
languages = ["system"]
command = "find"
rounds = 1
order = "fixed"
output = "discard"
exits = [0, 1]
[program.metric.voluntary]
value = "process.voluntary_switches"
unit = "switches"
modes = ["cold", "warm"]
[program.metric.major]
value = "process.major_faults"
unit = "count"
modes = ["cold", "warm"]
[program.metric.calls]
value = "syscalls.total[0]"
unit = "count"
modes = ["counted,cold", "counted"]
[[program.mode]]
name = "cold"
args = ["/usr/share"]
prepare = ["drop-caches", "warm-program ."]
allow = "drop-caches"
[[program.mode]]
name = "warm"
args = ["/usr/share"]
[[program.mode]]
name = "counted,cold"
args = ["/usr/share"]
prepare = ["drop-caches"]
allow = "drop-caches"
wrapper = "strace-count"
[[program.mode]]
name = "counted"
args = ["/usr/share"]
wrapper = "strace-count"

[[program]]
name = "absent"
languages = ["system"]
command = "no-such-command"
rounds = 1
metric.wall = { value = "process.wall_ns", unit = "ns" }

[[claim]]
text = "A cold walk makes no major fault."
holds = "each(walk.system.cold.major == 0)"

[[claim]]
text = "The calls are the same."
holds = "walk.system.counted_cold.calls == walk.system.counted.calls"

[[claim]]
text = "It is a thousand times slower."
holds = "walk.system.warm.voluntary > 1000000"
otherwise = "some machines are quick"
"""

NEAR = TOML.replace('args = ["/usr/share"]', 'args = ["."]')  # where no walk is looked at


def project(root: Path, toml: str = TOML) -> Path:
    sources = {
        f"templates/small/{name}.c.j2": (ROOT / "templates" / NAME / f"{name}.c.j2").read_bytes()
        for name in ("read_mapped",)
    }
    return laid.put(root, {**sources, "templates/small/fixture.toml": toml})


def context_of(root: Path, run: str = "now") -> dict[str, Any]:
    text = (root / "fixtures" / "small" / run / "context.json").read_text(encoding="ascii")
    found: dict[str, Any] = json.loads(text)
    return found


def samples_of(root: Path, run: str = "now") -> list[dict[str, Any]]:
    path = root / "fixtures" / "small" / run / "samples.jsonl.gz"
    with gzip.open(path) as stream:
        return [json.loads(line) for line in stream]


def ordinary() -> Sequence[str]:
    """Return the words in front of a command that make it an ordinary user's.

    It may still read what root's Python reads from, and may write nothing of root's.
    """
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    ids = ("--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
    return ("setpriv", *ids)


def open_to_all(path: Path) -> None:
    """Let every user reach `path`."""
    for folder in path.parents:
        if folder != Path("/") and folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o055)


def run_as_nobody(root: Path, *words: str) -> Done:
    """Run the command as an ordinary user, who owns the project."""
    prefix: Sequence[str] = ()
    if IS_ROOT:
        open_to_all(root)
        succeed("chown", "-R", f"{NOBODY}:{NOBODY}", root)
        reads = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
        prefix = (*ordinary(), *reads, "env", "PYTHONDONTWRITEBYTECODE=1")
    done = call(
        *prefix, sys.executable, "-m", "fixturegen", *words, cwd=root, env=laid.environment()
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def unasked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A project, and a run of it that was allowed nothing."""
    root = project(tmp_path_factory.mktemp("unasked"))
    on_disk(root)
    return root, laid.run(root, "run", "--label", "now")


def test_without_permission_the_rest_is_complete_and_becomes_the_text(
    unasked: tuple[Path, Done],
) -> None:
    root, done = unasked
    assert done.code == 0, done.said
    context = context_of(root)
    assert context["lacking"] == [] and context["skipped"] == {}
    assert (root / "fixtures" / "small.txt").is_file()
    measured = {sample["case"] for sample in samples_of(root)}
    assert "walk.system.warm" in measured and "read_mapped.c.cold" in measured
    assert not measured & set(context["unmeasured"])


def test_what_is_not_measured_says_why_and_with_which_command(unasked: tuple[Path, Done]) -> None:
    root, done = unasked
    absent = context_of(root)["unmeasured"]
    command = "fixturegen run small --allow drop-caches"
    for case in ("walk.system.cold", "walk.system.counted_cold"):
        assert "emptied only when asked, by root: " in absent[case]
        assert absent[case].endswith(command)
        assert absent[case].endswith(f'sudo env "PATH=$PATH" {command}') is not IS_ROOT
    assert command in done.err
    reason = "no-such-command is not on PATH (Debian: no-such-command)"
    assert absent["absent.system.plain"] == reason
    text = (root / "fixtures" / "small.txt").read_text(encoding="utf-8")
    assert f"cases not measured: {absent['walk.system.cold']}" in text and reason in text


def test_a_claim_on_what_is_not_measured_is_undecided_with_the_reason(
    unasked: tuple[Path, Done],
) -> None:
    root, _ = unasked
    text = (root / "fixtures" / "small.txt").read_text(encoding="utf-8")
    part = text[text.index("undecided: A cold walk makes no major fault.") :][:500]
    assert "not measured: the caches of the machine are emptied only when" in part


def test_a_claim_that_a_machine_need_not_show_is_undecided(unasked: tuple[Path, Done]) -> None:
    root, _ = unasked
    text = (root / "fixtures" / "small.txt").read_text(encoding="utf-8")
    assert "undecided: It is a thousand times slower." in text
    assert "    some machines are quick\n" in text
    assert laid.run(root, "check").code == 0
    assert "DOES NOT HOLD" not in text


def test_the_evicted_file_was_evicted_and_arrived_through_faults(
    unasked: tuple[Path, Done],
) -> None:
    root, _ = unasked
    cold = [s for s in samples_of(root) if s["case"] == "read_mapped.c.cold"]
    size = (root / "build/small/bin/read_mapped-c-default").stat().st_size
    for sample in cold:
        assert sample["lines"]["evict"]["bytes"] == [3000001, size]
        assert sample["lines"]["evict"]["resident"] == [0, 0]
        assert sample["lines"]["reading"]["major"][0] > 0
    warm = [s for s in samples_of(root) if s["case"] == "read_mapped.c.warm"]
    assert [s["lines"]["reading"]["major"] for s in warm] == [[0], [0]]


def test_the_fixed_order_holds_and_each_sample_knows_what_ran_before(
    unasked: tuple[Path, Done],
) -> None:
    root, _ = unasked
    samples = samples_of(root)
    own = [s["case"] for s in samples if s["case"].startswith("read_mapped")]
    assert own == [f"read_mapped.c.{mode}" for mode in ("cold", "warm", "watched")] * 2
    assert [s["after"] for s in samples] == ["", *(s["case"] for s in samples[:-1])]
    assert [s["position"] for s in samples] == list(range(len(samples)))


def test_meminfo_is_read_before_and_after(unasked: tuple[Path, Done]) -> None:
    root, _ = unasked
    for sample in samples_of(root):
        if sample["case"] == "read_mapped.c.watched":
            columns = sample["lines"]["meminfo"]
            assert set(columns) == {"buffers", "cached", "reclaimable"}
            assert all(len(entries) == 2 for entries in columns.values())
            assert min(columns["cached"]) > 0


@needs_strace
def test_system_calls_are_columns_by_name(unasked: tuple[Path, Done]) -> None:
    root, _ = unasked
    (sample,) = [s for s in samples_of(root) if s["case"] == "walk.system.counted"]
    counts = {name: entries[0] for name, entries in sample["lines"]["syscalls"].items()}
    assert counts["execve"] == 1 and counts["getdents64"] >= 2
    assert counts.pop("total") == sum(counts.values())


def test_the_made_file_is_the_same_everywhere_and_made_once(unasked: tuple[Path, Done]) -> None:
    root, _ = unasked
    path = root / "build/small/files/data"
    facts = {"bytes": 3000001, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert context_of(root)["files"] == {"data": facts}
    # The first bytes of SHAKE-128 over `fixturegen/data/0`: another stream is another fixture.
    assert path.read_bytes()[:8].hex() == hashlib.shake_128(b"fixturegen/data/0").hexdigest(8)
    fixture = Project(root).load("small")
    before = path.stat().st_mtime_ns
    make_files(fixture, path.parent)
    assert path.stat().st_mtime_ns == before
    path.write_bytes(b"damaged")
    make_files(fixture, path.parent)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == facts["sha256"]


def test_the_storage_is_named_without_a_path_of_ours(unasked: tuple[Path, Done]) -> None:
    root, _ = unasked
    found = context_of(root)["storage"]
    assert set(found) == {"/usr/share", "build"}
    assert str(root) not in json.dumps(found)
    assert " on " in found["/usr/share"]


@needs_root
@needs_strace
def test_with_permission_the_cold_walk_waits_and_asks_the_same(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    on_disk(root)
    done = laid.run(root, "run", "--label", "now", "--allow", "drop-caches")
    assert done.code == 0, done.said
    assert set(context_of(root)["unmeasured"]) == {"absent.system.plain"}
    usage = {s["case"]: s["usage"] for s in samples_of(root) if s["case"].startswith("walk")}
    cold, warm = usage["walk.system.cold"], usage["walk.system.warm"]
    assert cold["block_input"] > 0 == warm["block_input"]
    assert cold["voluntary_switches"] > 10 * warm["voluntary_switches"]
    assert cold["major_faults"] == warm["major_faults"] == 0
    calls = {s["case"]: s["lines"].get("syscalls") for s in samples_of(root)}
    assert calls["walk.system.counted_cold"] == calls["walk.system.counted"]
    text = (root / "fixtures" / "small.txt").read_text(encoding="utf-8")
    assert "holds: A cold walk makes no major fault." in text
    assert "repeat     fixturegen run small --allow drop-caches" in text


def test_an_ordinary_user_is_told_the_command_and_never_sudo_is_called(tmp_path: Path) -> None:
    root = project(tmp_path / "project", NEAR)
    on_disk(root)
    tools = tmp_path / "tools"
    laid.put(tools, {"sudo": "#!/bin/sh\ntouch $(dirname $0)/called\n"})
    (tools / "sudo").chmod(0o755)
    done = run_as_nobody(root, "run", "--label", "now", "--allow", "drop-caches")
    assert done.code == 0, done.said
    context = context_of(root)
    command = 'needs root: sudo env "PATH=$PATH" fixturegen run small --allow drop-caches'
    assert context["unmeasured"]["walk.system.cold"] == command
    assert context["lacking"] == []
    cold = [s for s in samples_of(root) if s["case"] == "read_mapped.c.cold"]
    assert [s["lines"]["evict"]["resident"] for s in cold] == [[0, 0], [0, 0]]
    assert not (tools / "called").exists()


def test_tools_that_are_not_there_are_named_with_their_package(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    tools = folder_of_tools(tmp_path / "tools", ["gcc", "as", "ld", "cc", "collect2"])
    done = laid.run(root, "run", "--label", "now", extra={"PATH": str(tools)})
    assert done.code == 0, done.said
    context = context_of(root)
    absent = context["unmeasured"]
    assert absent["walk.system.warm"] == "find is not on PATH (Debian: findutils)"
    assert context["lacking"] == [] and "system" not in context["toolchain"]
    assert {s["case"].split(".")[0] for s in samples_of(root)} == {"read_mapped"}


# Does what strace does, but for the table: under any locale but C it has decimal commas.
STRACE = """\
#!/bin/sh
[ "$1" = -V ] && exit
while [ "$1" != -- ]; do [ "$1" = -o ] && table=$2; shift; done
shift
"$@" || exit
printf '%s\\n' '% time     seconds  usecs/call     calls    errors syscall' \
  '------ ----------- ----------- --------- --------- --------' \
  '100,00    0,000001           1         1           execve' \
  '------ ----------- ----------- --------- --------- --------' \
  '100,00    0,000001           1         1           total' > $table
"""


def test_a_wrapper_whose_output_cannot_be_read_fails_the_sample(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    tools = folder_of_tools(tmp_path / "tools", ["gcc", "as", "ld", "cc", "find", "sh"])
    laid.put(tools, {"strace": STRACE})
    (tools / "strace").chmod(0o755)
    done = laid.run(root, "run", "--label", "now", extra={"PATH": str(tools)})
    assert done.code == 5, done.said
    (sample,) = [s for s in samples_of(root) if s["case"] == "walk.system.counted"]
    assert sample["status"] == "unread"
    assert sample["detail"].startswith(
        "wrapper strace-count: strace's table has the line '100,00    0,000001 "
    )


def test_strace_that_is_not_there_is_named_with_its_package(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    tools = folder_of_tools(tmp_path / "tools", ["gcc", "as", "ld", "cc", "find"])
    done = laid.run(root, "run", "--label", "now", extra={"PATH": str(tools)})
    assert done.code == 0, done.said
    absent = context_of(root)["unmeasured"]
    assert absent["walk.system.counted"] == "strace is not on PATH (Debian: strace)"
    assert "walk.system.warm" not in absent


def test_an_exit_code_that_is_declared_is_a_success_and_another_is_not(tmp_path: Path) -> None:
    toml = TOML.replace('args = ["/usr/share"]', 'args = ["nowhere"]')
    root = project(tmp_path / "project", toml)
    assert laid.run(root, "run", "--label", "now").code == 0
    (sample,) = [s for s in samples_of(root) if s["case"] == "walk.system.warm"]
    assert sample["status"] == "ok" and sample["detail"].startswith("exit code 1; stderr: ")
    root = project(tmp_path / "other", toml.replace("exits = [0, 1]", "exits = [0]"))
    done = laid.run(root, "run", "--label", "now")
    assert done.code == 5 and "exit code 1" in done.err


def test_a_preparation_that_is_refused_starts_nothing(tmp_path: Path) -> None:
    toml = NEAR.replace(
        'prepare = ["warm-program {file.data}", ', 'prepare = ["evict-file /no/such/file", '
    )
    root = project(tmp_path / "project", toml)
    done = laid.run(root, "run", "--label", "now")
    assert done.code == 5
    assert "prepare evict-file: No such file or directory" in done.err
    bad = [s for s in samples_of(root) if s["case"] == "read_mapped.c.cold"]
    assert {s["status"] for s in bad} == {"unstarted"}
    assert {s["usage"]["wall_ns"] for s in bad} == {0}
    assert context_of(root)["lacking"] == ["2 failed samples"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--allow", "anything"), "--allow anything: not known"),
        (("--allow", "tune:governor"), "none of the chosen fixtures asks for it"),
    ],
)
def test_a_permission_that_nobody_asks_for_is_wrong_usage(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = laid.call(project(tmp_path), "run", *words)
    assert done.code == 2 and said in done.err
    assert not (tmp_path / "build").exists()


def test_resuming_does_to_the_machine_only_what_is_said_again(
    unasked: tuple[Path, Done], tmp_path: Path
) -> None:
    assert unasked[1].code == 0
    root = shutil.copytree(unasked[0], tmp_path / "copy", symlinks=True)
    folder = root / "build/runs/small/cut"
    shutil.copytree(root / "fixtures/small/now", folder)
    context = json.loads((folder / "context.json").read_text(encoding="ascii"))
    del context["samples"], context["lacking"], context["digest"]
    context |= {"run": "cut", "asked": {**context["asked"], "allow": ["drop-caches"]}}
    (folder / "context.json").write_text(json.dumps(context), encoding="ascii")
    (folder / "samples.jsonl").write_bytes(b"")
    done = laid.run(root, "run", "--resume", "--label", "cut")
    assert done.code == 2
    assert "fixturegen run small --resume --allow drop-caches" in done.err


# --------------------------------------------------------------------------------- the real fixture


def test_the_fixture_is_complete_without_permission_but_for_the_cold_walks(tmp_path: Path) -> None:
    on_disk(tmp_path)
    shutil.copytree(ROOT / "templates" / NAME, tmp_path / "templates" / NAME)
    done = laid.run(tmp_path, "run", "--rounds", "1", "--label", "now", timeout_s=300)
    assert done.code in (0, 5) and "failed samples" not in done.err, done.said
    assert done.code == 0
    text = (tmp_path / "fixtures" / NAME / "now" / "report.txt").read_text(encoding="utf-8")
    assert "DOES NOT HOLD" not in text
    said = " ".join(text.split())
    for claim in (
        "A file that is not in memory arrives through major page faults if it is mapped.",
        "One that is read with read() makes none, cold or warm.",
        "The first start of a large binary makes major page faults, the next one none.",
        "However the file is read, and in which language, its bytes are the same.",
    ):
        assert re.search(f"holds(?: for C and Rust)?: {re.escape(claim)}", said), claim
    assert re.search(r"^    (sudo .*)?fixturegen run page-cache .*--allow drop-caches$", text, re.M)
    assert "/root" not in text and str(tmp_path) not in text
    assert re.search(r"run 1, cold +not measured", text)
