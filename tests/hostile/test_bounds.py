"""Whatever a stranger's project holds, looking at it takes 1 GB and 20 s at most, and says why."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import projects
import pytest
from projects import REPORT, SAMPLES, SOURCE, SPEC, STORED, TOML

pytestmark = pytest.mark.slow
MEMORY = "more than 900 MB of memory"
TIME = "s of computing"
LOOP = "//% set x = 1.5|round(200000000, 'floor')\n"  # one call of C that takes hours
DEAF = "//% set x = ([[0] * 10] * 500000)|sum(start=[])\n"  # minutes, without looking at signals

ENDLESS = {
    "round": LOOP,
    "sum": DEAF,
    "sort in a loop": "//% for i in range(90000)\n//% set x = range(90000)|sort\n//% endfor\n",
    "power": "//% set x = 9 ** (9 ** 9)\n",
    "output": "//% for i in range(99999)\n" * 2 + "x" * 999 + "\n" + "//% endfor\n" * 2,
    "loops in loops": "//% for i in range(99999)\n" * 3 + "//% endfor\n" * 3,
    "two of itself": (
        "//% macro f(n)\n//% if n\n//% set x = f(n - 1) ~ f(n - 1)\n//% endif\n//% endmacro\n"
        "// /*{ f(60) }*/\n"
    ),
}
HUGE = {
    "join": "{% set x = (['a' * 1000000] * 10000)|join %}",
    "replace": "{% set x = ('a' * 1000000)|replace('a', 'b' * 10000) %}",
    "indent": "{% set x = ('a\n' * 1000000)|indent(10000) %}",
    "wrap": "{% set x = wrap('a ' * 1000000, 5000, 5001) %}",
    "centred": "{% set x = 'a'|center(10 ** 10) %}",
    "wide": "{% set x = '%999999999d'|format(1) %}",
    "wide by an inner field": "{% set x = '{:{}}'.format(1, 1999999999) %}",
    "doubling": (
        "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}"
        "{% endfor %}"
    ),
    "list in a message": "{% set x = {}[('a' * 1000000,) * 5000] %}",
    "text of a list": "{% set x = (['a' * 1000000] * 5000)|string %}",
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_a_template_that_runs_without_end(tmp_path: Path, source: str) -> None:
    said = projects.refused(projects.tiny(tmp_path / "p", source), "render", names=SOURCE, cpu_s=2)
    assert f"{SOURCE}: more than 2 {TIME}" in said
    assert "--no-limits" in said


def test_the_command_has_its_own_limit(tmp_path: Path) -> None:
    """The kernel's limit is looked at, not waited for: 18 s of computing."""
    found: list[str] = []

    def end(started: subprocess.Popen[bytes]) -> None:
        found.append(Path(f"/proc/{projects.child_of(started.pid)}/limits").read_text())
        os.kill(started.pid, signal.SIGTERM)

    projects.look(projects.tiny(tmp_path / "p", LOOP), "check", disturb=end)
    limits = {line[:26].strip(): line[26:].split()[:2] for line in found[0].splitlines()}
    assert limits["Max cpu time"] == ["18", "20"]
    assert limits["Max address space"][0] == str(900 << 20)


@pytest.mark.parametrize("report", HUGE.values(), ids=HUGE)
def test_a_template_that_grows_without_end(tmp_path: Path, report: str) -> None:
    said = projects.refused(projects.stored(tmp_path / "p", report), "report", names=REPORT)
    assert MEMORY in said


def test_a_huge_value_that_cannot_be_placed_is_told_in_short(tmp_path: Path) -> None:
    root = projects.tiny(tmp_path / "p", "/*{ (range(9999)|list) * 5000 }*/\n")
    said = projects.refused(root, "render", names=f"{SOURCE}:1")
    assert "cannot place a list" in said
    assert len(said) < 1000


def test_programs_of_a_gigabyte_are_not_written(tmp_path: Path) -> None:
    one = '[[program]]\nname = "p{}"\nlanguages = ["c"]\n'
    toml = 'title = "Many"\n' + "".join(one.format(n) for n in range(60))
    for number, times in enumerate((15_000_000, 2_000_000)):
        root = projects.tiny(tmp_path / f"{number}", toml=toml)
        (root / SOURCE).unlink()
        source = f"// /*{{ ('a' * (range(1)|length) * {times})|raw }}*/\n"
        projects.put(root, {f"templates/tiny/p{n}.c.j2": source for n in range(60)})
        said = projects.refused(root, "render", names="tiny/p")
        assert MEMORY in said or "MB to write" in said


def test_an_error_in_the_last_fixture_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    root = projects.tiny(tmp_path / "p")
    toml = TOML.replace("hostile", "second")
    projects.put(root, {"templates/zz/fixture.toml": toml, "templates/zz/count.c.j2": "/*{ x }*/"})
    projects.refused(root, "render", names="templates/zz/count.c.j2:1")


@pytest.mark.parametrize("words", [("report",), ("check",)])
def test_samples_of_gigabytes(tmp_path: Path, words: tuple[str, ...]) -> None:
    root = projects.stored(tmp_path / "p")
    projects.line_of_gigabytes(root)
    assert (root / SAMPLES).stat().st_size < 6_000_000
    found = projects.look(root, *words)
    assert found.code == 3
    assert f"{SAMPLES}: line 1: is longer than 128 MB" in found.out + found.err


def test_details_of_gigabytes(tmp_path: Path) -> None:
    root = projects.stored(tmp_path / "p")
    projects.long_details(root)
    projects.refused(root, "report", names=f"{SAMPLES}: ")


def test_a_dotted_key_of_thousands_of_parts(tmp_path: Path) -> None:
    root = projects.tiny(tmp_path / "p", toml=TOML + "[params]\n" + ".".join(["a"] * 20000) + "=1")
    said = projects.refused(root, "list", names=f"{SPEC}: ")
    assert MEMORY in said or TIME in said


def test_millions_of_cases(tmp_path: Path) -> None:
    toml = TOML
    for number in range(2000):
        toml += f'[[program.build]]\nname = "b{number}"\nc.cflags = ["-DX={number}"]\n'
        toml += f'[[program.mode]]\nname = "m{number}"\n'
    root = projects.tiny(tmp_path / "p", toml=toml)
    said = projects.refused(root, "list", names=f"{SPEC}: ", cpu_s=4)
    assert MEMORY in said or TIME in said


def test_a_plan_of_millions_of_processes_is_counted(tmp_path: Path) -> None:
    toml = TOML.replace("rounds = 2", "rounds = 1000000")
    toml += "".join(f'[[program.mode]]\nname = "m{number}"\n' for number in range(40))
    root = projects.tiny(tmp_path / "p", toml=toml)
    plan = projects.look(root, "run", "--plan")
    assert plan.code == 0, plan.err
    assert plan.out.startswith("tiny: 40000000 fresh processes")
    assert plan.cpu_s < 3
    projects.refused(root, "run", "--plan", "--json", names=f"{SPEC}: ", cpu_s=2)


def test_lines_that_are_hard_to_compare(tmp_path: Path) -> None:
    chance = random.Random(1)
    old, new = (
        "".join(f"{n}\n" for n in chance.sample([*range(110)] * 500, 110 * 500)) for _ in "ab"
    )
    root = projects.tiny(tmp_path / "p", new)
    projects.put(root, {"c/tiny/count.c": old})
    said = projects.refused(root, "render", "--check", "--diff", names="c/tiny/count.c", cpu_s=2)
    assert TIME in said


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_what_is_nested_without_end(tmp_path: Path, bracket: str) -> None:
    deep = bracket * 200_000
    root = projects.stored(tmp_path / "p")
    (root / SAMPLES).write_bytes(gzip.compress(deep.encode() + b"\n"))
    for command in ("check", "report"):
        found = projects.look(root, command)
        assert found.code in (1, 3), found.err
        assert SAMPLES in found.out + found.err
    nested = projects.tiny(tmp_path / "t", toml=TOML + f"[params]\nx = {bracket * 200_000}")
    projects.refused(nested, "list", names=f"{SPEC}: ")


def test_a_helper_of_doctor_has_no_limit(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "gcc"
    projects.put(tmp_path, {"bin/gcc": "#!/bin/sh\nulimit -Sv >> $HOME/limit\necho gcc 1.2.3\n"})
    tool.chmod(0o755)
    subprocess.run(
        [sys.executable, "-m", "fixturegen", "doctor"],
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"},
        check=True,
        capture_output=True,
    )
    here = subprocess.run(["sh", "-c", "ulimit -Sv"], capture_output=True, text=True, check=True)
    assert set((tmp_path / "limit").read_text().split()) == {here.stdout.strip()}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_computes_in_c_is_ended_by_a_signal_to_its_parent(
    tmp_path: Path, number: signal.Signals
) -> None:
    found: list[int] = []

    def end(started: subprocess.Popen[bytes]) -> None:
        found.append(projects.child_of(started.pid))
        os.kill(started.pid, number)

    begin = time.monotonic()
    done = projects.look(projects.tiny(tmp_path / "p", DEAF), "render", disturb=end)
    assert (done.code, done.err.strip()) == (130, "fixturegen: interrupted")
    assert time.monotonic() - begin < 15
    assert not projects.alive(found[0])


def test_what_computes_in_c_ends_with_its_parent(tmp_path: Path) -> None:
    found: list[int] = []

    def end(started: subprocess.Popen[bytes]) -> None:
        found.append(projects.child_of(started.pid))
        os.kill(started.pid, signal.SIGKILL)

    done = projects.look(projects.tiny(tmp_path / "p", DEAF), "render", disturb=end)
    assert done.code == -signal.SIGKILL
    end_of_patience = time.monotonic() + 5
    while projects.alive(found[0]) and time.monotonic() < end_of_patience:
        time.sleep(0.01)
    assert not projects.alive(found[0])


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGSEGV, 70, "a bug of ours: SIGSEGV at "),
        (signal.SIGKILL, 3, "more memory than this machine has left"),  # as the kernel ends it
    ],
)
def test_an_end_that_it_cannot_tell_of_itself_names_the_file(
    tmp_path: Path, number: signal.Signals, code: int, words: str
) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "fixturegen", "render"],
        cwd=projects.tiny(tmp_path / "p", LOOP),
        stderr=subprocess.PIPE,
        text=True,
    )
    os.kill(projects.child_of(started.pid), number)
    said = started.communicate()[1]
    assert started.returncode == code
    assert SOURCE in said
    assert words in said


def test_without_limits_the_users_own_may_take_more(tmp_path: Path) -> None:
    report = "{% set x = 'a' * (1000 * 1000 * 1000) %}{{ x|length }}\n"
    root = projects.stored(tmp_path / "p", report)
    projects.refused(root, "report", names=REPORT)
    done = subprocess.run(
        [sys.executable, "-m", "fixturegen", "--no-limits", "report", STORED], cwd=root, check=False
    )
    assert done.returncode == 0
    assert (root / f"fixtures/{STORED}.txt").read_text() == "1000000000\n"
