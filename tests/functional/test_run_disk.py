"""Full disks, read-only folders, limits on files, and folders on other file systems."""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import COMMAND, OLDER, Done, Tiny, ended_at_last, environment, finish, wait_until

from fixturegen.fixture.project import Project
from fixturegen.runs import states

pytestmark = pytest.mark.slow

MANY = {"calm": ["value", "7"], "other": ["value", "8"]}


def in_namespace(script: str, *arguments: str) -> Done:
    """Run a shell script where it may mount: as root, or in a user namespace of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare (util-linux)")
    for options in (["-m"], ["-Urm"]):
        namespace = ["unshare", *options]
        if subprocess.run([*namespace, "true"], capture_output=True).returncode == 0:
            break
    else:
        pytest.skip("needs root, or user namespaces for ordinary users")
    started = subprocess.Popen(
        [*namespace, "sh", "-eu", "-c", script, "sh", *arguments],
        env=environment({"PYTHON": sys.executable}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return finish(started)


# A disk of 4 MB that a run fills; then it becomes larger, and the run goes on.
FULL_DISK = """
disk=$1; project=$2; room=$3
mkdir "$disk"
mount -t tmpfs -o size=16m tmpfs "$disk"
cp -r "$project/." "$disk"
cd "$disk"
"$PYTHON" -m fixturegen build
used=$(du -sk . | cut -f1)
mount -o remount,size=$((used + room))k "$disk"
echo ---
"$PYTHON" -m fixturegen run --label now 2>&1 || echo "code $?"
echo "text $(head -n 1 fixtures/tiny.txt)"
mount -o remount,size=64m "$disk"
"$PYTHON" -m fixturegen run --resume 2>&1 || echo "code $?"
"$PYTHON" -m fixturegen check || echo "code $?"
rm -rf "$project"
cp -r "$disk" "$project"
"""


@pytest.mark.parametrize("room", [0, 100])
def test_full_disk_is_said_and_the_run_goes_on_when_there_is_room(
    tiny: Callable[..., Tiny], tmp_path: Path, room: int
) -> None:
    project = tiny(rounds=300, modes=MANY)
    project.plant_older()
    done = in_namespace(FULL_DISK, str(tmp_path / "disk"), str(project.root), str(room))
    assert done.code == 0, done.said
    _, _, said = done.out.partition("---\n")
    assert "No space left on device" in said and "code 74" in said
    assert "free some space on that file system" in said
    assert f"text {OLDER.splitlines()[0]}" in said
    assert "bug" not in said and "Traceback" not in said
    if room == 0:  # not even the lock can be written
        assert "there is no interrupted run to resume" in said
        return
    kept = re.search(r"(\d+) of 600 samples are kept; fixturegen run tiny --resume", said)
    assert kept and int(kept[1]) > 50
    assert "all agree" in said
    project.assert_complete(*project.finished())
    assert "run        now," in project.text.read_text()


FULL_DISK_FOR_THE_BUILD = """
disk=$1; project=$2
mkdir "$disk"
mount -t tmpfs -o size=16m tmpfs "$disk"
cp -r "$project/." "$disk"
cd "$disk"
mkdir -p build/tiny/make/c build/tiny/bin
"$PYTHON" -m fixturegen render
mount -o remount,size=$(($(du -sk . | cut -f1) + $3))k "$disk"
"$PYTHON" -m fixturegen run
"""


@pytest.mark.parametrize("compiled", ["program", "launcher"])
def test_full_disk_while_compiling_is_no_error_of_the_source(
    tiny: Callable[..., Tiny], tmp_path: Path, compiled: str
) -> None:
    project = tiny()
    project.plant_older()
    room = 8
    if compiled == "launcher":
        shutil.rmtree(project.root / "build" / "launcher")
        room = 72  # for the program, twice, and its record, but not for the launcher
    arguments = [str(tmp_path / "disk"), str(project.root), str(room)]
    done = in_namespace(FULL_DISK_FOR_THE_BUILD, *arguments)
    assert done.code == 74, done.said
    assert "No space left on device" in done.err
    assert "free some space on that file system" in done.err
    assert compiled == "launcher" or "cannot build act-c-default in" in done.err


def test_limit_on_file_size_ends_a_run_as_a_full_disk_does(tiny: Callable[..., Tiny]) -> None:
    """The stand-in of the full disk for a machine that allows no mount."""
    project = tiny(rounds=500, modes={"calm": ["many", "150"], "other": ["many", "150"]})
    project.plant_older()
    toml = project.templates / "fixture.toml"
    toml.write_text(toml.read_text().replace("rounds =", "output_limit = 4096\nrounds ="))
    assert project("build").code == 0

    def limit() -> None:  # above the launcher's own files in memory, 2 MiB for this output limit
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_200_000, resource.RLIM_INFINITY))

    done = finish(project.start("run", preexec_fn=limit))
    assert done.code == 74, done.said
    assert "cannot write a sample to" in done.err and "ulimit -f" in done.err
    kept = re.search(r"(\d+) of 1000 samples are kept; fixturegen run tiny --resume", done.err)
    assert kept and int(kept[1]) == project.measured() > 50
    assert project.text.read_text() == OLDER
    project.assert_nothing_runs(2)
    assert project("run", "--resume").code == 0
    project.assert_complete(*project.finished())


READ_ONLY = """
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
cd "$1"
"$PYTHON" -m fixturegen run
"""


def test_read_only_project_is_said_before_anything_runs(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    project.plant_older()
    done = in_namespace(READ_ONLY, str(project.root))
    assert done.code == 74, done.said
    assert re.search(r"cannot lock .*/build/lock: Read-only file system", done.err)
    assert "-C with a folder you can write to" in done.err
    assert project.text.read_text() == OLDER and not (project.root / "build" / "runs").exists()


READ_ONLY_FIXTURES = """
mount --bind "$1/fixtures" "$1/fixtures"
mount -o remount,bind,ro "$1/fixtures"
cd "$1"
"$PYTHON" -m fixturegen run --label now
"""


def test_read_only_fixtures_are_said_before_anything_runs(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    project.plant_older()
    done = in_namespace(READ_ONLY_FIXTURES, str(project.root))
    assert done.code == 74, done.said
    assert "Read-only file system" in done.err and "/fixtures" in done.err
    assert "-C with a folder you can write to" in done.err
    assert project.text.read_text() == OLDER
    assert project.under_way() == [] and not (project.root / "build" / "tiny").exists()


def in_the_way(project: Tiny, kind: str) -> Path:
    """Put something where a run would go, and return it."""
    fixtures = project.root / "fixtures"
    if kind == "fixtures":
        fixtures.write_text("")
        return fixtures
    fixtures.mkdir()
    if kind == "text":
        project.text.mkdir()
        return project.text
    if kind == "run":
        (fixtures / "tiny" / "now").mkdir(parents=True)
        (fixtures / "tiny" / "now" / "notes").touch()
        return fixtures / "tiny" / "now"
    (fixtures / "tiny").write_text("")
    return fixtures / "tiny"


@pytest.mark.parametrize("kind", ["fixtures", "home", "run", "text"])
def test_what_is_in_the_way_of_a_run_is_said_before_anything_runs(
    tiny: Callable[..., Tiny], kind: str
) -> None:
    project = tiny()
    path = in_the_way(project, kind)
    before = sorted(project.root.rglob("*"))
    done = project("run", "--label", "now")
    assert done.code == 74, done.said
    shown = path.relative_to(project.root)
    assert f"cannot write to {shown}: it " in done.err and "move it away" in done.err
    after = {path for path in project.root.rglob("*") if path.name != "lock"}
    assert after == {*before}


def test_the_look_before_a_run_leaves_nothing(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    states.insist_writable(Project(project.root), "tiny", "now")
    assert not (project.root / "fixtures").exists()
    assert not any(path.name.startswith(".") for path in project.root.iterdir())


def test_folder_of_fixtures_without_permission_is_said(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    project.plant_older()
    folder = project.root / "fixtures"
    folder.chmod(0o555)
    try:
        done = finish(project.start("run", preexec_fn=obey_permissions))
    finally:
        folder.chmod(0o755)
    assert done.code == 74, done.said
    assert "Permission denied" in done.err and str(folder) in done.err
    assert "check the owner and the permissions of that folder" in done.err
    assert project.under_way() == []


def obey_permissions() -> None:
    """Give up what lets root write everywhere; an ordinary user has nothing to give up."""
    drop, override, search = 24, 1, 2  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    prctl = ctypes.CDLL(None).prctl
    if os.getuid() == 0 and (prctl(drop, override) or prctl(drop, search)):
        raise OSError("prctl")


def test_folder_without_permission_is_said(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    project.plant_older()
    folders = [project.root, project.root / "build"]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = finish(project.start("run", preexec_fn=obey_permissions))
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.code == 74, done.said
    assert "Permission denied" in done.err
    assert "check the owner and the permissions of that folder" in done.err
    assert project.text.read_text() == OLDER


def test_text_that_cannot_be_put_in_its_place_is_put_there_by_resume(
    tiny: Callable[..., Tiny],
) -> None:
    project = tiny(rounds=60, modes={"calm": ["slow", "7"], "other": ["slow", "8"]})
    with ended_at_last(project.start("run", "--label", "now")) as process:
        assert wait_until(lambda: project.measured() > 3)
        project.text.mkdir(parents=True)
        (project.text / "in the way").touch()
        done = finish(process)
    assert done.code == 74, done.said
    assert "all samples are kept; fixturegen run tiny --resume continues" in done.err
    shutil.rmtree(project.text)
    assert project("run", "--resume").code == 0
    assert "run        now," in project.text.read_text()
    project.assert_complete(*project.finished())
    assert not (project.finished()[0] / "report.txt").exists()
    assert project("run", "--resume").code == 2


def test_runs_move_between_file_systems(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not os.access(elsewhere, os.W_OK) or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system: /dev/shm")
    project = tiny()
    folder = elsewhere / f"fixturegen-test-{os.getpid()}"
    shutil.copytree(project.root / "build", folder)
    try:
        shutil.rmtree(project.root / "build")
        (project.root / "build").symlink_to(folder)
        done = project("run", "--label", "now")
        assert done.code == 0, done.said
        assert project.under_way() == []
    finally:
        shutil.rmtree(folder)
    project.assert_complete(*project.finished())
    assert list((project.root / "fixtures").glob("**/.*")) == []


@pytest.mark.parametrize("copied", [True, False])
def test_run_that_was_killed_on_its_way_among_the_fixtures_arrives(
    tiny: Callable[..., Tiny], copied: bool
) -> None:
    """Killed before its last line file was removed, or before the source of a copy was."""
    project = tiny()
    assert project("run", "--label", "now").code == 0
    (folder,) = project.finished()
    left = project.root / "build" / "runs" / "tiny" / "now"
    shutil.copytree(folder, left)
    (left / "samples.jsonl").write_bytes(gzip.decompress((left / "samples.jsonl.gz").read_bytes()))
    if not copied:
        shutil.rmtree(folder)
    project.plant_older()
    done = project("run", "--resume")
    assert done.code == 0 and "fresh processes to start" not in done.err, done.said
    assert project.under_way() == [] and project.finished() == [folder]
    project.assert_complete(folder)
    assert "run        now," in project.text.read_text()


@pytest.mark.parametrize("removed", [False, True])
def test_folder_that_goes_away_under_a_run_is_no_half_fixture(
    tiny: Callable[..., Tiny], removed: bool
) -> None:
    project = tiny(rounds=60, modes={"calm": ["slow", "7"], "other": ["slow", "8"]})
    project.plant_older()
    with ended_at_last(project.start("run")) as process:
        assert wait_until(lambda: project.measured() > 3)
        runs = project.root / "build" / "runs"
        if removed:
            shutil.rmtree(runs)
        else:
            runs.rename(runs.with_name("elsewhere"))
        done = finish(process)
    assert done.code == 74, done.said
    assert "was moved or removed while the run wrote to it" in done.err
    assert "are kept" not in done.err and "stored" not in done.said
    if not removed:
        runs.with_name("elsewhere").rename(runs)
        assert project("run", "--resume").code == 0  # as it said
        return
    assert project.text.read_text() == OLDER and project.finished() == []


def test_full_device_behind_the_output_ends_with_its_own_code(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    assert project("build").code == 0
    with Path("/dev/full").open("w") as full:
        done = finish(project.start("run", "--label", "now", stdout=full))
    assert done.code == 74, done.said
    assert "No space left on device" in done.err and "Traceback" not in done.err
    assert "run        now," in project.text.read_text(), "only the words were lost"


@pytest.mark.parametrize("closed", ["2>/dev/full", "0<&- >&- 2>&-"])
def test_run_needs_nobody_who_listens(tiny: Callable[..., Tiny], closed: str) -> None:
    project = tiny()
    assert project("build").code == 0
    command = f'"$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *COMMAND, "run"],
        cwd=project.root,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    project.assert_complete(*project.finished())
    assert json.loads((project.finished()[0] / "context.json").read_text())["lacking"] == []
