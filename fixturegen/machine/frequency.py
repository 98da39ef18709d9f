"""Frequency policies and turbo, from sys/devices/system/cpu. Absent is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from fixturegen.machine.values import Policy, Unknown

if TYPE_CHECKING:
    from fixturegen.machine.tree import Tree

CPU = "sys/devices/system/cpu"
NO_CPUFREQ = "no cpufreq directory (usual in a virtual machine)"
NO_TURBO = "none of intel_pstate/no_turbo, cpufreq/boost, policyN/boost, cpuN/cpufreq/boost exists"


def policies(tree: Tree) -> tuple[Policy, ...] | Unknown:
    """Return one Policy for each cpufreq/policyN."""
    described = tuple(
        _policy(tree, name) for name in tree.names(f"{CPU}/cpufreq", r"policy[0-9]{1,6}")
    )
    return described or Unknown(NO_CPUFREQ)


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


class Switch(Struct, frozen=True):
    """One file that switches turbo: its path, and what it holds for on and for off."""

    path: str
    on: str
    off: str
    place: str  # the path with N for the number of its policy or CPU


def turbo_switches(tree: Tree) -> tuple[Switch, ...]:
    """Return the files that switch turbo here, in the order in which they are written.

    There are four places. intel_pstate/no_turbo is inverted, and where it is no other counts.
    Else the global cpufreq/boost, then those of the policies, or of the CPUs where no policy has
    one: amd-pstate lets them differ. A file that holds neither 0 nor 1 is no switch.
    """
    no_turbo = f"{CPU}/intel_pstate/no_turbo"
    if tree.integer(no_turbo) in (0, 1):
        return (Switch(no_turbo, "0", "1", no_turbo),)
    boost = f"{CPU}/cpufreq/boost"
    single = _boosts(tree, f"{CPU}/cpufreq", "policy", "boost")
    single = single or _boosts(tree, CPU, "cpu", "cpufreq/boost")
    if tree.integer(boost) in (0, 1):
        return (Switch(boost, "1", "0", boost), *single)
    return single


def turbo(tree: Tree) -> tuple[str | Unknown, str]:
    """Return ("on" | "off" | "mixed" | Unknown, the file that said so)."""
    switches = turbo_switches(tree)
    states = {each.path: tree.integer(each.path) == int(each.on) for each in switches}
    if not switches:
        return Unknown(NO_TURBO if isinstance(policies(tree), tuple) else NO_CPUFREQ), ""
    first = switches[0]
    rest = [each for each in switches if each.place != first.path]
    if not rest or (first.place == first.path and not states[first.path]):
        # Alone, or the global switch off, which forces every policy off.
        return ("on" if states[first.path] else "off"), first.path
    values = {states[each.path] for each in rest}
    state = "mixed" if len(values) > 1 else "on" if values == {True} else "off"
    return state, rest[0].place


def _boosts(tree: Tree, folder: str, owner: str, name: str) -> tuple[Switch, ...]:
    place = f"{folder}/{owner}N/{name}"
    paths = (f"{folder}/{each}/{name}" for each in tree.names(folder, rf"{owner}[0-9]{{1,6}}"))
    return tuple(Switch(path, "1", "0", place) for path in paths if tree.integer(path) in (0, 1))
