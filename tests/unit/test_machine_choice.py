"""Which CPU is measured on, which are left for Python, and what disturbs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fixturegen import machine
from fixturegen.machine import Choice, Machine

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import trees
from trees import CPU, lay


def pick(root: Path, allowed: set[int], count: int = 1) -> Choice:
    return machine.pick_cpus(machine.describe(root), frozenset(allowed), count)


def test_not_the_core_of_cpu_0(tmp_path: Path) -> None:
    choice = pick(trees.intel_pstate(tmp_path), {0, 1, 2, 3})  # 2 is CPU 0's sibling
    assert choice.cpus == (1,)
    assert choice.others == (0, 2)  # not 3, the sibling of the measured one
    assert "not on CPU 0's core" in choice.reason
    assert "the other thread of the core (CPU 3) is not used by fixturegen" in choice.reason


def test_two_cpus_are_two_cores(tmp_path: Path) -> None:
    choice = pick(trees.intel_pstate(tmp_path), {0, 1, 2, 3}, 2)
    assert choice.cpus == (1, 0)
    assert "cores of their own" in choice.reason


def test_two_threads_of_one_core_are_said(tmp_path: Path) -> None:
    choice = pick(trees.intel_pstate(tmp_path), {1, 3}, 2)
    assert choice.cpus == (1, 3)
    assert choice.others == ()
    assert "on a shared core" in choice.reason
    assert "all CPUs allowed, shared with Python" in choice.reason


def test_python_on_the_sibling_is_said(tmp_path: Path) -> None:
    choice = pick(trees.intel_pstate(tmp_path), {1, 3})
    assert (choice.cpus, choice.others) == ((1,), (3,))
    assert "Python runs on the other thread of the same core (CPU 3)" in choice.reason


def test_the_fast_class_comes_before_cpu_0s_absence(tmp_path: Path) -> None:
    root = trees.hybrid_intel(tmp_path)
    assert pick(root, {0, 1, 2, 3, 4, 5}).cpus == (2,)
    choice = pick(root, {0, 4, 5})
    assert choice.cpus == (0,)
    assert "the fastest class of cores (performance)" in choice.reason
    slow = pick(root, {4, 5})
    assert slow.cpus == (4,)
    assert "a slower class of cores, no faster one (efficiency) is allowed" in slow.reason


def test_two_fast_cores_before_a_slow_one(tmp_path: Path) -> None:
    assert pick(trees.hybrid_intel(tmp_path), {0, 1, 2, 3, 4, 5}, 2).cpus == (2, 0)
    assert pick(trees.big_little(tmp_path / "arm"), {0, 1, 4, 5}, 2).cpus == (4, 5)
    assert "different speed" in pick(trees.hybrid_intel(tmp_path), {2, 4}, 2).reason


def test_isolated_cpus_come_first_and_python_stays_off_them(tmp_path: Path) -> None:
    root = lay(trees.hybrid_intel(tmp_path), {f"{CPU}/isolated": "3,5"})
    choice = pick(root, {0, 1, 2, 3, 4, 5})
    assert choice.cpus == (3,)
    assert choice.others == (0, 1, 4)
    assert "isolated from the scheduler" in choice.reason


def test_two_threads_stay_in_one_package(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        trees.cpus(["0", "1", "2", "3"], "0-3"),
        {f"{CPU}/cpu{n}/topology/physical_package_id": str(n % 2) for n in range(4)},
    )
    assert pick(root, {0, 1, 2, 3}, 2).cpus == (1, 3)


def test_one_cpu_allowed_is_shared(tmp_path: Path) -> None:
    choice = pick(trees.intel_pstate(tmp_path), {2}, 2)
    assert (choice.cpus, choice.others) == ((2,), ())
    assert choice.reason.startswith("2 CPUs wanted, 1 allowed; the only CPU allowed, shared")


def test_all_of_many_cpus(tmp_path: Path) -> None:
    root = lay(tmp_path, {f"{CPU}/online": "0-1023"})
    found = machine.describe(root)
    everything = frozenset(range(1024))
    assert set(machine.pick_cpus(found, everything, 1024).cpus) == everything
    assert len(set(machine.pick_cpus(found, everything, 100).cpus)) == 100


@pytest.mark.parametrize(("allowed", "count"), [(set(), 1), ({0, 1}, 0)])
def test_nothing_to_choose(allowed: set[int], count: int) -> None:
    choice = machine.pick_cpus(Machine(), frozenset(allowed), count)
    assert choice.cpus == ()
    assert choice.reason


def test_a_machine_that_says_nothing_still_gives_a_cpu() -> None:
    choice = machine.pick_cpus(Machine(), frozenset({0, 7}), 1)
    assert (choice.cpus, choice.others) == ((7,), (0,))


def test_many_device_interrupts_are_told_and_not_obeyed(tmp_path: Path) -> None:
    table = (
        "           CPU0       CPU1\n 24:  12  90000  IO-APIC  4-edge  ttyS0\n"
        "LOC:  999999  5  Local timer interrupts\n"
    )
    root = lay(tmp_path, trees.cpus(["0", "1"], "0-1"), {"proc/interrupts": table})
    choice = pick(root, {0, 1})
    assert choice.cpus == (1,)
    assert "CPU 1 took 90000 device interrupts since boot, CPU 0 12" in choice.reason


def test_a_quiet_machine_has_no_disturbance(tmp_path: Path) -> None:
    assert machine.disturbances(trees.intel_pstate(tmp_path)) == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"proc/loadavg": "3.10 1.00 1.00 2/200 3"}, "load average is 3.10 on 4 CPUs"),
        ({"proc/stat": "cpu  50 0 0 9000 0 0 0 500 0 0"}, "took 5% of the CPU time"),
        (
            {
                "sys/class/power_supply/BAT0/type": "Battery",
                "sys/class/power_supply/BAT0/status": "Discharging",
            },
            "runs on battery",
        ),
        ({f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "7"}, "heat up to 7 times"),
        ({"proc/77/comm": "fixturegen-lnch", "proc/9/comm": "fixturegen-lnch"}, "process 9, 77"),
    ],
)
def test_each_disturbance_is_one_sentence(tmp_path: Path, files: trees.Files, words: str) -> None:
    found = machine.disturbances(lay(trees.intel_pstate(tmp_path), files))
    assert len(found) == 1
    assert words in found[0]


def test_a_launcher_of_this_process_is_its_own(tmp_path: Path) -> None:
    launcher = tmp_path / "fixturegen-lnch"
    launcher.symlink_to(shutil.which("sleep") or "sleep")
    child = subprocess.Popen([launcher, "60"])
    try:
        deadline = time.monotonic() + 10  # exec closes Popen's pipe before it sets the name
        while Path(f"/proc/{child.pid}/comm").read_text() != "fixturegen-lnch\n":
            assert time.monotonic() < deadline
        assert str(child.pid) not in " ".join(machine.disturbances())
        asked = "from fixturegen import machine; print(machine.disturbances())"
        other = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True)
        assert str(child.pid) in other.stdout.decode()
    finally:
        child.kill()
        child.wait()


def test_what_looks_like_a_disturbance_and_is_none(tmp_path: Path) -> None:
    root = lay(
        trees.intel_pstate(tmp_path),
        {
            "proc/77/comm": "fixturegen-lnch",
            "proc/78/comm": "fixturegen",
            "sys/class/power_supply/mouse/type": "Battery",
            "sys/class/power_supply/mouse/scope": "Device",
            "sys/class/power_supply/mouse/status": "Discharging",
            f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "0",
            "proc/loadavg": "3.10 1.00 1.00 1/200 3",  # a build that has ended
        },
    )
    assert machine.disturbances(root, exclude_pid=77) == []
