"""What is one for the whole machine, and tests that run side by side take turns at."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def page_cache() -> Iterator[None]:
    """Nobody else empties the page cache, or counts what is read from a disk, meanwhile."""
    place = Path(tempfile.gettempdir()) / f"fixturegen-tests-page-cache-{os.geteuid()}"
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
