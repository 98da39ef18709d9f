"""The raw data on disk: its format, its version, writing, reading and resuming."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fixturegen import bounds, errors, files
from fixturegen.model import Sample
from fixturegen.project import Project

FORMAT = 1
CONTEXT = "context.json"
SAMPLES = "samples.jsonl"
PIECE = 32 * 1024  # bytes of lines that are compressed at once: one by one they take twice as long
REPORT = "report.txt"
REQUIRED = ("fixture", "run", "started", "params", "rounds", "languages", "machine", "binaries")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Sample).decode


def unfinished_folder(project: Project, fixture: str) -> Path:
    """Return the folder of a fixture's runs under way."""
    return project.build / "runs" / fixture


def run_folder(project: Project, fixture: str, run: str) -> Path:
    """Return the folder of a finished run."""
    return project.fixtures / fixture / run


def finished_runs(project: Project, fixture: str) -> list[str]:
    """Return the names of the stored runs, oldest first (by their start, then name)."""
    return _oldest_first(project.fixtures / fixture)


def unfinished_runs(project: Project, fixture: str) -> list[str]:
    """Return the names of a fixture's runs under way or interrupted, oldest first."""
    return _oldest_first(unfinished_folder(project, fixture))


def _oldest_first(folder: Path) -> list[str]:
    """Return the names of the runs in `folder`; one that cannot be read is there, as the oldest.

    So that one damaged run is found by whoever reads it, and does not hide the others.
    """
    found = []
    for path in folder.glob(f"[!.]*/{CONTEXT}"):
        started = ""
        with contextlib.suppress(errors.FixturegenError):
            started = str(read_context(path.parent)["started"])
        found.append((started, path.parent.name))
    return [name for _, name in sorted(found)]


class Writer:
    """Appends samples to a run under way: one write call a sample, compressed alongside.

    Nothing syncs while samples run: what the page cache holds survives the death of any process.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self._digest = hashlib.sha256()
        self._lines = files.append_to(folder / SAMPLES)
        self._raw = files.create(folder / f"{SAMPLES}.gz")
        # No time and no name in the header: the same samples are the same bytes.
        self._waiting = bytearray()
        self._packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._raw, mtime=0)

    def add(self, sample: Sample) -> None:
        """Write one sample; raises errors.FileError when the system refuses (a full disk)."""
        line = _encode(sample) + b"\n"
        try:
            rest = memoryview(line)
            while rest:  # an almost full disk takes a part, and says only at the next why no more
                rest = rest[self._lines.write(rest) :]
            self._take(line)
        except OSError as error:
            raise files.refused(error, "write a sample to", self.folder / SAMPLES) from error

    def _take(self, line: bytes) -> None:
        self._waiting += line
        self.count += 1
        if len(self._waiting) > PIECE:
            self._pack()

    def _pack(self) -> None:
        self._digest.update(self._waiting)
        self._packed.write(self._waiting)
        self._waiting.clear()

    def again(self, line: bytes) -> None:
        """Count and compress a line that is in the file already, from before an interruption."""
        self._take(line)

    def close(self) -> None:
        """Close the files, the compressed one on disk; raises errors.FileError."""
        try:
            self._pack()
            self._packed.close()
            self._raw.flush()
            os.fsync(self._raw.fileno())
            removed = os.fstat(self._raw.fileno()).st_nlink == 0
            self._raw.close()
            self._lines.close()
        except OSError as error:
            raise files.refused(error, "write", self.folder / f"{SAMPLES}.gz") from error
        if removed:
            raise errors.FileError(
                f"{self.folder}: was removed while the run wrote to it",
                "nothing is left of the run",
            )

    def abandon(self) -> None:
        """Close what can be closed; the lines that were written stay for `--resume`."""
        for stream in (self._packed, self._raw, self._lines):
            with contextlib.suppress(OSError):
                stream.close()

    def finish(self, context: dict[str, Any]) -> None:
        """Close and complete the context. From then on the run has ended and only wants its text.

        The order matters to whoever is killed in between: the lines go last, when the context
        says that the compressed ones, which are on disk by then, are all.
        """
        self.close()
        context["samples"] = {"count": self.count, "sha256": self._digest.hexdigest()}
        write_context(self.folder, context)
        files.remove(self.folder / SAMPLES)


def write_context(folder: Path, context: dict[str, Any]) -> None:
    """Write a run's context."""
    text = json.dumps(context, indent=1, sort_keys=True, ensure_ascii=True)
    files.write(folder / CONTEXT, text + "\n")


def read_context(folder: Path) -> dict[str, Any]:
    """Return a run's context; raises errors.CheckError if it is damaged or of another version."""
    path = folder / CONTEXT
    try:
        context = json.loads(files.read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise errors.CheckError(
            f"{path}: damaged: {error}", "restore it from version control"
        ) from error
    if not isinstance(context, dict) or "format" not in context:
        raise errors.CheckError(f"{path}: not a run's context", "restore it from version control")
    if context["format"] != FORMAT:
        raise errors.CheckError(
            f"{path}: format {context['format']!r} is unknown to this version",
            f"fixturegen {_version(context.get('fixturegen'))} wrote it and can read it",
        )
    absent = [key for key in REQUIRED if key not in context]
    if absent:
        raise errors.CheckError(
            f"{path}: damaged: it has no {', '.join(absent)}", "restore it from version control"
        )
    return context


def _version(noted: object) -> str:
    """Return the version that a context notes, for a command line: nothing else may get there."""
    if isinstance(noted, str) and re.fullmatch(r"[0-9][0-9A-Za-z.+]{0,30}", noted):
        return noted
    return "(newer)"


def take_up(folder: Path) -> list[bytes]:
    """Return the whole lines of a run under way, and leave only those in its file.

    A torn last line goes, and so does one that cannot be read: both are measured again.
    """
    path = folder / SAMPLES
    if not path.exists():
        return []
    content = files.read_bytes(path)
    lines = [line for line in content.splitlines(keepends=True) if _intact(line)]
    kept = b"".join(lines)
    if content.startswith(kept):
        files.truncate(path, len(kept))
    else:
        files.write(path, kept)
    return lines


def _intact(line: bytes) -> bool:
    try:
        _decode(line)
    except (ValueError, RecursionError):
        return False
    return line.endswith(b"\n")


def decode(line: bytes) -> Sample:
    """Return the sample of one line."""
    return _decode(line)


class Stored(Struct, frozen=True):
    """A finished run on disk."""

    folder: Path
    context: dict[str, Any]

    def check_attachments(self) -> None:
        """Raise errors.CheckError if a file beside the samples is not what was kept."""
        for name in attachments(self.context):
            read_attachment(self.folder, self.context, name)

    def samples(self) -> Iterator[Sample]:
        """Yield every sample in order; raises errors.CheckError if the data is not what was kept.

        The digest is over the uncompressed lines and is compared when the last one was read.
        """
        path = self.folder / f"{SAMPLES}.gz"
        digest, count = hashlib.sha256(), 0
        bounds.at(str(path))
        try:
            with gzip.open(path, "rb") as stream:
                for line in stream:
                    digest.update(line)
                    count += 1
                    yield _decode(line)
        except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
            raise errors.CheckError(
                f"{path}: cannot be read: {error}", "restore it from version control"
            ) from error
        kept = self.context.get("samples", {})
        if (count, digest.hexdigest()) != (kept.get("count"), kept.get("sha256")):
            raise errors.CheckError(
                f"{path}: {count} samples that are not those the run kept ({kept.get('count')})",
                "restore it from version control",
            )


def attach(folder: Path, name: str, text: str) -> None:
    """Write a file that belongs to the raw data of a run under way, beside its samples."""
    files.write(folder / name, text)


def digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each of the files that is there: what the context keeps of them."""
    return {name: files.sha256(folder / name) for name in names if (folder / name).is_file()}


def attachments(context: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the digests of the files that a run kept beside its samples, by name."""
    kept = context.get("attachments", {})
    if not isinstance(kept, dict):
        raise errors.CheckError(
            f"{CONTEXT}: damaged: attachments", "restore it from version control"
        )
    return kept


def read_attachment(folder: Path, context: Mapping[str, Any], name: str) -> str:
    """Return the text of an attachment; raises errors.CheckError if it is not what was kept."""
    if Path(name).name != name:
        raise errors.CheckError(
            f"{folder / CONTEXT}: damaged: attachments: {name!r} is no name of a file",
            "restore it from version control",
        )
    try:
        content = files.read_bytes(folder / name)
    except errors.FileError as error:
        raise errors.CheckError(error.what, "restore it from version control") from error
    if hashlib.sha256(content).hexdigest() != attachments(context).get(name):
        raise errors.CheckError(
            f"{folder / name}: is not the file that the run kept", "restore it from version control"
        )
    return files.decode(content, folder / name)


def stored(project: Project, fixture: str, run: str) -> Stored:
    """Return the finished run `run`; raises errors.UsageError if there is none."""
    folder = run_folder(project, fixture, run)
    outside = "/" in run or run in ("", ".", "..")
    if outside or not (folder / CONTEXT).is_file():
        known = finished_runs(project, fixture)
        hint = f"stored: {', '.join(known)}" if known else f"fixturegen run {fixture} makes one"
        raise errors.UsageError(f"{fixture} has no run {run!r}", hint)
    return Stored(folder, read_context(folder))
