"""C++: one g++ command a binary, as C's; literals and Makefile are C's too."""

from __future__ import annotations

from fixturegen.languages.c import CompiledAtOnce
from fixturegen.languages.protocol import Tool

LANGUAGE = CompiledAtOnce(
    name="cpp",
    label="C++",
    suffix="cpp",
    header="hpp",
    variable="CXX",
    flags=("-std=c++20", "-O3", "-Wall", "-Wextra", "-Wpedantic"),
    compilers=(Tool("g++", "g++"), Tool("clang++", "clang")),
    before_source="cxxflags",
    truth=("false", "true"),
)
