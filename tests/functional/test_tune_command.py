"""`fixturegen tune` as a person meets it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fixturegen import errors
from fixturegen.cli.tune import command

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
from knobs import ASLR, JOURNAL, NO_TURBO, SMT, governor, held, value
from trees import CPU, lay, policy

# It may read what root's Python reads from, and write nothing of root's.
NOBODY = [
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
]


def tune(*words: str, root: Path | None = None) -> Result:
    return CliRunner().invoke(command, [*words, *(["--sysfs", str(root)] if root else [])])


def page(*words: str, root: Path) -> str:
    result = tune(*words, root=root)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.output


@pytest.mark.parametrize("make", [*knobs.MACHINES, knobs.nothing, lambda root: root])
def test_show_fits_80_columns_is_ascii_and_changes_nothing(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    root = make(tmp_path)
    before = held(root)
    text = page("show", root=root)
    assert text.isascii()
    lines = [line for line in text.splitlines() if "--sysfs" not in line]  # a path of any length
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line != line.rstrip()]
    assert held(root) == before
    assert not (root / "run").exists()


def test_show_tells_each_knob_with_its_files_and_what_to_type(tmp_path: Path) -> None:
    text = page("show", root=knobs.intel(tmp_path))
    assert "governor      powersave  performance  yes\n" in text
    assert "smt           on         off          yes, if named\n" in text
    assert f"/{CPU}/cpufreq/policy[0-3]/scaling_governor\n" in text
    assert f"/{NO_TURBO}\n" in text
    assert f"fixturegen tune apply governor turbo nmi_watchdog thp --sysfs {tmp_path}" in text


def test_show_on_128_cpus_folds_their_files(tmp_path: Path) -> None:
    root = lay(
        knobs.intel(tmp_path),
        *(policy(n, ("schedutil", "powersave")[n % 2], "x", 3000000) for n in range(128)),
    )
    text = page("show", root=root)
    assert "policy[0-127]/scaling_governor" in text
    assert "schedutil x64, powersave x64" in " ".join(text.split())
    assert len(text.splitlines()) < 60


def test_show_says_why_not(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {SMT: "forceoff"})
    (root / NO_TURBO).chmod(0o444)
    text = " ".join(page("show", root=root).split())
    assert "-> cannot be set: off until the next boot (forceoff)" in text
    assert f"-> cannot be set: /{NO_TURBO}: read-only" in text


def test_json_says_the_same(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    facts: dict[str, Any] = json.loads(page("show", "--json", root=root))
    assert set(facts) == {"format", "knobs", "journal", "journal_trouble"}
    found = {knob["knob"]: knob for knob in facts["knobs"]}
    assert list(found) == ["governor", "turbo", "smt", "nmi_watchdog", "aslr", "thp"]
    assert found["turbo"]["places"] == [{"path": NO_TURBO, "value": "0", "aim": "1", "reason": ""}]
    assert [found["smt"]["implied"], found["aslr"]["implied"]] == [False, False]
    assert facts["journal"] is None
    page("apply", "governor", root=root)
    journal = json.loads(page("show", "--json", root=root))["journal"]
    assert (journal["by"], journal["this_boot"]) == ("apply", True)


def test_apply_show_restore(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    before = held(root)
    text = page("apply", root=root)
    assert "governor      powersave -> performance\n" in text
    assert "smt           on, is turned only if it is named\n" in text
    assert f"fixturegen tune restore --sysfs {root}" in text
    assert "Knobs are turned by `fixturegen tune apply`" in page("show", root=root)
    second = tune("apply", root=root)
    assert isinstance(second.exception, errors.LockedError)
    assert second.exception.exit_code == 7
    assert "governor      powersave (4 files put back)\n" in page("restore", root=root)
    assert held(root) == before
    assert page("restore", root=root) == "Nothing to restore: no knob is turned.\n"


def test_apply_of_what_is_not_there_names_the_reason(tmp_path: Path) -> None:
    result = tune("apply", "turbo", root=knobs.nothing(tmp_path))
    assert isinstance(result.exception, errors.FileError)
    assert "turbo cannot be turned here, so nothing was: no cpufreq" in str(result.exception)


def test_a_default_apply_goes_around_what_is_not_there(tmp_path: Path) -> None:
    root = knobs.acpi(tmp_path)
    (root / f"{CPU}/cpufreq/boost").unlink()
    text = page("apply", root=root)
    assert "turbo         not turned: none of intel_pstate/no_turbo" in text
    assert value(root, governor(1)) == "performance"


def test_nothing_changed_is_said(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {ASLR: "0"})
    text = page("apply", "aslr", root=root)
    assert "aslr          off, already set" in text
    assert "there is nothing to restore" in text


def test_restore_that_fails_keeps_the_journal(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    page("apply", "turbo", root=root)
    (root / NO_TURBO).chmod(0o444)
    result = tune("restore", root=root)
    assert isinstance(result.exception, errors.FileError)
    assert f"note: /{NO_TURBO} could not be put back to 0: read-only" in " ".join(
        result.output.split()
    )
    assert "turbo         off (not put back)" in result.output
    assert (root / JOURNAL).exists()


def test_a_journal_that_cannot_be_trusted_is_shown(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    page("apply", "turbo", root=root)
    (root / JOURNAL).chmod(0o666)
    assert "Journal:" in page("show", root=root)
    assert json.loads(page("show", "--json", root=root))["journal_trouble"]


@pytest.mark.parametrize("words", [[], ["show"], ["apply"], ["restore"]])
def test_help_teaches(words: list[str]) -> None:
    result = CliRunner().invoke(command, [*words, "--help"])
    assert result.exit_code == 0
    assert "\\b" not in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def fixturegen(*words: str, before: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(before or []), sys.executable, "-m", "fixturegen", "tune", *words],
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )


def as_nobody() -> list[str]:
    """How to start a command as an ordinary user, or skip."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv to be an ordinary user")
    done = subprocess.run(
        [*NOBODY, sys.executable, "-c", "import click, msgspec"],
        check=False,
        cwd="/",
        capture_output=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    if done.returncode:
        pytest.skip("needs a Python that an ordinary user can read")
    return NOBODY


@pytest.mark.slow
@pytest.mark.parametrize("words", [["apply", "governor"], ["apply"], ["restore"]])
def test_without_root_the_line_to_type_is_printed_and_sudo_is_not_called(words: list[str]) -> None:
    done = fixturegen(*words, before=as_nobody())
    assert done.returncode == 2
    assert "only root may turn the knobs" in done.stderr
    assert f"type: sudo {sys.executable} -P -m fixturegen tune {' '.join(words)}\n" in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_an_ordinary_user_may_turn_a_folder_of_his_own(tmp_path: Path) -> None:
    user = as_nobody()
    root = knobs.intel(tmp_path / "machine")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    if user:
        for path in (root, *root.rglob("*")):
            os.chown(path, 65534, 65534)
        os.chown(root / NO_TURBO, 0, 0)
    before = held(root)
    shown = fixturegen("show", "--sysfs", str(root), before=user)
    assert shown.returncode == 0
    assert "yes" in shown.stdout
    if user:
        assert "yes, by root" in shown.stdout
    done = fixturegen("apply", "governor", "smt", "--sysfs", str(root), before=user)
    assert (done.returncode, done.stderr) == (0, "")
    assert held(root) != before
    done = fixturegen("restore", "--sysfs", str(root), before=user)
    assert (done.returncode, done.stderr) == (0, "")
    assert held(root) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/", "//", "/proc/self/root", "/usr/.."])
def test_another_name_of_the_root_is_this_machine(name: str) -> None:
    done = fixturegen("apply", "governor", "--sysfs", name, before=as_nobody())
    assert done.returncode == 2
    assert "only root" in done.stderr


def read_only(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Start the command where `folder` is a read-only mount, or skip."""
    bind = f"mount --bind '{folder}' '{folder}' && mount -o remount,bind,ro '{folder}'"
    inside = ["unshare", "--mount", "sh", "-c", f'{bind} || exit 99; exec "$@"', "sh"]
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare for a read-only mount; modes stand in elsewhere")
    done = fixturegen(*words, before=inside)
    if done.returncode == 99:
        pytest.skip("needs to be allowed to mount")
    return done


@pytest.mark.slow
def test_knobs_on_a_read_only_file_system(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    before = held(root)
    shown = read_only(root / "sys", "show", "--sysfs", str(root))
    assert f"/{governor(0)}: read-only file system (EROFS)" in " ".join(shown.stdout.split())
    done = read_only(root / "sys", "apply", "--sysfs", str(root))
    assert done.returncode == 0
    assert "nmi_watchdog  on -> off" in done.stdout
    page("restore", root=root)
    assert held(root) == before


@pytest.mark.slow
def test_without_a_place_for_the_journal_nothing_is_written(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    before = held(root)
    done = read_only(root, "apply", "--sysfs", str(root))
    assert done.returncode == 74
    assert "journal" in done.stderr
    assert "(EROFS)" in done.stderr
    assert held(root) == before


@pytest.mark.slow
def test_an_ordinary_user_sees_that_knobs_are_turned(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path / "machine")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    umask = os.umask(0o077)
    try:
        page("apply", "governor", root=root)
    finally:
        os.umask(umask)
    done = fixturegen("show", "--sysfs", str(root), before=as_nobody())
    assert "Knobs are turned by `fixturegen tune apply`" in done.stdout
    (root / "run/fixturegen").chmod(0o700)
    done = fixturegen("show", "--sysfs", str(root), before=as_nobody())
    assert done.returncode == 0


@pytest.mark.slow
def test_this_machine_is_shown_to_anybody() -> None:
    done = fixturegen("show", before=as_nobody())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("knob ")
