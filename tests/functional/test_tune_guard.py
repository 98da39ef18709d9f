"""The guardian: whatever ends a run, the knobs are as they were. Real processes, no root."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sudo import VARIABLES, OpenPython

from fixturegen import errors, privileges, tune

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
from knobs import JOURNAL, NO_TURBO, SMT, THP, governor, held, value
from trees import lay

REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 20.0
# A run that turns knobs until it is ended; what it prints says how far it is.
RUN = """
import os, signal, sys, time
from pathlib import Path
from fixturegen import tune
how = sys.argv[2]
with tune.guard(["governor", "turbo", "thp", "smt"], Path(sys.argv[1])) as guard:
    print(guard.pid, os.getsid(guard.pid) != os.getsid(0), flush=True)
    while how == "busy":
        for knob in ("governor", "turbo", "smt", "thp"):
            guard.set(knob)
        guard.reset("governor")
        guard.reset("smt")
    for knob in ("governor", "turbo", "smt", "thp"):
        assert guard.set(knob).took
    print("turned", flush=True)
    if how == "raise":
        raise RuntimeError("a bug")
    if how == "exit":
        os._exit(3)
    if how == "wait":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        time.sleep(60)
"""


class Run:
    """A run in a process of its own, and its guardian."""

    def __init__(self, root: Path, how: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(root), how],
            cwd=REPOSITORY,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        pid, apart = self.process.stdout.readline().split()
        self.guardian, self.apart = int(pid), apart == "True"

    def turned(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "turned\n"

    def kill(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait()

    def over(self) -> None:
        """Wait until the guardian has ended."""
        end = time.monotonic() + PATIENCE_S
        while alive(self.guardian):
            assert time.monotonic() < end, "the guardian does not end"
            time.sleep(0.005)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return knobs.intel(tmp_path)


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    made: list[Run] = []
    yield made
    for each in made:
        each.close()


def start(root: Path, how: str, runs: list[Run]) -> Run:
    runs.append(Run(root, how))
    return runs[-1]


def test_knobs_step_by_step(root: Path) -> None:
    before = held(root)
    with tune.guard(["governor", "smt", "turbo", "governor"], root) as guard:
        assert held(root) == before  # nothing is turned yet
        assert guard.read_back("governor") == "powersave"
        assert guard.set("governor") == tune.Turned("governor", "performance")
        assert value(root, SMT) == "on"
        assert guard.set("smt") == tune.Turned("smt", "off")
        assert guard.set("smt").took  # twice is the same
        assert guard.reset("smt") == tune.Turned("smt", "on")
        assert guard.reset("smt").took
        assert guard.read_back("turbo") == "on"
        assert (value(root, SMT), value(root, governor(3))) == ("on", "performance")
    assert held(root) == before
    assert guard.notes == []
    assert not (root / JOURNAL).exists()


def test_what_was_not_named_is_refused_by_the_helper_itself(root: Path) -> None:
    with tune.guard(["governor"], root) as guard:
        for ask in (lambda: guard.set("thp"), lambda: guard.read_back("../x"), guard.drop_caches):
            with pytest.raises(errors.UsageError, match="was not given"):
                ask()
        assert guard.set("governor").took  # it goes on
    assert value(root, THP) == "always [madvise] never"


def test_a_knob_that_is_not_there_has_its_reason_and_the_others_work(root: Path) -> None:
    lay(root, {SMT: "notsupported"})
    (root / NO_TURBO).chmod(0o444)
    with tune.guard(["governor", "turbo", "smt"], root) as guard:
        smt, turbo = guard.set("smt"), guard.set("turbo")
        assert (smt.value, smt.took) == ("notsupported", False)
        assert "ENODEV" in smt.reason
        assert turbo == tune.Turned("turbo", "on", f"/{NO_TURBO}: read-only")
        assert guard.set("governor").took


def test_what_did_not_take_says_so_and_is_put_back_at_once(root: Path) -> None:
    lay(root, {f"{knobs.CPU}/smt/active": "1"})
    with tune.guard(["smt"], root) as guard:
        turned = guard.set("smt")
        assert "threads still share cores" in turned.reason
        assert (turned.value, value(root, SMT)) == ("on", "on")


def test_the_page_cache_needs_its_own_permission_and_no_journal(root: Path) -> None:
    tune.apply(root, ["thp"])
    with tune.guard((), root, caches=True) as guard:
        guard.drop_caches()
    assert value(root, knobs.DROP) == "3"
    assert (root / JOURNAL).exists()
    (root / knobs.DROP).unlink()
    with (
        tune.guard((), root, caches=True) as guard,
        pytest.raises(errors.FileError, match="cannot be emptied: drop_caches absent"),
    ):
        guard.drop_caches()


def test_another_journal_or_another_run_refuses(root: Path) -> None:
    with tune.guard(["thp"], root):
        before = held(root)
        with pytest.raises(errors.LockedError, match="held by process"):
            tune.apply(root, ["governor"])
        with pytest.raises(errors.LockedError), tune.guard(["governor"], root):
            pass
        with pytest.raises(errors.LockedError):
            tune.restore(root)
        assert held(root) == before
    tune.apply(root, ["governor"])
    with (
        pytest.raises(errors.LockedError, match="by fixturegen tune apply"),
        tune.guard(["thp"], root),
    ):
        pass


def test_a_journal_that_cannot_be_trusted_stops_the_run(root: Path) -> None:
    tune.apply(root, ["governor"])
    (root / JOURNAL).chmod(0o666)
    with pytest.raises(errors.CheckError, match="written by others"), tune.guard(["thp"], root):
        pass


def test_a_value_changed_during_the_run_is_left_and_told(root: Path) -> None:
    with tune.guard(["governor"], root) as guard:
        guard.set("governor")
        lay(root, {governor(2): "schedutil"})
    assert value(root, governor(2)) == "schedutil"
    assert value(root, governor(1)) == "powersave"
    assert "policy2/scaling_governor was left as it is" in guard.notes[0]


def test_a_knob_that_was_never_turned_is_nobodys_business(root: Path) -> None:
    with tune.guard(["governor", "thp"], root) as guard:
        guard.set("thp")
        lay(root, {governor(0): "performance"})  # by someone else, for good
    assert value(root, governor(0)) == "performance"
    assert guard.notes == []


def test_what_cannot_be_put_back_is_an_error_and_stays_in_the_journal(root: Path) -> None:
    with pytest.raises(errors.FileError, match="could not be put back to madvise: read-only"):  # noqa: SIM117
        with tune.guard(["thp", "governor"], root) as guard:
            guard.set("thp")
            guard.set("governor")
            (root / THP).chmod(0o444)
    assert value(root, governor(0)) == "powersave"
    (root / THP).chmod(0o644)
    assert not tune.restore(root).failed
    assert value(root, THP) == "always [madvise] never"


def test_an_error_of_the_run_comes_through(root: Path) -> None:
    before = held(root)
    with pytest.raises(ZeroDivisionError), tune.guard(["governor"], root) as guard:
        guard.set("governor")
        raise ZeroDivisionError
    assert held(root) == before


@pytest.mark.slow
@pytest.mark.parametrize("how", ["end", "raise", "exit"])
def test_however_the_run_ends_by_itself(root: Path, runs: list[Run], how: str) -> None:
    before = held(root)
    run = start(root, how, runs)
    assert run.apart  # a session of its own: no terminal's signal reaches it
    run.turned()
    run.over()
    assert held(root) == before
    assert not (root / JOURNAL).exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGQUIT", "SIGKILL"])
def test_whichever_signal_ends_the_run(root: Path, runs: list[Run], name: str) -> None:
    before = held(root)
    run = start(root, "wait", runs)
    run.turned()
    assert held(root) != before
    run.kill(getattr(signal, name))
    run.over()
    assert held(root) == before
    assert not (root / JOURNAL).exists()


@pytest.mark.slow
def test_signals_do_not_end_the_guardian(root: Path, runs: list[Run]) -> None:
    before = held(root)
    run = start(root, "wait", runs)
    run.turned()
    turned = held(root)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGUSR1", "SIGALRM"):
        os.kill(run.guardian, getattr(signal, name))
    time.sleep(0.1)
    assert alive(run.guardian)
    assert held(root) == turned
    run.kill(signal.SIGKILL)
    run.over()
    assert held(root) == before


@pytest.mark.slow
def test_a_run_killed_at_any_moment(root: Path, runs: list[Run]) -> None:
    before = held(root)
    generator = random.Random(4)
    for _ in range(15):
        run = start(root, "busy", runs)
        time.sleep(generator.random() * 0.06)
        run.kill(signal.SIGKILL)
        run.over()
        assert held(root) == before
        assert not (root / JOURNAL).exists()


@pytest.mark.slow
def test_a_guardian_killed_at_any_moment_then_restore(root: Path, runs: list[Run]) -> None:
    before = held(root)
    generator = random.Random(5)
    left = 0
    for _ in range(15):
        run = start(root, "busy", runs)
        time.sleep(generator.random() * 0.06)
        os.kill(run.guardian, signal.SIGKILL)
        assert run.process.wait(PATIENCE_S) != 0  # the run learns of it
        run.over()
        left += (root / JOURNAL).exists()
        done = tune.restore(root)
        assert not done.failed
        assert held(root) == before
        assert not tune.restore(root).turned
    assert left > 10


@pytest.mark.slow
def test_apply_killed_at_any_moment_then_restore(root: Path) -> None:
    before = held(root)
    generator = random.Random(6)
    command = [
        sys.executable,
        "-c",
        "import sys; from pathlib import Path; from fixturegen import tune\n"
        "print(flush=True); tune.apply(Path(sys.argv[1]), list(tune.KNOBS))",
        str(root),
    ]
    states = set()
    for _ in range(20):
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(generator.random() * 0.03)
            process.kill()
        states.add(tuple(sorted(name for name, data in held(root).items() if data != before[name])))
        tune.restore(root)
        assert held(root) == before
    assert len(states) > 1


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_after_dropping_root_the_helper_still_restores_what_is_roots(
    root: Path, open_python: OpenPython
) -> None:
    before = held(root)
    root.parent.chmod(0o755)
    script = (
        "import os, sys; from pathlib import Path; from fixturegen import privileges, tune\n"
        "with tune.guard(['governor'], Path(sys.argv[1])) as guard:\n"
        "    user = privileges.drop_privileges()\n"
        "    assert guard.set('governor').took\n"
        "    print(user.uid, os.getresuid(), os.getresgid(), os.getgroups())\n"
        "    try:\n"
        "        os.setuid(0)\n"
        "    except PermissionError:\n"
        "        print('for good')\n"
        "    try:\n"
        "        open(sys.argv[2], 'w')\n"
        "    except PermissionError:\n"
        "        print('not mine')\n"
    )
    done = subprocess.run(
        [open_python.executable, "-c", script, str(root), str(root / governor(0))],
        cwd="/",
        env=open_python.environment(VARIABLES),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "65534 (65534, 65534, 65534) (65534, 65534, 65534) [65534]",
        "for good",
        "not mine",
    ], done.stderr
    assert held(root) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="sudo's variables mean something to root only")
@pytest.mark.parametrize(
    ("uid", "gid"),
    [
        ("x", "1"),
        ("65534", None),
        (None, "0"),
        ("65534", "0"),
        ("-1", "1"),
        ("1" * 30, "1"),
        ("4242", "0"),
        ("\N{ARABIC-INDIC DIGIT ONE}", "1"),
    ],
)
def test_variables_that_are_not_sudos(
    monkeypatch: pytest.MonkeyPatch, uid: str | None, gid: str | None
) -> None:
    for name, text in (("SUDO_UID", uid), ("SUDO_GID", gid)):
        monkeypatch.delenv(name, raising=False)
        if text is not None:
            monkeypatch.setenv(name, text)
    with pytest.raises(errors.UsageError, match="not what sudo sets"):
        privileges.drop_privileges()
    assert os.geteuid() == 0


def test_without_sudo_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.delenv("SUDO_GID", raising=False)
    assert privileges.drop_privileges() is None
    monkeypatch.setenv("SUDO_UID", "0")
    monkeypatch.setenv("SUDO_GID", "0")
    assert privileges.drop_privileges() is None


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/proc/sys/kernel/randomize_va_space", os.W_OK),
    reason="needs root and a writable randomize_va_space; fake trees stand in above",
)
def test_this_machines_own_knob() -> None:
    path = Path("/proc/sys/kernel/randomize_va_space")
    before = path.read_text()
    try:
        with tune.guard(["aslr", "smt"], Path("/")) as guard:
            turned = guard.set("aslr")
            assert turned == tune.Turned("aslr", "off")
            assert path.read_text() == "0\n"
            assert guard.read_back("aslr") == "off"
        assert path.read_text() == before
    finally:
        if path.read_text() != before:
            path.write_text(before)
