"""Rules of all rendered programs: what a header defines, why Rust is unsafe, what a doc is."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import pytest
from measured import ROOT, succeed

FOLDERS = sorted(path.parent for path in ROOT.glob("c/*/Makefile"))
RUST = sorted([*ROOT.glob("rust/*/*.rs"), *ROOT.glob("templates/*/*.rs.j2")])
WARNINGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")

COMMENT = re.compile(r"\s*//(?![/!%])")
ITEM = re.compile(
    r"\s*(#\[|pub\b|(async |const |unsafe )*fn |struct |const |static |enum |union |type |impl\b"
    r"|extern |trait |mod |macro_rules!)"
)
UNSAFE = re.compile(r"^[^/]*\bunsafe\b")


def test_there_are_programs_to_look_at() -> None:
    fixtures = {path.parent.name for path in ROOT.glob("templates/[!_]*/fixture.toml")}
    assert {path.name for path in FOLDERS} == fixtures
    assert {path.parent.name for path in RUST if path.suffix == ".rs"} == fixtures


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_no_header_defines_what_another_file_could_see(
    folder: Path, compiler: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None or shutil.which("nm") is None:
        pytest.skip(f"needs {compiler} and nm")
    headers = sorted(path.name for path in folder.glob("*.h"))
    assert headers
    source = tmp_path / "all.c"
    lines = ['#define NAME "all"', *(f'#include "{name}"' for name in headers)]
    source.write_text("\n".join([*lines, ""]), encoding="utf-8")
    made = tmp_path / "all.o"
    # -Wunused-function too: what no program calls is no reason for a warning
    succeed(compiler, *WARNINGS, "-iquote", folder, "-c", "-o", made, source)
    assert succeed("nm", "--extern-only", "--defined-only", made).split() == []


def test_unsafe_has_its_reason() -> None:
    bare = []
    for path in RUST:
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            above = number
            while above and COMMENT.match(lines[above - 1]):
                above -= 1
            reason = " ".join(lines[above:number])
            if UNSAFE.match(line) and not re.search(r"// SAFETY: .+ .+\.$", reason):
                bare.append(f"{path}:{number + 1}: {line.strip()}")
    assert bare == []


def test_what_stands_before_an_item_is_its_documentation() -> None:
    plain = []
    for path in RUST:
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, (above, line) in enumerate(itertools.pairwise(lines), 1):
            if COMMENT.match(above) and ITEM.match(line):
                plain.append(f"{path}:{number}: {above.strip()}")
    assert plain == []


# What has an effect that an order shows: readings, and what starts or touches something.
EFFECTS = re.compile(
    r"\b(now_ns|read_clock|thread_usage|count_faults|count_interrupts|count_migrations"
    r"|core_clock_mhz|start_thread|next_random|read|write|sum)\("
)


def unordered(text: str) -> list[str]:
    """Return the expressions in which C may evaluate two effects in either order."""
    text = re.sub(r'//[^\n]*|"(\\.|[^"\\\n])*"|^#.*$', "", text, flags=re.MULTILINE)
    found = []
    for statement in re.split(r";|\)\s*\{\s*\n|\}\s*\n|\belse\s*\{", text):
        depth, declarators = 0, [""]
        for letter in statement:
            depth += (letter in "({[") - (letter in ")}]")
            if letter == "," and depth == 0:  # between declarators the order is fixed
                declarators.append("")
            declarators[-1] += letter
        found += [
            " ".join(each.split())
            for each in declarators
            if len(EFFECTS.findall(each)) > 1 and not re.search(r"&&|\|\||\?", each)
        ]
    return found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("return (struct reading){.usage = thread_usage(), .start_ns = now_ns()};", 1),
        ("pthread_t threads[] = {start_thread(job, one), start_thread(job, two)};", 1),
        ("launder_u64(sum(launder(in), LENGTH) + sum(launder(out), LENGTH));", 1),
        ("uint64_t before = count_faults(), start = now_ns();", 0),
        ("if (x) {\n    a = now_ns();\n}\nb = now_ns();", 0),
        ("done = now_ns() < end && count_faults() == 0;", 0),
    ],
)
def test_what_c_leaves_open_is_recognised(text: str, count: int) -> None:
    assert len(unordered(text)) == count


def test_c_leaves_no_order_open() -> None:
    paths = [*ROOT.glob("c/*/*.[ch]"), *ROOT.glob("templates/*/*.[ch].j2")]
    found = {str(path): unordered(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: expressions for path, expressions in found.items() if expressions} == {}
