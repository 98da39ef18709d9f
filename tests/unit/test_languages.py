"""What every language has to do, those of this package and a stranger's: no compiler is started."""

from __future__ import annotations

import ast
import re
import shlex
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import fixturegen
from fixturegen import errors
from fixturegen.build.toolchain import chosen
from fixturegen.fixture.checks import load
from fixturegen.fixture.project import builtin_templates
from fixturegen.languages import LANGUAGES, MEMBERS, Language
from fixturegen.model import SYSTEM, Fixture
from tests import stranger

PACKAGE = Path(fixturegen.__file__).parent
COMPILED = [*(name for name in LANGUAGES if name != SYSTEM), "echo"]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Language]:
    """The stranger's language, imported as the registry does."""
    site = stranger.install(tmp_path_factory.mktemp("site"))
    sys.path.insert(0, str(site))
    try:
        from fixturegen.languages.registry import Languages

        yield Languages()["echo"]
    finally:
        sys.path.remove(str(site))


@pytest.fixture(params=COMPILED)
def language(request: pytest.FixtureRequest, echo: Language) -> Language:
    return echo if request.param == "echo" else LANGUAGES[request.param]


def toml(language: Language, *, program: str = "walk", more: str = "") -> bytes:
    """Return a fixture.toml with two programs; the first has three builds, one with all flags."""
    key = f"{language.name}.compiler = 'other-1.2'\n" if language.compilers else ""
    flags = "".join(f"{language.name}.{key} = ['-x=1', '-y z']\n" for key in language.flag_keys)
    nothing = "".join(f"{language.name}.{key} = []\n" for key in language.flag_keys)
    return f"""title = "t"
shared = ["piece"]
[[program]]
name = "{program}"
languages = ["{language.name}"]
[[program.build]]
name = "default"
{nothing}
[[program.build]]
name = "flags"
{flags}
[[program.build]]
name = "compiled"
{key or nothing}{more}
[[program]]
name = "other"
languages = ["{language.name}"]
""".encode()


def fixture_in(language: Language, **options: str) -> Fixture:
    return load(toml(language, **options), "p01", "fixture.toml", {language.name: language})


def test_it_has_every_member_and_gives_its_types(language: Language) -> None:
    fixture = fixture_in(language)
    (program, _), build = fixture.programs, fixture.programs[0].builds[0]
    arguments = {
        "tools": ("",), "identity": ("",), "literal": (1,), "symbol": ("kernel",),
        "variables": ("",), "settings": (Path("/nowhere/c/p01"),),
        "layout": (fixture,), "shown": (program, build),
        "plan": (fixture, program, build, "/out", {}),
    }  # fmt: skip
    for member in MEMBERS:
        described = vars(Language)[member]
        value = getattr(language, member)
        if isinstance(described, property):
            hints = typing.get_type_hints(described.fget)
        else:
            hints, value = typing.get_type_hints(described), value(*arguments[member])
        msgspec.convert(value, hints["return"])
    assert re.fullmatch("[a-z][a-z0-9]*", language.name)
    assert language.suffix and language.label and "." not in language.suffix


def test_its_files_have_places_of_their_own_and_a_template(language: Language) -> None:
    fixture = fixture_in(language)
    layout = language.layout(fixture)
    targets = [entry.target for entry in layout]
    assert len({*targets}) == len(targets)
    assert not any(Path(target).is_absolute() or ".." in target for target in targets)
    templates = {entry.template for entry in layout}
    suffixes = {Path(entry.template.removesuffix(".j2")).suffix for entry in layout}
    assert {f"walk.{language.suffix}.j2", f"other.{language.suffix}.j2"} <= templates
    assert any(template.startswith("piece.") for template in templates) and suffixes
    own = [language.templates] if language.templates else []
    for entry in layout:
        if entry.dialect == "text":  # what describes the folder to its tools: of no fixture
            folders = [*own, builtin_templates() / "_lib"]
            assert any((folder / entry.template).is_file() for folder in folders), entry.template
    assert any(not entry.for_readers for entry in layout)


def test_of_a_fixture_without_it_there_are_no_files(language: Language) -> None:
    other = 'title = "t"\n[[program]]\nname = "a"\nlanguages = ["system"]\ncommand = "find"\n'
    assert not language.layout(load(other.encode(), "p", "f", LANGUAGES))


def test_its_plan_and_its_line_have_the_flags_and_the_compiler(language: Language) -> None:
    fixture = fixture_in(language)
    program = fixture.programs[0]
    lines = []
    for build in program.builds:
        plan = language.plan(fixture, program, build, "/out", {})
        shown = language.shown(program, build)
        lines.append(shown)
        assert plan.shown == shown and "\n" not in shown
        words = [word for command in plan.commands for word in command]
        assert plan.commands and all(isinstance(word, str) and word for word in words)
        assert plan.commands[0][0] in {
            t.command for t in language.tools(build.compiler(language.name))
        }
        assert not plan.executable or not plan.executable.is_absolute()
        assert any(word.startswith(("/out", "--target-dir")) for word in words)
        for key in language.flag_keys:
            for flag in build.flags(language.name, key):
                assert any(flag in word for word in words), (flag, words)
                assert any(flag in word for word in shlex.split(shown)), (flag, shown)
        if named := build.compiler(language.name):
            assert plan.commands[0][0] == shlex.split(shown)[0] == named == "other-1.2"
    assert len({*lines}) == len(lines) if language.compilers else len({*lines}) >= 2


def test_it_says_which_toolchain_it_is(language: Language) -> None:
    for compiler in ("", *(tool.command for tool in language.compilers)):
        tools = language.tools(compiler)
        assert tools and all(tool.command and tool.package for tool in tools)
        commands = language.identity(compiler)
        assert commands[0][0] in {tool.command for tool in tools}
        assert not compiler or commands[0][0] == compiler


def test_it_names_the_variables_and_files_that_choose_its_tools(
    language: Language, tmp_path: Path
) -> None:
    folder = tmp_path / language.name / "p01"
    for compiler in ("", "other-1.2"):
        variables = language.variables(compiler)
        assert all(re.fullmatch("[A-Z][A-Z0-9_]*", name) for name in variables)
    assert all(path.is_absolute() for path in language.settings(folder))


def test_a_variable_that_chose_a_compiler_is_told_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("CC", "/home/somebody/bin/cc -m64")
    monkeypatch.setenv("RUSTUP_TOOLCHAIN", "1.77")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("RUSTFLAGS", "-g")  # is not passed on
    assert chosen("c", "") == {"CC": "~/bin/cc -m64"}
    assert chosen("c", "clang") == chosen("cpp", "") == chosen("go", "") == {}
    assert chosen("rust", "") == {"RUSTUP_TOOLCHAIN": "1.77"}


def test_its_reserved_names_keys_and_compilers_are_checked(language: Language) -> None:
    for name in language.reserved:
        with pytest.raises(errors.SpecError, match="has no program of this name"):
            fixture_in(language, program=name)
    with pytest.raises(errors.SpecError, match="has no key 'xflags'"):
        fixture_in(language, more=f"{language.name}.xflags = []")
    if not language.compilers:
        with pytest.raises(errors.SpecError, match="has no key 'compiler'"):
            fixture_in(language, more=f"{language.name}.compiler = 'x'")
        return
    for wrong in ("'../cc'", "''", "'a b'", "['x']"):
        text = toml(language).replace(b"'other-1.2'", wrong.encode())
        with pytest.raises(
            errors.SpecError, match=r"compiler = .*: expected the name of a program"
        ):
            load(text, "p01", "fixture.toml", {language.name: language})


TEXTS = ('"', "\\", "'", "*/ x; /*", "${HOME} $(id) `id`", "??/", "größe 漢字 🦀", "\\n", "")


@pytest.mark.parametrize("value", [*TEXTS, True, False, 0, -1, -(2**63), 2**64 - 1, 0.5, -0.0])
def test_its_literals_are_one_line(language: Language, value: str | int | float | bool) -> None:
    text = language.literal(value)
    assert text and "\n" not in text and text.isprintable()


def test_a_symbol_has_the_functions_name(language: Language) -> None:
    assert language.symbol("kernel").split(".")[-1] == "kernel"


# The launcher is a C program, whatever the fixtures are written in.
OF_THE_LAUNCHER = {"machine/tools.py", "launcher/compiling.py"}


def test_no_other_module_knows_a_language_by_name() -> None:
    known = {name for name in LANGUAGES if name != SYSTEM}
    known |= {LANGUAGES[name].label for name in known} - {"C"}  # which is a locale, too
    known |= {t.command for n in known & {*LANGUAGES} for t in LANGUAGES[n].tools("")} - {"cc"}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("languages/") or name in OF_THE_LAUNCHER:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        assert {text for text in told if isinstance(text, str)} & known == set(), name


def test_a_language_is_imported_only_if_it_is_used() -> None:
    import subprocess

    source = (
        "import sys; from fixturegen.languages import LANGUAGES; list(LANGUAGES); LANGUAGES['c'];"
        "print(*(n for n in sys.modules if n.startswith(('fixturegen.l', 'importlib.m'))))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", source], capture_output=True, text=True, check=True
    )
    assert "fixturegen.languages.c" in done.stdout.split()
    assert {"fixturegen.languages.rust", "importlib.metadata"}.isdisjoint(done.stdout.split())


def test_cargo_of_a_user_without_a_home_has_no_settings_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in ("~nobody-is-called-so/.cargo", "relative"):
        monkeypatch.setenv("CARGO_HOME", home)
        assert LANGUAGES["rust"].settings(tmp_path / "rust" / "p01") == ()
