"""A binary: what a build made, and what is recorded of it."""

from __future__ import annotations

from msgspec import Struct, field

from fixturegen.model import Sha256, Text, Texts, Whole

ELF = b"\x7fELF"  # how such a file begins; what begins otherwise is a script


class Binding(Struct, frozen=True):
    """When one symbol of a binary is bound, and by which relocation."""

    symbol: Text
    relocation: Text | None
    table: Text | None
    verdict: Text
    reason: Text


class Elf(Struct, frozen=True, rename={"elf_class": "class"}):
    """How a binary is linked, as `elf.to_json` tells it."""

    path: Text
    machine: Text
    elf_class: Text
    type: Text
    linking: Text
    pie: bool
    relro: Text
    interpreter: Text | None
    needed: Texts
    flags: Texts
    flags_1: Texts
    bind_now_tag: bool
    binds_now: bool
    build_id: Text
    readelf_lines: Texts
    symbols: tuple[Binding, ...] = ()


class Kernel(Struct, frozen=True):
    """What the compiler made of the measured function; without a name there is none.

    instructions: of the whole function; loop: of the innermost loop that does the work, 0 if it has
    none or it was not recorded; vector: whether that loop, or else the function, uses registers of
    several elements.
    """

    name: Text = ""
    instructions: Whole = 0
    vector: bool = False
    loop: Whole = 0


class OnPath(Struct, frozen=True):
    """A program of the system: where it is, what it is, and what it calls itself.

    path: with ~ for the home folder; kind: "ELF", "script, run by bash", or "unknown";
    version: the first line that `--version` gives in the environment that is measured.
    """

    path: Text
    kind: Text
    version: Text = ""


class Outside(Struct, frozen=True):
    """What the tools read that is no rendered source: headers, libraries, start files, themselves.

    sha256: of all their names and digests; files: those that no distribution put there, each with
    its digest, named from the project, from ~, or by an absolute path.
    """

    count: Whole
    sha256: Sha256
    files: dict[Text, Text] = field(default_factory=dict)


class Binary(Struct, frozen=True):
    """What a build made, or (with its name, digest, command, `on_path`) a program of the system.

    name: `program.language[.build]`, as in arguments and paths; "" in runs from before it was
    recorded. shown: the command as a reader types it in the source folder; commands: those that
    made it, in order, and environment: what was set for them; both have paths below the project
    without its folder. sources: every rendered file that the tools read, and its SHA-256; outside:
    what else they read; settings: the files that they obey, as cargo does those of folders above;
    inherited: the user's variables that chose the tools.
    """

    sha256: Sha256
    shown: Text
    commands: Texts = ()
    elf: Elf | None = None
    bindings: dict[Text, tuple[Binding, ...]] = field(default_factory=dict)
    kernel: Kernel = Kernel()
    name: Text = ""
    environment: dict[Text, Text] = field(default_factory=dict)
    sources: dict[Text, Sha256] = field(default_factory=dict)
    on_path: OnPath | None = None
    outside: Outside | None = None
    settings: dict[Text, Text] = field(default_factory=dict)
    inherited: dict[Text, Text] = field(default_factory=dict)
