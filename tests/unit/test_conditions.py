"""What a mode wants around its process: the words of fixture.toml, strace's table, mounts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fixturegen import errors
from fixturegen.fixture import load as load_fixture
from fixturegen.instruments import registry
from fixturegen.instruments.instrument import UnreadError, joined
from fixturegen.instruments.made import stream
from fixturegen.instruments.strace_count import StraceCount, parse_counts
from fixturegen.languages import LANGUAGES
from fixturegen.launcher import Start, environment
from fixturegen.machine import storage
from fixturegen.model import Fixture
from fixturegen.runs.unmeasured import Place, unmeasured
from tests import recorded
from tests.recorded import fixture

TOML = """\
title = "Around"
params = { one = 1 }
[[file]]
name = "data"
bytes = 10
[[program]]
name = "seek"
languages = ["system"]
command = "find"
metric.one = { value = "params.one", unit = "count" }
METRIC
[[program.mode]]
name = "one"
MODE
"""


def loaded(mode: str = "", metric: str = "", toml: str = TOML) -> Fixture:
    text = toml.replace("MODE", mode).replace("METRIC", metric)
    return load_fixture(text.encode(), "around", "fixture.toml", LANGUAGES)


MODES = {
    'prepare = ["evict-fil {file.data}"]': ("prepare = 'evict-fil': unknown name", "evict-file"),
    'prepare = ["evict-file"]': ("evict-file takes PATH", ""),
    'prepare = ["evict-file a b"]': ("evict-file takes PATH", ""),
    'prepare = ["evict-file {file.dat}"]': ("names no binary: {file.dat}", "file.data"),
    'prepare = ["drop-caches now"]\nallow = "drop-caches"': ("takes nothing more", ""),
    'prepare = ["drop-caches"]': ("drop-caches must be allowed", 'allow = "drop-caches"'),
    'allow = "everything"': ("expected drop-caches", ""),
    'watch = ["meminf"]': ("watch = 'meminf': unknown name", "meminfo"),
    'watch = ["meminfo "]': ("watch = 'meminfo ': unknown name", "meminfo"),
    'watch = ["strace-count"]': ("watch = 'strace-count': unknown name", ""),
    'prepare = [" "]': ("prepare = '': unknown name", ""),
    'wrapper = "strace"': ("strace-count", ""),
    'args = ["{file.dat}"]': ("names no binary: {file.dat}", "file.data"),
    'args = ["{self}"]': ("names no binary: {self}", ""),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_condition_that_is_wrong_is_named_with_what_is_right(mode: str) -> None:
    with pytest.raises(errors.SpecError) as caught:
        loaded(mode)
    said = f"{caught.value.what} {caught.value.hint}"
    what, hint = MODES[mode]
    assert what in said and hint in said and "seek" in said


METRICS = {
    "meminfo.cached[0]": 'watch = ["meminfo"]',
    "evict.resident[0]": 'prepare = ["evict-file {file.data}"]',
    "syscalls.getdents64[0]": 'wrapper = "strace-count"',
}


@pytest.mark.parametrize("value", METRICS)
def test_a_metric_may_name_only_what_all_of_its_modes_give(value: str) -> None:
    metric = f'metric.x = {{ value = "{value}", unit = "count" }}'
    assert loaded(METRICS[value], metric).program("seek").metrics["x"].value == value
    with pytest.raises(errors.SpecError, match=r"metric\.x"):
        loaded("", metric)
    other = '\n[[program.mode]]\nname = "two"'
    with pytest.raises(errors.SpecError, match=r"metric\.x"):
        loaded(METRICS[value] + other, metric)
    loaded(METRICS[value] + other, metric.replace(" }", ', modes = ["one"] }'))


WALL = 'metric.wall = { value = "process.wall_ns / 2", unit = "ns" }'


@pytest.mark.parametrize("wrapper", registry.at("wrapper"))
def test_what_a_wrapper_adds_to_the_accounting_is_no_metric_of_the_program(wrapper: str) -> None:
    loaded('prepare = ["warm-program"]\nwatch = ["meminfo"]', WALL)
    mode = f'wrapper = "{wrapper}"'
    with pytest.raises(errors.SpecError) as caught:
        loaded(mode, WALL)
    assert "metric.wall: process.wall_ns of the mode 'one' is also that of" in caught.value.what
    assert wrapper in caught.value.what and "without a wrapper" in caught.value.hint
    with pytest.raises(errors.SpecError) as caught:
        loaded(f'{mode}\n[[program.mode]]\nname = "two"\n[[program.mode]]\nname = "three"', WALL)
    assert caught.value.hint == 'give the metric modes = ["two", "three"]'
    only = WALL.replace(" }", ', modes = ["two"] }')
    loaded(f'{mode}\n[[program.mode]]\nname = "two"', only)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('command = "find"\n', "", "command"),
        ('["system"]', '["c"]', "command"),
        ('["system"]', '["system", "c"]', "cannot be combined"),
        ('command = "find"', 'command = "/bin/find"', "the name of a program on PATH"),
        ('command = "find"', 'command = "find"\nlines.evict = "x"', "name is taken"),
        ('command = "find"', 'command = "find"\nexits = []', "must not be empty"),
        ('command = "find"', 'command = "find"\nexits = [256]', "exits"),
        ("bytes = 10", "bytes = -1", "bytes"),
    ],
)
def test_a_system_program_is_checked(old: str, new: str, what: str) -> None:
    assert old in TOML
    with pytest.raises(errors.SpecError) as caught:
        loaded(toml=TOML.replace(old, new))
    assert what in f"{caught.value.what} {caught.value.hint}"


# ---------------------------------------------------------------- what cannot be measured, and why


def place(**given: object) -> Place:
    values: dict[str, object] = {
        "allowed": (), "again": "fixturegen run around", "build": Path("/nonexistent"),
        "root": False,
    }  # fmt: skip
    return Place(**{**values, **given})  # type: ignore[arg-type]


FOUND = {"seek.system": Path("/usr/bin/find")}


def reason(mode: str, where: Place, found: dict[str, Path] = FOUND) -> str:
    return unmeasured(loaded(mode), ["system"], found, where).get("seek.system.one", "")


def test_a_case_that_needs_nothing_is_measured() -> None:
    assert reason("", place()) == ""


def test_reasons_name_the_package_the_file_and_the_command() -> None:
    dropping = 'prepare = ["drop-caches"]\nallow = "drop-caches"'
    command = "fixturegen run around --allow drop-caches"
    assert reason("", place(), {}) == "find is not on PATH (Debian: findutils)"
    absent = "/no/such/folder"
    assert reason(f'args = ["{absent}"]', place()) == f"there is no {absent} on this machine"
    unasked = reason(dropping, place())
    assert unasked.endswith(f': sudo env "PATH=$PATH" {command}')
    assert reason(dropping, place(root=True)).endswith(f"by root: {command}")
    asked = reason(dropping, place(allowed=("drop-caches",)))
    assert asked == f'needs root: sudo env "PATH=$PATH" {command}'


REFUSED = "#!/bin/sh\necho 'Operation not permitted' >&2\nexit 1\n"


def test_what_an_instrument_needs_is_named_and_root_where_it_would_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    where = place(build=tmp_path / "build")
    assert reason('wrapper = "strace-count"', where) == "strace is not on PATH (Debian: strace)"
    assert reason('wrapper = "perf-stat"', where).startswith("perf is not on PATH (Debian: linux")
    for tool in ("strace", "perf"):
        (tmp_path / tool).write_text(REFUSED)
        (tmp_path / tool).chmod(0o755)
    refused = "strace is refused here: Operation not permitted"
    assert reason('wrapper = "strace-count"', where) == refused
    for wrapper in ("perf-stat", "perf-stat-cpu", "perf-record"):
        refused = "perf fails here: Operation not permitted"
        command = f'{refused}: sudo env "PATH=$PATH" fixturegen run around --as-root'
        assert reason(f'wrapper = "{wrapper}"', where) == command  # sudo alone would not be root
        assert reason(f'wrapper = "{wrapper}"', place(root=True)) == refused


def test_a_language_that_is_left_out_is_no_matter_of_this() -> None:
    assert unmeasured(loaded(), [], {}, place()) == {}


# -------------------------------------------------------------------------------- claims, in words

CLAIM = recorded.TOML.replace(
    'holds = "loop.c.natural.iter1 > 2 * loop.c.natural.steady"',
    'holds = "loop.c.natural.iter1 > 2000 * loop.c.natural.steady"\notherwise = "a quick machine"',
)


def test_a_claim_that_a_machine_need_not_show_is_undecided_and_says_why() -> None:
    from fixturegen.runs.summary import Summary, failing

    of = fixture(CLAIM)
    results = Summary(of, of.params).add_all(recorded.samples()).claims()
    assert (results[0].verdict.state, results[0].verdict.reason) == ("undecided", "a quick machine")
    assert failing(results, strict=True) == []


# ---------------------------------------------------------------------------------- strace's table

TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 55.20    0.081472          12      6522           getdents64
  5.86    0.008646           2      3306        15 openat
  0.00    0.000000           0         1           execve
  0.00    0.000000                     2           exit_group
------ ----------- ----------- --------- --------- ----------------
100.00    0.147582           3      9831        15 total
"""


def test_counts_are_read_by_name_and_summed() -> None:
    assert parse_counts(TABLE) == {
        "execve": [1], "exit_group": [2], "getdents64": [6522], "openat": [3306], "total": [9831],
    }  # fmt: skip


def test_a_row_without_a_mean_has_its_calls_and_not_its_errors() -> None:
    text = TABLE.replace(
        "           2      3306        15 openat", "                  3306        15 openat"
    )
    assert parse_counts(text) == parse_counts(TABLE) and text != TABLE


def test_older_tables_without_a_mean_in_the_total_are_the_same() -> None:
    older = TABLE.replace("0.147582           3", "0.147582            ")
    assert parse_counts(older) == parse_counts(TABLE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "strace: nothing\n",
        TABLE.replace(".", ","),  # a locale with decimal commas
        TABLE.replace(" 5.86", " 5,86"),
        TABLE[: TABLE.index("  0.00")],  # cut short
        TABLE.replace("9831", "9832"),
        "System call usage summary for 64 bit mode:\n" + TABLE,
        TABLE.splitlines()[0] + "\n",
    ],
)
def test_a_table_that_cannot_be_read_is_no_zero(text: str) -> None:
    with pytest.raises(UnreadError, match="strace's table"):
        parse_counts(text)


@pytest.mark.skipif(StraceCount().refusal(Path("/")) is not None, reason="needs a strace that may")
def test_strace_runs_under_c_and_the_program_under_what_its_mode_says(tmp_path: Path) -> None:
    env = environment({"LC_ALL": "de_DE.utf8", "ODD": "a=b c", "EMPTY": ""})
    start = Start("/bin/sh", ("-c", 'echo "$LC_ALL,$ODD,${EMPTY-unset}"'), env, "/", 9, ())
    wrapped = StraceCount().wrap(start, tmp_path / "table")
    assert wrapped.env == environment({})
    done = subprocess.run(
        [wrapped.program, *wrapped.args], env=wrapped.env, capture_output=True, check=True
    )
    assert done.stdout == b"de_DE.utf8,a=b c,\n"
    assert parse_counts((tmp_path / "table").read_text())["execve"] == [1]


def test_watches_are_joined_before_first() -> None:
    before = {"meminfo": {"cached": [1], "buffers": [2]}}
    after = {"meminfo": {"cached": [3], "buffers": [4]}}
    both = {"meminfo": {"cached": [1, 3], "buffers": [2, 4]}, "counted": {"cycles": []}}
    assert joined([before, {"counted": {"cycles": []}}, after]) == both  # type: ignore[list-item]
    assert joined([{}, {}]) == {}


# -------------------------------------------------------------------------------------- made files


def test_the_stream_of_a_file_is_fixed_and_depends_on_its_name() -> None:
    whole = b"".join(stream("data", (2 << 20) + 5))
    assert len(whole) == (2 << 20) + 5
    # Written down, not computed: SHAKE-128 of `fixturegen/data/0` and `fixturegen/data/2`.
    assert whole[:8].hex() == "b79142bd4ccc6e9e"
    assert whole[-5:].hex() == "e809fdd06f"
    assert b"".join(stream("other", 8)) != whole[:8]
    assert list(stream("data", 0)) == []


# ------------------------------------------------------------------------------------------- mounts

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /tmp rw - tmpfs tmpfs rw
24 22 259:2 / /data\\040disk rw shared:1 - xfs /dev/nvme0n1p2 rw
25 22 0:31 /@ /btrfs rw - btrfs /dev/sdb1 rw
26 24 8:1 / /data\\040disk/deeper rw - ext4 /dev/sda1 rw
garbage
"""
LINKS = {
    "sys/dev/block/254:0": "../../devices/pci0000:00/0000:00:01.0/virtio0/block/vda",
    "sys/dev/block/259:2": "../../devices/pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/nvme0n1p2",
    "sys/dev/block/8:1": "../../devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1",
    "sys/class/block/sdb1": "../../devices/pci0000:00/ata2/block/sdb/sdb1",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS, encoding="ascii")
    for name, target in LINKS.items():
        link = tmp_path / name
        link.parent.mkdir(parents=True, exist_ok=True)
        (link.parent / target).mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    for disk, turning in (("sda", "1"), ("sdb", "0")):
        queue = tmp_path / "sys/class/block" / disk / "queue"
        queue.mkdir(parents=True)
        (queue / "rotational").write_text(f"{turning}\n", encoding="ascii")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/usr/share", "ext4 on vda, a virtual disk: its host may cache it"),
        ("/tmp/x", "tmpfs on no device, not a block device"),
        ("/tmpfile", "ext4 on vda, a virtual disk: its host may cache it"),
        ("/data disk/x", "xfs on nvme0n1p2, NVMe"),
        ("/data disk/deeper/x", "ext4 on sda1, a rotating disk"),
        ("/btrfs/x", "btrfs on sdb1, a disk without moving parts"),
    ],
)
def test_the_nearest_mount_is_named_with_what_is_behind_it(
    machine: Path, path: str, words: str
) -> None:
    assert storage.line(storage.of(Path(path), machine)) == words


def test_a_machine_that_says_nothing_is_unknown(tmp_path: Path) -> None:
    assert storage.line(storage.of(Path("/"), tmp_path)) == "unknown"
