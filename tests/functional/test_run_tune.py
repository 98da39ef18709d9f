"""Rungs that need the machine's knobs: turned by the guardian for the rung alone, on fake machines.

The measured program is grep: it looks itself at what the knobs are while it runs.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import alone
import laid
import pytest
import tiny

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
import trees
from knobs import NO_TURBO, SMT, THP, governor, held, value
from trees import CPU, lay

pytestmark = pytest.mark.slow

NOBODY = 65534
IS_ROOT = os.geteuid() == 0
ALLOW = "tune:governor,smt,turbo,thp"
NAME = "small"

HEAD = """\
title = "Rungs, in small"

[[program]]
name = "look"
languages = ["system"]
command = "grep"
rounds = 2
order = "ladder"
exits = [0, 1]
metric.governor = { value = "governor.on[0]", unit = "count", optional = true }
metric.smt = { value = "smt.on[0]", unit = "count", optional = true }
metric.turbo = { value = "turbo.on[0]", unit = "count", optional = true }
metric.wall = { value = "process.wall_ns", unit = "ns" }
lines.governor = '.*/scaling_governor:(?P<on>[01])'
lines.smt = '.*/smt/control:(?P<on>[01])'
lines.turbo = '.*/no_turbo:(?P<on>[01])'
lines.none = '/dev/null:(?P<on>0)'
"""

MODE = """
[[program.mode]]
name = "{name}"
args = {args}
{keys}
"""

CLAIM = """
[[claim]]
text = "The governor is performance."
holds = "each(look.system.governor.governor == 1)"
"""

RUNGS = {
    "untuned": 'cpus = "all"',
    "governor": 'cpus = "all"\ntune = ["governor"]',
    "pinned": "",
    "performance": 'tune = ["governor"]',
    "smt-off": 'tune = ["governor", "smt"]',
    "turbo-off": 'tune = ["governor", "smt", "turbo"]',
    "untuned-again": 'cpus = "all"',
    "thp": 'tune = ["thp"]',
}
# What grep finds during each rung: performance, SMT off, turbo off.
SEEN = {
    "untuned": (0, 0, 0),
    "governor": (1, 0, 0),
    "pinned": (0, 0, 0),
    "performance": (1, 0, 0),
    "smt_off": (1, 1, 0),
    "turbo_off": (1, 1, 1),
    "untuned_again": (0, 0, 0),
    "thp": (0, 0, 0),
}


def toml(machine: Path, rungs: Mapping[str, str] = RUNGS, head: str = HEAD) -> str:
    names = (governor(0), SMT, NO_TURBO)
    there = [str(machine / name) for name in names if (machine / name).exists()]
    args = json.dumps(["-H", "-c", "-x", "-E", "performance|off|1", *there, "/dev/null"])
    modes = [MODE.format(name=name, args=args, keys=keys) for name, keys in rungs.items()]
    return head + "".join(modes)


class Ladder:
    """A project with one ladder, beside a folder that stands for a machine."""

    def __init__(self, base: Path, machine: Callable[[Path], Path] = knobs.intel) -> None:
        self.root = base / "project"
        self.machine = machine(base / "machine")
        self.sysfs = ("--sysfs", str(self.machine))
        self.lay()
        self.before = held(self.machine)

    def lay(self, **given: Any) -> None:
        text = toml(self.machine, **given)
        laid.put(
            self.root,
            {f"templates/{NAME}/fixture.toml": text + CLAIM * ('name = "governor"' in text)},
        )

    def run(self, *words: str, **given: Any) -> laid.Done:
        return laid.run(self.root, "run", *self.sysfs, "--label", "now", *words, **given)

    @property
    def folder(self) -> Path:
        return self.root / "fixtures" / NAME / "now"

    @property
    def context(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "context.json").read_text())
        return found

    @property
    def samples(self) -> list[dict[str, Any]]:
        with gzip.open(self.folder / "samples.jsonl.gz") as stream:
            return [json.loads(line) for line in stream]

    @property
    def text(self) -> str:
        return (self.folder / "report.txt").read_text()

    def seen(self) -> dict[str, set[tuple[int, ...]]]:
        found: dict[str, set[tuple[int, ...]]] = {}
        for each in self.samples:
            columns = tuple(each["lines"][name]["on"][0] for name in ("governor", "smt", "turbo"))
            found.setdefault(each["case"].rpartition(".")[2], set()).add(columns)
        return found

    def reason(self, mode: str) -> str:
        return str(self.context["unmeasured"].get(f"look.system.{mode}", ""))

    def as_it_was(self) -> None:
        """Wait for the guardian, then compare every file of the machine."""
        assert tiny.wait_until(lambda: held(self.machine) == self.before)
        assert tiny.wait_until(lambda: not (self.machine / knobs.JOURNAL).exists())


@pytest.fixture
def ladder(tmp_path: Path) -> Ladder:
    return Ladder(tmp_path)


# ------------------------------------------------------------------------------------ permissions


def test_without_permission_the_rungs_say_why_and_with_which_command(ladder: Ladder) -> None:
    done = ladder.run()
    assert done.code == 0, done.said
    sudo = "" if IS_ROOT else 'sudo env "PATH=$PATH" '
    run = f"{sudo}fixturegen run {NAME} --sysfs {ladder.machine} --allow tune:"
    asked = "the machine is changed only when asked, by root: "
    assert ladder.reason("governor") == f"{asked}{run}governor"
    assert ladder.reason("turbo_off") == f"{asked}{run}governor,smt,turbo"
    assert {s["case"].rpartition(".")[2] for s in ladder.samples} == {
        "untuned", "pinned", "untuned_again",
    }  # fmt: skip
    assert f"{run}governor" in done.err
    assert "undecided: The governor is performance." in ladder.text
    assert ladder.context["lacking"] == ["the knobs of a folder (--sysfs)"]
    assert held(ladder.machine) == ladder.before
    assert not (ladder.machine / "run").exists()


def test_without_permission_the_run_is_complete_and_becomes_the_text(tmp_path: Path) -> None:
    ladder = Ladder(tmp_path)
    done = laid.run(ladder.root, "run", "--label", "now")  # this machine, which is left alone
    assert done.code == 0, done.said
    assert ladder.context["lacking"] == []
    text = (ladder.root / "fixtures" / f"{NAME}.txt").read_text()
    assert "3 cases not measured" not in text and "--allow tune:governor" in text


def test_each_rung_has_its_knobs_from_its_first_process_to_its_last(ladder: Ladder) -> None:
    done = ladder.run("--allow", ALLOW)
    assert done.code == 0, done.said
    assert ladder.seen() == {mode: {seen} for mode, seen in SEEN.items()}
    assert [s["case"].rpartition(".")[2] for s in ladder.samples] == [
        mode for mode in SEEN for _ in range(2)
    ]
    assert ladder.context["unmeasured"] == {}
    assert "holds: The governor is performance." in ladder.text
    ladder.as_it_was()


def test_the_state_of_each_rung_was_read_back(ladder: Ladder) -> None:
    assert ladder.run("--allow", ALLOW).code == 0
    found = ladder.context["rungs"]["look"]
    assert set(found) == set(RUNGS)
    (reading,) = found["turbo-off"]
    assert reading["turned"] == ["governor", "turbo", "smt"]
    assert reading["before"] == reading["after"]
    shown = {knob: reading["after"][knob] for knob in reading["turned"]}
    assert shown == {"governor": "performance", "smt": "off", "turbo": "off"}
    (reading,) = found["untuned-again"]
    assert reading["turned"] == []
    shown = {knob: reading["before"][knob] for knob in ("governor", "smt", "turbo", "thp")}
    assert shown == {"governor": "powersave", "smt": "on", "turbo": "on", "thp": "madvise"}


def test_a_knob_is_turned_once_for_neighbours_and_smt_after_what_its_cpus_need(
    ladder: Ladder,
) -> None:
    writes = knobs.Writes(ladder.machine)
    assert ladder.run("--allow", ALLOW).code == 0
    order = [name for name in writes.take() if name in (governor(0), SMT, NO_TURBO, THP)]
    writes.close()
    assert order == [
        governor(0),  # alone,
        governor(0),  # and back for `pinned`;
        governor(0),  # for `performance` and the two after it
        SMT,  # (twice: and on again, so that turbo can be turned on every CPU)
        NO_TURBO,
        SMT,
        governor(0),
        NO_TURBO,
        THP,
    ]


def test_smt_is_never_implied(ladder: Ladder) -> None:
    done = ladder.run("--allow", "tune:governor,turbo")
    assert done.code == 0, done.said
    assert ladder.seen().keys() == {
        "untuned", "governor", "pinned", "performance", "untuned_again",
    }  # fmt: skip
    assert ladder.reason("smt_off").endswith("--allow tune:governor,turbo,smt")
    ladder.as_it_was()


def test_permissions_may_be_given_one_by_one(ladder: Ladder) -> None:
    assert ladder.run("--allow", "tune:governor", "--allow", "tune:smt").code == 0
    assert {"governor", "smt_off"} <= ladder.seen().keys()
    ladder.as_it_was()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("tune:nonsense", "there is no knob 'nonsense'"),
        ("tune:aslr", "--allow tune:aslr: none of the chosen fixtures asks for it"),
        ("tune:", "not known"),
        ("drop-caches", "none of the chosen fixtures asks for it"),
    ],
)
def test_a_permission_that_makes_no_sense(ladder: Ladder, what: str, said: str) -> None:
    done = ladder.run("--allow", what)
    assert done.code == 2 and said in done.err
    assert not (ladder.root / "build").exists()


def test_an_ordinary_user_is_told_the_command_and_the_run_is_complete(tmp_path: Path) -> None:
    if not IS_ROOT or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to start the command as another user")
    with open_to_all() as base:
        ladder = Ladder(base)
        done = as_user(ladder, "run", "--label", "now", "--allow", "tune:governor")
        assert done.code == 0, done.said
        command = f'sudo env "PATH=$PATH" fixturegen run {NAME} --allow tune:governor'
        assert command in ladder.reason("governor")
        assert ladder.context["lacking"] == []


# ----------------------------------------------------------------------------------- other machines


def only(*modes: str) -> dict[str, str]:
    return {name: RUNGS[name] for name in ("untuned", *modes)}


@pytest.mark.parametrize("machine", [knobs.acpi, knobs.amd, knobs.mixed, knobs.hybrid])
def test_other_machines(tmp_path: Path, machine: Callable[[Path], Path]) -> None:
    ladder = Ladder(tmp_path, machine)
    done = ladder.run("--allow", ALLOW)
    assert done.code == 0, done.said
    found = ladder.context["rungs"]["look"]
    assert found["governor"][0]["after"]["governor"] == "performance"
    if machine is knobs.acpi:
        assert "smt: the processor has none" in ladder.reason("smt_off")
        assert "smt" not in ladder.reason("performance")
    else:
        assert found["turbo-off"][0]["after"]["turbo"] == "off"
    ladder.as_it_was()


def test_a_virtual_machine_without_knobs_has_reasons_and_no_numbers(tmp_path: Path) -> None:
    ladder = Ladder(tmp_path, knobs.nothing)
    without = ladder.run()
    assert without.code == 0, without.said
    absent = "governor: no cpufreq directory (usual in a virtual machine)"
    assert ladder.reason("governor").endswith(
        f"--allow tune:governor (and cannot be here: {absent})"
    )
    shutil.rmtree(ladder.folder)
    done = ladder.run("--allow", ALLOW)
    assert done.code == 0, done.said
    for mode in ("governor", "performance", "smt_off", "turbo_off"):
        assert ladder.reason(mode).startswith("cannot be turned here: governor")
        assert "no cpufreq directory" in ladder.reason(mode)
    measured = {s["case"].rpartition(".")[2] for s in ladder.samples}
    assert measured <= {"untuned", "pinned", "untuned_again", "thp"}
    ladder.as_it_was()


def test_a_read_only_knob_is_named(ladder: Ladder) -> None:
    (ladder.machine / NO_TURBO).chmod(0o444)
    assert ladder.run("--allow", ALLOW).code == 0
    reason = f"cannot be turned here: turbo: /{NO_TURBO}: read-only"
    assert ladder.reason("turbo_off") == reason
    assert ladder.seen()["smt_off"] == {(1, 1, 0)}
    ladder.as_it_was()


def test_what_did_not_take_is_not_measured_and_the_rest_goes_on(ladder: Ladder) -> None:
    lay(ladder.machine, {f"{CPU}/smt/active": "1"})  # and stays so
    ladder.before = held(ladder.machine)
    done = ladder.run("--allow", ALLOW)
    assert done.code == 0, done.said
    for mode in ("smt_off", "turbo_off"):
        assert ladder.reason(mode).startswith("smt did not take: ")
        assert "threads still share cores" in ladder.reason(mode)
        assert mode not in ladder.seen()
    assert ladder.seen()["untuned_again"] == {(0, 0, 0)}
    assert "2 cases not measured: smt did not take" in done.err
    assert "2 cases not measured: smt did not take" in ladder.text
    ladder.as_it_was()


def test_each_class_of_cores_by_itself(tmp_path: Path) -> None:
    classes = {f"class-{n}": f'core = "class-{n}"' for n in range(3)}
    rungs = {"untuned": "", **classes, "isolated": 'core = "isolated"'}
    ladder = Ladder(tmp_path)
    ladder.lay(rungs=rungs)
    assert ladder.run().code == 0
    for number in range(3):
        expected = "no difference between the cores of this machine is seen"
        assert ladder.reason(f"class_{number}") == expected
    assert "isolated" in ladder.reason("isolated")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs to be of two classes")
    shutil.rmtree(ladder.folder)
    lay(
        ladder.machine,
        {"sys/devices/cpu_core/cpus": str(cpus[1]), "sys/devices/cpu_atom/cpus": str(cpus[0])},
        trees.cpus([str(c) for c in cpus], ",".join(map(str, cpus))),
    )
    assert ladder.run().code == 0
    placed = ladder.context["cpus"]
    assert (placed["look.class_0"], placed["look.class_1"]) == ([cpus[1]], [cpus[0]])
    assert ladder.reason("class_2") == "this machine has 2 classes of cores"


# ------------------------------------------------------------------------ others, and interruptions

SLOW = HEAD.replace('command = "grep"', 'command = "sleep"').replace("rounds = 2", "rounds = 40")


def slow(ladder: Ladder) -> None:
    text = SLOW + MODE.format(name="untuned", args='["0"]', keys="")
    text += MODE.format(name="tuned", args='["0.1"]', keys='tune = ["governor", "smt", "thp"]')
    laid.put(ladder.root, {f"templates/{NAME}/fixture.toml": text})


def start(
    ladder: Ladder,
    *words: str,
    env: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> subprocess.Popen[str]:
    options = ("--label", "now", *ladder.sysfs, "--allow", "tune:governor,smt,thp")
    return subprocess.Popen(
        [*before, sys.executable, "-m", "fixturegen", "run", *options, *words],
        cwd=ladder.root,
        stdin=subprocess.DEVNULL,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env or laid.environment(),
    )


def tuned(ladder: Ladder) -> bool:
    return value(ladder.machine, SMT) == "off"  # the last one to be turned


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_whichever_signal_ends_the_run(ladder: Ladder, name: str) -> None:
    slow(ladder)
    with tiny.ended_at_last(start(ladder)) as process:
        assert tiny.wait_until(lambda: tuned(ladder))
        assert value(ladder.machine, THP) == "always madvise [never]"
        process.send_signal(getattr(signal, name))
        process.wait(30)
        assert process.returncode == (-9 if name == "SIGKILL" else 130)
        ladder.as_it_was()


def test_a_reader_that_goes_away_ends_nothing_and_all_is_put_back(ladder: Ladder) -> None:
    with tiny.ended_at_last(start(ladder)) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        process.stderr.close()
        process.wait(60)
        process.stdout = process.stderr = None
    ladder.as_it_was()


def test_an_error_of_the_run_puts_everything_back(ladder: Ladder) -> None:
    slow(ladder)
    with tiny.ended_at_last(start(ladder)) as process:
        assert tiny.wait_until(lambda: tuned(ladder))
        runs = ladder.root / "build" / "runs"
        while runs.exists():  # the run writes there at the same time
            shutil.rmtree(runs, ignore_errors=True)
        done = tiny.finish(process)
    assert done.code == 74, done.said
    ladder.as_it_was()


def test_a_resumed_run_turns_its_knobs_again(ladder: Ladder) -> None:
    every = '["governor", "smt", "turbo", "thp"]'
    rungs = {"untuned": "", "tuned": f"tune = {every}", "last": ""}
    ladder.lay(rungs=rungs, head=HEAD.replace("rounds = 2", "rounds = 300"))
    with tiny.ended_at_last(start(ladder, "--allow", "tune:turbo")) as process:
        assert tiny.wait_until(lambda: tuned(ladder))
        process.kill()
    ladder.as_it_was()
    resumed = laid.run(
        ladder.root, "run", *ladder.sysfs, "--resume", "--allow", "tune:governor,smt,thp"
    )
    assert resumed.code == 2  # the words of --allow are another permission
    words = ("--allow", "tune:governor,smt,thp", "--allow", "tune:turbo")
    resumed = laid.run(ladder.root, "run", "--resume", *words)
    assert resumed.code == 2 and "differs from when it began" in resumed.err
    resumed = laid.run(ladder.root, "run", *ladder.sysfs, "--resume", *words)
    assert resumed.code == 0, resumed.said
    assert ladder.seen() == {"untuned": {(0, 0, 0)}, "tuned": {(1, 1, 1)}, "last": {(0, 0, 0)}}
    assert len(ladder.samples) == 900
    ladder.as_it_was()


def test_a_knob_changed_during_its_rung_makes_the_run_no_text(ladder: Ladder) -> None:
    slow(ladder)
    with tiny.ended_at_last(start(ladder, "--rounds", "5")) as process:
        assert tiny.wait_until(lambda: tuned(ladder))
        time.sleep(0.1)
        lay(ladder.machine, {governor(1): "schedutil"})
        done = tiny.finish(process)
    assert done.code == 0, done.said
    words = "governor was changed during look tuned: performance, then performance x3, schedutil"
    assert any(words in reason for reason in ladder.context["lacking"]), ladder.context["lacking"]
    assert "left as it is: someone else set it to schedutil" in done.err
    assert value(ladder.machine, governor(1)) == "schedutil"
    assert value(ladder.machine, governor(0)) == "powersave"


def test_knobs_that_are_turned_already_are_another_s(ladder: Ladder) -> None:
    assert laid.run(ladder.root, "tune", "apply", "thp", *ladder.sysfs).code == 0
    done = ladder.run("--allow", ALLOW)
    assert done.code == 7 and "knobs are turned already" in done.err
    assert not (ladder.root / "build" / "runs").exists()


# -------------------------------------------------------------------------------------- under sudo


@pytest.fixture
def outside() -> Iterator[Path]:
    with open_to_all() as base:
        yield base


class open_to_all:  # noqa: N801 - used as a function
    """A folder that every user can reach, unlike pytest's."""

    def __enter__(self) -> Path:
        self.path = Path(tempfile.mkdtemp(prefix="fixturegen-"))
        self.path.chmod(0o755)
        return self.path

    def __exit__(self, *args: object) -> None:
        shutil.rmtree(self.path)


def give(path: Path) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, NOBODY, NOBODY)


def as_user(ladder: Ladder, *words: str) -> laid.Done:
    """Start the command as a user who is not root from the beginning."""
    give(ladder.root)
    reads = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
    ids = ("--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
    done = subprocess.run(
        ["setpriv", *ids, *reads, sys.executable, "-B", "-m", "fixturegen", *words],
        cwd=ladder.root,
        env=laid.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return laid.Done(done.returncode, done.stdout, done.stderr)


SUDO = {
    "SUDO_UID": str(NOBODY),
    "SUDO_GID": str(NOBODY),
    "PYTHONDONTWRITEBYTECODE": "1",
}


def reading_all() -> list[str]:
    """Return the words in front of a command that let it read root's Python as any user.

    It keeps that and what it needs to become another user; nothing else of root's rights.
    """
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    keep = "-all,+setuid,+setgid,+dac_read_search"
    return ["setpriv", "--securebits", "+no_setuid_fixup", "--bounding-set", keep]


def as_root_of_sudo(root: Path, *words: str) -> laid.Done:
    """Start the command as sudo would for the user nobody."""
    done = subprocess.run(
        [*reading_all(), sys.executable, "-m", "fixturegen", *words],
        cwd=root,
        env=laid.environment(SUDO),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return laid.Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(not IS_ROOT, reason="needs root to become another user")
def test_under_sudo_only_the_helper_stays_root(outside: Path) -> None:
    ladder = Ladder(outside)
    give(ladder.root)
    for name in (governor(0), SMT, NO_TURBO):
        (ladder.machine / name).chmod(0o644)  # root's alone
    done = as_root_of_sudo(ladder.root, "run", "--label", "now", *ladder.sysfs, "--allow", ALLOW)
    assert done.code == 0, done.said
    assert ladder.seen() == {mode: {seen} for mode, seen in SEEN.items()}
    owners = {path.stat().st_uid for path in (ladder.root, *ladder.root.rglob("*"))}
    assert owners == {NOBODY}
    ladder.as_it_was()


@pytest.mark.skipif(not IS_ROOT, reason="needs root to become another user")
def test_under_sudo_a_killed_run_is_put_back(outside: Path) -> None:
    ladder = Ladder(outside)
    slow(ladder)
    give(ladder.root)
    begun = start(ladder, env=laid.environment(SUDO), before=reading_all())
    with tiny.ended_at_last(begun) as process:
        assert tiny.wait_until(lambda: tuned(ladder))
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert f"Uid:\t{NOBODY}\t{NOBODY}\t{NOBODY}" in status
        process.kill()
    ladder.as_it_was()


@pytest.mark.skipif(not IS_ROOT, reason="needs root to become another user")
def test_a_user_who_cannot_read_root_s_python_is_told(outside: Path) -> None:
    library = Path(os.__file__).parent
    if all(folder.stat().st_mode & 0o005 == 0o005 for folder in library.parents):
        pytest.skip("needs a Python that only root can read")
    ladder = Ladder(outside)
    give(ladder.root)
    done = ladder.run("--allow", ALLOW, extra=SUDO)
    assert done.code == 2 and "cannot read the Python" in done.err
    assert not (ladder.root / "build").exists()
    ladder.as_it_was()


@pytest.mark.skipif(not IS_ROOT, reason="needs root and what only it may drop")
def test_under_sudo_the_page_cache_is_dropped_by_the_helper(outside: Path) -> None:
    if not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        pytest.skip("needs a /proc/sys/vm/drop_caches that can be written")
    text = HEAD + MODE.format(
        name="cold", args='["-H", "-c", "x", "/dev/null"]',
        keys='prepare = ["drop-caches"]\nallow = "drop-caches"',
    )  # fmt: skip
    root = laid.put(outside / "project", {f"templates/{NAME}/fixture.toml": text})
    give(root)
    with alone.page_cache():
        done = as_root_of_sudo(root, "run", "--label", "now", "--allow", "drop-caches")
    assert done.code == 0, done.said
    context = json.loads((root / "fixtures" / NAME / "now" / "context.json").read_text())
    assert context["unmeasured"] == {} and context["lacking"] == []
    assert {path.stat().st_uid for path in root.rglob("*")} == {NOBODY}
