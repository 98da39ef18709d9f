"""The map of a machine as a tree of plain ASCII, at most `width` columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from fixturegen.machine.layout import Box, Core, Layout, all_cores
from fixturegen.machine.pci import Device
from fixturegen.machine.phrases import cpu_list
from fixturegen.units import plural


class _Branch(Struct, frozen=True):
    """A line of the tree: `cpus` and `facts` stand in columns of their own, if there are any."""

    text: str
    branches: tuple[_Branch, ...] = ()
    cpus: str = ""
    facts: str = ""


class _Line(Struct, frozen=True):
    indent: str
    below: str  # the indent of what does not fit on the line
    branch: _Branch

    @property
    def head(self) -> str:
        return self.indent + self.branch.text


def drawn(layout: Layout, width: int) -> list[str]:
    """Return the lines: packages, then what holds for all cores, then what the signs mean."""
    cores = all_cores(layout)
    if not cores:
        return ["unknown: no file says which CPUs there are"]
    alike = len({core.caches for core in cores}) == 1
    branches = [_branch(box, alike) for box in layout.boxes]
    grown = [line for each in branches for line in _grown(each, "", "")]
    grown += [_Line("", "  ", _Branch(_device(device))) for device in layout.loose]
    return [*_columns(grown, width), *_legend(layout, cores, alike, width)]


def _columns(grown: Sequence[_Line], width: int) -> list[str]:
    """Return the lines with their CPUs, and their facts, below each other."""
    with_cpus = [line for line in grown if line.branch.cpus]
    first = max((len(line.head) for line in with_cpus), default=0)
    second = max((len(line.branch.cpus) for line in with_cpus if line.branch.facts), default=0)
    second = min(second, 24)  # a long list keeps the others' facts near
    lines = []
    for line in grown:
        text = line.head
        if line.branch.cpus:
            cells = f"{line.branch.cpus:<{second}}  {line.branch.facts}"
            text = f"{text:<{first}}  {cells}".rstrip()
        lines += textwrap.wrap(text, width, subsequent_indent=line.below, break_on_hyphens=False)
    return lines


def _grown(branch: _Branch, indent: str, below: str) -> list[_Line]:
    """Return the line of `branch`, then those of its own; `below` goes before each of these."""
    lines = [_Line(indent, below + ("|  " if branch.branches else "  "), branch)]
    for inner in branch.branches:
        last = inner is branch.branches[-1]
        sign, rest = ("`- ", "   ") if last else ("|- ", "|  ")
        lines += _grown(inner, below + sign, below + rest)
    return lines


def _branch(box: Box, alike: bool) -> _Branch:
    inner = [_branch(each, alike) for each in box.boxes]
    inner += [_cores(run, alike) for run in _runs(box.cores)]
    inner += [_Branch(_device(device)) for device in box.devices]
    if box.label.startswith("L") and len(inner) == 1 and inner[0].cpus:
        run = inner[0]  # a cache and its cores on one line
        return _Branch(f"{box.label}  {run.text}", (), run.cpus, run.facts)
    return _Branch(box.label, tuple(inner))


def _runs(cores: Sequence[Core]) -> list[list[Core]]:
    """Return neighbouring cores that differ in nothing but their numbers as one run."""

    def nature(core: Core) -> tuple[object, ...]:
        return core.kind, len(core.cpus), core.caches, core.isolated, core.chosen

    return [list(run) for _, run in groupby(cores, nature)]


def _cores(run: Sequence[Core], alike: bool) -> _Branch:
    first = run[0]
    numbers = tuple(sorted(core.number for core in run if core.number is not None))
    name = "core" if len(run) == 1 else "cores"
    head = f"{name} {strided(numbers)}" if len(numbers) == len(run) else plural(len(run), "core")
    facts = [first.kind] if first.kind else []
    if len(first.cpus) > 1 and len(run) > 1:
        facts.append(f"{len(first.cpus)} threads each")
    facts += [] if alike else first.caches
    facts += ["isolated"] if first.isolated else []
    facts += [f"<== CPU {cpu_list(first.chosen)}"] if first.chosen else []
    cpus = tuple(sorted(cpu for core in run for cpu in core.cpus))
    return _Branch(head, (), _cpus(cpus), ", ".join(facts).replace(", <==", "  <=="))


def _device(device: Device) -> str:
    names = f" {' '.join(device.names)}" if device.names else ""
    return f"PCI {device.address}  {device.kind}{names} ({device.identity})"


def _legend(layout: Layout, cores: Sequence[Core], alike: bool, width: int) -> list[str]:
    parts = []
    if alike and cores[0].caches:
        parts.append(f"each core: {', '.join(cores[0].caches)}")
    if layout.offline:
        parts.append(f"offline: {_cpus(layout.offline)}".replace("  ", " "))
    if layout.isolated:
        parts.append(f"isolated from the scheduler: {_cpus(layout.isolated)}".replace("  ", " "))
    if layout.choice.cpus:
        parts.append(f"<== measures here: {layout.choice.reason}")
    if any(":" in strided(core_cpus) for core_cpus in _listed(layout)):
        parts.append("0-6:2 means 0, 2, 4 and 6")
    return [line for part in parts for line in textwrap.wrap(part, width, subsequent_indent="  ")]


def _listed(layout: Layout) -> list[tuple[int, ...]]:
    def runs(box: Box) -> list[tuple[int, ...]]:
        repeated = [
            tuple(sorted(cpu for core in run for cpu in core.cpus)) for run in _runs(box.cores)
        ]
        return [*repeated, *(each for inner in box.boxes for each in runs(inner))]

    return [each for box in layout.boxes for each in runs(box)]


def _cpus(cpus: tuple[int, ...]) -> str:
    return f"{'CPU ' if len(cpus) == 1 else 'CPUs'} {strided(cpus)}"


def strided(numbers: tuple[int, ...]) -> str:
    """Return ascending numbers as 0-3,8; evenly spaced ones as taskset writes them, 0-62:2."""
    parts = []
    left = list(numbers)
    while left:
        step = left[1] - left[0] if len(left) > 1 else 1
        count = 1
        while count < len(left) and left[count] - left[count - 1] == step:
            count += 1
        if step > 1 and count < 4:
            count = 1  # 0,2,4 reads better than 0-4:2
        first, last = left[0], left[count - 1]
        parts.append(
            str(first) if count == 1 else f"{first}-{last}" + (f":{step}" if step > 1 else "")
        )
        left = left[count:]
    return ",".join(parts)
