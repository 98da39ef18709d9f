"""`warm-program`: the program is started once before the process, so that its file is in memory."""

from __future__ import annotations

from collections.abc import Sequence

from fixturegen import process
from fixturegen.instruments.instrument import Instrument, Subject
from fixturegen.model import Columns

TIMEOUT_S = 60


class WarmProgram(Instrument):
    """Starts the program once; what it prints and how it ends does not matter."""

    name = "warm-program"
    key = "prepare"
    arguments = "ARG..."
    takes = (0, 100)
    description = "one start of the program with these arguments"

    def before(self, subject: Subject, arguments: Sequence[str]) -> Columns:
        """Start it."""
        argv = [str(subject.binary), *arguments]
        done = process.run(argv, cwd=subject.folder, timeout_s=TIMEOUT_S)
        if done.code in (127, -9):
            raise OSError(0, done.stderr)
        return {}
