"""The committed programs of a fixture, compiled in copies and run as a reader does by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from fixturegen.fixture.printed import Columns, Reader

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("c", "rust")
COMPILERS = ("gcc", "clang")
CARGO = ("--release", "--offline", "--locked")
LINTS = ("-D", "warnings", "-D", "clippy::undocumented_unsafe_blocks")
KEPT = ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN")  # where rustup is if not in $HOME
ENVIRONMENT = {
    **{name: os.environ[name] for name in KEPT if name in os.environ},
    "PATH": os.environ["PATH"],
    "LC_ALL": "C",
    "HOME": str(Path.home()),
    "RUSTFLAGS": "",
}
LINES_AT_MOST = 150  # of a program or a piece of one

Completed = subprocess.CompletedProcess[str]


def call(*command: str | Path, **options: Any) -> Completed:
    given: dict[str, Any] = {"env": ENVIRONMENT, "timeout": 120, "capture_output": True, **options}
    return subprocess.run([str(word) for word in command], text=True, check=False, **given)


def succeed(*command: str | Path, **options: Any) -> str:
    done = call(*command, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


class Programs:
    """One fixture's folders in copies below `base`, and what its patterns read."""

    def __init__(self, fixture: str, base: Path) -> None:
        self.toml = tomllib.loads(
            (ROOT / "templates" / fixture / "fixture.toml").read_text(encoding="utf-8")
        )
        self.params: dict[str, Any] = self.toml["params"]
        self.folders = {language: base / language for language in LANGUAGES}
        for language, folder in self.folders.items():
            ignored = shutil.ignore_patterns("out", "target")
            shutil.copytree(ROOT / language / fixture, folder, ignore=ignored)

    def build(self) -> None:
        """Compile the default builds."""
        succeed("make", "-C", self.folders["c"])
        succeed("cargo", "build", *CARGO, cwd=self.folders["rust"])

    def binary(self, name: str, language: str) -> Path:
        """Return the default binary of a program."""
        inner = {"c": "out", "rust": "target/release"}[language]
        return self.folders[language] / inner / name

    def read(self, name: str, text: str) -> Columns:
        """Return the columns of what a program printed; an unknown line is an error."""
        lines = next(p["lines"] for p in self.toml["program"] if p["name"] == name)
        return Reader(lines).read(text.encode())

    def sources(self) -> list[Path]:
        """Return every rendered C and Rust file."""
        return [
            path
            for language, suffixes in (("c", (".c", ".h")), ("rust", (".rs",)))
            for path in sorted(self.folders[language].iterdir())
            if path.suffix in suffixes
        ]

    def long_files(self) -> list[str]:
        """Return the files that are too long to be read at once."""
        lengths = {p.name: len(p.read_text(encoding="utf-8").splitlines()) for p in self.sources()}
        return [f"{name}: {count}" for name, count in lengths.items() if count > LINES_AT_MOST]

    def compile_with(self, compiler: str) -> Completed:
        """Compile every build of every C program with another compiler, warnings as errors."""
        return call("make", "-B", f"CC={compiler} -Werror", "builds", cwd=self.folders["c"])

    def lint(self) -> list[Completed]:
        """Run clippy and rustfmt as strictly as they go."""
        folder = self.folders["rust"]
        files = sorted(path.name for path in folder.glob("*.rs"))
        return [
            call("cargo", "clippy", *CARGO, "--", *LINTS, cwd=folder),
            call("rustfmt", "--edition", "2021", "--check", *files, cwd=folder),
        ]
