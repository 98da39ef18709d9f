"""A binary is up to date if nothing that its compiler read has changed, wherever that lies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import laid
import pytest
from test_run_disk import in_namespace

from fixturegen import errors
from fixturegen.fixture.project import Project
from fixturegen.runs.execute import launcher_binary

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]

NEEDS_CARGO = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
NEEDS_GO = pytest.mark.skipif(shutil.which("go") is None, reason="needs go (Debian: golang-go)")
REPORT = '{% import "report_parts.j2" as parts %}\n{{ parts.head() }}\n{{ parts.machine() }}\n'
LINES = (
    "lines.value = 'value (?P<n>[0-9]+)'\nmetric.value = { value = 'value.n[0]', unit = 'count' }\n"
)
PRINTS = '#include <stdio.h>\nint main(void) {{ printf("value %d\\n", {0}); return 0; }}\n'
# What a run of one language is laid out as: its toml's languages, and its source.
OF = {
    "c": ("count.c.j2", PRINTS.format(7)),
    "rust": ("count.rs.j2", 'fn main() { println!("value 7"); }\n'),
    "go": ("count.go.j2", 'package main\n\nfunc main() { println("value 7") }\n'),
}


def lay(root: Path, language: str, source: str = "", build: str = "") -> Path:
    toml = f'title = "t"\n[[program]]\nname = "count"\nlanguages = ["{language}"]\n{LINES}{build}'
    name, plain = OF[language]
    folder = "templates/p01"
    texts = {"fixture.toml": toml, name: source or plain, "report.txt.j2": REPORT}
    return laid.put(root, {f"{folder}/{each}": text for each, text in texts.items()})


def made(root: Path, extra: Mapping[str, str] | None = None) -> int:
    """Build, and return how many binaries were compiled."""
    done = laid.run(root, "build", extra=extra)
    assert done.code == 0, done.said
    return sum(line.startswith("built ") for line in done.out.splitlines())


def said(root: Path, language: str = "c") -> str:
    binary = root / f"build/p01/bin/count-{language}-default"
    done = subprocess.run([binary], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def binary_of(root: Path, language: str = "c") -> dict[str, object]:
    state = json.loads((root / "build/p01/state.json").read_text())
    binary: dict[str, object] = state[f"count-{language}-default"]["binary"]
    return binary


def build_with(flags: str, language: str = "c") -> str:
    return f'[[program.build]]\nname = "default"\n{language}.{flags}\n'


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_header_outside_of_templates(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    source = '#include "size of.h"\n' + PRINTS.format("SIZE")
    flags = build_with('cflags = ["-I", "../../in clude"]')
    root = lay(tmp_path / "a project", "c", source, flags)
    laid.put(root, {"in clude/size of.h": "#define SIZE 1\n"})
    extra = {"CC": compiler}
    assert (made(root, extra), said(root)) == (1, "value 1\n")
    assert made(root, extra) == 0
    laid.put(root, {"in clude/size of.h": "#define SIZE 2\n"})
    assert (made(root, extra), said(root)) == (1, "value 2\n")
    outside = binary_of(root)["outside"]
    assert isinstance(outside, dict) and [*outside["files"]] == ["in clude/size of.h"]
    assert outside["count"] > 10  # the C library's headers, start files, and the library itself
    (root / "in clude/size of.h").touch()
    assert made(root, extra) == 0  # only its time is another


def test_a_text_that_is_included_as_code(tmp_path: Path) -> None:
    root = lay(tmp_path, "c", '#include "none.c"\n' + PRINTS.format("VALUE"))
    laid.put(root, {"c/p01/none.c": "#define VALUE 1\n"})
    assert (made(root), made(root), said(root)) == (1, 0, "value 1\n")
    laid.put(root, {"c/p01/none.c": "#define VALUE 2\n"})
    assert (made(root), said(root)) == (1, "value 2\n")
    laid.put(root, {"c/p01/none.c": "#define VALUE 3\n"})
    assert laid.call(root, "run", "--label", "now").code == 0
    laid.put(root, {"c/p01/none.c": "#define VALUE 4\n"})
    checked = laid.call(root, "check")
    assert checked.code == 1
    assert "is of another none.c: c/p01/none.c" in checked.out


@NEEDS_CARGO
def test_a_module_at_a_path_of_its_own(tmp_path: Path) -> None:
    source = (
        '#[path = "../../none.rs"]\nmod none;\nfn main() { println!("value {}", none::VALUE); }\n'
    )
    root = lay(tmp_path, "rust", source)
    laid.put(root, {"none.rs": "pub const VALUE: u8 = 1;\n"})
    assert (made(root), made(root), said(root, "rust")) == (1, 0, "value 1\n")
    laid.put(root, {"none.rs": "pub const VALUE: u8 = 2;\n"})
    assert (made(root), said(root, "rust")) == (1, "value 2\n")


@NEEDS_GO
def test_a_file_that_was_put_beside_go_sources(tmp_path: Path) -> None:
    source = "package main\n\nfunc main() { println(VALUE) }\n"
    root = lay(tmp_path, "go", source)
    laid.put(root, {"go/p01/count/none.go": "package main\n\nconst VALUE = 1\n"})
    assert (made(root), made(root), said(root, "go")) == (1, 0, "1\n")
    laid.put(root, {"go/p01/count/none.go": "package main\n\nconst VALUE = 2\n"})
    assert (made(root), said(root, "go")) == (1, "2\n")


def test_a_library_that_is_linked_statically(tmp_path: Path) -> None:
    """As libc.a is: a file of the linker's, which no dependency file of a compiler names."""
    root = lay(
        tmp_path / "project",
        "c",
        "int value(void);\n" + PRINTS.format("value()"),
        build_with('ldflags = ["-static", "-L../..", "-lvalue"]'),
    )

    def upgrade(number: int) -> None:
        laid.put(root, {"value.c": f"int value(void) {{ return {number}; }}\n"})
        for command in (["gcc", "-c", "value.c"], ["ar", "rc", "libvalue.a", "value.o"]):
            subprocess.run(command, cwd=root, check=True)

    upgrade(1)
    assert (made(root), made(root), said(root)) == (1, 0, "value 1\n")
    upgrade(2)
    assert (made(root), said(root)) == (1, "value 2\n")
    read = json.loads((root / "build/p01/state.json").read_text())["count-c-default"]["read"]
    assert any(name.endswith("/libc.a") for name in read)


@NEEDS_CARGO
def test_a_static_program_in_rust_was_linked_with_the_c_library(tmp_path: Path) -> None:
    root = lay(tmp_path, "rust")
    assert made(root) == 1
    read = json.loads((root / "build/p01/state.json").read_text())["count-rust-default"]["read"]
    assert {"libc.a", "crt1.o", "Scrt1.o"} <= {Path(name).name for name in read}


def script(path: Path, text: str) -> dict[str, str]:
    """Put a program at a path, and return the PATH on which it is first."""
    laid.put(path.parent, {path.name: f"#!/bin/sh\n{text}\n"})
    path.chmod(0o755)
    return {"PATH": f"{path.parent}:{os.environ['PATH']}"}


def test_a_compiler_that_is_a_script_is_said_and_is_read_itself(tmp_path: Path) -> None:
    root, real = lay(tmp_path / "project", "c"), shutil.which("gcc")
    extra = script(tmp_path / "bin/gcc", f'exec {real} "$@"')
    assert (made(root, extra), made(root, extra)) == (1, 0)
    script(tmp_path / "bin/gcc", f'exec {real} "$@" -O0')
    assert laid.run(root, "run", "--label", "now", extra=extra).code == 0
    assert "built count-c-default" not in laid.run(root, "build", extra=extra).out
    (line,) = [t for t in (root / "fixtures/p01.txt").read_text().splitlines() if "toolchain " in t]
    assert line.endswith("(script, run by sh)")
    assert made(root) == 1  # with the real one


@pytest.mark.parametrize("tool", ["ld", "as"])
def test_another_tool_of_the_same_version(tmp_path: Path, tool: str) -> None:
    root = lay(tmp_path / "project", "c")
    assert made(root) == 1
    extra = script(tmp_path / "bin" / tool, f'exec {shutil.which(tool)} "$@"')
    assert (made(root, extra), made(root, extra)) == (1, 0)


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_the_text_names_the_compiler_and_repeats_what_chose_it(tmp_path: Path) -> None:
    root = lay(tmp_path, "c")
    extra = {"CC": "clang -m64"}
    assert laid.run(root, "run", "--label", "now", extra=extra).code == 0
    text = (root / "fixtures/p01.txt").read_text()
    assert "clang version" in text.partition("toolchain ")[2].splitlines()[0]
    assert "repeat     CC='clang -m64' fixturegen run p01" in text
    context = json.loads((root / "fixtures/p01/now/context.json").read_text())
    binary = context["binaries"]["count.c"]
    assert binary["inherited"] == extra
    assert binary["shown"].startswith("clang -m64 ") and "-MD" not in binary["shown"]
    assert laid.call(root, "check").code == 0


@NEEDS_CARGO
def test_cargos_configuration_above_is_read_and_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    root = lay(tmp_path / "above/project", "rust")
    extra = {"CARGO_HOME": str(home), "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", "")}
    if not extra["RUSTUP_HOME"]:
        extra["RUSTUP_HOME"] = str(Path.home() / ".rustup")
    assert (made(root, extra), made(root, extra)) == (1, 0)
    for path, text in (
        (tmp_path / "above/.cargo/config.toml", "[profile.release]\ncodegen-units = 1\n"),
        (
            root / ".cargo/config",
            'include = [{path = "more.toml", optional = true}]\n[build]\nincremental = true\n',
        ),
        (root / ".cargo/more.toml", '[profile.release.package."*"]\nopt-level = 1\n'),
        (home / "config.toml", '[target.x86_64-unknown-linux-gnu]\nlinker = "cc"\n'),
    ):
        laid.put(path.parent, {path.name: text})
        assert made(root, extra) == 1, path
    assert made(root, extra) == 0
    assert laid.run(root, "run", "--label", "now", extra=extra).code == 0
    text = (root / "fixtures/p01.txt").read_text()
    names = ["../.cargo/config.toml", ".cargo/config", ".cargo/more.toml"]
    assert "../.cargo/config.toml" in text.partition("----")[0]  # its head
    assert str(tmp_path) not in text
    context = json.loads((root / "fixtures/p01/now/context.json").read_text())
    assert {*names} <= {*context["binaries"]["count.rust"]["settings"]}


@pytest.mark.parametrize(
    "language", ["c", pytest.param("rust", marks=NEEDS_CARGO), pytest.param("go", marks=NEEDS_GO)]
)
def test_older_sources_and_fingerprints_of_the_future(tmp_path: Path, language: str) -> None:
    """As `tar x` and `cp -a` leave them: cargo, which compares times, takes them for compiled."""
    root = lay(tmp_path, language)
    name, source = OF[language]
    assert made(root) == 1
    old, future = 1_500_000_000, 4_000_000_000
    laid.put(root, {f"templates/p01/{name}": source.replace("7", "8")})
    for path in (p for p in (root / "build/p01/make").rglob("*") if not p.is_symlink()):
        os.utime(path, (future, future))
    rendered = [p for p in (root / language).rglob("*") if p.is_file()]
    assert laid.call(root, "render").code == 0
    for path in rendered:
        os.utime(path, (old, old))
    assert made(root) == 1
    assert said(root, language) == "value 8\n"


def test_a_tool_that_does_not_tell_what_it_reads_builds_all_the_same(tmp_path: Path) -> None:
    root = lay(tmp_path / "project", "c")
    refuses = 'case " $* " in *" -Wl,-t "*) echo "unknown option" >&2; exit 1;; esac'
    extra = script(tmp_path / "bin/gcc", f'{refuses}\nexec {shutil.which("gcc")} "$@"')
    assert (made(root, extra), made(root, extra)) == (1, 0)
    assert [*binary_of(root)["sources"]] == ["c/p01/count.c"]
    assert "-MD" not in str(binary_of(root)["commands"])


FULL = """
disk=$1; project=$2; size=$3
mkdir "$disk"
mount -t tmpfs -o size=32m tmpfs "$disk"
cp -r "$project/." "$disk"
cd "$disk"
used=$(du -sk . | cut -f1)
mount -o remount,size=$((used + size))k "$disk"
"$PYTHON" -m fixturegen build 2>&1 || echo "code $?"
"""


@pytest.mark.parametrize(
    ("language", "size"),
    [
        ("c", 100),
        pytest.param("rust", 300, marks=NEEDS_CARGO),
        pytest.param("go", 900, marks=NEEDS_GO),
    ],
)
def test_a_disk_that_fills_up_during_a_build_is_said(
    tmp_path: Path, language: str, size: int
) -> None:
    flags = build_with('ldflags = ["-static"]') if language == "c" else ""
    root = lay(tmp_path / "project", language, build=flags)
    done = in_namespace(FULL, str(tmp_path / "disk"), str(root), str(size))
    assert "code 74" in done.out, done.said
    assert "No space left on device" in done.out and "free some space" in done.out
    assert f"build count-{language}-default in {tmp_path / 'disk'}" in done.out


# Each write to what is linked is refused as by a kernel that counts what a user has.
OVER_QUOTA = """\
for word; do
    if [ "$before" = -o ]; then
        exec strace -f -qq -o /dev/null -P "$PWD/$word" -P "$word" \\
            -e inject=write,pwrite64:error=EDQUOT {0} "$@"
    fi
    before=$word
done
exec {0} "$@"
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_disk_quota_that_is_used_up_during_a_build_is_said(tmp_path: Path, compiler: str) -> None:
    real = shutil.which(compiler)
    if real is None or shutil.which("strace") is None:
        pytest.skip(f"needs {compiler} and strace")
    root = lay(tmp_path / "project", "c")
    extra = script(tmp_path / f"bin/{compiler}", OVER_QUOTA.format(real))
    done = laid.run(root, "build", extra={**extra, "CC": compiler})
    assert done.code == 74, done.said
    assert "Disk quota exceeded" in done.err and "your disk quota is used up" in done.err
    assert "the C build failed" not in done.err
    assert made(root) == 1


def test_a_disk_quota_that_is_used_up_when_the_launcher_is_compiled_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = "echo '/usr/bin/ld: final link failed: Disk quota exceeded' >&2; exit 1"
    script(tmp_path / "bin/gcc", says)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(errors.FileError, match="Disk quota exceeded") as caught:
        launcher_binary(Project(tmp_path))
    assert "your disk quota is used up" in caught.value.hint


@pytest.mark.parametrize("changed", ["value.h", "c/p01/count.c"])
def test_what_changes_while_it_is_compiled_is_not_up_to_date(tmp_path: Path, changed: str) -> None:
    root, real = tmp_path / "project", shutil.which("gcc")
    flags = build_with('cflags = ["-I", "../.."]')
    lay(root, "c", '#include "value.h"\n' + PRINTS.format("VALUE"), flags)
    laid.put(root, {"value.h": "#define VALUE 1\n"})
    edits = f"case \" $* \" in *count.c*) echo '#define VALUE 2' > {root / changed};; esac"
    extra = script(tmp_path / "bin/gcc", f'{real} "$@" || exit\n{edits}')
    done = laid.run(root, "build", extra=extra)
    assert done.code != 0 and f"{changed} was changed while it was compiled" in done.err, done.said
    assert "run the same command again" in done.err
    state = root / "build/p01/state.json"
    assert not state.exists() or "count-c-default" not in json.loads(state.read_text())
    assert made(root) == 1
    assert said(root) == f"value {2 if changed == 'value.h' else 1}\n"
    assert made(root) == 0


LIMITED = "ulimit -f 300; exec {} -m fixturegen build"


@pytest.mark.parametrize(
    "language", ["c", pytest.param("rust", marks=NEEDS_CARGO), pytest.param("go", marks=NEEDS_GO)]
)
def test_a_limit_on_the_size_of_files_is_said(tmp_path: Path, language: str) -> None:
    flags = build_with('ldflags = ["-static"]') if language == "c" else ""
    root = lay(tmp_path, language, build=flags)
    command = ["sh", "-c", LIMITED.format(sys.executable)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, env=laid.environment())
    assert done.returncode == 74, done.stderr
    assert "ulimit -f" in done.stderr and "bug report" not in done.stderr


def test_a_signal_in_a_source_is_no_full_disk(tmp_path: Path) -> None:
    wrong = "#error SIGBUS: Bus error, PLEASE submit a bug report\n" + PRINTS.format(1)
    done = laid.call(lay(tmp_path, "c", wrong), "build")
    assert done.code == 4 and "free some space" not in done.said
