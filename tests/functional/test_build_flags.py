"""Builds keep their own flags; a kernel is what its source says; a failed build is shown."""

from __future__ import annotations

import json
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

PROBE = """\
title = "Builds"

[[program]]
name = "probe"
languages = ["c", "rust"]

[[program.build]]
name = "lazy"
c.ldflags = ["-Wl,-z,lazy"]
rust.rustflags = ["-C", "relro-level=partial"]

[[program.build]]
name = "now"
c.ldflags = ["-Wl,-z,now"]
rust.rustflags = ["-C", "relro-level=full"]

[[program.build]]
name = "static"
c.ldflags = ["-static"]

[[program.build]]
name = "symbols"
rust.rustflags = ["-C", "debuginfo=1"]
"""
PROBE_C = """\
//% for line in build_lines
//   /*{ line | raw }*/
//% endfor
#define _GNU_SOURCE // random
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    printf("%ld\\n", random());
    return 0;
}
"""
PROBE_RS = """\
//% for line in build_lines
//   /*{ line | raw }*/
//% endfor
extern "C" {
    fn random() -> i64;
}

fn main() {
    println!("{}", unsafe { random() });
}
"""
ROOTS = """\
title = "A library"

[[program]]
name = "root"
languages = ["c"]

[[program.build]]
name = "static"
c.ldflags = ["-static", "-lm"]
"""
ROOT_C = """\
//% for line in build_lines
//   /*{ line | raw }*/
//% endfor
#include <math.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argv;
    printf("%.3f\\n", cbrt(argc + 26));
    return 0;
}
"""
KERNEL = """\
title = "A kernel"

[[program]]
name = "fill"
languages = ["LANGUAGE"]
kernel = "kernel"
"""


def lay_probe(root: Path) -> Path:
    return laid.put(
        root,
        {
            "templates/p01/fixture.toml": PROBE,
            "templates/p01/probe.c.j2": PROBE_C,
            "templates/p01/probe.rs.j2": PROBE_RS,
        },
    )


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = lay_probe(tmp_path_factory.mktemp("probes"))
    done = laid.run(root, "build")
    assert done.code == 0, done.said
    return root


def verdicts(root: Path, names: list[str]) -> dict[str, str]:
    """Return for each binary when a call of random() is bound, as `inspect` says it."""
    paths = [f"build/p01/bin/probe-{name}" for name in names]
    done = laid.run(root, "inspect", "--json", "-s", "random", *paths)
    assert done.code == 0, done.said
    found = [entry["symbols"][0]["verdict"] for entry in json.loads(done.out)]
    return dict(zip(names, found, strict=True))


def test_each_build_has_its_own_flags(probes: Path) -> None:
    assert verdicts(probes, ["c-lazy", "c-now", "c-static", "rust-lazy", "rust-now"]) == {
        "c-lazy": "lazy",
        "c-now": "bound",
        "c-static": "static",
        "rust-lazy": "lazy",
        "rust-now": "bound",
    }
    names = {path.name for path in (probes / "build/p01/bin").iterdir()}
    assert "probe-rust-static" not in names  # that build names C alone
    assert "probe-rust-symbols" in names
    state = json.loads((probes / "build/p01/state.json").read_text())
    assert len({entry["binary"]["sha256"] for entry in state.values()}) == len(state) == 6


def test_the_lines_in_the_sources_make_the_same_binaries(probes: Path, tmp_path: Path) -> None:
    for language, made in (
        ("c", {"lazy": "out/probe", "now": "out/probe-now", "static": "out/probe-static"}),
        ("rust", {"lazy": "target/lazy/release/probe", "now": "target/now/release/probe"}),
    ):
        folder = Path(shutil.copytree(probes / language / "p01", tmp_path / language))
        source = next(folder.glob("probe.*")).read_text()
        lines = [line[5:] for line in source.splitlines() if line.startswith("//   ")]
        assert len(lines) == 3
        (folder / "out").mkdir()
        for line in lines:
            subprocess.run(line, shell=True, cwd=folder, check=True, capture_output=True)
        for build, path in made.items():
            by_us = probes / "build/p01/bin" / f"probe-{language}-{build}"
            assert (folder / path).read_bytes() == by_us.read_bytes(), build


def test_make_builds_them_all(probes: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(probes / "c/p01", tmp_path / "c"))
    subprocess.run(["make", "builds"], cwd=folder, check=True, capture_output=True)
    for made, build in (("probe", "lazy"), ("probe-now", "now"), ("probe-static", "static")):
        by_us = probes / f"build/p01/bin/probe-c-{build}"
        assert (folder / "out" / made).read_bytes() == by_us.read_bytes()
    again = subprocess.run(["make", "builds"], cwd=folder, check=True, capture_output=True)
    assert b"gcc" not in again.stdout
    subprocess.run(["make", "clean"], cwd=folder, check=True, capture_output=True)
    assert not (folder / "out").exists()


def test_a_static_library_is_found_by_the_tool_the_line_and_make(tmp_path: Path) -> None:
    texts = {"templates/p01/fixture.toml": ROOTS, "templates/p01/root.c.j2": ROOT_C}
    done = laid.run(laid.put(tmp_path, texts), "build")
    assert done.code == 0, done.said
    folder = tmp_path / "c/p01"
    line = (folder / "root.c").read_text().splitlines()[0].removeprefix("//   ")
    assert line.endswith(" -o out/root root.c -static -lm")
    for command in ("make", line):
        subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True)
        made = folder / "out/root"
        assert subprocess.run([made], check=True, capture_output=True).stdout == b"3.000\n"
        by_us = tmp_path / "build/p01/bin/root-c-static"
        assert made.read_bytes() == by_us.read_bytes()
        made.unlink()


def test_a_warning_ends_our_build_and_not_a_readers(tmp_path: Path) -> None:
    texts = {
        "templates/p01/fixture.toml": ROOTS,
        "templates/p01/root.c.j2": ROOT_C.replace("    (void)argv;\n", ""),
    }
    done = laid.run(laid.put(tmp_path, texts), "build")
    assert done.code == 4
    assert "unused-parameter" in done.err
    assert " -Werror " in done.err  # the line that ran
    folder = tmp_path / "c/p01"
    line = (folder / "root.c").read_text().splitlines()[0].removeprefix("//   ")
    for command in ("make", line):
        made = subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True)
        assert b"unused-parameter" in made.stderr
        (folder / "out/root").unlink()


def test_a_changed_flag_compiles_that_build_alone(tmp_path: Path) -> None:
    root = lay_probe(tmp_path)
    assert laid.run(root, "build", "--language", "c").code == 0
    toml = PROBE.replace('["-Wl,-z,now"]', '["-Wl,-z,now", "-Wl,-z,relro"]')
    laid.put(root, {"templates/p01/fixture.toml": toml})
    done = laid.run(root, "build", "--language", "c")
    # The source shows the line of each build, so its text has changed for all of them.
    assert "built probe-c-now" in done.out


KERNELS = {
    "memset in C": (
        "c",
        "#include <stdlib.h>\n#include <string.h>\n\n"
        "__attribute__((noinline)) void kernel(char *at, size_t size)\n"
        "{\n    for (size_t i = 0; i < size; i++) {\n        at[i] = 0;\n    }\n}\n\n"
        "int main(int argc, char **argv)\n{\n    (void)argv;\n"
        "    char *at = malloc(4096);\n    kernel(at, 4096 / (size_t)argc);\n"
        "    return at[9];\n}\n",
        ["'kernel'", "memset", "launder its inputs"],
    ),
    "inlined in C": (
        "c",
        "static int kernel(int x)\n{\n    return x + 1;\n}\n\n"
        "int main(int argc, char **argv)\n{\n    (void)argv;\n    return kernel(argc);\n}\n",
        ["'kernel' is not in the binary", "from inlining it"],
    ),
    "memset in Rust": (
        "rust",
        "#[no_mangle]\n#[inline(never)]\nfn kernel(out: &mut [u8]) {\n"
        "    for each in out.iter_mut() {\n        *each = 0;\n    }\n}\n\n"
        "fn main() {\n    let mut out = vec![1; 4096 / std::env::args().count()];\n"
        "    kernel(&mut out);\n    std::hint::black_box(&out);\n}\n",
        ["'kernel'", "memset", "launder its inputs"],
    ),
    "inlined in Rust": (
        "rust",
        "fn kernel(x: usize) -> usize {\n    x + 1\n}\n\n"
        'fn main() {\n    println!("{}", kernel(std::env::args().count()));\n}\n',
        ["'kernel' is not in the binary", "from inlining it"],
    ),
}


@pytest.mark.parametrize(("language", "source", "wanted"), KERNELS.values(), ids=KERNELS)
def test_a_kernel_that_is_not_what_it_seems(
    tmp_path: Path, language: str, source: str, wanted: list[str]
) -> None:
    suffix = {"c": "c", "rust": "rs"}[language]
    laid.put(
        tmp_path,
        {
            "templates/p01/fixture.toml": KERNEL.replace("LANGUAGE", language),
            f"templates/p01/fill.{suffix}.j2": source,
        },
    )
    done = laid.run(tmp_path, "build")
    assert done.code == 4, done.said
    assert f"fill-{language}-default" in done.err
    for words in wanted:
        assert words in done.err
    assert laid.run(tmp_path, "build").code == 4  # and is not taken for built


@pytest.mark.parametrize("language", ["c", "rust"])
def test_what_the_compiler_says_is_shown(tmp_path: Path, language: str) -> None:
    suffix = {"c": "c", "rust": "rs"}[language]
    toml = KERNEL.replace("LANGUAGE", language).replace('kernel = "kernel"\n', "")
    broken = {"c": "int main(void) { return nothing; }\n", "rust": "fn main() { nothing() }\n"}
    laid.put(
        tmp_path,
        {"templates/p01/fixture.toml": toml, f"templates/p01/fill.{suffix}.j2": broken[language]},
    )
    done = laid.run(tmp_path, "build")
    assert done.code == 4
    assert "nothing" in done.err
    assert f"the source is in {language}/p01, its template in templates/" in done.err
    command = {"c": "gcc -std=c11", "rust": "cargo rustc --release"}[language]
    assert command in done.err
    fixed = {"c": "int main(void) { return 0; }\n", "rust": "fn main() {}\n"}
    laid.put(tmp_path, {f"templates/p01/fill.{suffix}.j2": fixed[language]})
    assert laid.run(tmp_path, "build").code == 0
