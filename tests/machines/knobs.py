"""Machines with knobs, and a watcher that tells in which order files were written."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import trees
from trees import CPU, lay

SMT = f"{CPU}/smt/control"
ONLINE = f"{CPU}/online"
NO_TURBO = f"{CPU}/intel_pstate/no_turbo"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
ASLR = "proc/sys/kernel/randomize_va_space"
WATCHDOG = "proc/sys/kernel/nmi_watchdog"
DROP = "proc/sys/vm/drop_caches"
JOURNAL = "run/fixturegen/tune.json"


def governor(number: int) -> str:
    return f"{CPU}/cpufreq/policy{number}/scaling_governor"


def intel(root: Path) -> Path:
    """intel_pstate: powersave with a preference, no_turbo inverted, SMT on."""
    return lay(trees.intel_pstate(root), {DROP: "0"})


def acpi(root: Path) -> Path:
    """acpi-cpufreq: one boost for all, ondemand whose tunables a change of governor forgets."""
    return lay(
        root,
        trees.KERNEL,
        trees.x86("Some CPU", count=2),
        trees.cpus(["0", "1"], "0-1"),
        *(
            trees.policy(
                n,
                "ondemand",
                "acpi-cpufreq",
                3000000,
                scaling_available_governors="performance ondemand userspace",
            )
            for n in (0, 1)
        ),
        {
            f"{CPU}/cpufreq/boost": "1",
            f"{CPU}/cpufreq/ondemand/up_threshold": "80",
            f"{CPU}/cpufreq/ondemand/sampling_rate": "10000",
            SMT: "notsupported",
        },
    )


def amd(root: Path) -> Path:
    """amd-pstate: a boost for each policy, different ones, seen as cpuN/cpufreq/boost too."""
    lay(
        root,
        trees.KERNEL,
        trees.x86("Some CPU", count=2),
        trees.cpus(["0", "1"], "0-1"),
        *(
            trees.policy(
                n,
                "powersave",
                "amd-pstate-epp",
                5000000,
                boost=str(1 - n),
                energy_performance_preference="balance_power",
            )
            for n in (0, 1)
        ),
        {SMT: "on"},
    )
    for number in (0, 1):
        (root / f"{CPU}/cpu{number}/cpufreq").symlink_to(f"../cpufreq/policy{number}")
    return root


def per_cpu(root: Path) -> Path:
    """An older amd-pstate, with cpuN/cpufreq/boost alone."""
    return lay(
        root,
        trees.KERNEL,
        trees.cpus(["0", "1"], "0-1"),
        {f"{CPU}/cpu{n}/cpufreq/boost": "1" for n in (0, 1)},
    )


def mixed(root: Path) -> Path:
    """Governors that differ, one of them with a speed set by hand."""
    return lay(
        intel(root),
        {
            governor(0): "performance",
            governor(2): "userspace",
            f"{CPU}/cpufreq/policy2/scaling_setspeed": "1800000",
            f"{CPU}/cpufreq/policy0/scaling_setspeed": "<unsupported>",
        },
    )


def hybrid(root: Path) -> Path:
    """Performance cores with two threads, efficiency cores with one; a policy for each CPU."""
    return lay(
        trees.hybrid_intel(root),
        {NO_TURBO: "0"},
        *(trees.policy(n, "powersave", "intel_pstate", 4400000) for n in range(6)),
    )


def part_offline(root: Path) -> Path:
    """SMT on, but CPU 3 was taken offline by hand: SMT on again would start it."""
    return lay(
        intel(root),
        {
            ONLINE: "0-2",
            f"{CPU}/offline": "3",
            **{f"{CPU}/cpu{n}/online": str(int(n != 3)) for n in (1, 2, 3)},
            "proc/irq/5/smp_affinity_list": "2",
            "proc/irq/6/smp_affinity_list": "0-2",
        },
    )


def nothing(root: Path) -> Path:
    """A virtual machine without any knob."""
    return trees.small_guest(root)


MACHINES: list[Callable[[Path], Path]] = [intel, acpi, amd, per_cpu, mixed, hybrid, part_offline]


def held(root: Path) -> dict[str, bytes]:
    """Every file of the machine and its bytes, without /run."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and "run" not in path.relative_to(root).parts
    }


def value(root: Path, path: str) -> str:
    return (root / path).read_text().strip()


class Kernel(threading.Thread):
    """Takes second threads offline and back, as a kernel does, but only after a while."""

    def __init__(self, root: Path, second: tuple[int, ...], delay_s: float = 0.15) -> None:
        super().__init__(daemon=True)
        self.root, self.second, self.delay_s = root, second, delay_s
        self.all = value(root, ONLINE)
        self.over = threading.Event()
        self.seen_at: dict[str, int] = {}

    def run(self) -> None:
        last = value(self.root, SMT)
        while not self.over.is_set():
            now = value(self.root, SMT)
            if now and now != last:
                time.sleep(self.delay_s)
                self._switch(now)
                self.seen_at[now] = time.monotonic_ns()
                last = now
            time.sleep(0.002)

    def _switch(self, now: str) -> None:
        for cpu in self.second:
            (self.root / f"{CPU}/cpu{cpu}/online").write_text("1\n" if now == "on" else "0\n")
        keep = [str(n) for n in range(4) if n not in self.second]
        # Whole file at once: a reader must not see a half.
        fresh = self.root / f"{ONLINE}.new"
        fresh.write_text((self.all if now == "on" else ",".join(keep)) + "\n")
        fresh.replace(self.root / ONLINE)

    def __enter__(self) -> Kernel:
        self.start()
        return self

    def __exit__(self, *args: object) -> None:
        self.over.set()
        self.join()


class Writes:
    """The files below `root` in the order in which they were written (inotify)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0
        self.folders: dict[int, Path] = {}
        modify = 0x2
        for folder in (path for path in root.rglob("*") if path.is_dir()):
            if not folder.is_symlink():
                number = self.libc.inotify_add_watch(self.fd, os.fsencode(folder), modify)
                assert number >= 0
                self.folders[number] = folder

    def take(self) -> list[str]:
        """Return what was written since the last call."""
        found: list[str] = []
        while True:
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return found
            while data:
                watch, _, _, length = struct.unpack_from("iIII", data)
                name = data[16 : 16 + length].rstrip(b"\0").decode()
                path = str((self.folders[watch] / name).relative_to(self.root))
                found += [path] if found[-1:] != [path] else []  # truncated, then written
                data = data[16 + length :]

    def close(self) -> None:
        os.close(self.fd)
