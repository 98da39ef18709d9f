"""What tools read beside the rendered sources: files anywhere, named without where we are.

A file is read again only where its size, times or number (inode) are other ones than those noted.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from fixturegen import errors, files
from fixturegen.build.binary import ELF, Outside
from fixturegen.fixture.project import Project

NOTE = "read.json"
SETTLED_NS = 50_000_000  # a younger file may change once more without another time
# What distributions put there; what a machine's owner adds is named file by file.
_SYSTEM = re.compile(r"/(usr/(?!local/)|lib|bin/|sbin/|nix/store/)")
_HOME = "~/"
_WORD = re.compile(r"(?:\\.|\$\$|[^\s\\])+")  # of a rule of make


class Noted(Struct, frozen=True, array_like=True):
    """A file's digest, and what `stat` said of it then."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    sha256: str


class Digests:
    """SHA-256 digests of files, noted in a work folder between builds."""

    def __init__(self, work: Path, project: Project) -> None:
        self._note = work / NOTE
        self._project = project
        self._now: dict[str, str] = {}
        try:
            content = files.read_bytes(self._note)
            self._noted = msgspec.json.decode(content, type=dict[str, Noted])
        except (errors.FixturegenError, ValueError, RecursionError):
            self._noted = {}
        self._before = dict(self._noted)

    def of(self, name: str) -> str:
        """Return the digest of what has the name here; "" if it is no file that can be read."""
        if name not in self._now:
            self._now[name] = self._digest(name)
        return self._now[name]

    def named(self, paths: Iterable[Path]) -> dict[str, str]:
        """Return the digests of those files that are there, by their names."""
        return {name: digest for name in map(self.name, paths) if (digest := self.of(name))}

    def since(self, started_ns: int, paths: Iterable[Path]) -> dict[str, str]:
        """Return the digests of files by their names, as they are since a build was begun.

        Raises errors.BuildError if one is another now than the build may have read.
        """
        read = {self.name(path): path for path in paths}
        for name, path in read.items():
            if started_ns < path.stat().st_ctime_ns <= time.time_ns():
                raise errors.BuildError(
                    f"{name} was changed while it was compiled", "run the same command again"
                )
            self._now.pop(name, None)
        return {name: self.of(name) for name in sorted(read)}

    def name(self, path: Path) -> str:
        """Return a path as it can be shown anywhere: from the project, from ~, else absolute."""
        project = self._project
        for folder, start in ((project.build, "build/"), (project.root, "")):
            if path.is_relative_to(folder):
                return f"{start}{path.relative_to(folder)}"
        home = _home()
        above = Path(os.path.commonpath([path, project.root]))
        if not _SYSTEM.match(str(path)) and above not in (Path("/"), home):
            return os.path.relpath(path, project.root)
        return (
            f"{_HOME}{path.relative_to(home)}" if home and path.is_relative_to(home) else str(path)
        )

    def write(self) -> None:
        """Note what was read; where there is no room, all is read again next time."""
        if self._noted != self._before:
            with contextlib.suppress(errors.FileError):
                files.write(self._note, msgspec.json.encode(self._noted), synced=False)

    def _place(self, name: str) -> str:
        """Return where a name is here."""
        if name.startswith("build/"):
            return f"{self._project.build}{name.removeprefix('build')}"
        if name.startswith(_HOME):
            return f"{_home() or ''}{name[1:]}"
        return name if name.startswith("/") else f"{self._project.root}/{name}"

    def _digest(self, name: str) -> str:
        path = self._place(name)
        try:
            status = os.stat(path)  # noqa: PTH116 - hundreds at each build
            seen = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            known = self._noted.get(name)
            if known and seen == (known.size, known.modified_ns, known.changed_ns, known.inode):
                return known.sha256
            digest = files.sha256(Path(path).resolve())
        except (OSError, RuntimeError, ValueError, errors.FixturegenError):
            return ""
        if time.time_ns() - status.st_ctime_ns > SETTLED_NS:
            self._noted[name] = Noted(*seen, digest)
        return digest


def read_by(printed: Iterable[str], made: Path, source: Path) -> Iterator[Path]:
    """Yield the files that tools say they have read, each as it is without links.

    printed: what they printed; made: the executable; source: the folder in which they ran.
    """
    rules = files.read_if_there(made.with_name(f"{made.name}.d"))
    named = [
        *"\n".join(printed).splitlines(),
        *_of_rules((rules or b"").decode(errors="surrogateescape")),
    ]
    for name in dict.fromkeys(named):
        plain = re.sub(r"\([^()]*\)$", "", name.strip().removeprefix("trace: "))  # of an archive
        path = source / plain
        try:
            if plain and path.is_file():
                yield path.resolve()
        except (OSError, RuntimeError, ValueError):  # a line that is no path
            continue


def _of_rules(text: str) -> Iterator[str]:
    """Yield what stands behind the colons of make's rules."""
    for line in text.replace("\\\n", " ").splitlines():
        for word in _WORD.findall(line.partition(": ")[2]):
            yield re.sub(r"\\(.)", r"\1", word).replace("$$", "$")


def outside(read: Mapping[str, str]) -> Outside:
    """Return what is recorded of files (name to digest) that are no rendered sources."""
    text = "".join(f"{name} {digest}\n" for name, digest in sorted(read.items()))
    own = {name: digest for name, digest in read.items() if not _SYSTEM.match(name)}
    return Outside(len(read), files.digest(text.encode()), own)


def kind(content: bytes) -> str:
    """Return what the bytes of a program are: a script is run by what its first line names."""
    if content.startswith(ELF):
        return "ELF"
    first = content[2:300].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    if not content.startswith(b"#!") or not first:
        return "unknown"
    named = [word for word in first if not word.startswith("-") and "=" not in word]
    through_env = Path(first[0]).name == "env" and len(named) > 1
    return f"script, run by {Path(named[1] if through_env else named[0]).name}"


def homeless(text: str) -> str:
    """Return a text in which paths below the home folder begin with ~."""
    home = _home()
    return re.sub(rf"(?<![^\s=:'\"]){re.escape(str(home))}/", _HOME, text) if home else text


def _home() -> Path | None:
    home = os.environ.get("HOME", "")
    return Path(home) if len(home) > 1 and home.startswith("/") else None
