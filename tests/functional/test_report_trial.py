"""A mistake in a report's template ends `run` before anything is built, and is told by `check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import laid

if TYPE_CHECKING:
    from tiny import Tiny

WRONG = '{% import "report_parts.j2" as parts %}\n{{ parts.head() }}\n{{ tabel([], []) }}\n'
TOLD = "templates/{}/report.txt.j2:3: 'tabel' is undefined\n  did you mean 'table'?\n"


def test_run_ends_before_it_builds(tiny: Callable[..., Tiny]) -> None:
    project = tiny()
    template = project.root / "templates" / "tiny" / "report.txt.j2"
    template.write_text(WRONG)
    done = project("run", "tiny", "--label", "one")
    assert done.code == 3
    assert TOLD.format("tiny") in done.err
    assert "Traceback" not in done.err
    assert not (project.root / "build" / "tiny" / "bin").exists()
    assert not (project.root / "build" / "runs").exists()
    template.write_text(WRONG.replace("{{ tabel([], []) }}", "all is well"))
    assert project("run", "tiny", "--label", "one").code == 0
    assert "all is well" in (project.root / "fixtures" / "tiny.txt").read_text()


def test_check_and_report_check_try_it_while_there_is_no_run(tmp_path: Path) -> None:
    laid.project(tmp_path)
    (tmp_path / "templates" / "p01" / "report.txt.j2").write_text(WRONG)
    for command in (("check",), ("report", "--check")):
        done = laid.call(tmp_path, *command)
        assert done.code == 3, command
        assert "templates/p01/report.txt.j2:3: 'tabel' is undefined" in done.out + done.err
    assert not (tmp_path / "build").exists()
