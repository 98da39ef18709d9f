"""`pip install .` gives a wheel with the built-in fixtures inside: it works in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that has the installed wheel and nothing else of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    call([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], ROOT)
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
