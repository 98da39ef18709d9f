"""Prints the newest Python that is found; exits 1 with the reason if none is newer than this one.

Looked for on PATH (python3.12 and so on) and among pyenv's versions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

MINORS = range(40, sys.version_info.minor, -1)
# What a virtual environment needs: Debian has it in a package of its own.
WORKS = "import ensurepip, sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != sys.argv[1])"


def pythons() -> list[tuple[str, Path]]:
    """Return version and path of everything that has the name of a newer Python, newest first."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders += sorted(pyenv.glob("versions/*/bin"), reverse=True)
    return [
        (f"3.{minor}", folder / f"python3.{minor}")
        for minor in MINORS
        for folder in folders
        if shutil.which(folder / f"python3.{minor}")
    ]


def works(version: str, path: Path) -> bool:
    """Return whether it starts, is what its name says, and can make a virtual environment."""
    argv = [str(path), "-c", WORKS, version]
    return subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 0


def main() -> int:
    """Print the path of the newest."""
    tried = pythons()
    for version, path in tried:
        if works(version, path):
            sys.stdout.write(f"{path}\n")
            return 0
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    reason = (
        f"{', '.join(str(path) for _, path in tried)}: none makes a virtual environment"
        if tried
        else f"none after {here} is on PATH or among pyenv's versions"
    )
    sys.stderr.write(f"unit tests on a newer Python: not run: {reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
