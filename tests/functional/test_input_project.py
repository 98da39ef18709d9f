"""Which folder is the project, which fixtures it has, which pieces they use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import laid
import pytest
from laid import TOML, changed

BUILTIN = "p04-first-run"


def listed(folder: Path, *words: str) -> dict[str, dict[str, object]]:
    done = laid.call(folder, *words, "list", "--json")
    assert done.code == 0, done.err
    return {entry["name"]: entry for entry in json.loads(done.out)}


def test_an_empty_folder_has_the_built_in_fixtures(tmp_path: Path) -> None:
    found = listed(tmp_path)
    assert found[BUILTIN]["builtin"] is True
    assert not list(tmp_path.iterdir())
    assert laid.call(tmp_path, "run", BUILTIN, "--plan").code == 0


def test_no_name_means_the_projects_own_fixtures(tmp_path: Path) -> None:
    laid.project(tmp_path)
    done = laid.call(tmp_path, "run", "--plan", "--json")
    assert [plan["fixture"] for plan in json.loads(done.out)] == ["p01"]
    assert BUILTIN in listed(tmp_path)  # and yet it can be named


def test_no_name_in_an_empty_folder_means_the_built_in_ones(tmp_path: Path) -> None:
    done = laid.call(tmp_path, "run", "--plan", "--json")
    assert BUILTIN in [plan["fixture"] for plan in json.loads(done.out)]


def test_an_own_fixture_hides_the_built_in_one_as_a_whole(tmp_path: Path) -> None:
    laid.project(tmp_path, name=BUILTIN)
    found = listed(tmp_path)
    assert found[BUILTIN]["title"] == "A small fixture"
    assert found[BUILTIN]["builtin"] is False
    assert laid.call(tmp_path, "render", BUILTIN).code == 0
    assert {path.name for path in (tmp_path / "c" / BUILTIN).iterdir()} == {"count.c", "Makefile"}


def test_a_source_is_not_taken_from_the_hidden_fixture(tmp_path: Path) -> None:
    laid.project(tmp_path, changed('"count"', '"first_run"').replace("count.c", "first_run.c"))
    (tmp_path / "templates/p01").rename(tmp_path / "templates" / BUILTIN)
    done = laid.call(tmp_path, "render")
    assert done.code == 3
    assert "there is no 'first_run.c.j2'" in done.err


def test_an_own_piece_goes_before_the_built_in_one(tmp_path: Path) -> None:
    laid.project(tmp_path, 'shared = ["measure", "words"]\n' + TOML)
    laid.put(tmp_path, {"templates/_lib/words.h.j2": "// ours\n"})
    assert laid.call(tmp_path, "render").code == 0
    assert (tmp_path / "c/p01/words.h").read_text() == "// ours\n"
    assert "MEASURE_H" in (tmp_path / "c/p01/measure.h").read_text()


def test_the_project_is_found_upwards(tmp_path: Path) -> None:
    laid.project(tmp_path)
    deep = tmp_path / "article/drafts/one"
    deep.mkdir(parents=True)
    assert "p01" in listed(deep)
    assert laid.call(deep, "render").code == 0
    assert (tmp_path / "c/p01/count.c").is_file()
    assert not list(deep.iterdir())


def test_the_nearest_project_counts(tmp_path: Path) -> None:
    laid.project(tmp_path)
    laid.project(tmp_path / "inner", name="p02")
    assert "p02" in listed(tmp_path / "inner/templates")
    assert "p01" not in listed(tmp_path / "inner")


def test_stored_runs_alone_make_a_project(tmp_path: Path) -> None:
    laid.put(tmp_path, {"fixtures/p01/first/context.json": "{}"})
    laid.put(tmp_path, {"here/x": ""})
    laid.project(tmp_path.parent / "beside")
    assert laid.call(tmp_path / "here", "render", BUILTIN).code == 0
    assert (tmp_path / "c" / BUILTIN).is_dir()


def test_folders_that_begin_with_an_underscore_are_no_fixtures(tmp_path: Path) -> None:
    laid.put(tmp_path, {"templates/_draft/fixture.toml": "title = 1\n"})
    assert "_draft" not in listed(tmp_path)
    assert BUILTIN in listed(tmp_path)
    done = laid.call(tmp_path, "list", "_new")
    assert done.code == 2


def test_c_is_as_if_started_there(tmp_path: Path) -> None:
    root = laid.project(tmp_path / "project")
    assert "p01" in listed(tmp_path, "-C", "project")
    assert "p01" in listed(tmp_path, "-C", "project/templates/p01")  # upwards from there
    assert "p01" in listed(tmp_path, "-C", "project", "-C", "templates")
    assert laid.call(tmp_path, "-C", str(root), "render").code == 0
    assert (root / "c/p01/count.c").is_file()


def test_files_are_named_relative_to_c(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy(shutil.which("true") or "/bin/true", tmp_path / "bin/mine")
    done = laid.call(tmp_path.parent, "-C", str(tmp_path / "bin"), "inspect", "mine")
    assert done.code == 0, done.err
    assert done.out.startswith("mine\n")


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = laid.run(
        tmp_path,
        "list",
        python=[
            "-c",
            f"import os, sys; sys.argv[:3] = ['']; os.chdir({str(gone)!r}); "
            f"os.rmdir({str(gone)!r}); from fixturegen.__main__ import main; main()",
        ],
    )
    assert done.code == 2
    assert "the current folder is gone" in done.err


@pytest.mark.parametrize("source", ["", "\n\n", "int main(void) { return 0; }"])
def test_a_rendered_file_ends_with_one_line_end(tmp_path: Path, source: str) -> None:
    laid.project(tmp_path, source=source)
    assert laid.call(tmp_path, "render").code == 0
    content = (tmp_path / "c/p01/count.c").read_bytes()
    assert content == source.strip("\n").encode() + b"\n"
