"""Frequency policies and turbo, from sys/devices/system/cpu. Absent is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixturegen.machine.values import Policy, Unknown

if TYPE_CHECKING:
    from fixturegen.machine.tree import Tree

CPU = "sys/devices/system/cpu"
NO_CPUFREQ = "no cpufreq directory (usual in a virtual machine)"
NO_TURBO = "none of intel_pstate/no_turbo, cpufreq/boost, policyN/boost, cpuN/cpufreq/boost exists"


def policies(tree: Tree) -> tuple[Policy, ...] | Unknown:
    """Return one Policy for each cpufreq/policyN."""
    found = tuple(_policy(tree, name) for name in tree.names(f"{CPU}/cpufreq", r"policy[0-9]{1,6}"))
    return found or Unknown(NO_CPUFREQ)


def _policy(tree: Tree, name: str) -> Policy:
    folder = f"{CPU}/cpufreq/{name}"
    return Policy(
        name=name,
        cpus=tree.cpus(f"{folder}/affected_cpus"),
        driver=tree.line(f"{folder}/scaling_driver"),
        governor=tree.line(f"{folder}/scaling_governor"),
        epp=tree.line(f"{folder}/energy_performance_preference"),
        min_khz=tree.integer(f"{folder}/scaling_min_freq"),
        max_khz=tree.integer(f"{folder}/scaling_max_freq"),
        hardware_min_khz=tree.integer(f"{folder}/cpuinfo_min_freq"),
        hardware_max_khz=tree.integer(f"{folder}/cpuinfo_max_freq"),
    )


def turbo(tree: Tree) -> tuple[str | Unknown, str]:
    """Return ("on" | "off" | "mixed" | Unknown, the file that said so) from the four places.

    intel_pstate/no_turbo is inverted. The places of a single CPU or policy are read in all
    of them, because amd-pstate lets them differ.
    """
    no_turbo = f"{CPU}/intel_pstate/no_turbo"
    value = tree.integer(no_turbo)
    if value in (0, 1):
        return ("off" if value == 1 else "on"), no_turbo
    value = tree.integer(f"{CPU}/cpufreq/boost")
    per_policy = _each(tree, f"{CPU}/cpufreq", r"policy[0-9]{1,6}", "boost")
    per_cpu = _each(tree, CPU, r"cpu[0-9]{1,6}", "cpufreq/boost")
    single, place = (per_policy, "policyN") if per_policy else (per_cpu, "cpuN/cpufreq")
    if value == 0:  # the global switch off forces every policy off
        return "off", f"{CPU}/cpufreq/boost"
    if single:
        folder = CPU if place.startswith("cpuN") else f"{CPU}/cpufreq"
        state = "mixed" if len(single) > 1 else "on" if single == {1} else "off"
        return state, f"{folder}/{place}/boost"
    if value == 1:
        return "on", f"{CPU}/cpufreq/boost"
    return Unknown(NO_TURBO if isinstance(policies(tree), tuple) else NO_CPUFREQ), ""


def _each(tree: Tree, folder: str, pattern: str, name: str) -> set[int]:
    read = (tree.integer(f"{folder}/{entry}/{name}") for entry in tree.names(folder, pattern))
    return {value for value in read if value in (0, 1) and isinstance(value, int)}
