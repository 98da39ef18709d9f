"""What is read from the files of machines that are not here."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import msgspec
import pytest

from fixturegen import machine
from fixturegen.errors import DataError
from fixturegen.machine import Machine, Unknown
from fixturegen.machine.tree import Tree
from fixturegen.runs import context

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import trees
from trees import CPU, lay


def told(root: Path) -> dict[str, str]:
    return dict(machine.report_lines(machine.describe(root)))


def line(root: Path) -> str:
    return machine.one_line(machine.describe(root))


def test_a_laptop_under_intel_pstate(tmp_path: Path) -> None:
    found = machine.describe(trees.intel_pstate(tmp_path))
    assert (found.logical_cpus, found.cores, found.packages, found.threads_per_core) == (4, 2, 1, 2)
    assert found.cpu_family == 6
    assert found.cpu_model_number == 151
    assert found.microcode == "0x2e"
    assert found.last_level_cache_bytes == 8 << 20
    assert found.memory_bytes == 32594564 * 1024
    assert found.page_bytes == 4096
    assert found.thp == "madvise"
    assert found.virtualisation == "none"
    assert found.cpu_quota == "none"
    assert found.counters == ("cpu",)
    assert found.load_average == ("0.10", "0.20", "0.30")
    assert line(tmp_path) == (
        "Intel Core i5-8250U, 4 CPUs, 8 MiB L3, Linux 6.8.0, governor powersave"
    )
    assert told(tmp_path)["governor"] == (
        "powersave, driver intel_pstate, 800 MHz to 3400 MHz, preference balance_performance"
    )
    assert told(tmp_path)["caches"] == (
        "L1d 32 KiB x2 shared by 2, L1i 32 KiB x2 shared by 2, L3 8 MiB shared by 4"
    )


@pytest.mark.parametrize(("no_turbo", "turbo"), [("0", "on"), ("1", "off")])
def test_no_turbo_of_intel_pstate_is_inverted(tmp_path: Path, no_turbo: str, turbo: str) -> None:
    found = machine.describe(trees.intel_pstate(tmp_path, no_turbo))
    assert found.turbo == turbo
    assert found.turbo_source == f"{CPU}/intel_pstate/no_turbo"


@pytest.mark.parametrize(("boost", "turbo"), [("1", "on"), ("0", "off")])
def test_boost_of_acpi_cpufreq(tmp_path: Path, boost: str, turbo: str) -> None:
    root = lay(
        tmp_path,
        trees.policy(0, "ondemand", "acpi-cpufreq", 3000000),
        {f"{CPU}/online": "0", f"{CPU}/cpufreq/boost": boost},
    )
    assert machine.describe(root).turbo == turbo


@pytest.mark.parametrize(
    ("each", "turbo"), [(("1", "1"), "on"), (("0", "0"), "off"), (("1", "0"), "mixed")]
)
@pytest.mark.parametrize("place", ["cpufreq/policy{}/boost", "cpu{}/cpufreq/boost"])
def test_boost_of_each_policy_or_cpu_under_amd_pstate(
    tmp_path: Path, each: tuple[str, str], turbo: str, place: str
) -> None:
    root = lay(
        tmp_path,
        {f"{CPU}/online": "0-1"},
        *(trees.policy(n, "performance", "amd-pstate-epp", 5000000) for n in (0, 1)),
        {f"{CPU}/{place.format(n)}": each[n] for n in (0, 1)},
    )
    assert machine.describe(root).turbo == turbo


def test_a_global_boost_switched_off_wins_over_the_policies(tmp_path: Path) -> None:
    root = lay(tmp_path, {f"{CPU}/cpufreq/boost": "0", f"{CPU}/cpufreq/policy0/boost": "1"})
    assert machine.describe(root).turbo == "off"


def test_mixed_governors_are_said(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        trees.x86("Some CPU"),
        {f"{CPU}/online": "0-1"},
        trees.policy(0, "performance", "acpi-cpufreq", 3000000),
        trees.policy(1, "powersave", "acpi-cpufreq", 3000000),
    )
    assert "mixed governors performance and powersave" in line(root)
    assert told(root)["governor"].startswith("mixed: performance x1, powersave x1, driver acpi")


def test_hybrid_intel_cores(tmp_path: Path) -> None:
    found = machine.describe(trees.hybrid_intel(tmp_path))
    assert [(c.name, c.cpus) for c in found.classes] == [
        ("performance", (0, 1, 2, 3)),
        ("efficiency", (4, 5)),
    ]
    assert found.cores == 4
    assert found.counters == ("cpu_atom", "cpu_core")


def test_big_and_little_arm_cores_have_names_and_capacities(tmp_path: Path) -> None:
    found = machine.describe(trees.big_little(tmp_path))
    assert found.cpu_model == "Arm Cortex-A55 + Arm Cortex-A76"
    assert found.cpu_vendor == "Arm"
    assert [(c.name, c.cpus) for c in found.classes] == [
        ("capacity 1024", (4, 5)),
        ("capacity 382", (0, 1, 2, 3)),
    ]
    assert isinstance(found.packages, Unknown)
    assert isinstance(found.virtualisation, Unknown)
    assert "NOT tsc" not in told(tmp_path)["clock source"]


def test_an_arm_core_without_a_known_name_keeps_its_numbers(tmp_path: Path) -> None:
    assert machine.describe(lay(tmp_path, trees.arm("0xfff"))).cpu_model == "Arm part 0xfff"


def test_favoured_cores_are_no_class_of_their_own(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        trees.cpus(["0", "1", "2"], "0-2"),
        *(
            trees.policy(n, "powersave", "intel_pstate", khz)
            for n, khz in enumerate((5500000, 5800000, 5500000))
        ),
    )
    assert machine.describe(root).classes == ()
    lay(root, trees.policy(2, "powersave", "intel_pstate", 4300000))
    classes = machine.describe(root).classes
    assert [c.cpus for c in classes] == [(0, 1), (2,)]


def test_offline_siblings_do_not_count(tmp_path: Path) -> None:
    root = lay(
        tmp_path, trees.cpus(["0,2", "1"], "0-1", offline="2-3"), {f"{CPU}/smt/control": "off"}
    )
    found = machine.describe(root)
    assert (found.cores, found.threads_per_core, found.offline) == (2, 1, (2, 3))
    assert "offline 2-3" in told(root)["CPUs"]


def test_a_guest_that_shows_nothing_is_unknown_and_never_ok(tmp_path: Path) -> None:
    found = machine.describe(trees.small_guest(tmp_path))
    assert found.virtualisation == "KVM guest"
    assert isinstance(found.caches, Unknown)
    assert found.caches.unknown.startswith("no cache folder under the CPUs")
    assert line(tmp_path) == (
        "Intel Xeon, 1 CPU, caches unknown, Linux, KVM guest, governor unknown (no cpufreq)"
    )
    lines = told(tmp_path)
    for label in ("governor", "turbo", "SMT", "ASLR", "memory", "NUMA", "CPU quota"):
        assert lines[label].startswith("unknown: "), label
    assert lines["governor"] == "unknown: no cpufreq directory (usual in a virtual machine)"
    assert "NOT tsc" in lines["clock source"]


def test_an_empty_root_says_why_for_everything(tmp_path: Path) -> None:
    found = machine.describe(tmp_path)
    values = [getattr(found, name) for name in found.__struct_fields__]
    assert [v for v in values if not isinstance(v, Unknown) and v not in ((), "")] == []
    assert all(v.unknown for v in values if isinstance(v, Unknown))
    assert machine.disturbances(tmp_path) == []
    assert line(tmp_path).startswith("unknown processor")


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"sys/hypervisor/type": "xen"}, "Xen guest"),
        ({"sys/class/dmi/id/sys_vendor": "QEMU"}, "QEMU guest"),
        ({"sys/class/dmi/id/sys_vendor": "VMware, Inc."}, "VMware guest"),
        ({"sys/class/dmi/id/sys_vendor": "Dell Inc."}, "guest"),
    ],
)
def test_the_hypervisor_by_its_words(tmp_path: Path, files: trees.Files, kind: str) -> None:
    root = lay(tmp_path, trees.x86("CPU", "tsc hypervisor"), files)
    assert machine.describe(root).virtualisation == kind


def test_bare_metal_of_a_cloud_is_no_guest(tmp_path: Path) -> None:
    root = lay(tmp_path, trees.x86("CPU"), {"sys/class/dmi/id/sys_vendor": "Amazon EC2"})
    assert machine.describe(root).virtualisation == "none"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        (
            {
                "proc/self/cgroup": "0::/a/b",
                "sys/fs/cgroup/a/cpu.max": "50000 100000",
                "sys/fs/cgroup/a/b/cpu.max": "max 100000",
            },
            "50000 100000",
        ),
        (
            {
                "proc/self/cgroup": "0::/a/b",
                "sys/fs/cgroup/a/cpu.max": "300000 100000",
                "sys/fs/cgroup/a/b/cpu.max": "20000 10000",
            },
            "20000 10000",
        ),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/a",
                "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "150000",
                "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
            },
            "150000 100000",
        ),
        (
            {
                "proc/self/cgroup": "4:cpu:/",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            "none",
        ),
    ],
)
def test_the_tightest_cgroup_quota(tmp_path: Path, files: trees.Files, quota: str) -> None:
    assert machine.describe(lay(tmp_path, files)).cpu_quota == quota


@pytest.mark.parametrize("cgroup", ["0::/../../other", "0::/a", "garbage", "1:name=systemd:/"])
def test_a_quota_that_cannot_be_seen_is_unknown(tmp_path: Path, cgroup: str) -> None:
    root = lay(tmp_path, {"proc/self/cgroup": cgroup})
    assert isinstance(machine.describe(root).cpu_quota, Unknown)


def test_multi_size_huge_pages(tmp_path: Path) -> None:
    folder = "sys/kernel/mm/transparent_hugepage"
    root = lay(
        tmp_path,
        {
            f"{folder}/enabled": "always [madvise] never",
            f"{folder}/shmem_enabled": "[never]",
            f"{folder}/hugepages-8kB/shmem_enabled": "[never]",
            f"{folder}/hugepages-64kB/enabled": "[always] inherit madvise never",
            f"{folder}/hugepages-2048kB/enabled": "always [inherit] madvise never",
        },
    )
    found = machine.describe(root)
    assert [(size.kib, size.enabled) for size in found.folio_sizes] == [
        (64, "always"),
        (2048, "inherit"),
    ]
    assert told(root)["huge pages"] == "madvise; shmem never; mTHP 64 KiB always"


def test_json_goes_there_and_back_and_is_plain(tmp_path: Path) -> None:
    for number, make in enumerate((trees.intel_pstate, trees.big_little, trees.small_guest)):
        found = machine.describe(make(tmp_path / str(number)))
        text = json.dumps(msgspec.to_builtins(found))
        assert context.read(text.encode(), Machine, "x") == found


def test_an_older_context_lacks_facts_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    plain = msgspec.to_builtins(machine.describe(trees.intel_pstate(tmp_path)))
    del plain["turbo"]
    plain["colour"] = "blue"
    assert isinstance(context.convert(plain, Machine, "x").turbo, Unknown)
    plain["online"] = "0-3"
    with pytest.raises(DataError, match=r"^x: online: expected "):
        context.convert(plain, Machine, "x")


def test_the_text_is_plain_and_names_no_place(tmp_path: Path) -> None:
    found = machine.describe(trees.intel_pstate(tmp_path))
    texts = [machine.one_line(found), *(f"{a} {b}" for a, b in machine.report_lines(found))]
    assert all(text.isascii() and text.isprintable() for text in texts)
    assert str(tmp_path) not in json.dumps(msgspec.to_builtins(found)) + "".join(texts)


def test_a_context_from_a_stranger_cannot_paint_the_terminal(tmp_path: Path) -> None:
    plain = msgspec.to_builtins(machine.describe(trees.intel_pstate(tmp_path)))
    plain["cpu_model"] = plain["os"] = "\x1b[31m red\n\u202e\ud800"
    found = context.convert(plain, Machine, "x")
    texts = [machine.one_line(found), *(value for _, value in machine.report_lines(found))]
    assert all(text.isascii() and text.isprintable() for text in texts)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("AMD EPYC 7742 64-Core Processor", "AMD EPYC 7742"),
        ("AMD Ryzen 9 5900X 12-Core Processor", "AMD Ryzen 9 5900X"),
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "Intel Xeon Platinum 8375C"),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Intel Xeon CPU E5-2680 v4"),
        ("Processor", "Processor"),
    ],
)
def test_a_processors_name_without_trade_marks(tmp_path: Path, name: str, short: str) -> None:
    assert line(lay(tmp_path, trees.x86(name))).split(",")[0] == short


def test_a_frequency_limit_below_the_hardwares_is_said(tmp_path: Path) -> None:
    root = lay(
        trees.intel_pstate(tmp_path),
        {f"{CPU}/cpufreq/policy{n}/scaling_max_freq": "1600000" for n in range(4)},
    )
    assert "800 MHz to 1600 MHz (the hardware allows 3400 MHz)" in told(root)["governor"]


def test_threads_per_core_without_a_switch_for_smt(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path)
    (root / CPU / "smt/control").unlink()
    assert told(root)["SMT"] == "2 threads per core online; the kernel has no switch for it"


GARBAGE = [
    b"",
    b"\n",
    b"\x00\xff\xfe",
    b"\xd9\xa3",
    b"0-99999999999",
    b"-",
    b"5-2",
    b"1,,2",
    b"1_000",
    b"9" * 5000,
    b"nan",
    b"[",
    b"[]",
    b"cpu",
    b"\x1b[31mred",
    "\u202ebidi".encode(),
    b"x" * 70000,
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_in_every_file_is_survived(tmp_path: Path, garbage: bytes) -> None:
    root = trees.intel_pstate(tmp_path)
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        path.write_bytes(garbage)
    found = machine.describe(root)
    assert context.convert(msgspec.to_builtins(found), Machine, "x") == found
    assert all(b.isascii() and b.isprintable() for b in told(root).values())
    assert line(root).isprintable()
    machine.disturbances(root)


def test_one_damaged_file_at_a_time_is_survived(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path)
    chance = random.Random(5)
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        whole = path.read_bytes()
        data = bytearray(whole)
        data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randrange(1, len(data) + 1)])
        assert line(root).isascii()
        path.write_bytes(whole)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file; EIO stands in below")
def test_a_file_without_permission_says_so(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path)
    (root / CPU / "smt/control").chmod(0)
    assert machine.describe(root).smt == Unknown(f"/{CPU}/smt/control is not readable by this user")


def test_folders_loops_and_pipes_where_files_should_be(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path)
    kernel = root / "proc/sys/kernel"
    for name in ("osrelease", "version", "nmi_watchdog"):
        (kernel / name).unlink()
    (kernel / "osrelease").mkdir()
    os.mkfifo(kernel / "version")  # opening it for reading would wait for ever
    (kernel / "nmi_watchdog").symlink_to("nmi_watchdog")
    (kernel / "randomize_va_space").unlink()
    (kernel / "randomize_va_space").symlink_to("/proc/self/mem")  # below `root` there is none
    found = machine.describe(root)
    assert found.kernel_release == Unknown("/proc/sys/kernel/osrelease cannot be read (EINVAL)")
    assert found.kernel_version == Unknown("/proc/sys/kernel/version cannot be read (EINVAL)")
    assert found.aslr == Unknown("no /proc/sys/kernel/randomize_va_space")
    assert Tree(Path("/")).text("proc/self/mem") == Unknown("/proc/self/mem cannot be read (EIO)")
    assert found.nmi_watchdog == Unknown("/proc/sys/kernel/nmi_watchdog cannot be read (ELOOP)")


def test_no_link_leads_out_of_another_machines_tree(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path / "tree")
    (tmp_path / "secret").write_text("TOKEN\n")
    kernel = root / "proc/sys/kernel"
    (kernel / "osrelease").rename(kernel / "real")
    for target in (
        "/secret",
        "../../../../secret",
        "../../../../../../.." + str(tmp_path / "secret"),
    ):
        (kernel / "osrelease").unlink(missing_ok=True)
        (kernel / "osrelease").symlink_to(target)
        assert Tree(root).text("proc/sys/kernel/osrelease") == Unknown(
            "no /proc/sys/kernel/osrelease"
        )
    (kernel / "osrelease").unlink()
    (kernel / "osrelease").symlink_to("/proc/sys/kernel/real")  # `/` is the tree's
    assert Tree(root).text("proc/sys/kernel/osrelease") == Tree(root).text("proc/sys/kernel/real")
    (root / "out").symlink_to(tmp_path)
    (root / "self").symlink_to("proc/..")
    assert Tree(root).names("out") == ()
    assert set(Tree(root).names("self")) == {path.name for path in root.iterdir()}


def test_huge_files_are_read_up_to_a_bound(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path)
    for name in ("proc/cpuinfo", "proc/stat", f"{CPU}/online", "proc/meminfo"):
        os.truncate(root / name, 1 << 40)
    found = machine.describe(root)
    assert found.cpu_model == Unknown("/proc/cpuinfo is longer than 8388608 bytes")
    assert found.memory_bytes == Unknown("/proc/meminfo is longer than 65536 bytes")


def test_this_machine() -> None:
    found = machine.describe()
    plain = msgspec.to_builtins(found)
    assert context.read(json.dumps(plain).encode(), Machine, "x") == found
    assert isinstance(found.online, tuple)
    assert set(found.online) >= os.sched_getaffinity(0)
    assert found.page_bytes == os.sysconf("SC_PAGE_SIZE")
    assert found.kernel_release == os.uname().release
    assert os.uname().nodename not in json.dumps(plain).split('"')
