"""What the tests of running share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sudo import OpenPython, lay_python
from tiny import Tiny

from fixturegen.launcher import build_launcher

# Under sudo the tests are root's like any other's; those that imitate sudo say so themselves.
for name in ("SUDO_UID", "SUDO_GID"):
    os.environ.pop(name, None)


@pytest.fixture(scope="session")
def launcher_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the compiled launcher, so that not every project compiles it."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("launcher")
    build_launcher(folder)
    return folder


@pytest.fixture(scope="session")
def open_python() -> Iterator[OpenPython]:
    """Return a Python that every user can read, or skip."""
    folder = Path(tempfile.mkdtemp(prefix="fixturegen-python-"))
    folder.chmod(0o755)
    try:
        found = lay_python(folder)
        if found.run(Path("/"), "--help").code != 0:
            pytest.skip("needs a Python that works as a copy")
        yield found
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def tiny(tmp_path: Path, launcher_folder: Path) -> Callable[..., Tiny]:
    """Return a maker of projects: Tiny's own words as keywords, `folder` for a second project."""

    def make(folder: str = "project", **given: Any) -> Tiny:
        root = tmp_path / folder
        made = Tiny(root, **given).lay()
        if not (root / "build").exists():
            shutil.copytree(launcher_folder, root / "build" / "launcher")
        return made

    return make
