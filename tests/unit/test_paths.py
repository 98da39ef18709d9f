"""`default` may stand in a path or be left out: a program's first build renames nothing."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import force_setattr

from fixturegen import errors, report
from fixturegen.build.binary import Binary
from fixturegen.fixture.project import Project
from fixturegen.instruments.around import fill
from fixturegen.model import Paths, canonical
from fixturegen.runs import record, states
from tests import recorded

BUILDS = """
[[program.build]]
name = "default"
c.cflags = []
rust.rustflags = []
[[program.build]]
name = "static"
c.ldflags = ["-static"]
"""
LATER = """
[[program]]
name = "starts"
languages = ["c"]
[[program.mode]]
name = "once"
args = ["{loop.c}", "{loop.rust.default}"]
prepare = ["evict-file {loop.c.default}"]
"""
BUILT = recorded.TOML.replace("[[program.mode]]", BUILDS + "[[program.mode]]", 1)
CASES = ["loop.c.natural", "loop.c.pre_fault", "loop.rust.natural", "loop.rust.pre_fault"]
REPORT = """\
{% for path in ["loop.c.default.natural", "loop.c.natural"] %}
{{ number(stat(path ~ ".iter1").median, 1) }}: {{ values(path ~ ".iter1")|join(" ") }}
{{ processes(path)|length }} {{ printed(path).iteration.faults|join(" ") }}
{% endfor %}
{% for path in ["loop.rust.default.pre_fault", "loop.rust.pre_fault"] %}
{{ unmeasured(path) }}
{% endfor %}
{{ binary("loop", "c", "default").shown }}, {{ binary("loop", "c").shown }}
{{ cases("loop", "c", "default")|map(attribute="path")|join(" ") }}
{% for claim in run.claims %}{{ claim.words }}, {% endfor %}
"""
EXPECTED = """\
1002.5: 1001 1002 1003 1004
4 128 0 0 0
1002.5: 1001 1002 1003 1004
4 128 0 0 0
no reason
no reason
gcc it, gcc it
loop.c.natural loop.c.pre_fault
holds, holds,
"""


def with_default(path: str) -> str:
    """Return a case of the recorded run as one that was measured with builds declared."""
    program, language, mode = path.split(".")
    return f"{program}.{language}.default.{mode}"


def test_one_name_for_both_spellings() -> None:
    assert canonical("p.c.default.m.x") == canonical("p.c.m.x") == "p.c.m.x"
    assert canonical("p.c.default") == "p.c"
    assert canonical("p.c.lazy.default") == "p.c.lazy.default"
    assert canonical("line.column") == "line.column"
    found = Paths({"p.c.default.m": 1, "p.c.lazy.m": 2})
    assert found["p.c.m"] == found["p.c.default.m"] == 1
    assert list(found) == ["p.c.m", "p.c.lazy.m"]
    assert "p.c.default.lazy.m.x" not in Paths({"p.c.lazy.m.x": 1})


@pytest.mark.parametrize("toml", [recorded.TOML, BUILT], ids=["without builds", "with builds"])
@pytest.mark.parametrize("spelled", ["loop.c", "loop.c.default"])
def test_the_first_build_renames_no_path(toml: str, spelled: str) -> None:
    claim = (
        f'[[claim]]\ntext = "x"\nholds = "each({spelled}.natural.iter1 > loop.c.natural.steady)"\n'
    )
    fixture = recorded.fixture(toml + claim + LATER)
    paths = [case.path for case in fixture.program("loop").cases()]
    assert [path for path in paths if "static" not in path] == CASES
    assert {"loop.c", "loop.rust", "starts.c"} <= fixture.binaries().keys()
    assert fixture.program("starts").modes[0].references == ["loop.c", "loop.rust", "loop.c"]


def as_then(plain: dict[str, Any]) -> None:
    """Name cases and binaries of a stored context as a run with builds declared named them."""
    plain["unmeasured"] = {with_default(path): why for path, why in plain["unmeasured"].items()}
    plain["binaries"] = {f"{name}.default": each for name, each in plain["binaries"].items()}


def stored_run(project: Project, *, builds: bool) -> record.Stored:
    """Put a run among the project's fixtures that was measured with builds declared, or without."""
    found = recorded.samples()
    for each in found if builds else []:
        force_setattr(each, "case", with_default(each.case))
        force_setattr(each, "after", with_default("loop.c.natural"))
    stored = recorded.store(
        project,
        project.load("a-loop"),
        samples=found,
        unmeasured={"loop.rust.pre_fault": "no reason"},
        binaries={"loop.c": Binary("1" * 64, "gcc it")},
    )
    if builds:
        recorded.rewrite(stored.folder, as_then)
        kept = gzip.decompress((stored.folder / record.PACKED).read_bytes())
        assert b"loop.c.default.natural" in kept and b"loop.c.natural" not in kept
    return states.stored(project, "a-loop", "noon")


@pytest.mark.parametrize("toml", [recorded.TOML, BUILT], ids=["without builds", "with builds"])
@pytest.mark.parametrize("then", [False, True], ids=["stored without", "stored with"])
def test_a_stored_run_stays_readable(tmp_path: Path, toml: str, *, then: bool) -> None:
    """Its text is the same whether builds were declared then, and whether they are now."""
    project = recorded.lay(tmp_path, toml)
    (tmp_path / "templates/a-loop/report.txt.j2").write_text(REPORT)
    text = report.stored_text(project, project.load("a-loop"), stored_run(project, builds=then))
    assert [line for line in text.splitlines() if line] == EXPECTED.splitlines()


def test_an_argument_is_filled_in_both_spellings() -> None:
    paths = {"loop.c": Path("/bin/a"), "loop.c.static": Path("/bin/b")}
    assert fill("{loop.c} {loop.c.default} {loop.c.static}", paths) == "/bin/a /bin/a /bin/b"


@pytest.mark.parametrize("toml", [recorded.TOML, BUILT], ids=["without builds", "with builds"])
def test_processes_of_one_case_are_not_mixed(toml: str) -> None:
    """Of two spellings: they are the same processes, in the same order."""
    both = "loop.c.natural.iter1 > loop.c.default.natural.steady"
    claim = f'[[claim]]\ntext = "x"\nholds = "each({both})"\n'
    assert len(recorded.fixture(toml + claim).claims) == 3


MODE = '[[program.mode]]\nname = "{}"\n'


@pytest.mark.parametrize(
    ("toml", "mode", "said"),
    [
        (BUILT, "static", "mode 'static': the build 'static' is the same part of a path"),
        (BUILT, "default", "mode 'default': the build 'default'"),
        (recorded.TOML, "default", "mode 'default': the build 'default'"),
    ],
)
def test_a_mode_that_is_named_like_a_build(toml: str, mode: str, said: str) -> None:
    toml = toml.replace("[[claim]]", MODE.format(mode) + "[[claim]]", 1)
    with pytest.raises(errors.SpecError, match=said):
        recorded.fixture(toml)


def test_no_build_can_be_left_out_where_none_is_the_default() -> None:
    toml = recorded.TOML.split("[[claim]]")[0] + MODE.format("static")
    toml = toml.replace(
        "[[program.mode]]", BUILDS.replace("default", "other") + "[[program.mode]]", 1
    )
    fixture = recorded.fixture(toml)
    assert "loop.c.static.static" in [case.path for case in fixture.cases()]
    claim = '[[claim]]\ntext = "x"\nholds = "loop.c.natural.iter1 > 1"\n'
    with pytest.raises(errors.SpecError, match=r"unknown name 'loop.c.natural.iter1'"):
        recorded.fixture(toml + claim)
