"""Any parameter becomes a literal that compiles, and prints back the very same value.

Many values are rendered into one program, so that a compiler is started a few times only.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import laid
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fixturegen.languages import LANGUAGES
from fixturegen.model import SYSTEM
from fixturegen.visible import HIDDEN

pytestmark = pytest.mark.slow

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=40).filter(
    lambda text: not HIDDEN.search(text)
)
TRAPS = [
    '"',
    "\\",
    '\\"',
    "??/",
    "??)",
    "%s%n",
    "*/ int x; /*",
    "{}{{}}{0}",
    "\\n\\0\\x41\\u0041",
    "0\\0010",
    "//% if",
    "/*{ params.x }*/",
    "größe, 漢字, 🦀",
    "$(id) `id` ${HOME}",
    "",
    "a" * 1000,
    "🦀" * 1000,
]
ALWAYS = [*TRAPS, True, False, 0, -1, -(2**63), 2**64 - 1, -0.0, 5e-324, 1.7976931348623157e308]
WHOLE = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-300, 300),
    st.sampled_from([2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -(2**31), -(2**63)]),
)
REAL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16, 1e-5]),
)
VALUES = st.lists(st.one_of(TEXT, st.sampled_from(TRAPS), WHOLE, REAL, st.booleans()), min_size=300)

C = """\
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void text(const char *value, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++) {
        printf("%02x", (unsigned char)value[i]);
    }
    printf("\\n");
}

static void real(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    printf("%" PRIu64 "\\n", bits);
}

int main(void)
{
LINES    return 0;
}
"""
RUST = """\
fn text(value: &str) {
    for byte in value.bytes() {
        print!("{byte:02x}");
    }
    println!();
}

fn main() {
LINES}
"""


CPP = C.replace("#include <stdbool.h>\n", "").replace("(unsigned char)value[i]", "value[i] & 0xffu")
GO = """\
package main

import (
	"fmt"
	"math"
)

func main() {
LINES}
"""
SIGNED = {"PRIu64": "PRId64", "uint64_t": "int64_t", "<u64>": "<i64>", "uint64(": "int64("}


def lines(values: list[Any], forms: dict[type, str]) -> str:
    """Return one line of source for each value: what prints it."""
    made = []
    for number, value in enumerate(values):
        form = forms[type(value)]
        if type(value) is int and value < 0:
            for unsigned, signed in SIGNED.items():
                form = form.replace(unsigned, signed)
        made.append("    " + form.replace("VALUE", f"/*{{ params.v{number} }}*/") + "\n")
    return "".join(made)


def toml(values: list[Any], language: str) -> str:
    """Return a fixture.toml with the values as parameters, in TOML's own escapes."""
    params = []
    for number, value in enumerate(values):
        if isinstance(value, bool):
            written = str(value).lower()
        elif isinstance(value, str):
            written = '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
        else:
            written = repr(value)
        params.append(f"v{number} = {written}\n")
    return (
        f'title = "Literals"\n\n[params]\n{"".join(params)}\n'
        f'[[program]]\nname = "show"\nlanguages = ["{language}"]\n'
    )


def wanted(value: Any) -> str:
    """Return what the programs print of a value: bytes and bits, which cannot be rounded."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, float):
        return str(struct.unpack("<Q", struct.pack("<d", value))[0])
    return str(value)


COMMANDS = {
    "c": ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    "cpp": ["g++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    "go": ["go", "build"],
    "rust": ["rustc", "--edition=2021", "-C", "opt-level=0", "-D", "warnings"],
}


def printed(root: Path, values: list[Any], language: str, source: str) -> list[str]:
    """Render, compile and run, and return the printed lines."""
    if shutil.which(COMMANDS[language][0]) is None:
        pytest.skip(f"needs {COMMANDS[language][0]}")
    shutil.rmtree(root, ignore_errors=True)
    suffix = LANGUAGES[language].suffix
    laid.put(
        root,
        {
            "templates/p01/fixture.toml": toml(values, language),
            f"templates/p01/show.{suffix}.j2": source,
        },
    )
    done = laid.call(root, "render")
    assert done.code == 0, done.err
    (path,) = (root / language / "p01").rglob(f"show.{suffix}")
    made = subprocess.run(
        [*COMMANDS[language], "-o", "show", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return subprocess.run(
        ["./show"], cwd=path.parent, capture_output=True, text=True, check=True
    ).stdout.splitlines()


few = settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.generate],  # a failing batch is shown as it is: shrinking would compile for long
    suppress_health_check=list(HealthCheck),
)


FORMS: dict[str, tuple[str, dict[type, str]]] = {
    "c": (
        C,
        {
            str: "text(VALUE, sizeof VALUE);",
            float: "real(VALUE);",
            bool: 'printf("%d\\n", (bool)VALUE);',
            int: 'printf("%" PRIu64 "\\n", (uint64_t)VALUE);',
        },
    ),
    "cpp": (
        CPP,
        {
            str: "text(VALUE, sizeof VALUE);",
            float: "real(VALUE);",
            bool: 'std::printf("%d\\n", VALUE);',
            int: 'std::printf("%" PRIu64 "\\n", uint64_t{VALUE});',
        },
    ),
    "go": (
        GO,
        {
            str: 'fmt.Printf("%x\\n", VALUE)',
            float: "fmt.Println(math.Float64bits(VALUE))",
            bool: "fmt.Println(map[bool]int{true: 1}[VALUE])",
            int: "fmt.Println(uint64(VALUE))",
        },
    ),
    "rust": (
        RUST,
        {
            str: "text(VALUE);",
            float: 'println!("{}", f64::to_bits(VALUE));',
            bool: 'println!("{}", VALUE as u8);',
            int: 'println!("{}", std::convert::identity::<u64>(VALUE));',
        },
    ),
}


def test_every_language_is_tried() -> None:
    assert {*FORMS} == {*LANGUAGES} - {SYSTEM}


@pytest.mark.parametrize("language", FORMS)
@few
@given(values=VALUES)
def test_a_literal_is_the_value(
    tmp_path_factory: pytest.TempPathFactory, language: str, values: list[Any]
) -> None:
    values = [*ALWAYS, *values]
    frame, forms = FORMS[language]
    source = frame.replace("LINES", lines(values, forms))
    assert printed(tmp_path_factory.getbasetemp() / language, values, language, source) == [
        wanted(value) for value in values
    ]
