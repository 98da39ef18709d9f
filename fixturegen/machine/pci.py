"""PCI devices that a benchmark may exercise, and the NUMA node that each hangs off."""

from __future__ import annotations

import re

from msgspec import Struct

from fixturegen.machine.tree import Tree, printable

FOLDER = "sys/bus/pci/devices"
# The first byte of the class, or two (PCI Code and ID Assignment Specification).
_KINDS = (
    ("0108", "NVMe disk"),
    ("01", "storage"),
    ("02", "network"),
    ("03", "display"),
    ("12", "accelerator"),
)
_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"


class Device(Struct, frozen=True):
    """One device; `node` is None where the machine names none. `names` as in /dev or `ip link`."""

    address: str
    kind: str
    identity: str  # vendor:device in hexadecimal
    names: tuple[str, ...]
    node: int | None


def devices(tree: Tree) -> tuple[Device, ...]:
    """Return the disks, networks, displays and accelerators on PCI, in order of address."""
    shown = []
    for address in tree.names(FOLDER, _ADDRESS):
        folder = f"{FOLDER}/{address}"
        code = str(tree.line(f"{folder}/class")).removeprefix("0x")
        kind = next((kind for start, kind in _KINDS if code.startswith(start)), "")
        if kind:
            node = tree.integer(f"{folder}/numa_node")
            known = node if isinstance(node, int) and node >= 0 else None
            shown.append(
                Device(address, kind, _identity(tree, folder), _names(tree, folder), known)
            )
    return tuple(sorted(shown, key=lambda device: device.address))


def _identity(tree: Tree, folder: str) -> str:
    read = (tree.line(f"{folder}/{name}") for name in ("vendor", "device"))
    numbers = [text.removeprefix("0x") if isinstance(text, str) else "????" for text in read]
    return ":".join(word if re.fullmatch("[0-9a-f]{4}", word) else "????" for word in numbers)


def _names(tree: Tree, folder: str) -> tuple[str, ...]:
    """Return the names of its interfaces and disks; a virtio device has them one level below."""
    inner = [folder, *(f"{folder}/{name}" for name in tree.names(folder, r"virtio[0-9]{1,4}"))]
    listed = [
        name
        for place in inner
        for kind in ("net", "nvme", "block", "drm")
        for name in tree.names(f"{place}/{kind}", r"[A-Za-z0-9_.-]{1,32}")
    ]
    return tuple(printable(name) for name in listed if not name.startswith("renderD"))
