"""What programs inherit and could not be reset is recorded, and what is unusual of it named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from fixturegen.machine import Unknown, disturbances
from fixturegen.machine.inherited import Inherited, differing, inherited, unusual
from tests.machines.trees import Files, lay

STAT = "7 (a) b) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 {nice} 1 0 5 9 9 18446744073709551615" + (
    " 0" * 15 + " {policy} 0 0 0"
)
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              {cpu:<20} unlimited            seconds
Max stack size            {stack:<20} unlimited            bytes
Max address space         {space:<20} unlimited            bytes
Max open files            {files:<20} 1048576              files
"""
STATUS = """\
Name:\ta
Seccomp:\t{seccomp}
THP_enabled:\t{thp}
Cpus_allowed_list:\t0-3
Mems_allowed_list:\t0
"""
FRESH: dict[str, object] = {
    "nice": 0, "policy": 0, "cpu": "unlimited", "stack": 8388608, "space": "unlimited",
    "files": 1024, "seccomp": 0, "thp": 1,
}  # fmt: skip


def tree(
    root: Path, extra: Mapping[str, str | bytes] = MappingProxyType({}), **changes: object
) -> Path:
    values = FRESH | changes
    return lay(
        root,
        {
            "proc/7/stat": STAT.format(**values),
            "proc/7/limits": LIMITS.format(**values),
            "proc/7/status": STATUS.format(**values),
            "proc/7/personality": "00040000",
            "proc/7/numa_maps": "00400000 default file=/a mapped=2\n7ff default",
            "proc/self/cgroup": "0::/a/b",
            "sys/fs/cgroup/a/memory.max": "max",
        },
        dict(extra),
    )


def test_all_that_a_fresh_login_has_is_recorded_and_not_named(tmp_path: Path) -> None:
    found = inherited(7, tree(tmp_path))
    assert (found.nice, found.policy, found.personality) == (0, "OTHER", "00040000")
    assert found.limits == {
        "stack size": "8388608", "cpu time": "unlimited", "address space": "unlimited",
        "open files": "1024",
    }  # fmt: skip
    assert (found.cpus, found.nodes, found.seccomp, found.thp) == ("0-3", "0", "0", "1")
    assert (found.memory_policy, found.memory_limit, found.preloaded) == ("default", "none", "")
    assert unusual(found, 8 << 30) == []


@pytest.mark.parametrize(
    ("changes", "extra", "said"),
    [
        ({"nice": 10}, {}, "nice 10, which may not be reset"),
        ({"nice": -5}, {}, "nice -5"),
        ({"policy": 3}, {}, "SCHED_BATCH"),
        ({"policy": 99}, {}, "SCHED_99"),
        ({}, {"proc/7/personality": "00240000"}, "personality 00240000"),
        ({"stack": "unlimited"}, {}, "stack size of programs is limited to unlimited, which lays"),
        ({"stack": 4194304}, {}, "limited to 4 MiB, which lays out addresses otherwise"),
        ({"space": 1000000000}, {}, "the address space of programs is limited to 1000000000 bytes"),
        ({"cpu": 60}, {}, "the cpu time of programs is limited to 60 seconds"),
        ({"files": 256}, {}, "open files of programs are limited to 256"),
        ({"seccomp": 2}, {}, "a seccomp filter"),
        ({"thp": 0}, {}, "huge pages are switched off"),
        ({}, {"proc/7/numa_maps": "00400000 bind:0 file=/a"}, "NUMA policy says where memory of"),
        ({}, {"sys/fs/cgroup/a/memory.max": "536870912"}, "to 512 MiB"),
        ({}, {"sys/fs/cgroup/a/b/memory.high": "536870912"}, "to 512 MiB"),
        (
            {},
            {
                "proc/self/cgroup": "4:memory:/a",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
                "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "536870912",
            },
            "to 512 MiB",
        ),
        ({}, {"etc/ld.so.preload": "/lib/a.so\n/lib/b.so"}, "program: /lib/a.so /lib/b.so"),
    ],
)
def test_what_is_otherwise_is_named(
    tmp_path: Path, changes: dict[str, object], extra: Files, said: str
) -> None:
    (sentence,) = unusual(inherited(7, tree(tmp_path, extra, **changes)), 8 << 30)
    assert said in sentence


def test_what_cannot_be_read_says_why_and_is_no_finding(tmp_path: Path) -> None:
    found = inherited(7, lay(tmp_path, {"proc/7/status": "Name:\ta"}))
    assert found.nice == Unknown("no /proc/7/stat")
    assert found.seccomp == Unknown("no Seccomp in /proc/7/status")
    assert found.memory_limit == Unknown("no /proc/self/cgroup")
    assert unusual(found, Unknown("not told")) == []


def test_a_limit_above_the_machine_s_own_memory_is_none(tmp_path: Path) -> None:
    found = inherited(7, tree(tmp_path, {"sys/fs/cgroup/a/memory.max": str(16 << 30)}))
    assert found.memory_limit == str(16 << 30)
    assert unusual(found, 8 << 30) == []


def test_a_resumption_elsewhere_names_what_differs(tmp_path: Path) -> None:
    before = inherited(7, tree(tmp_path))
    now = inherited(7, tree(tmp_path, {"proc/7/numa_maps": ""}, nice=5, stack=1 << 20))
    assert differing(before, now) == ["nice", "limits"]
    assert differing(Inherited(), before) == ["limits"]


def test_a_cpu_quota_is_a_disturbance(tmp_path: Path) -> None:
    (sentence,) = disturbances(tree(tmp_path, {"sys/fs/cgroup/a/cpu.max": "50000 100000"}))
    assert sentence.startswith("a CPU quota pauses programs: 0.50 CPUs")
