"""What a linked ELF file says about dynamic linking, and when each of its symbols is bound.

`read` gives the facts in readelf's own words, `binding` applies the rule for lazy binding to
one symbol, `bindings` to all. No process is started and nothing of the file is trusted: every
count is held against the file's size, and a damaged file is one `CheckError` of one line.
"""

from fixturegen.elf.facts import Binding, ElfFacts, Relocation, Verdict, to_json
from fixturegen.elf.loaded import addresses
from fixturegen.elf.reading import read
from fixturegen.elf.rule import binding, bindings

__all__ = [
    "Binding",
    "ElfFacts",
    "Relocation",
    "Verdict",
    "addresses",
    "binding",
    "bindings",
    "read",
    "to_json",
]
