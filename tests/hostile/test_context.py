"""A context.json of every wrong shape, and samples and attachments that are none."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import whole
from whole import FOLDER, NAME, RUN, TEXT

from fixturegen import errors
from fixturegen.fixture.project import Project
from fixturegen.runs import context, record
from tests import recorded

sys.path.insert(0, str(Path(__file__).parents[1] / "functional"))
import laid

ROOT = Path(__file__).resolve().parents[2]
DELETED = object()
WRONG: tuple[Any, ...] = (DELETED, None, -1, "x", [], {}, 1e400, "\u202e\x1b[31m" * 3000)
PIECES = ("a", "b", "c", "d")
Keys = tuple[str | int, ...]


def keys_of(value: Any, above: Keys = ()) -> Iterator[Keys]:
    """Yield the path of every key and of every first entry of a list."""
    entries: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value[:1]))
    for key, inner in entries:
        yield (*above, key)
        yield from keys_of(inner, (*above, key))


def put(plain: Any, keys: Keys, value: Any) -> None:
    for key in keys[:-1]:
        plain = plain[key]
    if value is DELETED:
        del plain[keys[-1]]
    else:
        plain[keys[-1]] = value


def sign(plain: dict[str, Any]) -> bytes:
    """Return what a stranger would write who knows how a digest is made."""
    named = plain.get("digest") == context.ZEROS
    text = json.dumps(plain, indent=1, sort_keys=True) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (text.replace(context.ZEROS, digest) if named else text).encode()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    laid_out = whole.lay(tmp_path_factory.mktemp("whole"))
    assert whole.checked(laid_out).findings is None and whole.agrees(laid_out)
    return laid_out


@pytest.fixture
def path(project: Project) -> Iterator[Path]:
    """The context of the stored run, which is put back."""
    found = project.root / FOLDER / "context.json"
    before = found.read_bytes()
    yield found
    found.write_bytes(before)


def plain_of(path: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(path.read_bytes())
    plain["digest"] = context.ZEROS
    return plain


def shape(path: Path) -> int:
    try:
        context.decode(path.read_bytes(), "c")
    except errors.FixturegenError as error:
        return error.exit_code
    return 0


@pytest.mark.parametrize("part", range(4))
def test_every_key_of_a_wrong_shape_is_said_by_every_command(
    project: Project, path: Path, part: int
) -> None:
    plain = plain_of(path)
    every = list(keys_of(plain))
    assert len(every) > 150
    refused = 0
    for keys in every[part::4]:
        for value in WRONG:
            changed = copy.deepcopy(plain)
            put(changed, keys, value)
            path.write_bytes(sign(changed))
            said = shape(path)
            refused += said == 3
            found = whole.checked(project)  # renders the text as well, if there is one
            code = whole.code(lambda: whole.resumed(project))
            if said == 3:
                assert (code, found.code) == (3, 3), (keys, value)
                assert "data" in {f.kind for f in found.findings or []}, (keys, value)
                assert whole.code(lambda: whole.agrees(project)) == 3, (keys, value)
    assert refused > 250


def test_a_binary_is_called_as_its_key(path: Path) -> None:
    plain = plain_of(path)
    binary = plain["binaries"]["loop.c"]
    assert set(binary["sources"]) == {f"c/{NAME}/loop.c"}
    binary["name"] = "loop.rust"
    path.write_bytes(sign(plain))
    assert shape(path) == errors.DataError.exit_code
    for key in ("name", "environment", "sources"):  # of runs from before they were recorded
        del binary[key]
    path.write_bytes(sign(plain))
    assert context.decode(path.read_bytes(), "c").binaries["loop.c"].name == ""


def test_every_needed_key_is_named_if_it_is_missing(path: Path) -> None:
    plain = plain_of(path)
    for field in context.Context.__struct_fields__:
        if field in ("format", *context.Context.__struct_fields__[-1:]):
            continue
        changed = {key: value for key, value in plain.items() if key != field}
        path.write_bytes(sign(changed))
        try:
            context.decode(path.read_bytes(), "c.json")
        except errors.DataError as error:
            assert str(error).startswith(f"c.json: {field}: missing\n")
        else:
            assert field in DEFAULTS, field


DEFAULTS = {
    *("c_library", "inherited"),
    *("number", "boot", "unmeasured", "storage", "launcher", "files", "rungs"),
    *("skipped", "walls_ns", "perf", "attachments", "lacking", "samples"),
}


COMMANDS = (("check",), ("report", "--check"), ("report",), ("run", "--resume"))


@pytest.mark.parametrize("words", COMMANDS)
def test_the_smallest_case_ends_with_3_and_names_file_and_key(
    project: Project, path: Path, words: tuple[str, ...]
) -> None:
    plain = plain_of(path)
    del plain["cpu_reason"]
    path.write_bytes(sign(plain))
    (path.parent / "report.txt").write_text("")  # so that there is something to resume
    if words[0] == "run":
        folder = project.root / "build/runs" / NAME / RUN
        shutil.copytree(path.parent, folder)
    try:
        done = laid.call(project.root, *words)
    finally:
        (path.parent / "report.txt").unlink()
        shutil.rmtree(project.root / "build", ignore_errors=True)
    assert done.code == 3, done.said
    assert f"{NAME}/{RUN}/context.json: cpu_reason: missing" in done.said


def test_list_and_check_go_on_with_the_others(tmp_path: Path) -> None:
    project = whole.lay(tmp_path)
    recorded.store(project, project.load(NAME), "other", number=2)
    path = tmp_path / FOLDER / "context.json"
    path.write_bytes(b"[]")
    done = laid.call(tmp_path, "check")
    assert done.code == 3 and ", 1 stored run, " in done.out
    assert f"{FOLDER}/context.json: not a run's context" in done.out
    done = laid.call(tmp_path, "list", NAME)
    assert done.code == 0 and "2 stored runs: noon, other" in done.out


TEXTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is not JSON"),
    "no UTF-8": (b'{"format": 2, "x": "\xff"}', "is not JSON"),
    "UTF-16": ('{"format": 2}'.encode("utf-16"), "is not JSON"),
    "nested": (b'{"format": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    "twice": (b'{"format": 2, "run": "a", "run": "b"}', "'run' appears twice"),
    "infinite": (b'{"format": 2, "seed": 1e400}', "1e400 is not a finite number"),
    "NaN": (b'{"format": 2, "seed": NaN}', "NaN is not a finite number"),
    "huge": (b'{"format": 2, "seed": 1' + b"0" * 5000 + b"}", "does not fit in 64 bits"),
    "a list": (b"[1]", "not a run's context"),
    "a text as format": (b'{"format": "2"}', "not a run's context"),
    "true as format": (b'{"format": true}', "not a run's context"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_json_of_ours_is_no_context(project: Project, path: Path, name: str) -> None:
    content, said = TEXTS[name]
    path.write_bytes(content)
    found = whole.checked(project)
    assert found.code == 3
    assert any(said in f.what and f"{FOLDER}/context.json" in f.what for f in found.findings or [])


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("run", "other", "run: 'other' lies at 'noon'"),
        ("fixture", "b-loop", "fixture: 'b-loop' lies at 'a-loop'"),
        ("run", "../noon", "run: expected str matching"),
        ("started", "yesterday", "started: expected str matching"),
        ("params", {"skip": "x"}, "params.skip: expected int, got str"),
        ("params", {"skip": 1, "\x1b[31m": "\u202e"}, "has the character"),
        ("attachments", {"../../secret": "0" * 64}, "attachments"),
        ("attachments", {"context.json": "0" * 64}, "attachments"),
    ],
)
def test_what_is_of_another_run_is_refused(
    project: Project, path: Path, key: str, value: Any, said: str
) -> None:
    plain = plain_of(path)
    plain[key] = value
    path.write_bytes(sign(plain))
    found = whole.checked(project)
    assert found.code == 3
    assert any(said in finding.what for finding in found.findings or []), found.findings


@pytest.mark.parametrize("version", ["9.1", "0.1.0; rm -rf ~", "\x1b[31m", None, ["9"], "9" * 99])
def test_an_unknown_version_is_only_told_if_it_looks_like_one(
    project: Project, path: Path, version: Any
) -> None:
    plain = plain_of(path)
    plain |= {"format": 99, "fixturegen": version}
    path.write_bytes(sign(plain))
    found = next(f for f in whole.checked(project).findings or [] if f.kind == "data")
    assert found.code == 1 and "format 99 is unknown to this version" in found.what
    told = "9.1" if version == "9.1" else "(newer)"
    assert found.repair == f"fixturegen {told} wrote it and can read it"


@pytest.mark.parametrize(
    ("older", "said"), [(1, "format: 1 has no digests"), (2, "declared: format 2 has none")]
)
def test_nothing_can_be_taken_off_by_calling_the_format_older(
    project: Project, path: Path, older: int, said: str
) -> None:
    path.write_bytes(path.read_bytes().replace(b'"format": 3', b'"format": %d' % older))
    found = whole.checked(project)
    assert found.code == 3
    assert any(said in f.what for f in found.findings or [])


# ------------------------------------------------------------------------------------ samples


def resample(project: Project, change: Callable[[bytes], bytes]) -> None:
    """Put other lines in the place of a run's samples, with all their digests."""
    folder = project.root / FOLDER
    packed = folder / "samples.jsonl.gz"
    lines = change(gzip.decompress(packed.read_bytes()))
    packed.write_bytes(gzip.compress(lines, mtime=0))

    def tell(plain: dict[str, Any]) -> None:
        plain["samples"] = {
            "count": len(lines.splitlines()),
            "sha256": hashlib.sha256(lines).hexdigest(),
            "packed": hashlib.sha256(packed.read_bytes()).hexdigest(),
        }

    recorded.rewrite(folder, tell)


def instead(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(lines: bytes) -> bytes:
        assert old in lines
        return lines.replace(old, new, 1)

    return change


DEEP = b"[" * 200_000 + b"]" * 200_000
SAMPLES: dict[str, Callable[[bytes], bytes]] = {
    "nested": lambda lines: b'{"x":' + DEEP + b"}\n" + lines,
    "nested in its place": instead(b'"round":1', b'"round":' + DEEP),
    "no object": lambda lines: lines + b"[]\n",
    "an empty line": lambda lines: lines + b"\n",
    "no JSON": lambda lines: lines + b"\0\xff\n",
    "torn": lambda lines: lines[:-9],
    "no UTF-8": instead(b'"detail":""', b'"detail":"\xff"'),
    "an unknown status": instead(b'"status":"ok"', b'"status":"fine"'),
    "a missing key": instead(b'"round":1,', b""),
    "a fraction": instead(b'"round":1', b'"round":1.5'),
    "a negative count": instead(b'"wall_ns":1001', b'"wall_ns":-1001'),
    "infinity": instead(b'"wall_ns":1001', b'"wall_ns":1e400'),
    "NaN": instead(b'"wall_ns":1001', b'"wall_ns":NaN'),
    "a huge number": instead(b'"wall_ns":1001', b'"wall_ns":1' + b"0" * 400),
    "a huge number in a line": instead(b"[1001,", b"[1" + b"0" * 400 + b","),
    "a word among numbers": instead(b"[1001,", b'["many",'),
    "infinity as text": instead(b"[1001,", b'["inf",'),
    "an exponent": instead(b"[1001,", b'["1e308",'),
    "true": instead(b"[1001,", b"[true,"),
    "a list in a column": instead(b"[1001,", b"[[1],"),
    "a long detail": instead(b'"detail":""', b'"detail":"' + b"x" * 1_000_000 + b'"'),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_lines_that_are_no_samples_are_said_with_file_and_line(tmp_path: Path, name: str) -> None:
    project = whole.lay(tmp_path)
    resample(project, SAMPLES[name])
    found = whole.checked(project)
    assert found.code == 3
    (finding,) = [f for f in found.findings or [] if f.kind == "data"]
    assert f"{FOLDER}/samples.jsonl.gz: line " in finding.what
    assert len(finding.what) < 400 and finding.what.isprintable()
    assert whole.code(lambda: whole.agrees(project)) == 3
    done = laid.call(tmp_path, "report", "--check")
    assert done.code == 3 and "samples.jsonl.gz: line " in done.err


ODD: dict[str, Callable[[bytes], bytes]] = {
    "another type in one metric": instead(b"[1001,", b'["1001.5",'),
    "the largest numbers": instead(b"[1001,", b"[18446744073709551615,"),
    "the longest decimal": instead(b"[1001,", b'["' + b"9" * 61 + b'.9",'),
    "columns of other lengths": instead(b"[1001,", b"["),
    "no lines": instead(b'"iteration"', b'"other"'),
    "another case": instead(b'"case":"loop.c.natural"', b'"case":"\\u001b[31m\\u202e"'),
    "a case before it": instead(b'"after":""', b'"after":"\\u001b[31m"'),
    "no sample at all": lambda lines: b"",
    "the same twice": lambda lines: lines + lines,
    "a failed one": instead(b'"status":"ok","detail":""', b'"status":"exit","detail":"\\u202e"'),
}


@pytest.mark.parametrize("name", ODD)
def test_samples_that_are_only_odd_give_a_text_or_a_reason(tmp_path: Path, name: str) -> None:
    project = whole.lay(tmp_path)
    resample(project, ODD[name])
    found = whole.checked(project)
    assert found.findings
    assert all(f.what.isprintable() for f in found.findings)
    assert whole.code(lambda: whole.agrees(project)) in (0, 1, 3)
    done = laid.call(tmp_path, "report")
    text = (tmp_path / TEXT).read_text(encoding="utf-8")
    assert done.code in (0, 3) and "\x1b" not in text and "\u202e" not in text


# -------------------------------------------------------------------------------- attachments


def attach(project: Project, name: str, content: bytes) -> None:
    folder = project.root / FOLDER
    (folder / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    recorded.rewrite(folder, lambda plain: plain["attachments"].update({name: digest}))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"\xff", b'{"event": 1}', b'{"a":' + DEEP + b"}",
        json.dumps({**whole.PROFILE, "samples": "many"}).encode(),
        json.dumps({**whole.PROFILE, "flat": [{"name": 1}]}).encode(),
    ],
)  # fmt: skip
def test_a_profile_of_a_wrong_shape_is_said(tmp_path: Path, content: bytes) -> None:
    project = whole.lay(tmp_path)
    attach(project, "loop-c.profile.json", content)
    found = whole.checked(project)
    assert found.code == 3
    (finding,) = [f for f in found.findings or [] if f.kind == "data"]
    assert finding.what.startswith(f"{FOLDER}/loop-c.profile.json: ")
    assert whole.code(lambda: whole.agrees(project)) == 3


def test_folded_stacks_that_are_no_text_are_said(tmp_path: Path) -> None:
    project = whole.lay(tmp_path)
    attach(project, "loop-c.folded", b"\xff\xfe")
    assert [f.what for f in whole.checked(project).findings or []] == [
        f"{FOLDER}/loop-c.folded: is not UTF-8"
    ]


# ------------------------------------------------------------------------------ what a text shows


def test_strings_of_a_context_reach_the_text_escaped_and_short(tmp_path: Path) -> None:
    whole.lay(tmp_path)
    path = tmp_path / FOLDER / "context.json"
    plain = plain_of(path)
    hostile = "\x1b[31m\u202e\ud800" + "x" * 5000
    shown = ("cpu_reason", "disturbances", "missing", "options", "storage", "unmeasured")
    for keys in keys_of(plain):
        inner: Any = plain
        for key in keys:
            inner = inner[key]
        if isinstance(inner, str) and keys[0] in (*shown, "toolchain", "rungs", "perf", "machine"):
            put(plain, keys, hostile)
    plain["skipped"] = plain["storage"] = {hostile: 1}
    plain["storage"] = {hostile: hostile}
    path.write_bytes(sign(plain))
    done = laid.call(tmp_path, "report")
    assert done.code == 0, done.said
    text = (tmp_path / TEXT).read_text(encoding="utf-8")
    assert "\x1b" not in text and "\u202e" not in text and "\\x1b" in text
    assert max(len(line) for line in text.splitlines()) < 6000


def test_a_run_of_the_first_format_is_read() -> None:
    old = ROOT / "tests/old"
    context = record.read_context(Project(old), old / "fixtures/noise-ladder/reference")
    assert context.format == 1 and context.digest is None and context.number == 0
    assert context.complete and context.samples and context.samples.packed is None
