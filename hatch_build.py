"""What goes into the wheel and the sdist: what git tracks, not what lies beside it.

A checkout, a folder with its own `.git`, has git to ask. An unpacked sdist has no `.git` and is
packed whole; one further up belongs to another repository, which knows nothing of these files.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WHEEL = {"fixturegen": "fixturegen", "templates": "fixturegen/_templates"}
BESIDE = ("CHANGELOG.md", "LICENSE", "README.md", "hatch_build.py", "pyproject.toml")


class RefusedError(Exception):
    """Nothing is packed; the message says why and what to do."""


class Tracked(BuildHookInterface[BuilderConfig]):
    """Name every file of a wheel or an sdist; an editable install points here and copies none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to what is packed, or end the build with the reason."""
        if version == "editable":
            return
        root = Path(self.root)
        try:
            names = tracked(root) if os.path.lexists(root / ".git") else whole(root)
            for name in names:
                refuse_all_but_files(root, name)
        except RefusedError as error:
            self.app.abort(f"hatch_build.py: {error}")
        # Replaced, not added to: hatchling's own list may have a .gitignore from further up.
        packed = (
            dict(zip(names, names, strict=True)) if self.target_name == "sdist" else wheel(names)
        )
        build_data["force_include"] = {str(root / name): path for name, path in packed.items()}


def wheel(names: list[str]) -> dict[str, str]:
    """Return the names that belong into a wheel, each with its path there."""
    parts = [(name, *name.partition("/")[::2]) for name in names]
    return {name: f"{WHEEL[top]}/{rest}" for name, top, rest in parts if top in WHEEL}


def tracked(root: Path) -> list[str]:
    """Return the names, below `root`, of the files to pack that the index of its `.git` has."""
    # The folders are named outright: git then neither looks further up nor minds whose they are.
    # A build runs code of this folder anyway; a monitor that its .git/config names is not needed.
    argv = ["git", "-c", "core.fsmonitor=false", f"--git-dir={root / '.git'}"]
    argv += [f"--work-tree={root}", "ls-files", "-z", "--", *WHEEL, *BESIDE]
    # A git hook that builds has these set, possibly for another repository.
    other = ("GIT_INDEX_FILE", "GIT_COMMON_DIR")
    env = {name: value for name, value in os.environ.items() if name not in other}
    hint = "build where git can read it, or from an unpacked sdist"
    try:
        done = subprocess.run(argv, cwd=root, env=env, capture_output=True, check=True)
    except OSError as error:
        raise RefusedError(
            f"{root} is a git checkout, and git, which knows its files, "
            f"cannot be started ({error.strerror}): install git, or build from an unpacked sdist"
        ) from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise RefusedError(f"git cannot list the files of {root} ({said}): {hint}") from error
    names = sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})
    known = {name.partition("/")[0] for name in names}
    if missing := [each for each in (*WHEEL, *BESIDE) if each not in known]:
        raise RefusedError(f"git knows nothing of {', '.join(missing)} in {root}: git add them")
    return names


def whole(root: Path) -> list[str]:
    """Return the names, below `root`, of all files to pack, less what Python compiled of them."""
    below = [path for folder in WHEEL for path in (root / folder).rglob("*")]
    files = [path for path in below if path.is_symlink() or not path.is_dir()]
    names = [path.relative_to(root).as_posix() for path in files if "__pycache__" not in path.parts]
    return sorted(names + [name for name in BESIDE if os.path.lexists(root / name)])


def refuse_all_but_files(root: Path, name: str) -> None:
    """Raise RefusedError unless `name` is a regular file to which no link leads."""
    path = Path(name)
    for each in (path, *path.parents):
        if (root / each).is_symlink() and each != Path():
            raise RefusedError(f"{each} is a symbolic link, which would pack what it points at")
    if not (root / path).is_file():
        raise RefusedError(f"{name} is not there as a regular file: git restore it, or git rm it")
