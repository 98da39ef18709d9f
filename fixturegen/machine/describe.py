"""From the files below a root to one `Machine`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fixturegen.machine import frequency, kernel, memory, processor, topology
from fixturegen.machine.tree import Tree
from fixturegen.machine.values import Machine


def describe(root: Path = Path("/")) -> Machine:
    """Return what the files below `root` (a folder with sys/, proc/, etc/) say.

    Never raises for what it finds: a fact that cannot be read is Unknown with its reason.
    """
    tree = Tree(root)
    entries = processor.cpuinfo(tree)
    online = topology.online(tree)
    policies = frequency.policies(tree)
    nodes = memory.nodes(tree)
    cpus = topology.cpus(tree, online, nodes, policies)
    cores, threads = topology.count_cores(cpus)
    caches = memory.caches(tree, online)
    turbo, turbo_source = frequency.turbo(tree)
    stolen, total = kernel.ticks(tree)
    return Machine(
        architecture=kernel.architecture(tree),
        cpu_model=processor.model(entries),
        cpu_vendor=processor.vendor(entries),
        cpu_family=processor.number(entries, "cpu family", "CPU architecture"),
        cpu_model_number=processor.number(entries, "model", "CPU part"),
        cpu_stepping=processor.number(entries, "stepping", "CPU revision"),
        microcode=processor.field(entries, "microcode"),
        online=online,
        offline=tree.cpus(f"{frequency.CPU}/offline"),
        logical_cpus=online if not isinstance(online, tuple) else len(online),
        packages=topology.count_packages(cpus),
        cores=cores,
        threads_per_core=threads,
        smt=tree.line(f"{frequency.CPU}/smt/control"),
        classes=topology.classes(tree, cpus),
        cpus=cpus,
        caches=caches,
        last_level_cache_bytes=memory.last_level_bytes(caches),
        nodes=nodes,
        memory_bytes=memory.memory_bytes(tree),
        page_bytes=memory.page_bytes(tree),
        thp=tree.choice(f"{memory.THP}/enabled"),
        thp_shmem=tree.choice(f"{memory.THP}/shmem_enabled"),
        folio_sizes=memory.folio_sizes(tree),
        virtualisation=kernel.virtualisation(tree, entries),
        policies=policies,
        turbo=turbo,
        turbo_source=turbo_source,
        isolated=tree.cpus(f"{frequency.CPU}/isolated"),
        nohz_full=tree.cpus(f"{frequency.CPU}/nohz_full"),
        steal_ticks=stolen,
        total_ticks=total,
        **_kernel(tree),
    )


def _kernel(tree: Tree) -> dict[str, Any]:
    """Return the facts of the running kernel and its system, by the names of their fields."""
    return {
        "kernel_release": tree.line("proc/sys/kernel/osrelease"),
        "kernel_version": tree.line("proc/sys/kernel/version"),
        "os": kernel.os_name(tree),
        "clocksource": tree.line(f"{kernel.CLOCK}/current_clocksource"),
        "clocksources": kernel.clocksources(tree),
        "aslr": tree.integer("proc/sys/kernel/randomize_va_space"),
        "perf_event_paranoid": tree.integer("proc/sys/kernel/perf_event_paranoid"),
        "counters": kernel.counters(tree),
        "nmi_watchdog": tree.integer("proc/sys/kernel/nmi_watchdog"),
        "boot_id": tree.line("proc/sys/kernel/random/boot_id"),
        "load_average": kernel.load_average(tree),
        "cpu_quota": kernel.cpu_quota(tree),
    }
