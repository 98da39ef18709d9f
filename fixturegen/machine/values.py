"""The machine as frozen values. Whatever could not be read is `Unknown`, with its reason.

Each comment names the file below the root that the value comes from. Lists of CPUs hold the
kernel's CPU numbers in ascending order. Texts are ASCII: what came from a file is escaped.
"""

from __future__ import annotations

from msgspec import Struct


class Unknown(Struct, frozen=True):
    """A fact that could not be read; `unknown` says why. Never to be taken as "ok"."""

    unknown: str


NOT_RECORDED = Unknown("not recorded by the version that wrote this")


class Cpu(Struct, frozen=True):
    """One online logical CPU."""

    cpu: int
    package: int | Unknown = (
        NOT_RECORDED  # sys/devices/system/cpu/cpuN/topology/physical_package_id
    )
    core: int | Unknown = NOT_RECORDED  # .../topology/core_id, unique within its package only
    siblings: tuple[int, ...] | Unknown = (
        NOT_RECORDED  # .../topology/core_cpus_list, itself included
    )
    node: int | Unknown = NOT_RECORDED  # the NUMA node whose cpulist names it
    capacity: int | Unknown = NOT_RECORDED  # .../cpu_capacity, 1024 is the machine's fastest
    max_khz: int | Unknown = NOT_RECORDED  # its policy's cpuinfo_max_freq
    interrupts: int | Unknown = NOT_RECORDED  # proc/interrupts, device interrupts since boot


class CoreClass(Struct, frozen=True):
    """Cores of one speed on a machine that has several; `evidence` is what told them apart."""

    name: str
    cpus: tuple[int, ...]
    evidence: str


class Cache(Struct, frozen=True):
    """Caches of one level, kind and size: `count` of them, each shared by `shared_by` CPUs."""

    level: int
    kind: str  # Data, Instruction, Unified
    size_bytes: int
    line_bytes: int | Unknown
    shared_by: int
    count: int


class Node(Struct, frozen=True):
    """One NUMA node (sys/devices/system/node/nodeN)."""

    node: int
    cpus: tuple[int, ...] | Unknown
    memory_bytes: int | Unknown


class FolioSize(Struct, frozen=True):
    """One size of multi-size huge pages (sys/kernel/mm/transparent_hugepage/hugepages-*kB)."""

    kib: int
    enabled: str | Unknown


class Policy(Struct, frozen=True):
    """One frequency policy (sys/devices/system/cpu/cpufreq/policyN). Frequencies in kHz."""

    name: str
    cpus: tuple[int, ...] | Unknown
    driver: str | Unknown
    governor: str | Unknown
    epp: str | Unknown  # energy_performance_preference
    min_khz: int | Unknown  # scaling_min_freq
    max_khz: int | Unknown  # scaling_max_freq
    hardware_min_khz: int | Unknown  # cpuinfo_min_freq
    hardware_max_khz: int | Unknown  # cpuinfo_max_freq


class Machine(Struct, frozen=True):
    """All that `describe` found out about the machine below one root."""

    architecture: str | Unknown = NOT_RECORDED  # uname, or proc/sys/kernel/arch
    cpu_model: str | Unknown = NOT_RECORDED  # proc/cpuinfo
    cpu_vendor: str | Unknown = NOT_RECORDED  # proc/cpuinfo
    cpu_family: int | Unknown = NOT_RECORDED  # proc/cpuinfo
    cpu_model_number: int | Unknown = NOT_RECORDED  # proc/cpuinfo
    cpu_stepping: int | Unknown = NOT_RECORDED  # proc/cpuinfo
    microcode: str | Unknown = NOT_RECORDED  # proc/cpuinfo
    online: tuple[int, ...] | Unknown = NOT_RECORDED  # sys/devices/system/cpu/online
    offline: tuple[int, ...] | Unknown = NOT_RECORDED  # sys/devices/system/cpu/offline
    logical_cpus: int | Unknown = NOT_RECORDED  # CPUs in `online`
    packages: int | Unknown = NOT_RECORDED  # distinct packages of the online CPUs
    cores: int | Unknown = NOT_RECORDED  # distinct cores of the online CPUs
    threads_per_core: int | Unknown = NOT_RECORDED  # the most online siblings of any core
    smt: str | Unknown = NOT_RECORDED  # sys/devices/system/cpu/smt/control
    classes: tuple[CoreClass, ...] = ()  # fastest first; empty: no difference seen
    cpus: tuple[Cpu, ...] = ()
    caches: tuple[Cache, ...] | Unknown = NOT_RECORDED  # sys/devices/system/cpu/cpuN/cache
    last_level_cache_bytes: int | Unknown = NOT_RECORDED  # largest cache of the highest level
    nodes: tuple[Node, ...] | Unknown = NOT_RECORDED
    memory_bytes: int | Unknown = NOT_RECORDED  # proc/meminfo MemTotal
    page_bytes: int | Unknown = NOT_RECORDED  # sysconf, or proc/self/smaps KernelPageSize
    thp: str | Unknown = NOT_RECORDED  # sys/kernel/mm/transparent_hugepage/enabled
    thp_shmem: str | Unknown = NOT_RECORDED  # sys/kernel/mm/transparent_hugepage/shmem_enabled
    folio_sizes: tuple[FolioSize, ...] = ()
    kernel_release: str | Unknown = NOT_RECORDED  # proc/sys/kernel/osrelease
    kernel_version: str | Unknown = NOT_RECORDED  # proc/sys/kernel/version
    os: str | Unknown = NOT_RECORDED  # etc/os-release PRETTY_NAME
    virtualisation: str | Unknown = NOT_RECORDED  # "none", "KVM guest", "guest", ...
    clocksource: str | Unknown = NOT_RECORDED  # sys/devices/system/clocksource/clocksource0
    clocksources: tuple[str, ...] | Unknown = NOT_RECORDED  # available_clocksource
    policies: tuple[Policy, ...] | Unknown = NOT_RECORDED
    turbo: str | Unknown = NOT_RECORDED  # "on", "off" or "mixed"
    turbo_source: str = ""  # the file that said so
    aslr: int | Unknown = NOT_RECORDED  # proc/sys/kernel/randomize_va_space, 2 is full
    perf_event_paranoid: int | Unknown = NOT_RECORDED  # proc/sys/kernel/perf_event_paranoid
    counters: tuple[str, ...] | Unknown = (
        NOT_RECORDED  # hardware PMUs, sys/bus/event_source/devices
    )
    nmi_watchdog: int | Unknown = NOT_RECORDED  # proc/sys/kernel/nmi_watchdog
    isolated: tuple[int, ...] | Unknown = NOT_RECORDED  # sys/devices/system/cpu/isolated
    nohz_full: tuple[int, ...] | Unknown = NOT_RECORDED  # sys/devices/system/cpu/nohz_full
    boot_id: str | Unknown = NOT_RECORDED  # proc/sys/kernel/random/boot_id
    load_average: tuple[str, ...] | Unknown = NOT_RECORDED  # proc/loadavg: 1, 5, 15 min, exact text
    cpu_quota: str | Unknown = NOT_RECORDED  # "none", or "QUOTA PERIOD" in us as in cpu.max
    steal_ticks: int | Unknown = NOT_RECORDED  # proc/stat, since boot, all CPUs, in 1/USER_HZ s
    total_ticks: int | Unknown = NOT_RECORDED  # proc/stat, user to steal (guest is in user)
