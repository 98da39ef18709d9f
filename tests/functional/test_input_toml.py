"""A wrong fixture.toml gets one message: file, key, value, the nearest known name; exit 3."""

from __future__ import annotations

from pathlib import Path

import laid
import pytest
from laid import TOML, changed

WHERE = "templates/p01/fixture.toml"
HOLDS = '"each(count.c.plain.value == params.length)"'


def entry(table: str, lines: str) -> str:
    """Return the fixture with one more `[[program.mode]]` or `[[program.build]]`."""
    return changed("[[claim]]", f"[[program.{table}]]\n{lines}\n\n[[claim]]")


def pattern(text: str) -> str:
    return changed(r"'value (?P<n>\d+)'", text)


def metric(text: str) -> str:
    return changed('"value.n[0]"', f'"{text}"')


def holds(text: str) -> str:
    return changed(HOLDS, f'"{text}"')


def program(text: str) -> str:
    return changed("rounds = 2", text)


UNKNOWN = {
    "top": ("titel = 1\n" + TOML, ["'titel'", "did you mean 'title'"]),
    "program": (program("round = 2"), ["program 'count'", "'round'", "did you mean 'rounds'"]),
    "mode": (entry("mode", 'name = "a"\narg = []'), ["mode 'a'", "'arg'", "did you mean 'args'"]),
    "build": (entry("build", 'name = "a"\ncc.ldflags = []'), ["build 'a'", "'cc'", "'c'"]),
    "flags": (entry("build", 'name = "a"\nc.ldflag = []'), ["'ldflag'", "did you mean 'ldflags'"]),
    "inner": (entry("build", 'name = "a"\nflags.c.ldflags = []'), ["unknown key 'flags'"]),
    "metric": (changed('unit = "count"', 'unitt = "count"'), ["metric.value", "'unitt'", "'unit'"]),
    "claim": (changed("holds =", "hold ="), ["claim 'It prints its length.'", "'hold'", "'holds'"]),
}

WRONG_TYPE = {
    "text for a number": (program('rounds = "2"'), ["rounds = '2'", "a whole number, not text"]),
    "truth for a number": (program("rounds = true"), ["rounds = true", "a whole number"]),
    "point": (program("rounds = 2.0"), ["rounds = 2.0", "not a number with a point"]),
    "negative rounds": (program("rounds = -2"), ["program 'count'", "rounds = -2", ">= 1"]),
    "no rounds": (program("rounds = 0"), ["rounds = 0", ">= 1"]),
    "too many rounds": (program(f"rounds = {'9' * 30}"), ["rounds = 999", "<= 1000000"]),
    "a number of 5000 digits": (program(f"rounds = {'9' * 5000}"), ["5000 digits"]),
    "timeout nan": (program("timeout_s = nan"), ["timeout_s = nan", "> 0"]),
    "timeout inf": (program("timeout_s = inf"), ["timeout_s = inf", "<= 86400"]),
    "cpus": (program('cpus = "al"'), ["cpus = 'al'", "whole number or all", "mean 'all'"]),
    "order": (program('order = "shufled"'), ["order = 'shufled'", "did you mean 'shuffled'"]),
    "text for a list": (changed('["c"]', '"c"'), ["languages = 'c'", "a list, not text"]),
    "no language": (changed('["c"]', "[]"), ["languages", "must not be empty"]),
    "language": (changed('["c"]', '["rst"]'), ["'rst'", "did you mean 'rust'"]),
    "argument": (entry("mode", 'name = "a"\nargs = [1]'), ["mode 'a'", "args[0] = 1", "text"]),
    "variable": (entry("mode", 'name = "a"\nenv = {A = 1}'), ["env.A = 1", "expected text"]),
    "flags": (entry("build", 'name = "a"\nc = 3'), ["build 'a'", "c = 3", "a table"]),
    "line": (pattern("3"), ["lines.value = 3", "expected text"]),
    "metric": (changed('{ value = "value.n[0]", unit = "count" }', "3"), ["metric.value = 3"]),
    "kind": (changed('"count" }', '"count", kind = "tme" }'), ["kind = 'tme'", "mean 'time'"]),
    "date": (changed("ratio = 0.5", "ratio = 2020-01-01"), ["params.ratio = 2020-01-01", "a date"]),
    "list": (changed("ratio = 0.5", "ratio = [1]"), ["params.ratio", "not a list"]),
    "title": (changed('"A small fixture"', "3"), ["title = 3", "text"]),
    "one program": (changed("[[program]]", "[program]"), ["write [[program]]"]),
    "no title": (changed('title = "A small fixture"', ""), ["lacks the key 'title'"]),
    "no program": ('title = "x"\n', ["lacks the key 'program'"]),
    "empty": ("", ["lacks the key 'title'"]),
}

VALUES = {
    "over 64 bits": (changed("= 64", f"= {2**64}"), ["params.length = 18446744073709551616"]),
    "under 64 bits": (changed("= 64", f"= {-(2**63) - 1}"), ["params.length", "64 bits"]),
    "nan": (changed("= 0.5", "= nan"), ["params.ratio = nan", "not a finite number"]),
    "line break": (changed('"plain"', r'"a\nb"'), ["params.word", r"'\n'"]),
    "bell": (changed('"plain"', r'"a\u0007"'), ["params.word", r"'\x07'"]),
    "bidi": (changed('"plain"', r'"a\u202e"'), ["params.word", r"'\u202e'"]),
    "long": (changed('"plain"', f'"{"a" * 1001}"'), ["params.word", "1001 characters"]),
    "title": (changed('"A small', r'"A\nsmall'), ["title = ", r"'\n'"]),
    "claim": (changed("It prints", r"It\nprints"), ["claim: text = ", r"'\n'"]),
    "unit": (changed('"count" }', r'"co\nunt" }'), ["metric 'value': unit", r"'\n'"]),
    "flag": (entry("build", 'name = "a"\nc.cflags = ["a\\nb"]'), ["c.cflags", "one line"]),
    "flag ends a comment": (entry("build", 'name = "a"\nc.cflags = ["*/"]'), ["comment"]),
    "flag of another": (
        entry("build", 'name = "a"\nc.rustflags = ["-g"]'),
        ["c.rustflags", "did you mean 'cflags'"],
    ),
    "NUL in an argument": (entry("mode", 'name = "a"\nargs = ["\\u0000"]'), ["args", "NUL"]),
    "NUL in a variable": (entry("mode", 'name = "a"\nenv = {A = "\\u0000"}'), ["env.A", "NUL"]),
    "variable's name": (entry("mode", 'name = "a"\nenv = {"A=B" = ""}'), ["env.'A=B'"]),
    "kernel": (program('kernel = "a b"'), ["kernel = 'a b'", "name of a function"]),
    "symbol": (program('symbols = ["a b"]'), ["symbols[0] = 'a b'", "name of a symbol"]),
}

NAMES = {
    "two programs": (TOML + '[[program]]\nname = "count"\nlanguages = ["c"]\n', ["'count'"]),
    "two builds": (entry("build", 'name = "a"\n[[program.build]]\nname = "a"'), ["builds", "'a'"]),
    "two modes": (entry("mode", 'name = "a"\n[[program.mode]]\nname = "a"'), ["modes", "'a'"]),
    "builds that collide": (
        entry("build", 'name = "a-b"\n[[program.build]]\nname = "a,b"'),
        ["'a-b' and 'a,b' are both 'a_b'"],
    ),
    "modes that collide": (
        entry("mode", 'name = "a-b"\n[[program.mode]]\nname = "a_b"'),
        ["'a-b' and 'a_b' are both 'a_b'"],
    ),
    "builds that differ in case": (
        entry("build", 'name = "Lazy"\n[[program.build]]\nname = "lazy"'),
        ["the builds 'Lazy' and 'lazy' differ only in upper and lower case"],
    ),
    "modes that differ in case": (
        entry("mode", 'name = "a-B"\n[[program.mode]]\nname = "A-b"'),
        ["the modes 'a-B' and 'A-b' differ only in upper and lower case"],
    ),
    "modes that collide but for case": (
        entry("mode", 'name = "a-B"\n[[program.mode]]\nname = "A_b"'),
        ["the modes 'a-B' and 'A_b' differ only in upper and lower case"],
    ),
    "default and Default": (
        entry("build", 'name = "default"\n[[program.build]]\nname = "Default"'),
        ["the builds 'default' and 'Default' differ only in"],
    ),
    "a mode called as a build but for case": (
        entry("build", 'name = "default"\n[[program.mode]]\nname = "Default"'),
        ["mode 'Default': the build 'default' is the same part of a path"],
    ),
    "programs that would collide": (changed('"count"', '"count_"'), ["name = 'count_'"]),
    "a piece and a program": ('shared = ["count"]\n' + TOML, ["shared piece", "'count'"]),
    "a piece twice": ('shared = ["words", "words"]\n' + TOML, ["shared", "'words'"]),
    "a piece that is not there": (
        'shared = ["wrds"]\n' + TOML,
        [WHERE, "shared: 'wrds'", "did you mean 'words.h.j2'"],
    ),
    "a program without source": (
        changed('"count"', '"cuont"').replace("count.c", "cuont.c"),
        [WHERE, "program 'cuont'", "did you mean 'count.c.j2'"],
    ),
    "program with ..": (changed('"count"', '"../count"'), ["name = '../count'"]),
    "program with a break": (changed('"count"', r'"count\n"'), ["name = 'count\\n'"]),
    "long program": (changed('"count"', f'"{"c" * 41}"'), ["<= 40"]),
    "piece with ..": ('shared = ["../x"]\n' + TOML, ["shared[0] = '../x'"]),
    "mode with a slash": (entry("mode", 'name = "a/b"'), ["name = 'a/b'"]),
    "build with ..": (entry("build", 'name = "../b"'), ["name = '../b'"]),
    "build that make would assign": (entry("build", 'name = "a=b"'), ["name = 'a=b'"]),
    "parameter": (changed("ratio", "Ratio"), ["params.Ratio", "the name is wrong"]),
    "metric": (changed("metric.value", "metric.Value"), ["metric.Value", "the name is wrong"]),
    "line": (changed("lines.value", "lines.Value"), ["lines.Value", "the name is wrong"]),
    "line that is taken": (changed("lines.value", "lines.params"), ["lines.params", "taken"]),
    "cargo's own": (
        changed('languages = ["c"]', 'languages = ["rust"]').replace('"count"', '"build"'),
        ["program 'build'", "rust has no program of this name"],
    ),
    "mode's language": (
        entry("mode", 'name = "plain"\nlanguages = ["rust"]'),
        ["mode 'plain'", "languages", "'rust'", "known: c"],
    ),
    "mode's build": (
        entry("mode", 'name = "plain"\nbuilds = ["defalt"]'),
        ["builds", "'defalt'", "did you mean 'default'"],
    ),
    "mode of no case": (
        entry(
            "mode",
            'name = "a"\nlanguages = ["rust"]\nbuilds = ["x"]\n'
            '[[program.build]]\nname = "y"\nrust.rustflags = []\n'
            '[[program.build]]\nname = "x"\nc.cflags = ["-g"]',
        ).replace('["c"]', '["c", "rust"]'),
        ["mode 'a'", "no build"],
    ),
    "binary of an argument": (
        entry("mode", 'name = "plain"\nargs = ["{cont.c}"]'),
        ["mode 'plain'", "{cont.c}", "did you mean 'count.c'"],
    ),
    "open brace": (entry("mode", 'name = "plain"\nargs = ["{count.c"]'), ["'{count.c'", "brace"]),
    "metric's mode": (
        changed('"count" }', '"count", modes = ["plan"] }'),
        ["metric 'value': modes", "'plan'", "did you mean 'plain'"],
    ),
}

PATTERNS = {
    "open group": (pattern("'(?P<n>x'"), ["lines.value = '(?P<n>x'", "does not compile"]),
    "no name": (pattern(r"'(\d+)'"), ["a group without a name"]),
    "two of one name": (pattern("'(?P<n>a)(?P<n>b)'"), ["does not compile", "redefinition"]),
    "late flag": (pattern("'a(?i)b'"), ["does not compile"]),
    "unicode": (pattern("'(?u)a'"), ["does not compile", "ASCII and UNICODE"]),
    "will mean something else": (pattern("'[[a]'"), ["does not compile", "nested set"]),
    "repeat": (pattern("'a{99999999999999999999}'"), ["does not compile"]),
    "not ASCII": (pattern("'(?P<größe>a)'"), ["ASCII", "'größe'"]),
    "two lines": (pattern(r'"a\nb"'), ["one line"]),
}

EXPRESSIONS = {
    "column": (metric("value.m[0]"), ["metric.value", "'value.m'", "did you mean 'value.n'"]),
    "line": (metric("valu.n[0]"), ["'valu.n'", "did you mean 'value.n'"]),
    "vector": (metric("value.n"), ["one number, not a vector"]),
    "text": (metric("params.word"), ["params.word is text"]),
    "method": (metric("value.n.tofile(3)"), ["only a named function"]),
    "import": (metric("__import__(1)"), ["unknown function '__import__'"]),
    "lambda": (metric("(lambda: 1)()"), ["only a named function"]),
    "loop": (metric("[x for x in value.n][0]"), ["comprehension"]),
    "power": (metric("9**9**9"), ["powers"]),
    "claim": (holds("count.c.plain.valu > 1"), ["claim 'It prints", "mean 'count.c.plain.value'"]),
    "behind or": (
        holds("count.c.plain.value > 0 or count.c.plan.value > 0"),
        ["'count.c.plan.value'", "did you mean 'count.c.plain.value'"],
    ),
    "number": (holds("count.c.plain.value"), ["a condition, not a number"]),
    "constant": (holds("True"), ["holds = 'True'", "names nothing that is measured"]),
    "parameters alone": (holds("params.length > 3"), ["names nothing that is measured"]),
    "assignment": (holds("(x := 3) > 1"), ["assignment"]),
    "deep": (holds("not " * 400 + "count.c.plain.value > 0"), ["nested"]),
    "deeper": (holds("(" * 500 + "1" + ")" * 500), ["nested"]),
}

ENCODINGS = {
    "BOM": (b"\xef\xbb\xbf" + TOML.encode(), ["has a byte order mark", "perl -0777 -pi"]),
    "CR LF": (TOML.replace("\n", "\r\n"), ["has CR LF line endings in", "perl -0777 -pi"]),
    "CR": (TOML.replace("\n", "\r"), ["has CR line endings", "perl -0777 -pi"]),
    "Latin-1": (TOML.replace("small", "größe").encode("latin-1"), ["UTF-8", "0xf6"]),
    "UTF-16": (TOML.encode("utf-16"), ["UTF-8", "byte 0"]),
    "NUL": (TOML.replace("small", "\0"), ["not TOML", "line 1"]),
    "no value": ("title = \n", ["not TOML", "line 1"]),
    "key twice": ('title = "a"\n' + TOML, ["not TOML", "line 2"]),
    "deep": (f"a = {'[' * 5000}{']' * 5000}", ["nested too deeply"]),
}

CONDITIONS = {
    "preparation": (
        entry("mode", 'name = "plain"\nprepare = ["evict-fil x"]'),
        ["prepare", "'evict-fil'", "did you mean 'evict-file'"],
    ),
    "a preparation's binary": (
        entry("mode", 'name = "plain"\nprepare = ["evict-file {cont.c}"]'),
        ["prepare: names no binary: {cont.c}", "did you mean 'count.c'"],
    ),
    "a preparation's NUL": (
        entry("mode", 'name = "plain"\nprepare = ["evict-file \\u0000"]'),
        ["prepare", "NUL"],
    ),
    "no permission": (entry("mode", 'name = "plain"\nprepare = ["drop-caches"]'), ["allow ="]),
    "permission": (
        entry("mode", 'name = "plain"\nallow = "all"'),
        ["allow = 'all'", "drop-caches"],
    ),
    "watch": (entry("mode", 'name = "plain"\nwatch = ["memnfo"]'), ["did you mean 'meminfo'"]),
    "wrapper": (
        entry("mode", 'name = "plain"\nwrapper = "strace"'),
        ["wrapper = 'strace'", "expected strace-count"],
    ),
    "a file with ..": (TOML + '[[file]]\nname = "../x"\nbytes = 1\n', ["name = '../x'"]),
    "a file of less than nothing": (TOML + '[[file]]\nname = "x"\nbytes = -1\n', ["bytes = -1"]),
    "command": (program('command = "find"'), ["command", "system"]),
    "command with a path": (program('command = "/bin/sh"'), ["command = '/bin/sh'", "PATH"]),
}

WRONG = {
    f"{group}: {name}": case
    for group, cases in (
        ("unknown", UNKNOWN),
        ("type", WRONG_TYPE),
        ("value", VALUES),
        ("name", NAMES),
        ("pattern", PATTERNS),
        ("expression", EXPRESSIONS),
        ("encoding", ENCODINGS),
        ("condition", CONDITIONS),
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize(("toml", "wanted"), WRONG.values(), ids=WRONG)
def test_it_is_refused_with_its_place(tmp_path: Path, toml: str | bytes, wanted: list[str]) -> None:
    laid.project(tmp_path, toml)
    done = laid.call(tmp_path, "render")
    assert done.code == 3, done.said
    assert done.err.startswith(f"fixturegen: {WHERE}: ")
    for words in wanted:
        assert words in done.err
    assert str(tmp_path) not in done.err
    assert len(done.err.splitlines()) <= 4
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("command", ["list p01", "build", "run"])
def test_every_command_refuses_it_alike(tmp_path: Path, command: str) -> None:
    laid.project(tmp_path, program("round = 2"))
    done = laid.call(tmp_path, *command.split())
    assert (done.code, done.out) == (3, "")
    assert "did you mean 'rounds'?" in done.err


def test_the_fixture_that_these_tests_spoil_is_right(tmp_path: Path) -> None:
    laid.project(tmp_path)
    assert laid.call(tmp_path, "render").code == 0
