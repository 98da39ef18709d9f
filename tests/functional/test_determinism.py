"""The same bytes from render, report and --plan: any locale, time zone, hash seed, folder."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import laid
import pytest
from laid import changed

pytestmark = pytest.mark.slow

PLACES = {
    "C": {"LC_ALL": "C"},
    "C.UTF-8": {"LC_ALL": "C.UTF-8"},
    "POSIX, no UTF-8 mode": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "far east": {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
    "odd time zone": {
        "TZ": "XXX-13:37",
        "PYTHONHASHSEED": "random",
        "COLUMNS": "300",
        "FORCE_COLOR": "1",
    },
    "de_DE": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "PYTHONHASHSEED": "7"},
}
WCWIDTH = "def wcwidth(c):\n    return 2\n\ndef wcswidth(s, n=None):\n    return 2 * len(s)\n"
MODES = "".join(f'[[program.mode]]\nname = "{name}"\n' for name in ("plain", "z", "a,b", "B"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with a stored run, measured once."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    root = tmp_path_factory.mktemp("determinism") / "project"
    toml = changed("[[claim]]", MODES + "\n[[claim]]")
    laid.project(root, changed("A small", "Größe, 漢字: a small", toml))
    done = laid.run(root, "run", "--label", "first")
    assert done.code == 0, done.said
    return root


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Yield an environment; what it needs has to be there."""
    found = PLACES[request.param]
    if request.param == "de_DE":
        known = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False)
        if "de_DE.utf8" not in known.stdout:
            pytest.skip("needs the locale: localedef -i de_DE -f UTF-8 de_DE.UTF-8")
    yield found


def outputs(project: Path, folder: Path, extra: dict[str, str]) -> dict[str, str | bytes]:
    """Return everything that has to be the same."""
    for name in ("c", "fixtures/p01.txt"):
        path = project / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    where = ["-C", str(project)] if folder != project else []
    found: dict[str, str | bytes] = {}
    for words in (
        ["render"],
        ["report", "--run", "first"],
        ["run", "--plan"],
        ["run", "--plan", "--json", "--seed", "7"],
        ["list", "p01"],
        ["list", "--json"],
        ["check"],
    ):
        done = laid.run(folder, *where, *words, extra=extra)
        assert (done.code, done.err) == (0, "")
        found[" ".join(words)] = done.out
    for path in sorted([*project.glob("c/p01/*"), project / "fixtures/p01.txt"]):
        found[path.name] = path.read_bytes()
    return found


@pytest.fixture(scope="module")
def plain(project: Path) -> dict[str, str | bytes]:
    return outputs(project, project, {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"})


def test_everywhere(project: Path, plain: dict[str, str | bytes], place: dict[str, str]) -> None:
    found = outputs(project, project, place)
    if "PYTHONUTF8" in place:  # the terminal lacks the title's letters; files do not
        found = {key: value for key, value in found.items() if isinstance(value, bytes)}
    assert found == {key: plain[key] for key in found}


def test_from_any_folder(project: Path, plain: dict[str, str | bytes], tmp_path: Path) -> None:
    assert outputs(project, tmp_path, {}) == plain
    (project / "templates/p01/sub").mkdir(exist_ok=True)
    inner = laid.run(project / "templates/p01/sub", "report", "--check")
    assert (inner.code, inner.said) == (0, "")


def test_with_another_library_of_widths(
    project: Path, plain: dict[str, str | bytes], tmp_path: Path
) -> None:
    """Tabulate asks wcwidth where that is installed; this one calls every character wide."""
    laid.put(tmp_path, {"wcwidth.py": WCWIDTH})
    assert outputs(project, project, {"PYTHONPATH": str(tmp_path)}) == plain


def test_from_another_checkout_and_copy(
    project: Path, plain: dict[str, str | bytes], tmp_path: Path
) -> None:
    copy = tmp_path / "a deeper/place"
    shutil.copytree(project, copy)
    assert outputs(copy, copy, {}) == plain


def test_no_path_of_this_machine_is_in_what_is_written(
    project: Path, plain: dict[str, str | bytes]
) -> None:
    for content in plain.values():
        text = content if isinstance(content, str) else content.decode()
        assert str(project) not in text
        assert not any(line != line.rstrip() for line in text.splitlines())
