"""The run's side of the guardian: knobs that are turned step by step, and always put back."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fixturegen import errors
from fixturegen.privileges import need_root
from fixturegen.tune.guardian import Answer, Request
from fixturegen.tune.lasting import RESTORE, unknown_knob
from fixturegen.tune.values import Turned

if TYPE_CHECKING:
    from subprocess import Popen

# -I: nothing of the user's environment or of the current folder decides what root imports; the
# path is the one that this process, which is root too, has found its own modules on.
_START = "import sys; sys.path[:] = sys.argv[2:]; from fixturegen.tune.guardian import main; "
_START += "sys.exit(main())"


class Guard:
    """Knobs that the guardian holds for this process.

    notes: what a user has to know; refused: the knobs that cannot be turned here, with the reason;
    caches_refusal: why the page cache cannot be dropped, or "". Both are known from `holding` on.
    """

    def __init__(self, process: Popen[bytes], knobs: tuple[str, ...], caches: bool) -> None:
        self._process = process
        self._put_back: bool | None = None
        self.knobs = knobs
        self.caches = caches
        self.notes: list[str] = []
        self.refused: dict[str, str] = {}
        self.caches_refusal = ""

    @property
    def pid(self) -> int:
        """The guardian's process id."""
        return self._process.pid

    def set(self, knob: str) -> Turned:
        """Turn `knob`; the answer has the state read back, and why it did not take, if so."""
        return self._turned(Request("set", knob))

    def reset(self, knob: str) -> Turned:
        """Put the old values of `knob` back; the answer has the state read back."""
        return self._turned(Request("reset", knob))

    def read_back(self, knob: str) -> str:
        """Return the state of `knob` in words, read now."""
        return self._turned(Request("read", knob)).value

    def drop_caches(self) -> None:
        """Empty the page cache, after a sync; raises errors.FileError if that is refused."""
        reason = self._ask(Request("drop_caches")).reason
        if reason:
            raise errors.FileError(f"the page cache cannot be emptied: drop_caches {reason}")

    def _turned(self, request: Request) -> Turned:
        answer = self._ask(request)
        return Turned(answer.knob, answer.value, answer.reason)

    def _ask(self, request: Request) -> Answer:
        pipe = self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            if pipe is not None:
                pipe.write(msgspec.json.encode(request) + b"\n")
                pipe.flush()
        return self._answer()

    def _answer(self) -> Answer:
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line:
            raise errors.FileError("the process that holds the knobs has ended", RESTORE)
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error:
            raise _KINDS.get(answer.code, errors.FileError)(answer.error, answer.hint)
        return answer

    def permit(self) -> None:
        """Tell the guardian, once and for all, what may be asked of it."""
        self._ask(Request("permit", knobs=self.knobs, caches=self.caches))

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the knobs while the block runs, then have them put back, however it ends.

        Nothing is turned at first. Raises errors.LockedError (knobs are turned already),
        errors.CheckError (a journal that cannot be trusted), errors.FileError.
        """
        try:
            begun = self._ask(Request("begin"))
            self.notes += begun.notes
            self.refused, self.caches_refusal = begun.refused, begun.reason
            yield
        except BaseException as error:
            if not self.end():
                error.add_note("\n".join([*self.notes, RESTORE]))
            raise
        if not self.end():
            raise errors.FileError("; ".join(self.notes) or "the knobs were not put back", RESTORE)

    def end(self) -> bool:
        """Close the pipe and wait until everything is put back; return whether all was."""
        if self._put_back is None:
            self._put_back = self._ended()
        return self._put_back

    def _ended(self) -> bool:
        import subprocess

        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        last = self._process.stdout.read().splitlines()[-1:]
        self._process.stdout.close()
        code = self._process.wait()
        with contextlib.suppress(msgspec.DecodeError, subprocess.SubprocessError):
            self.notes += [
                note for line in last for note in msgspec.json.decode(line, type=Answer).notes
            ]
        return code == 0


_KINDS: dict[int, type[errors.FixturegenError]] = {
    error.exit_code: error
    for error in (errors.CheckError, errors.UsageError, errors.LockedError, errors.FileError)
}


@contextlib.contextmanager
def guard(knobs: Sequence[str], root: Path = Path("/"), *, caches: bool = False) -> Iterator[Guard]:
    """Hold `knobs` (and, with `caches`, the right to drop the page cache) while the block runs.

    However the block and this process end, SIGKILL included, a process of its own then puts the
    exact old values back. Needs root where `root` is `/`; call it before root's rights go.
    Raises errors.UsageError (unknown knob, no root), errors.LockedError (knobs are turned
    already), errors.CheckError (a journal that cannot be trusted), errors.FileError.
    """
    with standby(knobs, root, caches=caches) as ready, ready.holding():
        yield ready


@contextlib.contextmanager
def standby(
    knobs: Sequence[str], root: Path = Path("/"), *, caches: bool = False
) -> Iterator[Guard]:
    """Start the guardian, which may do so much and no more; `Guard.holding` begins.

    Between the two this process may let go of root's rights, and wait for
    another run to end. Raises errors.UsageError (unknown knob, no root).
    """
    if error := unknown_knob(knobs):
        raise error
    root = root.resolve()  # another name of / is /
    need_root(
        root, "run", *(f"--allow tune:{','.join(knobs)}",) if knobs else ("--allow drop-caches",)
    )
    ready = Guard(_started(root), tuple(dict.fromkeys(knobs)), caches)
    try:
        ready.permit()
        yield ready
    finally:
        ready.end()


def _started(root: Path) -> Popen[bytes]:
    import subprocess

    path = [str(Path(entry).absolute()) for entry in sys.path if Path(entry).is_dir()]
    package = str(Path(__file__).absolute().parents[2])
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, str(root.absolute()), package, *path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath, "LC_ALL": "C"},
        cwd="/",
        start_new_session=True,
    )
