"""The launcher with real processes: what a program finds, what becomes of it, what survives.

Every process that is ended here was started here, and is ended by its id.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixturegen.errors import FixturegenError
from fixturegen.launcher import (
    Launcher,
    Outcome,
    Start,
    build_launcher,
    environment,
    padded_environments,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]

SOURCES = Path(__file__).parents[1] / "programs" / "launcher"
CPUS = sorted(os.sched_getaffinity(0))


def compile_program(folder: Path, name: str, *flags: str) -> str:
    binary = folder / name
    source = SOURCES / f"{name}.c"
    subprocess.run(["gcc", "-std=c11", "-O1", *flags, "-o", binary, source], check=True)
    return str(binary)


@dataclass(frozen=True)
class Programs:
    probe: str
    misbehave: str
    empty: str


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    folder = tmp_path_factory.mktemp("programs")
    return Programs(
        compile_program(folder, "probe"),
        compile_program(folder, "misbehave"),
        compile_program(folder, "empty", "-static", "-nostdlib"),
    )


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_launcher(tmp_path_factory.mktemp("launcher"))


@pytest.fixture
def launcher(binary: Path, tmp_path: Path) -> Iterator[Launcher]:
    with Launcher(binary, tmp_path) as started:
        yield started


def start(program: str, *args: str, **changes: Any) -> Start:
    given: dict[str, Any] = {"env": environment({}), "cwd": "/", "timeout_s": 30, "cpus": ()}
    return Start(program, args, **(given | changes))


def once(launcher: Launcher, program: str, *args: str, **changes: Any) -> Outcome:
    (outcome,) = launcher.run([launcher.define(start(program, *args, **changes))])
    return outcome


def printed(launcher: Launcher, program: str, *args: str, **changes: Any) -> list[str]:
    outcome = once(launcher, program, *args, **changes)
    assert (outcome.status, outcome.detail) == ("ok", "")
    return outcome.stdout.decode().splitlines()


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def worker(pid: int) -> int:
    """Return the launcher's only child, which starts the programs."""
    (child,) = children(pid)
    return child


def alive(pid: int) -> bool:
    """Whether it runs: a zombie that its parent has yet to reap does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come to pass")


def later(action: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=action)
    thread.start()
    return thread


# ---- what the launcher is


def test_hello_says_how_it_works(launcher: Launcher) -> None:
    assert launcher.hello.start == "clone"
    assert launcher.hello.linked in ("musl-gcc -static", "gcc -static", "gcc")
    assert launcher.hello.tree == "walked"
    assert launcher.hello.rcu == "recorded" or "not recorded: " in launcher.hello.rcu


def test_others_can_find_it(launcher: Launcher, tmp_path: Path) -> None:
    process = Path("/proc") / str(launcher.pid)
    assert (process / "comm").read_text() == "fixturegen-lnch\n"
    words = (process / "cmdline").read_bytes().split(b"\0")
    assert words[words.index(b"--project") + 1] == os.fsencode(tmp_path)


def test_it_is_built_once(binary: Path) -> None:
    made = binary.stat().st_mtime_ns
    assert build_launcher(binary.parent) == binary
    assert binary.stat().st_mtime_ns == made
    assert list(binary.parent.iterdir()) == [binary]


@pytest.mark.parametrize("compiler", ["gcc", "clang", "musl-gcc"])
def test_it_compiles_without_a_warning(compiler: str, tmp_path: Path, binary: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    folder = Path(sys.modules[build_launcher.__module__].__file__ or "").parent
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    sources = sorted(folder.glob("launcher*.c"))
    done = subprocess.run([compiler, *flags, "-o", tmp_path / "l", *sources], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


# ---- what a program finds


def test_descriptors_are_three(binary: Path, programs: Programs) -> None:
    extra = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(extra, True)
    try:
        with Launcher(binary, Path()) as launcher:
            for limit in (1 << 20, 1 << 24):  # another limit means other files
                found = printed(launcher, programs.probe, "descriptors", output_limit=limit)
                assert found == ["0", "1", "2"]
    finally:
        os.close(extra)


def test_stdin_is_empty(launcher: Launcher, programs: Programs) -> None:
    assert printed(launcher, programs.probe, "input") == ["/dev/null 0"]


def test_signals_are_default_and_unblocked(binary: Path, programs: Programs) -> None:
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN  # Python's doing
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        with Launcher(binary, Path()) as launcher:
            assert printed(launcher, programs.probe, "signals") == []
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})


def test_environment_and_arguments_are_exact(launcher: Launcher, programs: Programs) -> None:
    env = {"A": "1", "EMPTY": "", "ODD": "a=b c\td\udcff", "LC_ALL": "C"}
    outcome = once(launcher, programs.probe, "variables", env=env)
    assert outcome.stdout == b"A=1\nEMPTY=\nODD=a=b c\td\xff\nLC_ALL=C\n"
    args = ("arguments", "", "two words", "é")
    assert printed(launcher, programs.probe, *args) == [programs.probe, *args]


def test_working_folder_and_back(launcher: Launcher, programs: Programs, tmp_path: Path) -> None:
    for folder in (str(tmp_path), "/", str(tmp_path)):
        assert printed(launcher, programs.probe, "folder", cwd=folder) == [folder]
    Path(tmp_path, "here").symlink_to(programs.probe)
    assert printed(launcher, "./here", "folder", cwd=str(tmp_path)) == [str(tmp_path)]


def test_own_group_in_the_launchers_session(launcher: Launcher, programs: Programs) -> None:
    pid, parent, group, session = map(int, printed(launcher, programs.probe, "ids")[0].split())
    assert (parent, group, session) == (worker(launcher.pid), pid, worker(launcher.pid))
    assert session != os.getsid(0)


def test_dies_with_the_launcher_and_dumps_no_core(launcher: Launcher, programs: Programs) -> None:
    assert printed(launcher, programs.probe, "death") == [str(int(signal.SIGKILL))]
    assert printed(launcher, programs.probe, "core") == ["0"]


@pytest.mark.parametrize("cpu", CPUS[:2])
def test_affinity_is_obeyed_and_undone(launcher: Launcher, programs: Programs, cpu: int) -> None:
    everything = [str(number) for number in CPUS]
    assert printed(launcher, programs.probe, "cpus") == everything
    assert printed(launcher, programs.probe, "cpus", cpus=(cpu,)) == [str(cpu)]
    assert printed(launcher, programs.probe, "cpus", cpus=tuple(CPUS)) == everything
    assert printed(launcher, programs.probe, "cpus") == everything


def test_address_randomisation_off_and_on(launcher: Launcher, programs: Programs) -> None:
    fixed = launcher.define(start(programs.probe, "stack", aslr=False))
    random = launcher.define(start(programs.probe, "stack"))
    outcomes = list(launcher.run([fixed, random] * 10))
    assert len({outcome.stdout for outcome in outcomes if outcome.case == fixed}) == 1
    assert len({outcome.stdout for outcome in outcomes if outcome.case == random}) > 1


def test_padded_cases_have_one_stack_address(
    launcher: Launcher, programs: Programs, tmp_path: Path
) -> None:
    other = tmp_path / "a-program-with-quite-another-path"
    other.symlink_to(programs.probe)
    bare = [
        start(programs.probe, "stack", aslr=False),
        start(programs.probe, "stack", "more", "arguments" * 9, aslr=False),
        start(str(other), "stack", aslr=False, env={"ONE": "1" * 2000}),
    ]

    def addresses(starts: list[Start]) -> set[bytes]:
        numbers = [launcher.define(each) for each in starts]
        return {outcome.stdout for outcome in launcher.run(numbers)}

    assert len(addresses(bare)) == 3
    assert len(addresses(padded_environments(bare))) == 1


def test_peak_memory_is_the_programs_own(launcher: Launcher, programs: Programs) -> None:
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    usage = once(launcher, programs.empty).usage
    assert usage.maxrss_kb * 5 < python
    assert usage.minor_faults < 50
    assert usage.wall_ns > 0


# ---- what becomes of it


def test_every_way_to_end(launcher: Launcher, programs: Programs) -> None:
    bad = programs.misbehave
    ends = [
        (start(programs.empty), "ok", ""),
        (start(bad, "exit", "0"), "ok", ""),
        (start(bad, "exit", "3"), "exit", "exit code 3"),
        (start(bad, "exit", "127"), "exit", "exit code 127"),
        (start(bad, "crash"), "signal", "killed by SIGSEGV"),
        (start(bad, "signal", "6"), "signal", "killed by SIGABRT"),
        (start(bad, "signal", "9"), "signal", "killed by SIGKILL"),
        (start(bad, "signal", "15"), "signal", "killed by SIGTERM"),
        (start(bad, "signal", "40"), "signal", "killed by signal 40"),
        (start(bad, "hang", timeout_s=0.1), "timeout", "no end within 0.1 s"),
        (start(bad, "signal", "19", timeout_s=0.1), "timeout", "no end within 0.1 s"),
    ]
    numbers = [launcher.define(each) for each, _, _ in ends]
    outcomes = list(launcher.run(numbers))
    assert [(o.status, o.detail) for o in outcomes] == [(s, d) for _, s, d in ends]
    assert [o.sequence for o in outcomes] == list(range(len(ends)))
    assert [o.case for o in outcomes] == numbers


def test_what_cannot_be_started(launcher: Launcher, programs: Programs, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo no shebang\n")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "data").write_bytes(Path(programs.empty).read_bytes())
    for name in ("script", "lost"):
        (tmp_path / name).chmod(0o755)
    ends = [
        (start("/no/such/program"), "cannot start: No such file or directory"),
        (start(str(tmp_path / "lost")), "cannot start: No such file or directory"),
        (start(str(tmp_path / "data")), "cannot start: Permission denied"),
        (start(str(tmp_path)), "cannot start: Permission denied"),
        (start(str(script)), "cannot start: Exec format error"),
        (start(programs.empty, cwd="/no/such/folder"), "cannot enter the working folder: No such"),
        (start(programs.empty, cpus=(1023,)), "cannot pin to the CPUs: Invalid argument"),
        (start(programs.empty, "x" * 200_000), "cannot start: Argument list too long"),
    ]
    numbers = [launcher.define(each) for each, _ in ends]
    good = launcher.define(start(programs.probe, "both", "still works"))
    for outcome, (_, detail) in zip(launcher.run(numbers), ends, strict=True):
        assert outcome.status == "unstarted"
        assert outcome.detail.startswith(detail)
    (outcome,) = launcher.run([good])
    assert (outcome.status, outcome.stdout) == ("ok", b"out still works\n")


def test_rcu_is_recorded_or_said_not_to_be(launcher: Launcher, programs: Programs) -> None:
    number = launcher.define(start(programs.empty, cpus=(CPUS[0],)))
    counts = [outcome.rcu for outcome in launcher.run([number] * 200)]
    if launcher.hello.rcu == "recorded":
        assert all(0 <= count < 1000 for count in counts)
    else:
        assert set(counts) == {-1}


# ---- what it prints


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 65_536, 65_537, 3_000_000, 16 << 20])
def test_output_is_equal_byte_for_byte(launcher: Launcher, programs: Programs, size: int) -> None:
    number = launcher.define(start(programs.probe, "bytes", str(size)))
    expected = bytes((i * 31 + i // 251) & 255 for i in range(min(size, 70_000)))
    for outcome in launcher.run([number, number]):
        assert outcome.status == "ok"
        assert len(outcome.stdout) == size
        assert outcome.stdout[: len(expected)] == expected


def test_streams_are_apart_and_empty_at_the_start(launcher: Launcher, programs: Programs) -> None:
    words = ["long " * 30_000, "short"]
    numbers = [launcher.define(start(programs.probe, "both", word[:99_000])) for word in words]
    for outcome in launcher.run(numbers * 3):
        word = words[outcome.case][:99_000]
        assert outcome.stdout.decode() == f"out {word}\n"
        assert outcome.stderr.decode() == f"err {word}\n"[-65_536:]


def test_stderr_is_its_last_part(launcher: Launcher, programs: Programs) -> None:
    lines = once(launcher, programs.probe, "errors", "20000").stderr
    assert lines == b"".join(b"%09d\n" % i for i in range(20_000))[-65_536:]


def test_stdout_is_discarded(launcher: Launcher, programs: Programs) -> None:
    kept = launcher.define(start(programs.probe, "both", "x"))
    discarded = launcher.define(start(programs.probe, "both", "x", discard=True))
    for outcome in launcher.run([discarded, kept, discarded, kept]):
        assert outcome.stdout == (b"out x\n" if outcome.case == kept else b"")
        assert outcome.stderr == b"err x\n"


@pytest.mark.parametrize("limit", [0, 1000, 4096, 1 << 20, 2 << 20, (2 << 20) + 1])
def test_a_limit_is_exact(launcher: Launcher, programs: Programs, limit: int) -> None:
    just = once(launcher, programs.probe, "bytes", str(limit), output_limit=limit)
    assert (just.status, len(just.stdout)) == ("ok", limit)
    more = once(launcher, programs.probe, "bytes", str(limit + 1), output_limit=limit)
    assert (more.status, len(more.stdout)) == ("flood", limit)
    assert more.detail == f"more output than its limit ({limit} bytes: output_limit), exit code 0"


@pytest.mark.parametrize("stream", ["1", "2"])
@pytest.mark.parametrize("how", ["flood", "stubborn"])
def test_a_flood_of_1_gb_is_marked(
    launcher: Launcher, programs: Programs, how: str, stream: str
) -> None:
    outcome = once(launcher, programs.misbehave, how, stream, timeout_s=20)
    assert outcome.status == "flood"
    code = 1 if how == "flood" and stream == "1" else 0  # a pipe takes it all, and keeps the end
    limit = f"{16 << 20} bytes: output_limit"
    assert outcome.detail == f"more output than its limit ({limit}), exit code {code}"
    assert len(outcome.stdout) == (16 << 20 if stream == "1" else 0)
    assert len(outcome.stderr) == (65_536 if stream == "2" else 0)
    assert printed(launcher, programs.probe, "both", "next") == ["out next"]


def test_a_discarded_flood_is_none(launcher: Launcher, programs: Programs) -> None:
    assert once(launcher, programs.misbehave, "flood", "1", discard=True).status == "ok"


@pytest.mark.parametrize(
    ("how", "out", "err"),
    [
        ("append", b"before\nanew\nafter\n", b"before\nanew\nafter\n"),
        ("plain", b"anew\ne\nafter\n", b"before\nanew\nafter\n"),
        ("truncate", b"anew\nafter\n", b"before\nanew\nafter\n"),
    ],
)
def test_outputs_opened_anew(
    launcher: Launcher, programs: Programs, how: str, out: bytes, err: bytes
) -> None:
    """stdout is as a file that is appended to, stderr as a pipe, which loses nothing."""
    to_out = once(launcher, programs.misbehave, "reopen", how, "1")
    if to_out.stderr:
        assert not may_mount() and b"Operation not permitted" in to_out.stderr
    else:
        assert to_out.stdout == out
    to_err = once(launcher, programs.misbehave, "reopen", how, "2")
    assert (to_err.stdout, to_err.stderr) == (b"", err)


def may_mount() -> bool:
    """Whether a mount namespace can be had, as root or as an ordinary user."""
    mount = "mount -t tmpfs tmpfs /proc"
    return any(
        subprocess.run(["unshare", how, "sh", "-c", mount], capture_output=True).returncode == 0
        for how in ("-m", "-Urm")
    )


def test_a_shell_appends_and_truncates(launcher: Launcher) -> None:
    words = "echo a; echo b >> /dev/stdout; echo c; echo x >&2; echo y > /dev/stderr; echo z >&2"
    outcome = once(launcher, "/bin/sh", "-c", words)
    assert outcome.stderr == b"x\ny\nz\n" or not may_mount()
    assert outcome.stdout == b"a\nb\nc\n" or not may_mount()


def test_where_nobody_may_mount_stdout_is_a_file_that_cannot_be_appended_to(
    binary: Path, programs: Programs, tmp_path: Path
) -> None:
    wrapper = compile_program(tmp_path, "refuse_clone", f'-DLAUNCHER="{binary}"')
    with Launcher(Path(wrapper), tmp_path) as launcher:
        refused = b"Operation not permitted\n"
        for how, out, err in (
            ("append", b"before\nafter\n", b"write: " + refused),
            ("truncate", b"before\nafter\n", b"open: " + refused),
            ("plain", b"anew\ne\nafter\n", b""),
        ):
            outcome = once(launcher, programs.misbehave, "reopen", how, "1")
            assert (outcome.stdout, outcome.stderr) == (out, err)
            outcome = once(launcher, programs.misbehave, "reopen", how, "2")
            assert outcome.stderr == b"before\nanew\nafter\n"


@pytest.mark.parametrize("deed", ["set-flags", "seek"])
def test_what_one_does_to_stdout_the_next_does_not_see(
    launcher: Launcher, programs: Programs, deed: str
) -> None:
    assert once(launcher, programs.misbehave, deed).status == "ok"
    assert printed(launcher, programs.probe, "both", "fine") == ["out fine"]


# ---- what it leaves behind


def test_a_daemon_is_killed_and_counted(launcher: Launcher, programs: Programs) -> None:
    outcome = once(launcher, programs.misbehave, "daemon")
    assert (outcome.status, outcome.leftovers) == ("ok", 1)
    assert not alive(int(outcome.stdout))
    assert once(launcher, programs.empty).leftovers == 0


def test_a_daemon_of_a_program_that_hangs(launcher: Launcher, programs: Programs) -> None:
    outcome = once(launcher, programs.misbehave, "daemon-hang", timeout_s=1)
    assert (outcome.status, outcome.leftovers) == ("timeout", 1)
    assert not alive(int(outcome.stdout))


def test_what_ended_by_itself_is_no_leftover(launcher: Launcher, programs: Programs) -> None:
    outcome = once(launcher, programs.misbehave, "dead")
    assert (outcome.status, outcome.leftovers) == ("ok", 0)


@pytest.mark.parametrize("kind", ["bomb", "scattered-bomb"])
def test_a_fork_bomb_is_ended(launcher: Launcher, programs: Programs, kind: str) -> None:
    outcome = once(launcher, programs.misbehave, kind, "500", timeout_s=0.5)
    assert outcome.status == "timeout"
    assert outcome.leftovers > 0
    assert children(worker(launcher.pid)) == []
    assert once(launcher, programs.empty).status == "ok"


# ---- many samples


def test_5000_samples_in_order_and_no_zombie(launcher: Launcher, programs: Programs) -> None:
    starts = [start(programs.empty), start(programs.probe, "both", "x"), start(programs.empty)]
    numbers = [launcher.define(each) for each in starts]
    wanted = [numbers[i * i % 3] for i in range(5000)]
    last = 0
    for i, outcome in enumerate(launcher.run(wanted)):
        assert (outcome.sequence, outcome.case, outcome.status) == (i, wanted[i], "ok")
        assert outcome.started_ns > last
        last = outcome.started_ns + outcome.usage.wall_ns
    assert i == 4999
    assert children(worker(launcher.pid)) == []
    assert list(launcher.run([])) == []


def test_the_launchers_memory_is_bounded(launcher: Launcher, programs: Programs) -> None:
    def peak_kb() -> int:
        text = Path(f"/proc/{worker(launcher.pid)}/status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0])

    small = launcher.define(start(programs.empty))
    large = launcher.define(start(programs.probe, "bytes", "4000000"))
    list(launcher.run([small] * 100))
    before = peak_kb()
    for outcome in launcher.run([large, small] * 50):
        assert outcome.status == "ok"
    assert peak_kb() <= before + 512


def test_the_schedule_is_read_only_a_little_ahead(launcher: Launcher, programs: Programs) -> None:
    taken = 0

    def schedule() -> Iterator[int]:
        nonlocal taken
        while taken < 5:
            taken += 1
            yield slow

    slow = launcher.define(start(programs.misbehave, "hang", timeout_s=0.1))
    for received, outcome in enumerate(launcher.run(schedule()), 1):
        assert outcome.status == "timeout"
        assert taken <= received + 2


def test_a_slow_reader_loses_nothing(launcher: Launcher, programs: Programs) -> None:
    number = launcher.define(start(programs.probe, "bytes", "200000"))
    for i, outcome in enumerate(launcher.run([number] * 300)):
        assert (outcome.sequence, len(outcome.stdout)) == (i, 200_000)
        if i % 100 == 0:
            time.sleep(0.2)


# ---- ends


def test_close_and_abort_can_be_repeated(binary: Path, programs: Programs) -> None:
    launcher = Launcher(binary, Path())
    pid = launcher.pid
    launcher.close()
    launcher.close()
    launcher.abort()
    assert not Path(f"/proc/{pid}").exists()
    assert launcher.pid == 0
    with pytest.raises(FixturegenError, match="has ended"):
        launcher.define(start(programs.empty))


def test_an_unfinished_run_can_only_be_aborted(launcher: Launcher, programs: Programs) -> None:
    number = launcher.define(start(programs.misbehave, "hang", timeout_s=60))
    short = launcher.define(start(programs.empty))
    iteration = launcher.run([short, number, number])
    assert next(iteration).status == "ok"
    with pytest.raises(FixturegenError, match="unfinished run"):
        launcher.define(start(programs.empty))
    with pytest.raises(FixturegenError, match="unfinished run"):
        next(launcher.run([short]))
    (child,) = wait_until(lambda: children(worker(launcher.pid)))
    launcher.close()
    assert not alive(child)
    with pytest.raises(FixturegenError, match="has ended"):
        next(iteration)


def test_abort_with_replies_that_nobody_reads(launcher: Launcher, programs: Programs) -> None:
    number = launcher.define(start(programs.probe, "bytes", "4000000"))
    iteration = launcher.run([number] * 10)
    next(iteration)
    pid = launcher.pid
    launcher.abort()
    assert not Path(f"/proc/{pid}").exists()


def test_keyboard_interrupt(binary: Path, programs: Programs) -> None:
    found: list[int] = []

    def interrupt() -> None:
        found.extend(wait_until(lambda: children(worker(pid))))
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), Launcher(binary, Path()) as launcher:
        pid = launcher.pid
        number = launcher.define(start(programs.misbehave, "hang", timeout_s=60))
        thread = later(interrupt)
        list(launcher.run([number]))
    thread.join()
    assert found
    assert not any(map(alive, [pid, *found]))


@pytest.mark.parametrize(
    ("number", "whom", "stopped"),
    [
        (signal.SIGTERM, "launcher", False),
        (signal.SIGTERM, "launcher", True),
        (signal.SIGTERM, "worker", False),
        (signal.SIGKILL, "launcher", False),
        (signal.SIGKILL, "worker", False),
        (signal.SIGKILL, "worker", True),
    ],
)
def test_the_launcher_is_ended_by_someone(
    launcher: Launcher, programs: Programs, number: signal.Signals, whom: str, stopped: bool
) -> None:
    """It takes the whole tree with it: a daemon that a program has left, too."""
    found: list[int] = []
    pid = launcher.pid

    def end() -> None:
        found.append(worker(pid))
        found.extend(wait_until(lambda: len(c := children(found[0])) == 2 and c))
        if stopped:
            os.kill(found[0], signal.SIGSTOP)
        os.kill(pid if whom == "launcher" else found[0], number)

    thread = later(end)
    hang = launcher.define(start(programs.misbehave, "daemon-hang", timeout_s=60))
    how = "exit code 143" if number == signal.SIGTERM else "killed by SIGKILL"
    with pytest.raises(FixturegenError, match=f"ended unexpectedly .{how}"):
        list(launcher.run([hang]))
    thread.join()
    wait_until(lambda: not any(map(alive, found)))
    with pytest.raises(FixturegenError, match="has ended"):
        next(launcher.run([hang]))


PARENT = """
import sys
from pathlib import Path
from fixturegen.launcher import Launcher, Start
with Launcher(Path(sys.argv[1]), Path()) as launcher:
    print(launcher.pid, flush=True)
    start = Start(sys.argv[2], (sys.argv[3],), {}, "/", 60, ())
    list(launcher.run([launcher.define(start)]))
"""


@pytest.mark.parametrize("deed", ["hang", "daemon-hang"])
@pytest.mark.parametrize("more", [[], ["launcher"], ["worker"]])
def test_python_is_killed(binary: Path, programs: Programs, deed: str, more: list[str]) -> None:
    """The launcher, blocked in wait4, its program, and the program's daemon all go.

    So they do if one of the launcher's two processes is killed at the same time.
    """
    python = subprocess.Popen(
        [sys.executable, "-c", PARENT, binary, programs.misbehave, deed], stdout=subprocess.PIPE
    )
    with python:
        try:
            assert python.stdout
            pid = int(python.stdout.readline())
            processes = 2 if deed == "daemon-hang" else 1  # the subreaper has taken the daemon
            own = worker(pid)
            found = wait_until(lambda: len(c := children(own)) == processes and [pid, own, *c])
            for each in more:
                os.kill(pid if each == "launcher" else own, signal.SIGKILL)
        finally:
            python.kill()
    wait_until(lambda: not any(map(alive, found)))


def test_the_launcher_complains(binary: Path, launcher: Launcher) -> None:
    launcher._send(7, b"")
    with pytest.raises(FixturegenError, match=r"exit code 100.\n  fixturegen-lnch: fatal: a req"):
        launcher._read(1)


def test_what_is_no_launcher(tmp_path: Path) -> None:
    with pytest.raises(FixturegenError, match=r"cannot be started: No such file"):
        Launcher(tmp_path / "none", tmp_path)
    with pytest.raises(FixturegenError, match=r"ended unexpectedly .exit code 0"):
        Launcher(Path("/bin/true"), tmp_path)


def test_vfork_where_clone_is_refused(binary: Path, programs: Programs, tmp_path: Path) -> None:
    wrapper = compile_program(tmp_path, "refuse_clone", f'-DLAUNCHER="{binary}"')
    with Launcher(Path(wrapper), tmp_path) as launcher:
        assert launcher.hello.start == "vfork"
        assert printed(launcher, programs.probe, "both", "x") == ["out x"]
        assert once(launcher, "/no/such/program").detail.endswith("No such file or directory")
        hang = once(launcher, programs.misbehave, "daemon-hang", timeout_s=1)
        assert (hang.status, hang.leftovers) == ("timeout", 1)
        number = launcher.define(start(programs.empty))
        assert {outcome.status for outcome in launcher.run([number] * 500)} == {"ok"}


# ---- what it inherits, and what befalls it

INHERITS = """
import ctypes, os, resource, subprocess, sys
from pathlib import Path
from fixturegen.launcher import Launcher, Start

libc = ctypes.CDLL(None)
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
for limit, value in ((resource.RLIMIT_CPU, 600), (resource.RLIMIT_FSIZE, 1 << 30)):
    resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))
os.umask(0o77)
assert libc.personality(0x0200000) >= 0  # the old layout, as `setarch --addr-compat-layout`
assert libc.prctl(41, 1, 0, 0, 0) == 0  # PR_SET_THP_DISABLE
assert libc.prctl(29, 5_000_000, 0, 0, 0) == 0  # PR_SET_TIMERSLACK
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
if os.geteuid() == 0:
    os.nice(5)
with Launcher(Path(sys.argv[1]), Path()) as launcher:
    for command in (("/bin/sh", "-c", "umask; ulimit -s -n"), ("/bin/cat", *sys.argv[2:])):
        start = Start(command[0], command[1:], {"PATH": "/usr/bin:/bin"}, "/", 60, ())
        (outcome,) = launcher.run([launcher.define(start)])
        print(outcome.status, outcome.stdout.decode(), outcome.stderr.decode())
"""


def test_what_python_was_given_is_reset(binary: Path) -> None:
    files = [f"/proc/self/{name}" for name in ("limits", "personality", "status", "stat")]
    done = subprocess.run(
        [sys.executable, "-c", INHERITS, str(binary), *files],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    said = done.stdout
    assert said.startswith("ok 0022\n")
    for row in ("stack size 8388608", "open files 1024", "cpu time unlimited", "file size unlimi"):
        assert f"Max {row}" in " ".join(said.split())
    assert "\n00000000\n" in said
    assert "THP_enabled:\t0" not in said
    stat = said.rpartition(")")[2].split()
    assert (stat[16], stat[38]) == ("0", "0")  # nice, and SCHED_OTHER


def test_a_process_that_was_stopped_is_no_ok(launcher: Launcher, programs: Programs) -> None:
    nap = "sleep 0.2; kill -STOP $$; exit 0"

    def wake() -> None:
        (pid,) = wait_until(lambda: children(worker(launcher.pid)))
        wait_until(
            lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        )
        time.sleep(0.3)  # a launcher that gets no CPU meanwhile could not have seen it
        os.kill(pid, signal.SIGCONT)

    number = launcher.define(start("/bin/sh", "-c", nap))
    thread = later(wake)
    (outcome,) = launcher.run([number])
    thread.join()
    assert (outcome.status, outcome.detail.partition(" (")[0]) == ("stopped", "stopped for a time")
    assert once(launcher, programs.empty).status == "ok"


@pytest.mark.parametrize(("timeout_s", "status"), [(30, "stopped"), (0.3, "timeout")])
def test_a_launcher_that_was_stopped_is_no_ok(
    launcher: Launcher, programs: Programs, timeout_s: float, status: str
) -> None:
    """The program ends meanwhile, as it likes: its time is that of the stop."""
    number = launcher.define(start("/bin/sleep", "0.2", timeout_s=timeout_s))

    own = worker(launcher.pid)

    def stop() -> None:
        (pid,) = wait_until(lambda: children(worker(launcher.pid)))
        os.kill(own, signal.SIGSTOP)
        try:
            wait_until(lambda: not alive(pid))
            time.sleep(0.2)
        finally:
            os.kill(own, signal.SIGCONT)

    thread = later(stop)
    (outcome,) = launcher.run([number])
    thread.join()
    assert (outcome.status, outcome.usage.wall_ns > 300_000_000) == (status, True)
    assert once(launcher, programs.empty).status == "ok"


def test_cpus_that_are_taken_away_in_mid_run(launcher: Launcher, programs: Programs) -> None:
    """As the kernel does when a cpuset is narrowed; the next sample has its own again."""
    if len(CPUS) < 2:
        pytest.skip("there is one CPU")
    mine, other = CPUS[:2]

    def move() -> None:
        wait_until(lambda: children(worker(launcher.pid)))
        os.sched_setaffinity(worker(launcher.pid), {other})

    number = launcher.define(start("/bin/sleep", "0.3", cpus=(mine,)))
    thread = later(move)
    (outcome,) = launcher.run([number])
    thread.join()
    assert (outcome.status, outcome.detail[:25]) == ("moved", "its CPUs were taken away ")
    assert printed(launcher, programs.probe, "cpus", cpus=(mine,)) == [str(mine)]


def test_fewer_cpus_than_were_asked_for_are_no_pinning(
    launcher: Launcher, programs: Programs
) -> None:
    outcome = once(launcher, programs.empty, cpus=(CPUS[0], 1023))  # the kernel takes the first
    assert (outcome.status, outcome.detail) == (
        "unstarted",
        "cannot pin to the CPUs: Invalid argument",
    )
    assert once(launcher, programs.empty, cpus=(CPUS[0],)).status == "ok"
