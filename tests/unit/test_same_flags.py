"""Which recorded lines of a compiler have the flags that a fixture declares today."""

from __future__ import annotations

import pytest

from fixturegen.languages import same_flags

LINE = "gcc -O3 -g -o out/a a.c -static -pthread"


@pytest.mark.parametrize(
    ("recorded", "declared", "same"),
    [
        (LINE, LINE, True),
        ("gcc -O3 -g -static -pthread -o out/a a.c", LINE, True),  # as old runs have it
        ("gcc -O3 -g -pthread -static -o out/a a.c", LINE, False),
        ("gcc -O3 -static -pthread -o out/a a.c", LINE, False),
        ("gcc -O3 -g -static -pthread -o out/b a.c", LINE, False),
        ("clang -O3 -g -static -pthread -o out/a a.c", LINE, False),
        ("gcc -lm -o out/a a.c", "gcc -o out/a a.c -lm", False),
        ("gcc -Wl,-Bstatic,-lm -o out/a a.c", "gcc -o out/a a.c -Wl,-Bstatic,-lm", False),
        ("gcc b.a -o out/a a.c", "gcc -o out/a a.c b.a", False),
        ("gcc -o out/a a.c -lm", "gcc -o out/a a.c -lm", True),
        ("cargo rustc --bin a", "cargo rustc --bin a -- -g", False),
        ("gcc '-o out/a", LINE, False),
        ("gcc -o", LINE, False),
        ("", LINE, False),
    ],
)
def test_only_the_place_of_flags_without_a_library_is_free(
    recorded: str, declared: str, same: bool
) -> None:
    assert same_flags(recorded, declared) is same
