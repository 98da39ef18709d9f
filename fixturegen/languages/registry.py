"""Which languages there are: a module each in this folder, and those of other packages.

Another package names its language in an entry point of the group `fixturegen.languages`. To see
whether one has such an entry point takes a millisecond; importlib.metadata, which takes 60, is
imported only then, and the package's own code only if its language is used. What is wrong with it
is an error of whoever uses that language, and says which package is to be mended.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from fixturegen import errors
from fixturegen.languages.protocol import Language

GROUP = "fixturegen.languages"
_HERE = Path(__file__).parent
_NO_LANGUAGE = ("__init__", "protocol", "registry")  # the other modules of this folder
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")
_TAKEN = ("build", "fixtures", "templates")  # folders of a project, as a language's name is
_OF_A_MODULE = "LANGUAGE"
MEMBERS = tuple(name for name in vars(Language) if not name.startswith("_"))


class Entry(Struct, frozen=True):
    """Where a language's value is: `module:attribute`, and which package says so."""

    name: str
    value: str
    package: str


class Languages(Mapping[str, Language]):
    """Every language by its name; its code is imported when it is first asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, Language] = {}

    def __getitem__(self, name: str) -> Language:
        """Return a language; raises errors.ToolMissingError naming the package that is wrong."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def label(self, name: str) -> str:
        """Return a language's name as people write it; of one that is not known, its name."""
        return self[name].label if name in self else name

    def owner(self, templates: Path) -> str:
        """Return the language whose own templates lie in a folder; empty if it is no such one."""
        loaded = self._loaded.items()
        return next((name for name, each in loaded if each.templates == templates), "")

    def files(self, name: str) -> list[Path]:
        """Return the modules whose code decides what is rendered in a language."""
        modules = [_HERE / f"{each}.py" for each in (*self._own, *_NO_LANGUAGE)]
        for entry in self._others:
            origin = getattr(sys.modules.get(entry.value.partition(":")[0]), "__file__", None)
            if entry.name == name and origin:
                modules += sorted(Path(origin).parent.glob("*.py"))
        return modules

    @cached_property
    def _own(self) -> list[str]:
        return sorted({path.stem for path in _HERE.glob("*.py")} - {*_NO_LANGUAGE})

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys([*self._own, *(entry.name for entry in self._others)])

    @cached_property
    def _others(self) -> list[Entry]:
        return sorted(_others(), key=lambda entry: (entry.name, entry.package))

    def _load(self, name: str) -> Language:
        named = [entry for entry in self._others if entry.name == name]
        if name in self._own:
            for entry in named:
                raise _wrong(entry, "is one of fixturegen's own")
            own: Language = getattr(importlib.import_module(f"{__package__}.{name}"), _OF_A_MODULE)
            return own
        if not named:
            raise KeyError(name)
        first, *more = named
        for entry in more:
            raise _wrong(entry, f"is also one of the package {first.package}")
        return _foreign(first)


def _others() -> Iterator[Entry]:
    """Yield the entry points of installed packages; of the current folder's there are none."""
    seen = set()
    for folder in dict.fromkeys(sys.path):
        for metadata in _naming_languages(folder) if _installed(folder) else ():
            from importlib.metadata import Distribution

            package = Distribution.at(metadata)
            name = package.metadata["Name"] or metadata.stem
            if name in seen:
                continue  # the first on the path is the one that is imported
            seen.add(name)
            for point in package.entry_points.select(group=GROUP):
                yield Entry(point.name, point.value, name)


def _installed(folder: str) -> bool:
    """Whether packages may lie there: it is absolute, and not where the command was typed."""
    try:
        return Path(folder).is_absolute() and not Path(folder).samefile(Path.cwd())
    except OSError:
        return False


def _naming_languages(folder: str) -> Iterator[Path]:
    """Yield the metadata of each package in `folder` that has such an entry point."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - a Path for each would take longer
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            path = Path(folder) / name
            try:
                if GROUP.encode() in (path / "entry_points.txt").read_bytes():
                    yield path
            except OSError:
                continue


def _wrong(entry: Entry, what: str) -> errors.ToolMissingError:
    return errors.ToolMissingError(
        f"the language {entry.name!r} of the package {entry.package} {what[:300]}",
        f"fix the package or uninstall it: pip uninstall {entry.package}",
    )


def _foreign(entry: Entry) -> Language:
    """Return another package's language, when it is one."""
    if not _NAME.match(entry.name) or entry.name in _TAKEN:
        raise _wrong(entry, "has a name that no project folder can have")
    module, _, attribute = entry.value.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute or _OF_A_MODULE)
    except (Exception, SystemExit) as error:
        raise _wrong(entry, f"cannot be imported: {_said(error)}") from error
    lacking = [member for member in MEMBERS if not hasattr(made, member)]
    if lacking:
        raise _wrong(entry, f"lacks {', '.join(lacking)}")
    language = typing.cast("Language", _Foreign(made, entry))
    for member in MEMBERS:
        getattr(language, member)
    if language.name != entry.name:
        raise _wrong(entry, f"calls itself {language.name!r}")
    return language


class _Foreign:
    """A language of another package: what it raises, or gives of another type, names it."""

    def __init__(self, language: object, entry: Entry) -> None:
        self._language = language
        self._entry = entry

    def __getattr__(self, member: str) -> object:
        described = vars(Language).get(member)
        if described is None:
            raise AttributeError(member)
        if isinstance(described, property):
            return self._checked(member, described.fget, lambda: getattr(self._language, member))
        method = getattr(self._language, member)
        if not callable(method):
            raise _wrong(self._entry, f"has a {member} that is not a function")

        def call(*args: object) -> object:
            return self._checked(member, described, lambda: method(*args))

        self.__dict__[member] = call  # the same each time, as a method is
        return call

    def _checked(self, member: str, described: object, make: Callable[[], object]) -> object:
        try:
            value = make()
        except errors.FixturegenError:
            raise
        except (Exception, SystemExit) as error:
            raise _wrong(self._entry, f"fails at {member}: {_said(error)}") from error
        try:
            return msgspec.convert(value, typing.get_type_hints(described)["return"])
        except msgspec.ValidationError as error:
            raise _wrong(self._entry, f"gives a wrong {member}: {error}") from error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


LANGUAGES = Languages()
