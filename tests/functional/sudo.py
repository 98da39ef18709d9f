"""sudo imitated: its variables, and a Python that the user who typed it can read."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import laid

from fixturegen.fixture.project import builtin_templates

NOBODY = 65534
VARIABLES = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
PACKAGES = ("click", "elftools", "fixturegen", "jinja2", "markupsafe", "msgspec", "tabulate")
_UNUSED = shutil.ignore_patterns("test", "site-packages", "config-*", "idlelib", "ensurepip")


@dataclass(frozen=True)
class OpenPython:
    """A Python with fixturegen and nothing else, below a folder that every user can read."""

    folder: Path

    @property
    def executable(self) -> str:
        return str(self.folder / "bin" / "python3")

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {
            "PYTHONPATH": str(self.folder / "packages"),
            "LD_LIBRARY_PATH": str(self.folder / "lib"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return {**laid.environment(), **own, **(extra or {})}

    def run(self, cwd: Path, *words: str, extra: Mapping[str, str] | None = None) -> laid.Done:
        """Run fixturegen with these words, never accepting a traceback; `extra` may be sudo's."""
        done = subprocess.run(
            [self.executable, "-m", "fixturegen", *words],
            cwd=cwd,
            env=self.environment(extra),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        found = laid.Done(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in found.said, found.said
        assert found.code != laid.BUG, found.said
        return found


def lay_python(folder: Path) -> OpenPython:
    """Copy this Python to `folder`: the one that runs the tests may be below root's home."""
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, folder / "lib" / library.name, ignore=_UNUSED)
    shared = Path(f"{sysconfig.get_config_var('LIBDIR')}/{sysconfig.get_config_var('INSTSONAME')}")
    if sysconfig.get_config_var("Py_ENABLE_SHARED") and shared.is_file():
        shutil.copy(shared, folder / "lib")
    (folder / "bin").mkdir()
    shutil.copy(os.path.realpath(sys.executable), folder / "bin" / "python3")
    for package in PACKAGES:
        source = Path(str(importlib.import_module(package).__file__))
        if source.name == "__init__.py":
            shutil.copytree(source.parent, folder / "packages" / package)
        else:
            shutil.copy(source, folder / "packages")
    shutil.copytree(builtin_templates(), folder / "packages" / "templates", dirs_exist_ok=True)
    return OpenPython(folder)


def give(path: Path) -> None:
    """Make `path` and all below it the property of the user who types sudo."""
    for each in (path, *path.rglob("*")):
        os.chown(each, NOBODY, NOBODY, follow_symlinks=False)


def owners(path: Path) -> set[int]:
    return {each.lstat().st_uid for each in (path, *path.rglob("*"))}
