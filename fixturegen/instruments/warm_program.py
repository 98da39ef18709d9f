"""`warm-program`: the program is started once before the process, so that its file is in memory."""

from __future__ import annotations

from collections.abc import Sequence

from fixturegen.instruments.instrument import Instrument, Subject
from fixturegen.model import Columns


class WarmProgram(Instrument):
    """Starts the program once, as its mode does; what it prints does not matter."""

    name = "warm-program"
    key = "prepare"
    arguments = "ARG..."
    takes = (0, 100)
    description = (
        "one start of the program with these arguments and all else as in the mode; "
        "if it fails, so does the sample"
    )

    def before(self, subject: Subject, arguments: Sequence[str]) -> Columns:
        """Start it."""
        if failure := subject.start(tuple(arguments)):
            raise OSError(0, failure)
        return {}
