"""Which folder is the project, and which fixtures it has: its own ones, else the built-in ones."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from fixturegen import errors, files, spec
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture
from fixturegen.spec.near import nearest

_PACKAGE = Path(__file__).resolve().parent
NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?\Z")  # cargo takes it as the name of a package
NAMED = "a fixture is named with a-z, 0-9 and -, the first a letter: p05-branches"


def builtin_templates() -> Path:
    """Return the folder of the built-in fixtures: inside the wheel, or beside the package."""
    packed = _PACKAGE / "_templates"
    return packed if packed.is_dir() else _PACKAGE.parent / "templates"


def find_root(start: Path) -> Path:
    """Return the nearest folder upwards that holds templates/*/fixture.toml or fixtures/*/.

    The search ends below a folder to which anybody may write, as /tmp: what lies there is no
    project of whoever works below it.
    """
    for folder in (start, *start.parents):
        if folder != start and folder.stat().st_mode & stat.S_IWOTH:
            break
        if any(_with_templates(folder)) or any(_with_runs(folder)):
            return folder
    return start


def _with_templates(folder: Path) -> Iterator[Path]:
    return (folder / "templates").glob("[!_]*/fixture.toml")


def _with_runs(folder: Path) -> Iterator[Path]:
    return (folder / "fixtures").glob("*/*/context.json")


class Project(Struct, frozen=True, dict=True):
    """A project's folders. `root` is absolute."""

    root: Path

    @cached_property
    def build(self) -> Path:
        """Binaries, sources of changed parameters, runs under way; ignored by git.

        Unlike `c` or `fixtures` it may be a link to another disk: nobody is given what is in it.
        """
        try:
            return (self.root / "build").resolve()
        except (OSError, RuntimeError) as error:
            raise errors.LinkError(f"{self.root / 'build'}: a link that leads nowhere") from error

    @property
    def fixtures(self) -> Path:
        """The texts and, below a folder each, the raw data behind them."""
        return self.root / "fixtures"

    @cached_property
    def own(self) -> dict[str, Path]:
        """The project's own fixtures: name to folder, sorted by name."""
        return _folders(self.root / "templates")

    @cached_property
    def builtin(self) -> dict[str, Path]:
        """The built-in fixtures that the project does not shadow."""
        packed = builtin_templates()
        if packed == self.root / "templates":
            return {}
        return {name: path for name, path in _folders(packed).items() if name not in self.own}

    def choose(self, names: tuple[str, ...]) -> list[str]:
        """Return the fixtures meant by a command line; none given means all of the project's."""
        known = {**self.own, **self.builtin}
        for name in names:
            if name not in known:
                raise errors.UsageError(f"there is no fixture {name!r}", nearest(name, known))
        chosen = list(dict.fromkeys(names)) or list(self.own) or list(self.builtin)
        if not chosen:
            raise errors.UsageError(
                f"no fixtures in {self.root}", "fixturegen new NAME makes the first one"
            )
        return chosen

    def folder(self, name: str) -> Path:
        """Return the folder of the fixture's templates."""
        return self.own.get(name) or self.builtin[name]

    def shared(self, name: str) -> list[Path]:
        """Return the folders with shared pieces: the fixture's own project's, then the built-in."""
        folders = [self.folder(name).parent / "_lib", builtin_templates() / "_lib"]
        return [folder for folder in dict.fromkeys(folders) if files.exists(folder)]

    def load(self, name: str) -> Fixture:
        """Return the fixture `name`; raises errors.SpecError with file, key and value."""
        path = self.folder(name) / "fixture.toml"
        return spec.load(files.read_bytes(path), name, self.shown(path), LANGUAGES)

    def shown(self, path: Path) -> str:
        """Return a path as messages and files name it: relative to the project where possible."""
        if path.is_relative_to(self.root):
            return str(path.relative_to(self.root))
        if path.is_relative_to(self.build):
            return str("build" / path.relative_to(self.build))
        packed = builtin_templates()
        if path.is_relative_to(packed):
            return f"(built-in) {Path('templates') / path.relative_to(packed)}"
        return str(path)


def _folders(templates: Path) -> dict[str, Path]:
    """Return the fixtures in a templates folder; a wrong folder name is an error, not a gap.

    Folders whose names begin with `_` hold shared pieces and beginnings.
    """
    found = {}
    for name in files.names(templates):
        link = files.kind(templates / name) == "link" and not NAME.match(name)  # an editor's lock
        if name.startswith("_") or link or not files.exists(templates / name / "fixture.toml"):
            continue
        if not NAME.match(name):
            raise errors.SpecError(f"templates/{name!r}: not the name of a fixture", NAMED)
        found[name] = templates / name
    return found
