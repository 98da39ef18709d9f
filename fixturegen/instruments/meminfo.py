"""`meminfo`: what the machine's caches hold, before and after the process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fixturegen.instruments.instrument import AddedLine, Instrument, Subject
from fixturegen.model import Columns

MEMINFO = Path("/proc/meminfo")
KEYS = {"buffers": "Buffers", "cached": "Cached", "reclaimable": "SReclaimable"}


class Meminfo(Instrument):
    """Reads /proc/meminfo twice."""

    name = "meminfo"
    key = "watch"
    description = (
        "columns `meminfo.buffers`, `.cached`, `.reclaimable` in kB, entry 0 before and entry 1 "
        "after the process"
    )
    lines = (AddedLine("meminfo", tuple(KEYS)),)

    def before(self, subject: Subject, arguments: Sequence[str]) -> Columns:
        """Return one entry for each column, as it is now."""
        return now()

    def after(self, subject: Subject) -> Columns:
        """Return the second entries."""
        return now()


def now() -> Columns:
    """Return kB of each column; one that this kernel does not tell has no entry."""
    kilobytes = dict(re.findall(r"^(\w+): +(\d+) kB$", MEMINFO.read_text("ascii"), re.MULTILINE))
    return {
        "meminfo": {
            column: [int(kilobytes[key])] if key in kilobytes else []
            for column, key in KEYS.items()
        }
    }
