"""The small process that turns knobs for a run, and puts them back when its pipe closes.

It reads one JSON object a line from stdin and answers each with one on stdout. It knows the knobs
that it was given at the start and dropping the page cache if that was allowed, and nothing else.
Only the pipe ends it: signals that a terminal, a shell or a service manager sends to a whole group
are ignored, because the run that they end closes the pipe. What a SIGKILL of this process itself
leaves behind is in the journal, for `fixturegen tune restore`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from fixturegen import errors
from fixturegen.tune import access, journal, lasting, planning, table, turning
from fixturegen.tune.values import Changes, Turned

LINE = 64 * 1024  # bytes, the longest request
IGNORED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGTSTP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
)


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """What the run asks, in this order.

    "permit" (once: what it may ever ask for), "begin" (once: from now on the knobs are this run's),
    then "set", "reset", "read", "drop_caches".
    """

    do: str
    knob: str = ""
    knobs: tuple[str, ...] = ()
    caches: bool = False


class Answer(Struct, frozen=True):
    """What is answered: a knob's state, or an error with its exit code; at the end the notes.

    To "begin": `refused`, the knobs that cannot be turned here, and `reason`, why the page cache
    cannot be dropped.
    """

    knob: str = ""
    value: str = ""
    reason: str = ""
    refused: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    failed: bool = False
    error: str = ""
    hint: str = ""
    code: int = 0


class Guardian:
    """Serves one run: `requests` and `answers` are the two pipes."""

    def __init__(self, root: Path, requests: BinaryIO, answers: BinaryIO) -> None:
        self._root = root
        self._requests = requests
        self._answers = answers
        self._caches = False
        self._changes = Changes()
        self._turned: set[str] = set()

    def serve(self) -> int:
        """Answer until the pipe closes, then put everything back; return the exit code."""
        try:
            permit = self._first("permit")
            if permit is None:
                return 0
            if error := lasting.unknown_knob(permit.knobs):
                raise error
            self._tell(Answer())
            if self._first("begin") is None:
                return 0
            self._caches = permit.caches
            if not permit.knobs:
                self._tell(Answer(reason=self._caches_refusal()))
                self._answer_all(None)
                return 0
            with journal.held(self._root) as store:
                return self._guard(store, permit.knobs)
        except errors.FixturegenError as error:
            self._tell(Answer(error=error.what, hint=error.hint, code=error.exit_code))
            return error.exit_code

    def _first(self, do: str) -> Request | None:
        """Return the next request, which must be this one, or None at the end of the pipe."""
        request = self._next()
        if request is not None and request.do != do:
            raise _nonsense(request)
        return request

    def _caches_refusal(self) -> str:
        return access.refusal(self._root, table.DROP_CACHES) if self._caches else ""

    def _guard(self, store: journal.Store, knobs: tuple[str, ...]) -> int:
        notes = lasting.refuse_if_turned(store)
        self._changes = planning.changes(self._root, knobs)
        store.write("run", Changes())  # nothing is turned yet, and nobody else may turn anything
        backs = []
        try:
            refused, reason = self._changes.refused, self._caches_refusal()
            self._tell(Answer(notes=tuple(notes), refused=refused, reason=reason))
            self._answer_all(store)
        finally:
            backs = lasting.put_back(self._root, store, self._changes.only(self._turned))
        failed = any(back.result == "failed" for back in backs)
        self._tell(Answer(notes=tuple(lasting.notes_of(backs)), failed=failed))
        return errors.FileError.exit_code if failed else 0

    def _answer_all(self, store: journal.Store | None) -> None:
        while (request := self._next()) is not None:
            try:
                answer = self._do(request, store)
            except errors.FixturegenError as error:
                answer = Answer(error=error.what, hint=error.hint, code=error.exit_code)
            if not self._tell(answer):
                return

    def _do(self, request: Request, store: journal.Store | None) -> Answer:
        if request.do == "drop_caches":
            if not self._caches:
                raise _nonsense(request)
            return Answer(reason=turning.drop_caches(self._root))
        known = {entry.knob for entry in self._changes.entries} | set(self._changes.refused)
        if request.knob not in known or store is None:
            raise _nonsense(request)
        if request.do == "set":
            return self._set(request.knob, store)
        if request.do == "reset":
            return self._reset(request.knob, store)
        if request.do == "read":
            return self._state(request.knob, self._changes.refused.get(request.knob, ""))
        raise _nonsense(request)

    def _set(self, knob: str, store: journal.Store) -> Answer:
        if knob not in self._turned and knob not in self._changes.refused:
            self._turned.add(knob)
            store.write("run", self._changes.only(self._turned))  # before the first write
        turned = turning.turn(self._root, self._changes, knob)
        observed = turning.observed(self._root, self._changes, knob)
        if turned.took and observed != self._changes:
            self._changes = observed
            store.write("run", observed.only(self._turned))
        return self._state(knob, turned.reason)

    def _reset(self, knob: str, store: journal.Store) -> Answer:
        if knob not in self._turned:
            return self._state(knob, self._changes.refused.get(knob, ""))
        backs = turning.restore(self._root, self._changes, knob)
        if not any(back.result in {"failed", "theirs"} for back in backs):
            self._turned.discard(knob)
            store.write("run", self._changes.only(self._turned))
        return self._state(knob, "; ".join(lasting.notes_of(backs)))

    def _state(self, knob: str, reason: str) -> Answer:
        from fixturegen.machine.tree import Tree

        turned = Turned(knob, table.state(Tree(self._root), knob), reason)
        return Answer(knob=turned.knob, value=turned.value, reason=turned.reason)

    def _next(self) -> Request | None:
        """Return the next request, or None when the pipe has closed or holds garbage."""
        line = self._requests.readline(LINE)
        if not line.endswith(b"\n"):
            return None
        try:
            return msgspec.json.decode(line, type=Request)
        except msgspec.DecodeError:
            return None

    def _tell(self, answer: Answer) -> bool:
        """Send an answer; return False if nobody is there to read it."""
        try:
            self._answers.write(msgspec.json.encode(answer) + b"\n")
            self._answers.flush()
        except OSError:
            return False
        return True


def _nonsense(request: Request) -> errors.UsageError:
    return errors.UsageError(
        f"the helper of this run was not given {request.do} {request.knob}".rstrip(),
        "name it with --allow",
    )


def main() -> int:
    """Run the guardian on stdin and stdout; argument 1 is the root."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    with contextlib.suppress(OSError):  # as root only; else it is as killable as any other
        Path("/proc/self/oom_score_adj").write_text("-1000", encoding="ascii")
    return Guardian(Path(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer).serve()
