"""`fixturegen doctor` as a person meets it: on other machines' files and on this one."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import laid
import pytest
from click.testing import CliRunner

from fixturegen.cli.doctor import command

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import trees
from trees import CPU, lay


def page(root: Path | None = None) -> str:
    result = CliRunner().invoke(command, [] if root is None else ["--sysfs", str(root)])
    assert result.exit_code == 0, result.output
    return result.output


def facts(root: Path | None = None) -> dict[str, Any]:
    arguments = ["--json"] if root is None else ["--json", "--sysfs", str(root)]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


def states(root: Path | None = None) -> dict[str, str]:
    return {finding["name"]: finding["state"] for finding in facts(root)["findings"]}


def summary(text: str) -> str:
    """The lines above the first section, each label with its text on one line."""
    head = text.split("\n\n")[1]
    return " ".join(head.split())


MAKERS = [trees.intel_pstate, trees.hybrid_intel, trees.big_little, trees.small_guest]


@pytest.mark.parametrize("make", [*MAKERS, lambda root: root])
def test_every_page_fits_80_columns_and_is_ascii(tmp_path: Path, make: Any) -> None:
    text = page(make(tmp_path))
    assert text.isascii()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    assert str(tmp_path) not in text


def test_the_summary_comes_first(tmp_path: Path) -> None:
    text = page(trees.small_guest(tmp_path))
    assert text.startswith("Intel Xeon, 1 CPU, caches unknown, Linux, KVM guest")
    said = summary(text)
    assert said.startswith("It cannot show: the clock frequency (no cpufreq); cache sizes;")
    assert "a slow clock source (kvm-clock)" in said
    assert "It would measure on: CPU 0." in said
    assert "make" not in said  # this machine's tools say nothing about that one


def test_a_laptop(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path)
    found = states(root)
    assert found["governor"] == "note"
    assert found["turbo"] == "note"
    assert found["SMT"] == "note"
    assert found["perf events"] == "note"
    assert found["hardware counters"] == "ok"
    assert found["NMI watchdog"] == "note"
    assert found["locked memory"] == "absent"
    said = summary(page(root))
    assert "perf events (refused to an ordinary user)" in said
    assert "a clock that follows the load; turbo" in said


def test_a_machine_made_ready(tmp_path: Path) -> None:
    root = lay(
        trees.intel_pstate(tmp_path, no_turbo="1"),
        {
            "proc/sys/kernel/perf_event_paranoid": "1",
            "proc/sys/kernel/nmi_watchdog": "0",
            **{f"{CPU}/cpufreq/policy{n}/scaling_governor": "performance" for n in range(4)},
        },
    )
    found = states(root)
    for name in ("governor", "turbo", "perf events", "NMI watchdog", "ASLR", "page size"):
        assert found[name] == "ok", name
    assert "Keep in mind" not in page(root)


@pytest.mark.parametrize(
    ("files", "name", "words"),
    [
        ({"proc/sys/kernel/randomize_va_space": "0"}, "ASLR", "one address layout"),
        ({"sys/kernel/mm/transparent_hugepage/enabled": "[always] never"}, "huge pages", "huge"),
        ({"proc/self/smaps": "KernelPageSize:  64 kB"}, "page size", "pages of 64 KiB"),
        ({"sys/fs/cgroup/user.slice/cpu.max": "50000 100000"}, "CPU quota", "a CPU quota"),
    ],
)
def test_what_changes_the_numbers_is_in_the_summary(
    tmp_path: Path, files: trees.Files, name: str, words: str
) -> None:
    root = lay(trees.intel_pstate(tmp_path), files)
    assert states(root)[name] == "note"
    assert words in summary(page(root))


def test_nothing_known_is_never_ok(tmp_path: Path) -> None:
    found = states(tmp_path)
    assert [name for name, state in found.items() if state == "ok"] == []


def test_disturbances_are_told(tmp_path: Path) -> None:
    root = lay(trees.intel_pstate(tmp_path), {"proc/77/comm": "fixturegen-lnch"})
    assert "another fixturegen run is measuring" in summary(page(root))
    assert facts(root)["disturbances"] == [
        "another fixturegen run is measuring (launcher process 77)"
    ]


def test_json_says_the_same(tmp_path: Path) -> None:
    root = trees.intel_pstate(tmp_path)
    found, text = facts(root), " ".join(page(root).split())
    keys = {"format", "summary", "cpus", "findings", "disturbances", "machine", "map"}
    assert set(found) == keys
    for finding in found["findings"]:
        assert finding["text"] in text or " ".join(finding["text"].split()) in text
    assert found["cpus"]["measure"] == [1]
    assert found["machine"]["last_level_cache_bytes"] == 8 << 20


def fake_tool(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def doctor(path: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The real command in a process of its own, with only `path` to find tools in."""
    python = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "fixturegen", "doctor"],
        env={"PATH": str(path), **python, **environment},
        capture_output=True,
        check=False,
    )


def test_no_tool_at_all_is_told_with_what_to_install(tmp_path: Path) -> None:
    done = doctor(tmp_path)
    text = " ".join(done.stdout.decode().split())
    assert (done.returncode, done.stderr) == (0, b"")
    assert "This machine can make: no fixtures yet." in text
    assert "any program (no C compiler); C++ programs (no toolchain);" in text
    assert "Go programs (no toolchain); Rust programs (no toolchain);" in text
    assert "-> apt install gcc libc6-dev" in text
    assert "-> apt install linux-perf" in text


def test_clang_alone_compiles_the_launcher_and_is_told_so(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    fake_tool(folder, "clang", 'echo "Debian clang version 14.0.6"')
    fake_tool(folder, "go", 'echo "go version go1.19.8 linux/amd64"')
    text = " ".join(doctor(folder).stdout.decode().split())
    assert "This machine can make: Go fixtures." in text
    assert "no C program can be built without CC=clang" in text
    assert "any program (no C compiler)" not in text and "nor the launcher" not in text


def test_tools_that_fail_hang_on_input_or_print_nonsense(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    fake_tool(folder, "gcc", 'echo "gcc (Debian 12.2.0-14) 12.2.0"')
    fake_tool(folder, "cargo", 'echo "error: no default is configured" >&2; exit 1')
    fake_tool(folder, "strace", "read line; printf '\\033[31m\\377 no number\\n'")
    fake_tool(folder, "make", "exit 0")
    done = doctor(folder)
    text = " ".join(done.stdout.decode("ascii").split())
    assert done.returncode == 0
    assert "ok gcc 12.2.0" in text
    assert "cargo is on PATH but does not run" in text
    assert "rustup default stable, or apt install cargo" in text
    assert "This machine can make: C fixtures." in text
    assert "\033" not in text
    assert "ok make a version it does not print" in text
    assert "no libc.a" in text


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc; fake tools stand in above")
def test_this_machine_and_the_same_bytes_in_any_locale() -> None:
    path = os.environ["PATH"]
    home = os.environ.get("HOME", "/")
    pages = [
        doctor(
            Path(path),
            HOME=home,
            LC_ALL=locale,
            LANG=locale,
            PYTHONHASHSEED=seed,
            PYTHONUTF8="0",
            COLUMNS=columns,
        )
        for locale, seed, columns in (("C", "1", "40"), ("de_DE.UTF-8", "2", "200"))
    ]
    assert [done.returncode for done in pages] == [0, 0]
    # What is counted since boot goes on; the rest is the same.
    stable = [done.stdout.split(b"\nWhere programs run")[0] for done in pages]
    assert stable[0].split(b"\n\n")[2] == stable[1].split(b"\n\n")[2]
    assert b"can make" in stable[0]


def test_help_teaches() -> None:
    result = CliRunner().invoke(command, ["--help"])
    for words in ("absent  not there", "exit code is 0", "fixturegen doctor --json", "--sysfs DIR"):
        assert words in result.output
    assert "\\b" not in result.output
    assert "    fixturegen doctor\n" in result.output  # examples keep their lines
    assert max(len(line) for line in result.output.splitlines()) <= 80


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--sysfs", str(tmp_path / "nowhere")])
    assert result.exit_code == 2


@pytest.fixture
def rustup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rustup that has two toolchains and tells which is asked for, and where it is started."""
    tools = tmp_path / "bin"
    fake_tool(
        tools,
        "rustup",
        f'echo "$PWD" >> {tmp_path}/started\n'
        'case "$RUSTUP_TOOLCHAIN" in ""|1.75.0) ;; *) exit 1;; esac\n'
        'echo "rustc ${RUSTUP_TOOLCHAIN:-1.95.0} (of a day)"',
    )
    for name in ("cargo", "rustc", "rustfmt"):
        (tools / name).symlink_to("rustup")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.delenv("RUSTUP_TOOLCHAIN", raising=False)
    return laid.project(tmp_path / "project", laid.changed('["c"]', '["c", "rust"]'))


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("rust-toolchain.toml", '[toolchain]\nchannel = "1.75.0"\n', "ok rustc 1.75.0, chosen by"),
        ("rust/p01/rust-toolchain", "1.75.0\n", "ok rustc 1.75.0, chosen by"),
        ("rust/rust-toolchain", '[toolchain]\nchannel = "1.75.0"', "ok rustc 1.75.0, chosen by"),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "1.60.0"\n', "absent rustc rustc is on"),
        ("rust-toolchain.toml", '[toolchain]\npath = "/evil"\n', "note rustc chosen by"),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "--help"\n', "note rustc chosen by"),
        ("rust-toolchain.toml", "[toolchain\n", "note rustc chosen by"),
        ("c/rust-toolchain.toml", '[toolchain]\nchannel = "1.75.0"\n', "ok rustc 1.95.0 ok"),
    ],
)
def test_the_toolchain_is_that_of_the_project_and_is_asked_away_from_it(
    rustup: Path, path: str, text: str, says: str
) -> None:
    laid.put(rustup, {path: text, "rust/p01/Cargo.toml": ""})
    done = laid.call(rustup, "doctor")
    said = " ".join(done.out.split())
    assert done.code == 0 and says in said
    assert (path in said) == ("1.95.0" not in said)
    if "1.60.0" in text:
        assert "-> rustup toolchain install 1.60.0" in said and "can make: C" in said
    started = rustup.parent / "started"
    assert started.exists() == ("1." in says or "1." in text)
    assert not started.exists() or {*started.read_text().split()} == {"/"}


def test_the_users_own_word_comes_before_the_projects(
    rustup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid.put(rustup, {"rust-toolchain": "1.60.0"})
    monkeypatch.setenv("RUSTUP_TOOLCHAIN", "1.75.0")
    said = " ".join(laid.call(rustup, "doctor").out.split())
    assert "ok rustc 1.75.0 ok" in said
