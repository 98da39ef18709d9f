"""Which instruments there are: a new one is a file of this folder and a line of this one."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fixturegen.instruments.drop_caches import DropCaches
from fixturegen.instruments.evict_file import EvictFile
from fixturegen.instruments.instrument import Instrument, Key
from fixturegen.instruments.meminfo import Meminfo
from fixturegen.instruments.perf_record import PerfRecord
from fixturegen.instruments.perf_stat import PerfStat
from fixturegen.instruments.perf_stat_cpu import PerfStatCpu
from fixturegen.instruments.strace_count import StraceCount
from fixturegen.instruments.warm_program import WarmProgram
from fixturegen.model import Fixture, Mode
from fixturegen.process import Tool

INSTRUMENTS: list[Instrument] = [
    EvictFile(),
    DropCaches(),
    WarmProgram(),
    Meminfo(),
    StraceCount(),
    PerfStat(),
    PerfStatCpu(),
    PerfRecord(),
]


class Use(Struct, frozen=True):
    """What a mode names at a key, known or not, and what stands behind it."""

    key: Key
    name: str
    arguments: tuple[str, ...] = ()

    @property
    def instrument(self) -> Instrument:
        """The instrument of this name; KeyError if there is none."""
        return at(self.key)[self.name]


def at(key: Key) -> dict[str, Instrument]:
    """Return the instruments that a mode may name at `key`, by their names."""
    return {each.name: each for each in INSTRUMENTS if each.key == key}


def uses(mode: Mode) -> list[Use]:
    """Return what a mode names around its process, in the order in which it is used."""
    steps = [step.split() or [""] for step in mode.prepare]
    return [
        *(Use("prepare", name, tuple(arguments)) for name, *arguments in steps),
        *(Use("watch", name) for name in mode.watch),
        *([Use("wrapper", mode.wrapper)] if mode.wrapper else []),
    ]


def used(fixture: Fixture) -> list[Instrument]:
    """Return every instrument that a mode of the fixture uses, each once."""
    every = [use for p in fixture.programs for mode in p.modes for use in uses(mode)]
    return list(dict.fromkeys(use.instrument for use in every))


def lines() -> set[str]:
    """Return the names of lines that instruments add: no program may print one of them."""
    return {line.name for each in INSTRUMENTS for line in each.lines}


def column_paths(modes: Iterable[Mode], cited: Iterable[str]) -> set[str]:
    """Return the columns that the instruments of every one of `modes` give.

    cited: the columns that an expression names; an instrument may give any of those whose names
    only the process decides.
    """
    given = [
        {path for use in uses(mode) for line in use.instrument.lines for path in line.paths(cited)}
        for mode in modes
    ]
    return set.intersection(*given) if given else set()


def permissions() -> dict[str, str]:
    """Return what `run --allow NAME` allows: names of instruments, and what each asks for."""
    return {each.name: each.asks for each in INSTRUMENTS if each.asks}


def tools() -> list[Tool]:
    """Return the tools of all instruments, each once."""
    return list(dict.fromkeys(each.tool for each in INSTRUMENTS if each.tool is not None))
