"""Which file system a path is on, and on which device: what a cold read is read from."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fixturegen.machine.tree import printable

IN_MEMORY = ("tmpfs", "ramfs", "rootfs")  # their files are the page cache: nothing to evict to
_OCTAL = re.compile(r"\\([0-7]{3})")


def of(path: Path, root: Path = Path("/")) -> dict[str, str]:
    """Return `type`, `device` and `kind` of the file system that holds `path`; {} if unknown.

    `kind` says what is behind the device as far as the kernel tells: a virtual disk's host may
    cache it. root: a folder that stands for `/` where the kernel's files are read.
    """
    try:
        text = (root / "proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    mount = _mount(text, os.path.realpath(path))
    if mount is None:
        return {}
    number, kind, source = mount
    device = source.rpartition("/")[2] if source.startswith("/dev/") else ""
    return {
        "type": printable(kind),
        "device": printable(device) or "no device",
        "kind": _kind(root, number, device),
    }


def _mount(text: str, path: str) -> tuple[str, str, str] | None:
    """Return device number, type and source of the last mount whose folder is above `path`."""
    best, length = None, -1
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, rest = left.split(" "), right.split(" ")
        if len(fields) < 5 or len(rest) < 2:
            continue
        point = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= length:  # of two on the same folder the later hides the other
            best, length = (fields[2], rest[0], rest[1]), len(point)
    return best


def _kind(root: Path, number: str, device: str) -> str:
    """Return what is behind a device, from the kernel's link to it."""
    link = root / "sys/dev/block" / number
    if not link.exists() and device:
        link = root / "sys/class/block" / device
    try:
        target = str(link.readlink())
    except OSError:
        return "not a block device" if not device else "unknown"
    if "/virtio" in target or "/xen" in target or "/vmbus" in target or "/VMBUS" in target:
        return "a virtual disk: its host may cache it"
    if "/virtual/" in target:
        return "a kernel device made of others"
    if "/nvme" in target:
        return "NVMe"
    turning = _rotational(root, target, device)
    return {"1": "a rotating disk", "0": "a disk without moving parts"}.get(turning, "a disk")


def _rotational(root: Path, target: str, device: str) -> str:
    """Return what the queue of the device, or of the disk it is a part of, says."""
    names = (device, target.split("/")[-1], target.split("/")[-2] if "/" in target else "")
    for name in names:
        try:
            return (root / "sys/class/block" / name / "queue/rotational").read_text().strip()
        except OSError:
            continue
    return ""


def line(storage: dict[str, str]) -> str:
    """Return e.g. `ext4 on vda, a virtual disk: its host may cache it`."""
    if not storage:
        return "unknown"
    return f"{storage['type']} on {storage['device']}, {storage['kind']}"
