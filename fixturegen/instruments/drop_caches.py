"""`drop-caches`: the page cache of the whole machine is emptied before the process."""

from __future__ import annotations

from collections.abc import Sequence

from fixturegen.instruments.instrument import Instrument, Subject
from fixturegen.model import Columns


class DropCaches(Instrument):
    """Empties the machine's caches, which its guardian does as root."""

    name = "drop-caches"
    key = "prepare"
    description = "the caches of the machine are emptied"
    asks = "the caches of the machine are emptied only when asked, by root"

    def before(self, subject: Subject, arguments: Sequence[str]) -> Columns:
        """Empty them."""
        subject.drop_caches()
        return {}
