"""Opening and writing one knob's file below a root, and never another file.

The file itself is never a symlink, and folders on the way that are (cpu0/cpufreq is one) stay
below the root.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from fixturegen.machine.tree import Tree, open_below

_REASONS = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.EACCES: "refused (EACCES)",
    errno.EPERM: "refused (EPERM)",
    errno.ENODEV: "the machine has none (ENODEV)",
    errno.EROFS: "read-only file system (EROFS)",
    errno.EBUSY: "busy, or its CPUs are offline (EBUSY)",
    errno.ELOOP: "a symbolic link, which is never followed (ELOOP)",
    errno.ENXIO: "not a file (ENXIO)",
    errno.EISDIR: "a folder (EISDIR)",
}
READ_ONLY = "read-only"


def reason_of(error: OSError) -> str:
    """Return why the system refused, in the same words in any locale."""
    number = error.errno or 0
    return _REASONS.get(number, f"refused ({errno.errorcode.get(number, 'error')})")


def refusal(root: Path, path: str) -> str:
    """Return why root/path cannot be written, or "": it is opened and nothing is written."""
    try:
        os.close(_open_writable(root, path))
    except OSError as error:
        return _why(error)
    return ""


def write(root: Path, path: str, value: str) -> str:
    """Write one value to root/path; return why that was refused, or ""."""
    text = value if root == Path("/") else _shown(Tree(root), path, value)
    try:
        descriptor = _open_writable(root, path)
    except OSError as error:
        return _why(error)
    data = f"{text}\n".encode("ascii")
    try:
        # A kernel's file has no length, a copy of it has. One of several choices keeps its own:
        # emptied by whoever is killed before the write, it would have lost the others.
        if root != Path("/") and os.fstat(descriptor).st_size > len(data):
            os.ftruncate(descriptor, 0)
        os.write(descriptor, data)
    except OSError as error:
        return _why(error)
    finally:
        os.close(descriptor)
    return ""


def _shown(tree: Tree, path: str, value: str) -> str:
    """Return what a kernel would show after `value`: of several choices, that one in brackets."""
    text = tree.text(path)
    choices = text.replace("[", "").replace("]", "").split() if isinstance(text, str) else []
    if isinstance(text, str) and "[" in text and value in choices:
        return " ".join(f"[{word}]" if word == value else word for word in choices)
    return value


def _open_writable(root: Path, path: str) -> int:
    descriptor = open_below(root, path, os.O_WRONLY)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_mode & 0o222:
        return descriptor
    os.close(descriptor)
    # Root may open a read-only file, but the kernel has nothing behind it that could be set.
    raise OSError(0 if stat.S_ISREG(status.st_mode) else errno.ENXIO, "read-only")


def _why(error: OSError) -> str:
    return reason_of(error) if error.errno else READ_ONLY
