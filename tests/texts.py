"""The committed reference runs as texts, and the parts of a text: what tests of texts share."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path

from fixturegen import report
from fixturegen.fixture import load as load_fixture
from fixturegen.fixture.project import Project
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture
from fixturegen.runs import record
from fixturegen.runs.summary import Summary

ROOT = Path(__file__).resolve().parents[1]
ENDING = ["Claims of the article", "Machine and toolchain", "Changed, skipped, failed"]
_DASHES = re.compile(r"-+(?:  -+)+")

Table = tuple[list[str], list[list[str]]]


@functools.cache
def fixture(name: str) -> Fixture:
    content = (ROOT / "templates" / name / "fixture.toml").read_bytes()
    return load_fixture(content, name, "fixture.toml", LANGUAGES)


@functools.cache
def reference(name: str) -> tuple[record.Stored, Summary]:
    stored = record.stored(Project(ROOT), name, "reference")
    return stored, report.summarise(fixture(name), stored)


def text_of(name: str, project: Project) -> str:
    """Return the text that the project's template gives of the reference run."""
    return report.render_report(project, fixture(name), *reference(name))


@functools.cache
def text(name: str) -> str:
    return text_of(name, Project(ROOT))


def sections(whole: str) -> dict[str, str]:
    """Return what stands under each title, in order."""
    found: dict[str, str] = {}
    lines, title = whole.splitlines(), ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line and below == "-" * len(line):
            title = line
            assert title not in found, f"{title} twice"
            found[title] = ""
        elif title and line != "-" * len(title):
            found[title] += line + "\n"
    return found


def tables(body: str) -> list[Table]:
    """Return the header and the rows of each table."""
    found = []
    lines = [*body.splitlines(), ""]
    for i, line in enumerate(lines):
        if _DASHES.fullmatch(line):
            spans = [match.span() for match in re.finditer("-+", line)]
            spans[-1] = (spans[-1][0], 10_000)
            rows = lines[i + 1 : lines.index("", i)]
            header, *cells = (
                [row[start:end].strip() for start, end in spans] for row in [lines[i - 1], *rows]
            )
            found.append((header, cells))
    return found


def table(body: str, header: list[str]) -> list[list[str]]:
    """Return the rows of the one table with this header."""
    found = [rows for head, rows in tables(body) if head == header]
    assert len(found) == 1, f"{len(found)} tables with {header}: {[h for h, _ in tables(body)]}"
    assert found[0], f"no row below {header}"
    return found[0]


def flowed(body: str) -> str:
    return " ".join(body.split())


def check_claims(name: str, body: str) -> None:
    """Each claim has its verdict, its condition and the numbers that it rests on."""
    words = re.compile(r"^(holds|DOES NOT HOLD|undecided): ", re.MULTILINE)
    verdicts = Counter(words.findall(body))
    claims = fixture(name).claims
    assert sum(verdicts.values()) == len(claims) > 0
    for claim in claims:
        verdict = rf"(holds|DOES NOT HOLD|undecided): {re.escape(flowed(claim.text))} "
        assert re.search(verdict + re.escape(flowed(claim.holds)), flowed(body)), claim.text
    assert len(re.findall(r"^      \S+ = .* \(median of \d+\)$", body, re.MULTILINE)) > len(claims)


def check_machine(body: str) -> None:
    for name in ("processor", "CPUs", "caches", "kernel", "governor", "ASLR", "clock source"):
        assert re.search(rf"^{name} +\S", body, re.MULTILINE), name
    for line in (r"C +gcc", r"Rust +rustc", r"pinned to CPU", r"launcher +\w+, "):
        assert re.search("^" + line, body, re.MULTILINE), line


def check_changes(body: str) -> None:
    assert body.startswith("\nNothing was changed, nothing was skipped, no process failed.") or (
        all(line.startswith("- ") for line in body.strip().splitlines()) and body.strip()
    )
