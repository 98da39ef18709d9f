"""`pip install .` gives a wheel with the built-in fixtures inside: it works in an empty folder.

Wheel and sdist hold what git tracks, with the content that lies in the folder, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BESIDE = ["CHANGELOG.md", "LICENSE", "README.md", "hatch_build.py", "pyproject.toml"]
HATCHLING = [sys.executable, "-m", "hatchling", "build"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that has the installed wheel and nothing else of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    call([*HATCHLING, "-t", "wheel", "-d", str(folder)], ROOT)
    (wheel,) = folder.glob("*.whl")
    installed = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    call([*pip, "--target", str(installed), str(wheel)], folder)
    return installed


def call(argv: list[str], cwd: Path, site: Path | None = None) -> str:
    """Run a command that must succeed; return what it prints."""
    env = dict(os.environ) | ({"PYTHONPATH": str(site)} if site else {})
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_has_every_built_in_fixture(site: Path, tmp_path: Path) -> None:
    names = {path.parent.name for path in (ROOT / "templates").glob("*/fixture.toml")}
    packed = {path.parent.name for path in (site / "fixturegen").glob("_templates/*/fixture.toml")}
    assert packed == names
    assert "p04-first-run" in names
    shown = call([sys.executable, "-m", "fixturegen", "list"], tmp_path, site)
    assert all(name in shown for name in names - {"_new"})


def test_it_runs_a_built_in_fixture_in_an_empty_folder(site: Path, tmp_path: Path) -> None:
    words = ["run", "p04-first-run", "--rounds", "1", "--language", "c", "--label", "first"]
    said = call([sys.executable, "-m", "fixturegen", *words], tmp_path, site)
    text = tmp_path / "fixtures" / "p04-first-run" / "first" / "report.txt"
    assert "Why the first run is slower" in text.read_text()
    assert "fixtures/p04-first-run/first/report.txt" in said
    assert (tmp_path / "c" / "p04-first-run" / "first_run.c").is_file()


def tracked(folder: Path) -> list[str]:
    """Return what git has of a checkout in its index, of what is packed."""
    argv = ["git", "ls-files", "-z", "fixturegen", "templates", *BESIDE]
    return call(argv, folder).strip("\0").split("\0")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout like this one, whose files a test may change."""
    folder = tmp_path / "checkout"
    for name in tracked(ROOT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    (folder / ".gitignore").write_text("*.log\n")
    # .git is a file here, as in a linked worktree and in a submodule.
    call(["git", "init", "--quiet", "--separate-git-dir", str(tmp_path / "git"), "."], folder)
    call(["git", "add", "--all"], folder)
    return folder


def packed(folder: Path) -> dict[str, bytes]:
    """Return the files of the one wheel in a folder by their names, without its .dist-info."""
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}


def unpacked(folder: Path, target: Path) -> Path:
    """Unpack the one sdist of a folder; return the folder that it holds."""
    (path,) = folder.glob("*.tar.gz")
    call(["tar", "xzf", str(path), "-C", str(target)], folder)
    (found,) = target.glob("fixturegen_perf-*")
    return found


def refused(folder: Path, target: str, **env: str) -> str:
    """Return what a build says that must make nothing."""
    out = folder.parent / "refused"
    argv = [*HATCHLING, "-t", target, "-d", str(out)]
    done = subprocess.run(
        argv, cwd=folder, env=os.environ | env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert list(out.glob("*")) == []
    assert "Traceback" not in done.stderr
    return done.stderr


def test_untracked_files_stay_out_and_changed_ones_are_packed_as_they_are(
    checkout: Path, tmp_path: Path
) -> None:
    names = tracked(checkout)
    (checkout / "templates" / "p04-first-run" / "new.j2").write_text("added, not committed")
    call(["git", "add", "templates"], checkout)
    for stray in (
        "fixturegen/.env",
        "fixturegen/stray.py",
        "templates/.env",
        "templates/_lib/a.log",
    ):
        (checkout / stray).write_text("KEY=1\n")
    (checkout / "fixturegen" / "elf" / "core").mkdir()
    (checkout / "fixturegen" / "elf" / "core" / "__init__.py").touch()
    (checkout / "fixturegen" / "errors.py").write_text("# changed\n")
    call([*HATCHLING, "-d", str(tmp_path / "out")], checkout)
    expected = {*names, "templates/p04-first-run/new.j2"}
    sdist = unpacked(tmp_path / "out", tmp_path)
    files = {str(path.relative_to(sdist)) for path in sdist.rglob("*") if path.is_file()}
    assert files == expected | {"PKG-INFO"}
    wheel = packed(tmp_path / "out")
    assert set(wheel) == {
        name.replace("templates/", "fixturegen/_templates/", 1) if "templates/" in name else name
        for name in expected - set(BESIDE)
    }
    assert wheel["fixturegen/errors.py"] == b"# changed\n"
    assert (sdist / "fixturegen" / "errors.py").read_bytes() == b"# changed\n"


def test_an_sdist_inside_another_repository_makes_the_same_wheel(
    checkout: Path, tmp_path: Path
) -> None:
    call([*HATCHLING, "-d", str(tmp_path / "first")], checkout)
    other = tmp_path / "other"
    other.mkdir()
    call(["git", "init", "--quiet", "."], other)
    (other / ".gitignore").write_text("*.j2\nfixturegen/\n")
    folder = unpacked(tmp_path / "first", other)
    (folder / "fixturegen" / "__pycache__").mkdir()
    (folder / "fixturegen" / "__pycache__" / "build.cpython-311.pyc").write_bytes(b"stale")
    call([*HATCHLING, "-d", str(tmp_path / "second")], folder)
    for kind in ("*.whl", "*.tar.gz"):
        (first,), (second,) = ((tmp_path / each).glob(kind) for each in ("first", "second"))
        assert first.read_bytes() == second.read_bytes(), kind


@pytest.mark.parametrize("git", [True, False], ids=["checkout", "unpacked"])
@pytest.mark.parametrize("target", ["wheel", "sdist"])
@pytest.mark.parametrize("name", ["templates/_lib", "fixturegen/errors.py", "templates/new"])
def test_a_symbolic_link_is_not_followed(
    checkout: Path, tmp_path: Path, name: str, target: str, git: bool
) -> None:
    outside = tmp_path / "outside"
    if (checkout / name).is_dir():
        (checkout / name).rename(outside)
    else:
        (checkout / name).unlink(missing_ok=True)
        outside.write_text("a key\n")
    (checkout / name).symlink_to(outside)
    if name == "templates/new":
        call(["git", "add", name], checkout)  # the others are tracked as what they were
    if not git:
        (checkout / ".git").unlink()
    assert f"{name} is a symbolic link" in refused(checkout, target)


def test_a_tracked_file_that_is_gone_is_missed(checkout: Path) -> None:
    (checkout / "fixturegen" / "errors.py").unlink()
    assert "fixturegen/errors.py is not there" in refused(checkout, "wheel")


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_a_checkout_without_git_is_refused_but_for_an_editable_install(
    checkout: Path, tmp_path: Path, target: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    said = refused(checkout, target, PATH=str(empty))
    assert f"{checkout} is a git checkout" in said
    assert "install git, or build from an unpacked sdist" in said
    code = f"import hatchling.build as b; print(b.build_editable({str(tmp_path)!r}))"
    call(["/usr/bin/env", f"PATH={empty}", sys.executable, "-c", code], checkout)
    assert set(packed(tmp_path)) == {"_fixturegen_perf.pth"}
    assert packed(tmp_path)["_fixturegen_perf.pth"].decode().strip() == str(checkout)


def test_git_that_cannot_read_its_folder_does_not_answer_for_the_one_above(
    checkout: Path, tmp_path: Path
) -> None:
    call(["git", "init", "--quiet", "."], tmp_path)
    call(["git", "add", "checkout/fixturegen", "checkout/templates"], tmp_path)
    shutil.rmtree(tmp_path / "git")
    assert "git cannot list the files" in refused(checkout, "wheel")


def test_nothing_is_packed_where_git_tracks_nothing(checkout: Path) -> None:
    call(["git", "rm", "--quiet", "--cached", "-r", "fixturegen"], checkout)
    assert "git knows nothing of fixturegen" in refused(checkout, "wheel")


def test_a_checkout_of_another_user_inside_a_git_hook_is_packed(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tracked(checkout)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    plain = subprocess.run(["git", "ls-files"], cwd=checkout, capture_output=True, timeout=60)
    assert b"dubious ownership" in plain.stderr
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    call([*HATCHLING, "-t", "wheel", "-d", str(tmp_path)], checkout)
    assert len(packed(tmp_path)) == len(names) - len(BESIDE)
