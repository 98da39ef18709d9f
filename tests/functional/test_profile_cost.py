"""The fixture profile-cost: on this machine's perf, and with perf absent, refused, and better.

Its programs are real and short; the perfs that this machine does not have are small scripts.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import laid
import pytest

from fixturegen.instruments import registry

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "programs" / "perf"
NAME = "profile-cost"
SHORT = {"messages": 60000, "warmup": 20000, "flat_messages": 400000}
# What gcc, the launcher's compiler and this tool start by name.
TOOLS = ("gcc", "cc", "as", "ld", "collect2", "objdump", "addr2line", "sh", "musl-gcc")
PARTS = ("true", "cat", "sed", "dirname")  # what the stand-ins for perf start


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with this fixture alone, of fewer messages, built once for all tests here."""
    root = tmp_path_factory.mktemp("project")
    for folder in (NAME, "_lib"):
        shutil.copytree(ROOT / "templates" / folder, root / "templates" / folder)
    path = root / "templates" / NAME / "fixture.toml"
    text = path.read_text()
    for key, value in SHORT.items():
        text, count = re.subn(rf"(?m)^{key} = \d+", f"{key} = {value}", text)
        assert count == 1, key
    path.write_text(text)
    return root


def tools(folder: Path, stand_in: str = "") -> str:
    """Return a PATH with the tools that a run needs, and a stand-in for perf or none."""
    folder.mkdir()
    for tool in (*TOOLS, *PARTS):
        found = shutil.which(tool)
        if found:
            (folder / tool).symlink_to(found)
    if stand_in:
        shutil.copy(PROGRAMS / stand_in, folder / "perf")
        for text in PROGRAMS.glob("*.txt"):
            shutil.copy(text, folder)
    return str(folder)


def run(project: Path, label: str, path: str = "", *more: str) -> laid.Done:
    words = ["run", NAME, "--rounds", "1", "--label", label, *(more or ("--language", "c"))]
    extra = {"LC_ALL": "de_DE.UTF-8", **({"PATH": path} if path else {})}
    return laid.run(project, *words, extra=extra, timeout_s=300)


def refusals(folder: Path) -> set[str]:
    """Return the names of perf's instruments that this machine refuses."""
    perfs = (each for each in registry.INSTRUMENTS if each.name.startswith("perf-"))
    return {each.name for each in perfs if each.refusal(folder)}


def folder_of(project: Path, label: str) -> Path:
    return project / "fixtures" / NAME / label


def text_of(project: Path, label: str) -> str:
    return (folder_of(project, label) / "report.txt").read_text()


def samples_of(project: Path, label: str) -> dict[str, dict[str, Any]]:
    with gzip.open(folder_of(project, label) / "samples.jsonl.gz") as stream:
        samples = [json.loads(line) for line in stream]
    return {sample["case"]: sample for sample in samples}


def test_without_perf_each_row_says_so_and_the_rest_is_there(project: Path, tmp_path: Path) -> None:
    done = run(project, "absent", tools(tmp_path / "bin"))
    assert done.code == 0, done.said
    text = text_of(project, "absent")
    assert "5 cases not measured: perf is not on PATH (Debian: linux-perf" in text
    assert "C, under perf record: not measured: perf is not on PATH" in text
    assert "C process: not measured" in text and "C CPU: not measured" in text
    assert "perf: none" in text
    assert set(samples_of(project, "absent")) == {
        "book.c.alone",
        "book.c.profiled.alone",
        "book.c.profiled.flat",
    }
    assert "failed samples" not in done.said


def test_a_refused_perf_names_the_setting(project: Path, tmp_path: Path) -> None:
    done = run(project, "refused", tools(tmp_path / "bin", "refused"))
    assert done.code == 0, done.said
    text = " ".join(text_of(project, "refused").split())
    assert "C, under perf stat: not measured: perf is refused here" in text
    assert "kernel.perf_event_paranoid is" in text and "C CPU: not measured: perf is" in text
    assert len(samples_of(project, "refused")) == 3


def test_the_wrapper_script_of_another_kernel_is_quoted(project: Path, tmp_path: Path) -> None:
    done = run(project, "kernel", tools(tmp_path / "bin", "other_kernel"))
    assert done.code == 0, done.said
    assert "WARNING: perf not found for kernel 6.8.0-31" in text_of(project, "kernel")


@pytest.fixture(scope="module")
def recorded(project: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run once with a perf that counts and records; return a PATH like that run's without perf."""
    path = Path(tools(tmp_path_factory.mktemp("recorded") / "bin", "hardware"))
    done = run(project, "recorded", str(path))
    assert done.code == 0, done.said
    (path / "perf").unlink()
    return str(path)


@pytest.mark.usefixtures("recorded")
def test_hardware_counters_are_divided_by_messages(project: Path) -> None:
    text = text_of(project, "recorded")
    table = text[text.index("Counters, divided") : text.index("Where the samples are")]
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines() if line.strip()}
    assert rows["cycles"] == ["4000000000", "10000.0000"] * 2
    assert rows["instructions"] == ["10000000000", "25000.0000"] * 2
    assert rows["cache-misses"] == ["400000", "1.0000"] * 2
    assert rows["task-clock,"][1:3] == ["1052", "2630.8"]
    assert "counted 62% of the time" in text and "not available" not in text
    assert "perf version 6.9.12" in text


@pytest.mark.usefixtures("recorded")
def test_a_recorded_profile_is_shown_from_what_is_stored(project: Path) -> None:
    lines = samples_of(project, "recorded")["book.c.profiled.flat_perf_record"]["lines"]
    assert lines["profile"] == {"samples": [11], "lost": [7], "thread": [9]}
    assert lines["own"] == {"strategy": [3], "think": [6]}
    text = text_of(project, "recorded")
    assert "66.67%          6  book-c-profiled  think" in text
    assert "9 samples of cycles" in text and "C, flat: think" in text
    assert " 66.67  4647: imul %rcx,%rdx" in text
    stem = "book-c-profiled-flat_perf_record"
    assert (folder_of(project, "recorded") / f"{stem}.folded").read_text() == (
        "book;__libc_start_call_main;main 1\n"
        "book;feed;exc_page_fault 1\n"
        "book;start_thread;strategy 3\n"
        "book;start_thread;think 6\n"
    )
    picture = (folder_of(project, "recorded") / f"{stem}.svg").read_text()  # by the extra `flame`
    assert "<title>think (6 samples, 54.55%)</title>" in picture
    context = json.loads((folder_of(project, "recorded") / "context.json").read_text())
    assert context["perf"]["pictures"][stem] == "" and f"{stem}.svg" in context["attachments"]


@pytest.fixture(scope="module")
def here(project: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Run once with this machine's perf, in both languages if cargo is there.

    Return which of perf's instruments the machine refuses.
    """
    if shutil.which("perf") is None:
        pytest.skip("needs perf; stand-ins above")
    refused = refusals(tmp_path_factory.mktemp("refusals"))
    if refused - {"perf-stat-cpu"}:
        pytest.skip(f"needs a perf that is allowed: {refused}; stand-ins above")
    rust = ("--language", "rust") if shutil.which("cargo") else ()
    done = run(project, "here", "", "--language", "c", *rust)
    assert done.code == 0, done.said
    return refused


def test_the_perf_of_this_machine(project: Path, here: set[str]) -> None:
    samples = samples_of(project, "here")
    assert len([case for case in samples if case.startswith("book.c.")]) == 8 - len(here)
    for mode in ("alone", "perf_stat", "perf_record"):
        lines = samples[f"book.c.profiled.{mode}"]["lines"]
        assert lines["measured"]["messages"] == [40000]
        assert sum(lines["latency"]["count"]) == 40000
        assert lines["book"] == samples["book.c.alone"]["lines"]["book"]
    stat = samples["book.c.profiled.flat_perf_stat"]["lines"]["counted"]
    assert (
        stat["page_faults"][0]
        >= samples["book.c.profiled.flat_perf_stat"]["lines"]["faults"]["measured"][0]
    )
    profiled = samples["book.c.profiled.flat_perf_record"]["lines"]
    assert 0 < profiled["profile"]["thread"][0] <= profiled["profile"]["samples"][0]
    assert profiled["total"]["think"][0] > 0
    _whole(project, "here")


def _whole(project: Path, label: str) -> None:
    """The run's folder is all that its text needs, small, and of no machine's paths."""
    folder = folder_of(project, label)
    context = json.loads((folder / "context.json").read_text())
    assert not list(project.rglob("perf-record")) and not list(project.rglob("perf-stat*"))
    for name in context["attachments"]:
        content = (folder / name).read_text()
        assert str(project) not in content and len(content) < 400_000
    folded = (folder / "book-c-profiled-flat_perf_record.folded").read_text().splitlines()
    counts = [int(line.rpartition(" ")[2]) for line in folded]
    assert folded == sorted(folded, key=lambda line: line.rpartition(" ")[0])
    with gzip.open(folder / "samples.jsonl.gz") as stream:
        taken = [json.loads(line) for line in stream]
    flat = next(s for s in taken if s["case"] == "book.c.profiled.flat_perf_record")
    assert sum(counts) == flat["lines"]["profile"]["samples"][0]
    assert any(";think " in line for line in folded)


def test_the_text_comes_again_without_perf_and_damage_is_found(
    project: Path, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", recorded)
    laid.call(project, "render", NAME)
    again = ("report", NAME, "--run", "recorded", "--replace")  # one round of one language
    assert laid.call(project, *again).code == 0
    assert laid.call(project, "report", NAME, "--check").code == 0
    assert laid.call(project, "check", NAME).code == 0
    folder = folder_of(project, "recorded")
    for name in ("book-c-profiled-perf_record.folded", "book-c-profiled-perf_record.profile.json"):
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(kept + b"x\n")
        done = laid.call(project, "check", NAME)
        assert done.code == 1 and name in done.said and "not the file that the run" in done.said
        (folder / name).unlink()
        done = laid.call(project, "check", NAME)
        assert done.code == 1 and name in done.said
        (folder / name).write_bytes(kept)
    assert laid.call(project, "check", NAME).code == 0
    context = json.loads((folder / "context.json").read_text())
    for wrong in ([], {"../../../outside": "0"}, {"": "0"}, {"context.json": 3}):
        (folder / "context.json").write_text(json.dumps({**context, "attachments": wrong}))
        done = laid.call(project, "check", NAME)
        assert done.code == 3 and "restore it from version control" in done.said, wrong
    (folder / "context.json").write_text(json.dumps(context))
    (project / "fixtures" / f"{NAME}.txt").unlink()


@pytest.mark.usefixtures("here")
def test_both_languages_have_the_whole_sequence(project: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo; C and stand-ins above")
    samples = samples_of(project, "here")
    one, other = (samples[f"book.{x}.profiled.flat_perf_record"]["lines"] for x in ("c", "rust"))
    assert one["book"] == other["book"]
    assert other["total"]["think"][0] > 0 and other["total"]["strategy"][0] > 0
    text = text_of(project, "here")
    assert "Rust, flat, the strategy thread" in text
    assert "-C force-frame-pointers=yes -C debuginfo=line-tables-only" in text
    assert "-g1 -fno-omit-frame-pointer" in text


@pytest.mark.parametrize(
    ("wrapper", "value", "code"),
    [
        ("perf-stat", "counted.cycles[0]", 0),
        ("perf-stat-cpu", "min(running.cycles)", 0),
        ("perf-record", "own.main[0] + total.anything[0] + profile.lost[0]", 0),
        ("perf-record", "counted.cycles[0]", 3),
        ("perf-stat", "counted.teacups[0]", 3),
        ("perf-stat", "own.main[0]", 3),
        ("strace-count", "profile.samples[0]", 3),
        ("perf-top", "counted.cycles[0]", 3),
    ],
)
def test_a_wrapper_gives_its_own_columns_and_no_others(
    tmp_path: Path, wrapper: str, value: str, code: int
) -> None:
    toml = laid.changed(
        'metric.value = { value = "value.n[0]", unit = "count" }\n',
        f'metric.value = {{ value = "value.n[0]", unit = "count" }}\n'
        f'metric.more = {{ value = "{value}", unit = "events", optional = true }}\n'
        f'[[program.mode]]\nname = "plain"\nwrapper = "{wrapper}"\n',
    )
    done = laid.call(laid.project(tmp_path, toml), "list")
    assert done.code == code, done.said


@pytest.mark.parametrize("name", ["counted", "running", "profile", "own", "total"])
def test_no_line_may_be_called_like_what_perf_gives(tmp_path: Path, name: str) -> None:
    toml = laid.changed("lines.value =", f"lines.{name} =")
    toml = toml.replace("value.n[0]", f"{name}.n[0]")
    done = laid.call(laid.project(tmp_path, toml), "list")
    assert done.code == 3 and name in done.err


def test_the_program_is_that_of_the_other_fixture() -> None:
    for language, suffix in (("c", "c"), ("rust", "rs")):
        own, other = (
            (ROOT / language / fixture / f"book.{suffix}").read_text().splitlines()
            for fixture in (NAME, "first-touch-tail")
        )
        build = [line for line in (*own, *other) if "gcc" in line or "cargo" in line]
        assert [x for x in own if x not in build] == [x for x in other if x not in build]
