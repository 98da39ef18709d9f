"""Small folders that stand for `/` of other machines, made of a few lines each."""

from __future__ import annotations

from pathlib import Path

CPU = "sys/devices/system/cpu"
Files = dict[str, str | bytes]


def lay(root: Path, *parts: Files) -> Path:
    """Write the files below `root`; later parts replace earlier ones."""
    for part in parts:
        for name, content in part.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = content if isinstance(content, bytes) else f"{content}\n".encode()
            path.write_bytes(data)
    return root


def cpus(siblings: list[str], online: str, offline: str = "") -> Files:
    """CPUs with a topology: one list of siblings per online CPU, all in package 0."""
    files: Files = {f"{CPU}/online": online, f"{CPU}/offline": offline}
    numbers = [n for part in online.split(",") for n in _range(part)]
    for number, group in zip(numbers, siblings, strict=True):
        folder = f"{CPU}/cpu{number}/topology"
        files[f"{folder}/core_cpus_list"] = group
        files[f"{folder}/core_id"] = group.split(",")[0].split("-")[0]
        files[f"{folder}/physical_package_id"] = "0"
    return files


def _range(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def cache(cpu: int, index: int, level: int, kind: str, size: str, shared: str) -> Files:
    folder = f"{CPU}/cpu{cpu}/cache/index{index}"
    return {
        f"{folder}/level": str(level),
        f"{folder}/type": kind,
        f"{folder}/size": size,
        f"{folder}/coherency_line_size": "64",
        f"{folder}/shared_cpu_list": shared,
    }


def policy(number: int, governor: str, driver: str, top_khz: int, **more: str) -> Files:
    folder = f"{CPU}/cpufreq/policy{number}"
    return {
        f"{folder}/affected_cpus": str(number),
        f"{folder}/scaling_governor": governor,
        f"{folder}/scaling_driver": driver,
        f"{folder}/scaling_min_freq": "800000",
        f"{folder}/scaling_max_freq": str(top_khz),
        f"{folder}/cpuinfo_min_freq": "800000",
        f"{folder}/cpuinfo_max_freq": str(top_khz),
        **{f"{folder}/{name}": value for name, value in more.items()},
    }


def x86(name: str, flags: str = "fpu tsc", count: int = 1) -> Files:
    block = (
        "processor\t: {}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 151\n"
        f"model name\t: {name}\nstepping\t: 2\nmicrocode\t: 0x2e\nflags\t\t: {flags}\n"
    )
    return {"proc/cpuinfo": "\n".join(block.format(number) for number in range(count))}


def arm(*parts: str) -> Files:
    """proc/cpuinfo of AArch64: no model name, one implementer and part per CPU."""
    block = (
        "processor\t: {}\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: {}\nCPU revision\t: 1\n"
    )
    return {"proc/cpuinfo": "\n".join(block.format(n, part) for n, part in enumerate(parts))}


KERNEL: Files = {
    "proc/sys/kernel/osrelease": "6.8.0-45-generic",
    "proc/sys/kernel/version": "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024",
    "proc/sys/kernel/randomize_va_space": "2",
    "proc/sys/kernel/perf_event_paranoid": "4",
    "proc/sys/kernel/nmi_watchdog": "1",
    "proc/sys/kernel/random/boot_id": "0d1b2c3a-0000-4000-8000-000000000001",
    "proc/meminfo": "MemTotal:       32594564 kB\nMemFree:  1 kB",
    "proc/loadavg": "0.10 0.20 0.30 1/200 4242",
    "proc/stat": "cpu  100 0 100 9800 0 0 0 0 0 0\ncpu0 100 0 100 9800 0 0 0 0 0 0",
    "proc/self/cgroup": "0::/user.slice/session.scope",
    "proc/self/smaps": "1-2 r--p\nSize:  8 kB\nKernelPageSize:        4 kB",
    "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04 LTS"',
    "sys/fs/cgroup/user.slice/cpu.max": "max 100000",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/kernel/mm/transparent_hugepage/shmem_enabled": "always advise [never] deny",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
}


def intel_pstate(root: Path, no_turbo: str = "0") -> Path:
    """A laptop of two cores and four threads under intel_pstate, L3 of 8 MiB."""
    return lay(
        root,
        KERNEL,
        x86("Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz", count=4),
        cpus(["0,2", "1,3", "0,2", "1,3"], "0-3"),
        {f"{CPU}/smt/control": "on", f"{CPU}/intel_pstate/no_turbo": no_turbo},
        *(
            policy(
                n,
                "powersave",
                "intel_pstate",
                3400000,
                energy_performance_preference="balance_performance",
            )
            for n in range(4)
        ),
        *(cache(n, 0, 1, "Data", "32K", f"{n % 2},{n % 2 + 2}") for n in range(4)),
        *(cache(n, 1, 1, "Instruction", "32K", f"{n % 2},{n % 2 + 2}") for n in range(4)),
        *(cache(n, 3, 3, "Unified", "8192K", "0-3") for n in range(4)),
        {"sys/bus/event_source/devices/cpu/type": "4"},
    )


def hybrid_intel(root: Path) -> Path:
    """Two performance cores with two threads each (0-3), two efficiency cores (4, 5)."""
    return lay(
        root,
        KERNEL,
        x86("12th Gen Intel(R) Core(TM) i5-1235U", count=6),
        cpus(["0-1", "0-1", "2-3", "2-3", "4", "5"], "0-5"),
        {
            f"{CPU}/smt/control": "on",
            "sys/devices/cpu_core/cpus": "0-3",
            "sys/devices/cpu_atom/cpus": "4-5",
            "sys/bus/event_source/devices/cpu_core/type": "4",
            "sys/bus/event_source/devices/cpu_atom/type": "10",
            f"{CPU}/isolated": "",
        },
    )


def big_little(root: Path) -> Path:
    """Four small cores (0-3) and two big ones (4, 5), told apart by cpu_capacity alone."""
    return lay(
        root,
        KERNEL,
        arm(*["0xd05"] * 4, *["0xd0b"] * 2),
        cpus([str(n) for n in range(6)], "0-5"),
        {f"{CPU}/cpu{n}/cpu_capacity": "382" if n < 4 else "1024" for n in range(6)},
        {f"{CPU}/cpu{n}/topology/physical_package_id": "-1" for n in range(6)},
        {"sys/devices/system/clocksource/clocksource0/current_clocksource": "arch_sys_counter"},
    )


def small_guest(root: Path) -> Path:
    """A virtual machine that shows next to nothing: no cpufreq, no DMI, no PMU, no topology."""
    return lay(
        root,
        x86("Intel Xeon Processor", "fpu tsc hypervisor"),
        {
            f"{CPU}/online": "0",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock",
            "sys/devices/system/clocksource/clocksource0/available_clocksource": "kvm-clock",
        },
    )
