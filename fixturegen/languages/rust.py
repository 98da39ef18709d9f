"""Rust: one `cargo rustc` a binary, with a target folder for each set of flags."""

from __future__ import annotations

import functools
import os
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from fixturegen.languages.protocol import Plan, Rendered, Tool, program_sources
from fixturegen.model import Build, Fixture, Program, Value

# An empty RUSTFLAGS undoes `build.rustflags` of any .cargo/config.toml in a parent folder;
# `--config build.rustflags=[]` does not.
_ENVIRONMENT = {"RUSTFLAGS": "", "CARGO_TERM_COLOR": "never", "CARGO_NET_OFFLINE": "true"}


# cargo's own defaults of [profile.release]. They are named in every build: a [profile.release] in a
# .cargo/config.toml of a parent folder would change what Cargo.toml leaves open, and what it says.
# Only codegen-units is left alone: naming it, even its default, gives every symbol another hash.
_RELEASE = {
    "opt-level": 3,
    "debug": False,
    "debug-assertions": False,
    "overflow-checks": False,
    "lto": False,
    "panic": "unwind",
    "incremental": False,
    "rpath": False,
    "strip": "debuginfo",  # what cargo does where no debug information is asked for
}


@functools.cache
def _profile(manifest: str) -> dict[str, str]:
    """Return the variables that hold the release profile to what the rendered Cargo.toml says."""
    try:
        declared = tomllib.loads(manifest).get("profile", {}).get("release", {})
    except (tomllib.TOMLDecodeError, AttributeError):
        declared = {}  # cargo will say what is wrong with it
    return {
        f"CARGO_PROFILE_RELEASE_{key.upper().replace('-', '_')}": (
            str(value).lower() if isinstance(value, bool) else str(value)
        )
        for key, value in {**_RELEASE, **declared}.items()
        if isinstance(value, bool | int | str)
    }


# What rustc has a program linked with beside its own library, in static and in other builds.
_LINKED = ("libc.a", "crt1.o", "rcrt1.o", "Scrt1.o", "libc_nonshared.a", "libgcc.a", "libgcc_eh.a")


def _first(folder: Path) -> Path | None:
    """Return the configuration in a folder: cargo prefers the name without a suffix."""
    return next((p for p in (folder / "config", folder / "config.toml") if p.is_file()), None)


def _included(path: Path, depth: int = 8) -> list[Path]:
    """Return a file of cargo's configuration and those that its key `include` names."""
    try:
        named = tomllib.loads(path.read_text(encoding="utf-8")).get("include", [])
    except (OSError, ValueError):
        return [path]  # cargo will say what is wrong with it
    each = named if isinstance(named, list) else [named]
    names = [one.get("path") if isinstance(one, dict) else one for one in each]
    paths = [path.parent / name for name in names if isinstance(name, str) and depth]
    return [path, *(f for p in paths if p.is_file() for f in _included(p, depth - 1))]


class _Rust:
    name = "rust"
    label = "Rust"
    flag_keys: Mapping[str, str] = MappingProxyType({"rustflags": "added behind `cargo rustc --`"})
    reserved: tuple[str, ...] = ("build", "deps", "examples", "incremental")  # cargo's own folders
    suffix = "rs"
    templates: Path | None = None
    compilers: tuple[Tool, ...] = ()  # cargo starts rustc

    def tools(self, compiler: str) -> tuple[Tool, ...]:
        linker = Tool("cc", "gcc libc6-dev")  # rustc has it link
        return (Tool("cargo", "cargo"), Tool("rustc", "rustc"), linker)

    def identity(self, compiler: str) -> tuple[tuple[str, ...], ...]:
        return (("rustc", "-vV"), ("cargo", "--version"))

    def variables(self, compiler: str) -> tuple[str, ...]:
        return ("RUSTUP_TOOLCHAIN",)

    def settings(self, folder: Path) -> tuple[Path, ...]:
        home = os.environ.get("CARGO_HOME") or "~/.cargo"
        own = Path(os.path.expanduser(home))  # noqa: PTH111 - of a user without a home it stays
        places = [*(each / ".cargo" for each in (folder, *folder.parents)), own]
        first = (_first(place) for place in dict.fromkeys(places) if place.is_absolute())
        return tuple(dict.fromkeys(f for each in first if each for f in _included(each)))

    def symbol(self, function: str) -> str:
        return function  # it is #[no_mangle]

    def literal(self, value: Value) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            # No parentheses around a negative one, of which rustc would warn: every operator binds
            # less than its sign, and a method of a literal without type is an error.
            return repr(value)
        return (
            '"'
            + "".join(
                f"\\{c}" if c in '"\\' else c if " " <= c <= "~" else f"\\u{{{ord(c):x}}}"
                for c in value
            )
            + '"'
        )

    def layout(self, fixture: Fixture) -> list[Rendered]:
        programs = [p for p in fixture.programs if self.name in p.languages]
        if not programs:
            return []
        sources = program_sources(self, programs)
        shared = [Rendered(f"{s}.rs", f"{s}.rs.j2", "source") for s in fixture.shared]
        names = {"programs": [{"name": p.name} for p in programs]}
        return [
            *sources,
            *shared,
            Rendered("Cargo.toml", "Cargo.toml.j2", "text", names),
            Rendered("Cargo.lock", "Cargo.lock.j2", "text", names),
        ]

    def _arguments(self, program: Program, target: str, build: Build) -> list[str]:
        flags = build.flags(self.name, "rustflags")
        return [
            "--release",
            "--offline",
            "--locked",
            "--bin",
            program.name,
            "--target-dir",
            target,
            *(["--", *flags] if flags else []),
        ]

    def shown(self, program: Program, build: Build) -> str:
        plain = len(program.builds) == 1 or not build.flags(self.name, "rustflags")
        target = "target" if plain else f"target/{build.name}"
        return shlex.join(["cargo", "rustc", *self._arguments(program, target, build)])

    def plan(
        self,
        fixture: Fixture,
        program: Program,
        build: Build,
        out: str,
        sources: Mapping[str, str],
    ) -> Plan:
        folder = f"cargo-{program.name}-{build.name}"
        target = f"{out}/{folder}"
        command = [
            "cargo",
            "rustc",
            "--message-format=json-render-diagnostics",
            *self._arguments(program, target, build),
        ]
        environment = {**_ENVIRONMENT, **_profile(sources.get("Cargo.toml", ""))}
        return Plan(
            (tuple(command),),
            self.shown(program, build),
            None,
            environment,
            asks=tuple(("cc", f"-print-file-name={name}") for name in _LINKED),
            forgets=PurePosixPath(folder),
        )


LANGUAGE = _Rust()
