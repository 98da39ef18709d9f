"""Only `files` opens what is in a project; everything else that touches a file system is listed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import fixturegen

PACKAGE = Path(fixturegen.__file__).parent
METHODS = {
    *("open", "read_bytes", "read_text", "write_bytes", "write_text", "glob", "rglob", "iterdir"),
    *("is_file", "is_dir", "exists", "stat", "lstat", "is_symlink", "resolve", "readlink"),
    *(
        "unlink",
        "rmdir",
        "mkdir",
        "touch",
        "chmod",
        "rename",
        "replace",
        "symlink_to",
        "hardlink_to",
    ),
    *("listdir", "scandir", "walk", "makedirs", "removedirs", "remove", "truncate", "symlink"),
    *("copy", "copyfile", "copytree", "move", "rmtree", "mkstemp", "mkdtemp", "access", "fwalk"),
}
# What is no project's: the machine, an ELF file that the user names, our own package and cache.
OTHERS = {
    "files.py": "the door itself",
    "machine": "the kernel's files; below another root no link leads out",
    "tune": "the kernel's files, and the journal in root's own folder",
    "elf": "files that the user names on the command line",
    "render/compiled.py": "the user's own cache, and the time of our own modules",
    "languages/registry.py": "our own package, and what is installed beside it",
    "build/reading.py": "what compilers read, wherever it is; its digest alone is kept",
    "languages/rust.py": "cargo's configuration in folders above, of which a digest is kept",
    "launcher/compiling.py": "our own sources, and the compiled launcher in build/",
}
ONCE = {
    ("cli/main.py", "open"): "standard streams that were closed from the start",
    ("cli/doctor.py", "exists"): "the picture that the user asked for by its name",
    ("cli/tune.py", "resolve"): "--sysfs",
    ("fixture/project.py", "resolve"): "our own package, and build/, which may be on another disk",
    ("fixture/project.py", "is_dir"): "our own package",
    ("fixture/project.py", "glob"): "looks for a project's root, and opens nothing",
    ("fixture/project.py", "stat"): "the permissions of folders above",
    ("render/rendered.py", "stat"): "the time of our own modules",
    ("render/rendered.py", "glob"): "our own modules",
    ("build/making.py", "resolve"): "a program on PATH",
    ("build/toolchain.py", "resolve"): "a compiler on PATH",
    ("privileges.py", "access"): "our own Python, and folders that root's environment names",
    ("privileges.py", "is_file"): "the command that was typed",
    ("runs/options.py", "resolve"): "--sysfs",
    ("instruments/evict_file.py", "open"): "a file whose pages are dropped: a run executes anyway",
    ("instruments/made.py", "stat"): "the size of a file that we made in build/",
    ("runs/unmeasured.py", "exists"): "an argument that is an absolute path",
    ("instruments/meminfo.py", "read_text"): "/proc/meminfo",
    ("instruments/perf.py", "read_text"): "perf_event_paranoid",
}
OURS = ("files", "record", "view")  # their functions have such names, and go through the door
TEXT = "replace"  # of texts and of frozen values: too common to tell apart


def touching(tree: ast.AST) -> Iterator[str]:
    """Yield the method names with which a module touches a file system."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            yield "open"
        if isinstance(called, ast.Attribute) and called.attr in METHODS - {TEXT}:
            owner = called.value
            if not (isinstance(owner, ast.Name) and owner.id in OURS):
                yield called.attr


def test_only_files_opens_what_is_in_a_project() -> None:
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not {name, name.partition("/")[0]} & OTHERS.keys():
            found |= {(name, method) for method in touching(ast.parse(path.read_text()))}
    assert found - ONCE.keys() == set(), "read and write through fixturegen.files"
    assert ONCE.keys() - found == set(), "no longer there: take it off the list"
