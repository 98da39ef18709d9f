"""What a build compiles again, where its binaries go, what of the outside cannot change them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import laid
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("gcc") and shutil.which("cargo")), reason="needs gcc and cargo"
    ),
]

TOML = """\
title = "Two programs"
shared = ["measure", "piece"]

[params]
length = 64

[[program]]
name = "one"
languages = ["c", "rust"]

[[program]]
name = "two"
languages = ["c", "rust"]
"""
PIECE_C = "#ifndef PIECE_H\n#define PIECE_H\nenum { PIECE = /*{ params.length }*/ };\n#endif\n"
ONE_C = """\
#include "piece.h"
#include <assert.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argv;
    assert(argc < 99); // brings the name of the file into the binary
    printf("one %d %s\\n", PIECE, __FILE__);
    return 0;
}
"""
TWO_C = '#include <stdio.h>\n\nint main(void)\n{\n    puts("two");\n    return 0;\n}\n'
PIECE_RS = "pub const PIECE: u64 = /*{ params.length }*/;\n"
ONE_RS = """\
mod piece;

fn main() {
    let count = std::env::args().count();
    assert!(count < 99, "a panic that names its place");
    println!("one {} {}", piece::PIECE, file!());
}
"""
TWO_RS = 'fn main() {\n    println!("two");\n}\n'
SOURCES = {
    "fixture.toml": TOML,
    "one.c.j2": ONE_C,
    "two.c.j2": TWO_C,
    "piece.h.j2": PIECE_C,
    "one.rs.j2": ONE_RS,
    "two.rs.j2": TWO_RS,
    "piece.rs.j2": PIECE_RS,
}
BINARIES = [f"{name}-{lang}-default" for name in ("one", "two") for lang in ("c", "rust")]
COMMITTED = sorted((Path(__file__).parents[2] / "fixtures").glob("*/*/context.json"))


def lay(root: Path) -> Path:
    return laid.put(root, {f"templates/p01/{name}": text for name, text in SOURCES.items()})


def compiled(done: laid.Done) -> list[str]:
    """Return the names of what was compiled now."""
    assert done.code == 0, done.said
    return sorted(line.split()[1] for line in done.out.splitlines() if line.startswith("built "))


def digests(root: Path) -> dict[str, str]:
    folder = root / "build/p01/bin"
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project whose binaries are made, to be copied; in nobody's special environment."""
    root = lay(tmp_path_factory.mktemp("built") / "project")
    assert compiled(laid.run(root, "build")) == BINARIES
    return root


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """Return a copy with its build, which is up to date there as well."""
    return Path(shutil.copytree(built, tmp_path / "project", symlinks=True))


def test_a_second_build_compiles_nothing(built: Path) -> None:
    done = laid.run(built, "build")
    assert compiled(done) == []
    assert "0 compiled now" in done.out


def test_a_binary_tells_its_name_its_command_and_what_went_in(built: Path) -> None:
    state = json.loads((built / "build/p01/state.json").read_text())
    assert sorted(state) == BINARIES
    two, one = state["two-c-default"]["binary"], state["one-rust-default"]["binary"]
    assert (two["name"], one["name"]) == ("two.c", "one.rust")
    assert one["environment"]["RUSTFLAGS"] == ""
    assert one["commands"][0].startswith("cargo rustc --message-format=json")
    of_one = ["rust/p01/Cargo.lock", "rust/p01/Cargo.toml", "rust/p01/one.rs", "rust/p01/piece.rs"]
    assert sorted(one["sources"]) == of_one
    assert sorted(two["sources"]) == ["c/p01/two.c"]
    for entry in state.values():
        for source, digest in entry["binary"]["sources"].items():
            assert hashlib.sha256((built / source).read_bytes()).hexdigest() == digest


def test_a_changed_program_alone_is_compiled_again(built: Path, copy: Path) -> None:
    assert compiled(laid.run(copy, "build")) == []  # also behind another path
    laid.put(copy, {"templates/p01/two.c.j2": TWO_C.replace('"two"', '"new"')})
    assert compiled(laid.run(copy, "build")) == ["two-c-default"]
    changed = {n for n, digest in digests(copy).items() if digest != digests(built)[n]}
    assert changed == {"two-c-default"}


def test_a_changed_piece_compiles_what_names_it(copy: Path) -> None:
    laid.put(copy, {"templates/p01/piece.rs.j2": PIECE_RS + "\n// more\n"})
    assert compiled(laid.run(copy, "build")) == ["one-rust-default"]
    laid.put(copy, {"templates/p01/piece.h.j2": PIECE_C + "\n// more\n"})
    assert compiled(laid.run(copy, "build")) == ["one-c-default"]


def test_a_damaged_or_missing_binary_is_made_again(built: Path, copy: Path) -> None:
    (copy / "build/p01/bin/one-c-default").write_bytes(b"no")
    (copy / "build/p01/bin/two-rust-default").unlink()
    assert compiled(laid.run(copy, "build")) == ["one-c-default", "two-rust-default"]
    assert digests(copy) == digests(built)


def test_a_source_edited_by_hand_is_rendered_again(copy: Path) -> None:
    laid.put(copy, {"c/p01/two.c": "int main(void) { return 3; }\n"})
    assert compiled(laid.run(copy, "build")) == []
    assert (copy / "c/p01/two.c").read_text() == TWO_C


def test_changed_parameters_have_a_folder_of_their_own(built: Path, copy: Path) -> None:
    before = {p: p.read_bytes() for f in ("c", "rust") for p in (copy / f).rglob("*.*")}
    done = laid.run(copy, "build", "--set", "length=1024", "--language", "c")
    assert compiled(done) == ["one-c-default", "two-c-default"]
    (work,) = (copy / "build/src").iterdir()
    assert f"in build/src/{work.name}/bin" in done.out
    assert "PIECE = 1024" in (work / "c/p01/piece.h").read_text()
    said = subprocess.run([work / "bin/one-c-default"], capture_output=True, text=True, check=True)
    assert said.stdout == "one 1024 one.c\n"
    assert {path: path.read_bytes() for path in before} == before
    assert digests(copy) == digests(built)
    assert compiled(laid.run(copy, "build", "--set", "length=64")) == []  # as it is declared


def test_two_checkouts_give_the_same_binaries(built: Path, tmp_path: Path) -> None:
    other = lay(tmp_path / "another place, much deeper" / "checkout")
    assert compiled(laid.run(other, "build")) == BINARIES
    assert digests(other) == digests(built)
    for name in BINARIES:
        content = (other / "build/p01/bin" / name).read_bytes()
        assert str(other).encode() not in content


def test_the_environment_does_not_change_them(built: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    laid.put(trap, {"stdio.h": "#error of CPATH\n", "piece.h": "#error of CPATH\n"})
    root = lay(tmp_path / "project")
    extra = {
        "RUSTFLAGS": "-C debuginfo=2 --cfg nonsense",
        "CARGO_ENCODED_RUSTFLAGS": "-Cdebuginfo=2",
        "CARGO_BUILD_RUSTFLAGS": "-C debuginfo=2",
        "CARGO_PROFILE_RELEASE_DEBUG": "true",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
        "CARGO_TARGET_DIR": str(trap / "target"),
        "CFLAGS": "-g -O0",
        "CPPFLAGS": "-DX",
        "LDFLAGS": "-s",
        "CPATH": str(trap),
        "C_INCLUDE_PATH": str(trap),
        "LIBRARY_PATH": str(trap),
        "LD_RUN_PATH": "/opt/nonsense",
        "COMPILER_PATH": str(trap),
        "SOURCE_DATE_EPOCH": "1",
    }
    assert compiled(laid.run(root, "build", extra=extra)) == BINARIES
    assert digests(root) == digests(built)
    assert not (trap / "target").exists()


@pytest.mark.parametrize(
    "config",
    [
        '[build]\nrustflags = ["-C", "debuginfo=2"]\ntarget-dir = "elsewhere"\n',
        '[target.\'cfg(all())\']\nrustflags = ["-C", "debuginfo=2"]\n',
        '[profile.release]\nopt-level = 1\ndebug = true\npanic = "abort"\nlto = "fat"\n',
    ],
    ids=["of the build", "of the target", "of the profile"],
)
def test_a_config_of_cargo_above_does_not_change_them(
    built: Path, tmp_path: Path, config: str
) -> None:
    laid.put(tmp_path, {".cargo/config.toml": config})
    root = lay(tmp_path / "project")
    names = [name for name in BINARIES if "rust" in name]
    assert compiled(laid.run(root, "build", "--language", "rust")) == names
    assert digests(root) == {name: digests(built)[name] for name in names}


def test_a_foreign_workspace_above_does_not_take_them_in(built: Path, tmp_path: Path) -> None:
    laid.put(tmp_path, {"Cargo.toml": '[workspace]\nmembers = ["x"]\n'})
    root = lay(tmp_path / "project")
    assert len(compiled(laid.run(root, "build", "--language", "rust"))) == 2


def test_cc_of_several_words(built: Path, copy: Path) -> None:
    done = laid.run(copy, "build", extra={"CC": "gcc -m64 '-DA B=1'"})
    assert compiled(done) == ["one-c-default", "two-c-default"]
    state = json.loads((copy / "build/p01/state.json").read_text())
    assert state["one-c-default"]["binary"]["commands"][0].startswith("gcc -m64 '-DA B=1' -std=c11")
    assert state["one-c-default"]["binary"]["shown"].startswith("gcc -m64 '-DA B=1' -std=c11")
    assert compiled(laid.run(copy, "build")) == ["one-c-default", "two-c-default"]
    assert digests(copy) == digests(built)


@pytest.mark.parametrize(
    ("cc", "code", "words"),
    [
        ("gcc 'open", 2, 'CC="gcc \'open": cannot be split into words'),
        ("no-such-compiler -m64", 6, "'no-such-compiler' is not on PATH"),
        ("false", 4, "one-c-default: the C build failed (exit 1)"),
    ],
)
def test_a_cc_that_is_none_is_told(copy: Path, cc: str, code: int, words: str) -> None:
    done = laid.run(copy, "build", "--language", "c", extra={"CC": cc})
    assert done.code == code
    assert words in done.err


def test_readers_compile_by_hand(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built / "c", tmp_path / "c")
    shutil.copytree(built / "rust", tmp_path / "rust")
    for command, folder, binary in (
        (["make"], "c/p01", "out/one"),
        (["make", "builds"], "c/p01", "out/two"),
        (
            ["cargo", "build", "--release", "--offline", "--locked"],
            "rust/p01",
            "target/release/one",
        ),
    ):
        where = tmp_path / folder
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        subprocess.run([where / binary], check=True, capture_output=True)
    same = hashlib.sha256((tmp_path / "c/p01/out/one").read_bytes()).hexdigest()
    assert same == digests(built)["one-c-default"]


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go (Debian: golang-go)")
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_recorded_tells_nobody_where_the_project_is(tmp_path: Path, linked: bool) -> None:
    """Go's caches are set by absolute paths; build/ may be a link to another disk."""
    root, other = tmp_path / "project", tmp_path / "disk"
    toml = 'title = "x"\n[[program]]\nname = "one"\nlanguages = ["go"]\n'
    source = "package main\n\nfunc main() {\n}\n"
    laid.put(root, {"templates/p01/fixture.toml": toml, "templates/p01/one.go.j2": source})
    if linked:
        other.mkdir()
        (root / "build").symlink_to(other)
    assert laid.run(root, "run", "--label", "now", "--rounds", "1").code == 0
    for path in (root / "build/p01/state.json", root / "fixtures/p01/now/context.json"):
        text = path.read_text(encoding="utf-8")
        assert "build/p01/make/go/cache" in text
        assert str(tmp_path) not in text


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.parent.parent.name)
def test_no_committed_run_tells_where_it_was_made(path: Path) -> None:
    for binary in json.loads(path.read_bytes())["binaries"].values():
        said = [*binary.get("commands", []), *binary.get("environment", {}).values()]
        assert [text for text in said if re.search(r"(^|[\s=:'\"])/", text)] == []
