"""Which tools are installed, what each is for, and the Debian package that holds it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from fixturegen import process
from fixturegen.machine.condition import Condition
from fixturegen.machine.rust_toolchain import Chosen
from fixturegen.machine.tree import printable
from fixturegen.process import Tool

TOOLS = "Tools"
TIMEOUT_S = 10.0


LAUNCHER = Tool(
    "gcc",
    ("gcc", "cc"),
    "gcc libc6-dev",
    "no C program can be built, nor the launcher",
    "any program (no C compiler)",
)
# The launcher is a C program, whatever the fixtures are written in: either compiles it.
OF_THE_LAUNCHER = (LAUNCHER.name, "clang")
KNOWN = (
    LAUNCHER,
    Tool(
        "make", ("make",), "make", "the Makefiles for readers cannot be used; fixturegen needs none"
    ),
    Tool("rustfmt", ("rustfmt",), "rustfmt", "the form of rendered Rust is not checked"),
    Tool("readelf", ("readelf",), "binutils", "no second opinion on a binary's ELF facts"),
    Tool("hyperfine", ("hyperfine",), "hyperfine", "no second opinion on launch times"),
    Tool("lstopo", ("lstopo-no-graphics", "lstopo"), "hwloc", "no picture of cores and caches"),
)
SHIMS = ("cargo", "rustc", "rustfmt")  # rustup installs them before there is a toolchain


def tools(
    compilers: Iterable[Tool], instruments: Iterable[Tool], rust: Chosen | None = None
) -> list[Condition]:
    """Return one condition for each tool; starts each for its version.

    compilers: what the languages need; what the launcher needs too has one row. rust: what the
    project asks rustup for.
    """
    python = Condition(TOOLS, "python", "ok", platform.python_version())
    others = [tool for tool in compilers if tool.name not in LAUNCHER.commands]
    first, second, *rest = KNOWN
    if process.find("clang"):  # which compiles the launcher, and C programs that name it
        without = "no C program can be built without CC=clang"
        first = replace(first, without=without, cannot="C programs without CC=clang (no gcc)")
    asked = (first, second, *others, *rest, *instruments)
    return [*(_condition(tool, rust) for tool in asked), python, _libc(), *_static()]


def _condition(tool: Tool, rust: Chosen | None) -> Condition:
    command = next((name for name in tool.commands if process.find(name)), "")
    if not command:
        return _missing(tool, tool.without, f"apt install {tool.package}")
    if rust is None or not _obeys(command):
        return _asked(tool, command, "", "rustup default stable" if command in SHIMS else "")
    by = f"chosen by {printable(rust.file)}"
    if not rust.channel:
        text = f"{by}, which names no channel: its programs are not started here"
        return Condition(TOOLS, tool.name, "note", text)
    return _asked(tool, command, by, f"rustup toolchain install {rust.channel}", rust.channel)


def _obeys(command: str) -> bool:
    """Return whether a command is rustup, which a project's file tells what to start."""
    shim = command in SHIMS and Path(process.find(command) or "").resolve().name == "rustup"
    return shim and not os.environ.get("RUSTUP_TOOLCHAIN")  # the user's word comes before the file


def _asked(tool: Tool, command: str, by: str, install: str, channel: str = "") -> Condition:
    """Return the version that a command tells; install: how else than with apt to get it."""
    extra = {"RUSTUP_TOOLCHAIN": channel, "RUSTUP_AUTO_INSTALL": "0"} if channel else {}
    done = process.run([command, tool.option], extra=extra, timeout_s=TIMEOUT_S)
    if done.code == 0:
        return Condition(TOOLS, tool.name, "ok", f"{_version(done.stdout)}{by and ', '}{by}")
    text = f"{command} is on PATH but does not run{by and ', '}{by}: {tool.without}"
    apt = "" if by else f"apt install {tool.package}"
    return _missing(tool, text, ", or ".join(filter(None, [install, apt])))


def _missing(tool: Tool, text: str, advice: str) -> Condition:
    return Condition(TOOLS, tool.name, "absent", text, advice, cannot=tool.cannot)


def _version(printed: str) -> str:
    """Return the first version number; gcc's line ends with it, after the distribution's own."""
    lines = printed.strip().splitlines()
    line = re.sub(r"\([^()]*\)", "", lines[0]) if lines else ""
    number = re.search(r"[0-9]+(?:\.[0-9]+)+[A-Za-z0-9.+~-]*", line)
    return printable(number.group() if number else line) or "a version it does not print"


def _libc() -> Condition:
    """Return the C library that Python runs on: glibc or another one."""
    name = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    if name:
        return Condition(TOOLS, "C library", "ok", printable(name))
    advice = "lazy binding is glibc's: on musl every symbol is bound at the start"
    return Condition(
        TOOLS, "C library", "note", "not glibc", advice, cannot="lazy binding (no glibc)"
    )


def _static() -> list[Condition]:
    """Return whether a static program can be linked, with glibc and with musl."""
    compiler = next((name for name in ("gcc", "cc") if process.find(name)), "")
    # The name alone comes back if the compiler knows no such file.
    path = process.capture([compiler, "-print-file-name=libc.a"], TIMEOUT_S) if compiler else None
    if path and Path(path.strip()).is_absolute():
        static = Condition(TOOLS, "static C library", "ok", "libc.a")
    else:
        text = "no libc.a: no static builds, and a launcher with a larger floor"
        static = Condition(
            TOOLS,
            "static C library",
            "absent",
            text,
            "apt install libc6-dev",
            cannot="static programs (no libc.a)",
        )
    if process.find("musl-gcc"):
        return [static, Condition(TOOLS, "musl", "ok", "musl-gcc")]
    text = "no musl-gcc: no builds against musl"
    return [static, Condition(TOOLS, "musl", "absent", text, "apt install musl-tools")]
