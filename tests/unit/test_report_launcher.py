from __future__ import annotations

from pathlib import Path

from fixturegen import report
from tests.recorded import fixture, lay, store


def test_a_run_that_started_no_launcher_has_a_text_all_the_same(tmp_path: Path) -> None:
    project = lay(tmp_path)
    stored = store(project, fixture(), launcher={}, samples=[])
    assert "launcher  -, -; RCU work in windows -\n" in report.stored_text(
        project, fixture(), stored
    )
