"""`fixturegen inspect`: what ELF files say about dynamic linking, and when symbols are bound.

Nothing is started and nothing written. elftools and json are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fixturegen import bounds, errors
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_error, say_json
from fixturegen.errors import CheckError
from fixturegen.units import plural
from fixturegen.visible import escape

if TYPE_CHECKING:
    from fixturegen.elf import Binding, ElfFacts

# As many names as fit on a screen; a reader of more wants --symbol or --json.
_LISTED = 12
_LABEL = 13


@click.command("inspect", context_settings=HELP_OPTIONS)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--symbol",
    "-s",
    "symbols",
    metavar="NAME",
    multiple=True,
    help="Say when calls of this symbol are bound, and why. May be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, one object per FILE.")
def command(files: tuple[Path, ...], symbols: tuple[str, ...], as_json: bool) -> None:
    """Show how programs and libraries are linked: lazily or at start-up, and why.

    The words are readelf's, and so are the lines for FLAGS and FLAGS_1. FILE is a linked
    64-bit or 32-bit ELF file of any common machine; it is read, never started.

    \b
    Is the first call of random() resolved lazily in these two builds?
        fixturegen inspect -s random build/bin/probe-lazy build/bin/probe-now
    How is a program of this system linked?
        fixturegen inspect /usr/bin/find
    Which symbols are bound lazily, for a script?
        fixturegen inspect --json /usr/bin/find |
            jq -r '.[].symbols[] | select(.verdict == "lazy").symbol'

    \b
    The verdicts:
        lazy    the first call goes through ld.so's resolver
        bound   ld.so fills the address in when the program starts
        static  inside the file: no dynamic linking is needed
        absent  the file does not ask for this symbol

    LD_BIND_NOW (set and not empty) makes every "lazy" a "bound". Exits with 1 if some FILE
    is not a linked ELF file or is damaged; the others are shown all the same.
    """
    # readelf shows random@GLIBC_2.2.5, and who pastes that means random.
    if not all(symbols):
        raise errors.UsageError("--symbol: which symbol?", "for example --symbol random")
    names = tuple(dict.fromkeys(name.partition("@")[0] for name in symbols))
    failed = _print_json(files, names) if as_json else _print_text(files, names)
    if failed:
        raise click.exceptions.Exit(CheckError.exit_code)


def _read(path: Path, names: tuple[str, ...]) -> tuple[ElfFacts, list[Binding]]:
    from fixturegen import elf

    bounds.at(str(path))
    facts = elf.read(path, names)
    asked = [elf.binding(facts, name) for name in names]
    return facts, asked if names else list(elf.bindings(facts))


def _print_json(files: Iterable[Path], names: tuple[str, ...]) -> bool:
    from fixturegen import elf

    failed = False
    told: list[dict[str, object]] = []
    for path in files:
        try:
            told.append(elf.to_json(*_read(path, names)))
        except CheckError as error:
            told.append({"path": str(path), "error": error.what})
            failed = True
    say_json(told)
    return failed


def _print_text(files: Iterable[Path], names: tuple[str, ...]) -> bool:
    failed = False
    printed = False
    for path in files:
        try:
            facts, bindings = _read(path, names)
        except CheckError as error:
            say_error(error)
            failed = True
            continue
        if printed:
            say("")
        printed = True
        say(*_block(facts, bindings, asked=bool(names)))
    return failed


def _block(facts: ElfFacts, bindings: list[Binding], asked: bool) -> Iterator[str]:
    from fixturegen import elf

    yield str(facts.path)
    yield _row("linked", _linked(facts))
    yield _row("binding", _how_bound(facts, list(elf.bindings(facts)) if asked else bindings))
    yield _row("RELRO", facts.relro)
    if facts.interpreter is not None:
        yield _row("interpreter", facts.interpreter)
    if facts.linking == "dynamic":
        yield from _listed_below("needs", ", ".join(map(escape, facts.needed)) or "no library")
    yield _row("build-id", facts.build_id or "none")
    yield _row("type", f"{facts.elf_class}, {facts.type}")
    yield _row("machine", facts.machine)
    # readelf's lines stay whole, so that they can be searched for and quoted.
    lines = facts.lines or (" no FLAGS, FLAGS_1 or BIND_NOW",)
    yield _row("readelf -d", lines[0].rstrip())
    yield from (_row("", line.rstrip()) for line in lines[1:])
    for name, words in (("FLAGS", facts.flags), ("FLAGS_1", facts.flags_1)):
        if unnamed := [word for word in words if word.startswith("0x")]:
            yield _row("", f"without a name in {name}: {' '.join(unnamed)}")
    yield from _asked(bindings) if asked else _summary(bindings)


def _row(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _linked(facts: ElfFacts) -> str:
    if facts.linking == "static":
        return "static-pie" if facts.pie else "static"
    if facts.is_library:
        return "dynamic, shared library"
    return f"dynamic, {'PIE' if facts.pie else 'not PIE'}"


def _how_bound(facts: ElfFacts, everything: list[Binding]) -> str:
    """Say in one line whether anything is bound lazily, and what decides it."""
    if facts.linking == "static":
        return "none: no dynamic linking"
    lazy = [each for each in everything if each.verdict == "lazy"]
    if lazy:
        return f"lazily for {len(lazy)} of {plural(len(everything), 'symbol')}: {lazy[0].reason}"
    slots = [each for each in everything if each.relocation and each.relocation.is_slot]
    if slots:
        return f"at start-up: {slots[0].reason}"
    if everything:
        return "at start-up: no JUMP_SLOT in DT_JMPREL, so nothing is left for the first call"
    return "none: it takes no symbol from elsewhere"


def _asked(bindings: list[Binding]) -> Iterator[str]:
    rows = [
        (escape(each.symbol), each.relocation.type if each.relocation else "-", each.verdict)
        for each in bindings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row, each in zip(rows, bindings, strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {cells}  {each.reason}"


def _summary(bindings: list[Binding]) -> Iterator[str]:
    for verdict, label in (("lazy", "lazy"), ("bound", "at start-up")):
        names = [escape(each.symbol) for each in bindings if each.verdict == verdict]
        if not names:
            continue
        listed = f": {', '.join(names)}" if len(names) <= _LISTED else " (--symbol NAME tells more)"
        yield from _listed_below(label, f"{plural(len(names), 'symbol')}{listed}")


def _listed_below(label: str, text: str) -> Iterator[str]:
    import textwrap

    # No name is broken: it must stay one that can be searched for.
    lines = textwrap.wrap(text, 86, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield _row("" if number else label, line)
