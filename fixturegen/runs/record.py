"""The raw data of one run: its files, writing them, taking them up, reading and proving them."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fixturegen import bounds, damage, errors, files
from fixturegen.fixture.project import Project
from fixturegen.model import Sample
from fixturegen.runs import context
from fixturegen.runs.context import RESTORE, Context, Kept

CONTEXT = "context.json"
SAMPLES = "samples.jsonl"
PACKED = "samples.jsonl.gz"
PIECE = 32 * 1024  # bytes of lines that are compressed at once: one by one they take twice as long
LONGEST = 128 << 20  # bytes of a line: a sample holds what one process printed, 16 MB by default
REPORT = "report.txt"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Sample).decode
_HUGE = re.compile(rb"[0-9]{20}")  # only where there are so many digits may a number be too large


class Writer:
    """Appends samples to a run under way: one write call a sample, compressed alongside.

    Nothing syncs while samples run: what the page cache holds survives the death of any process.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self._digest = hashlib.sha256()
        self._lines = files.append_to(folder / SAMPLES)
        self._raw = files.create(folder / PACKED)
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
            self.insist_in_place()
            self._raw.close()
            self._lines.close()
        except OSError as error:
            raise files.refused(error, "write", self.folder / PACKED) from error

    def insist_in_place(self) -> None:
        """Raise errors.FileError if what is written is no longer what lies in the run's folder."""
        for name, stream in ((SAMPLES, self._lines), (PACKED, self._raw)):
            if not files.is_at(self.folder / name, stream):
                raise gone(self.folder)

    def abandon(self) -> None:
        """Close what can be closed; the lines that were written stay for `--resume`."""
        for stream in (self._packed, self._raw, self._lines):
            with contextlib.suppress(OSError):
                stream.close()

    def finish(self, told: Context) -> Context:
        """Close, and complete the context: from now on the run only wants its text; return it.

        The order matters to whoever is killed in between: the lines go last, when the context
        says that the compressed ones, which are on disk by then, are all.
        """
        self.close()
        packed = files.sha256(self.folder / PACKED)
        kept = Kept(self.count, self._digest.hexdigest(), packed)
        _, content = context.signed(replace(told, samples=kept))
        path = self.folder / CONTEXT
        files.write(path, content, make=False)
        files.remove(self.folder / SAMPLES)
        return context.decode(content, str(path))  # as whoever reads it will see it


def gone(folder: Path) -> errors.FileError:
    """Return the error of a run whose folder is no longer where it was."""
    return errors.FileError(
        f"{folder}: was moved or removed while the run wrote to it",
        "put it back, then --resume; or run again",
    )


def write_context(folder: Path, told: Context, *, new: bool = False) -> None:
    """Write the context of a run under way, into its folder, which only a new one makes.

    As its samples, it is not synced before the end.
    """
    files.write(folder / CONTEXT, context.encode(told), synced=False, make=new)


def read_context(project: Project, folder: Path) -> Context:
    """Return the context of the run in `folder`, which is named like it, as is its parent.

    Raises errors.DataError if it is not of the shape of one, and errors.CheckError if it is of
    another version, or not what the run wrote.
    """
    shown = project.shown(folder / CONTEXT)
    content = files.read_bytes(folder / CONTEXT)
    recorded = context.decode(content, shown)
    for key, said, there in (
        ("fixture", recorded.fixture, folder.parent.name),
        ("run", recorded.run, folder.name),
    ):
        if said != there:
            raise errors.DataError(f"{shown}: {key}: {said[:80]!r} lies at {there!r}", RESTORE)
    digest = recorded.digest
    if digest and not context.proven(content, digest):
        done = damage.kept(content, shown, lambda c: context.proven(c, digest))
        what, hint = done or ("is not what the run wrote", RESTORE)
        raise errors.CheckError(f"{shown}: {what}", hint or RESTORE)
    return recorded


def kept(folder: Path) -> int | None:
    """Return how many samples lie in a run's folder under way; None if it is no run's folder.

    Of what is there, and not of what was counted: an interruption may have come between. Once the
    lines are gone, the context says how many they were.
    """
    path = folder / SAMPLES
    if files.exists(path):
        return files.read_bytes(path).count(b"\n")
    content = files.read_if_there(folder / CONTEXT)
    if content is None:
        return None
    told = context.decode(content, str(folder / CONTEXT)).samples
    return told.count if told else 0


def take_up(folder: Path) -> list[bytes]:
    """Return the whole lines of a run under way, and leave only those in its file.

    A torn last line goes, and so does one that cannot be read: both are measured again.
    """
    path = folder / SAMPLES
    if not files.exists(path):
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
        decode(line)
    except (ValueError, RecursionError):
        return False
    return line.endswith(b"\n")


def decode(line: bytes) -> Sample:
    """Return the sample of one line; raises ValueError and RecursionError for any other line."""
    sample = _decode(line)
    if _HUGE.search(line):
        _insist_small(sample)
    return sample


def _insist_small(sample: Sample) -> None:
    """Raise ValueError for an integer that does not fit in 64 bits: msgspec takes any."""
    numbers = [value for columns in sample.lines.values() for v in columns.values() for value in v]
    numbers += [sample.round, sample.position, sample.leftovers, sample.rcu]
    numbers += msgspec.structs.astuple(sample.usage)
    for number in numbers:
        if isinstance(number, int) and not context.SMALLEST <= number <= context.LARGEST:
            raise ValueError("a number does not fit in 64 bits")


class Stored(Struct, frozen=True):
    """A run whose samples are all there; `shown` is what messages call its folder."""

    folder: Path
    context: Context
    shown: str

    @property
    def kept(self) -> Kept:
        """What the run kept of its samples; raises errors.DataError for a run under way."""
        if self.context.samples is None:
            raise errors.DataError(f"{self.shown}/{CONTEXT}: samples: missing", RESTORE)
        return self.context.samples

    def digest(self) -> str:
        """Return one SHA-256 over everything that the run keeps: no byte of it can change unseen.

        That of the context, in which those of the samples and the attachments stand. A context of
        format 1 knows neither itself nor the bytes of the compressed file: both are read again.
        """
        if self.context.digest:
            return self.context.digest
        digest = hashlib.sha256(files.read_bytes(self.folder / CONTEXT))
        digest.update(files.sha256(self.folder / PACKED).encode())
        return digest.hexdigest()

    def verify(self) -> None:
        """Raise errors.CheckError if a file is not what was kept; the context's own was read."""
        wanted = dict(self.context.attachments)
        if self.kept.packed:
            wanted[PACKED] = self.kept.packed
        for name, digest in wanted.items():
            self._read(name, digest)

    def strays(self) -> list[str]:
        """Return what lies in the folder and is not of the run, as messages name it."""
        own = {CONTEXT, PACKED, REPORT, *self.context.attachments}
        return [f"{self.shown}/{name}" for name in files.names(self.folder) if name not in own]

    def _read(self, name: str, digest: str) -> bytes:
        try:
            content = files.read_bytes(self.folder / name)
        except errors.FileError as error:
            raise errors.CheckError(error.what, RESTORE) from error
        if hashlib.sha256(content).hexdigest() != digest:
            path = f"{self.shown}/{name}"
            done = damage.kept(content, path, lambda c: hashlib.sha256(c).hexdigest() == digest)
            what, hint = done or ("is not the file that the run kept", RESTORE)
            raise errors.CheckError(f"{path}: {what}", hint or RESTORE)
        return content

    def attachment(self, name: str) -> bytes | None:
        """Return a file beside the samples, None if the run has none of this name.

        Raises errors.CheckError if it is not what was kept.
        """
        digest = self.context.attachments.get(name)
        return None if digest is None else self._read(name, digest)

    def samples(self) -> Iterator[Sample]:
        """Yield every sample in order, after `verify`.

        The digest of the uncompressed lines is compared when the last one was read. Raises
        errors.CheckError if the data is not what was kept, errors.DataError if it is no sample.
        """
        self.verify()
        shown = f"{self.shown}/{PACKED}"
        digest, count = hashlib.sha256(), 0
        bounds.at(shown)
        try:
            with (
                files.open_binary(self.folder / PACKED) as raw,
                gzip.GzipFile(fileobj=raw) as stream,
            ):
                while line := stream.readline(LONGEST):
                    digest.update(line)
                    count += 1
                    if len(line) == LONGEST:
                        what = f"line {count}: is longer than {LONGEST >> 20} MB"
                        raise errors.DataError(f"{shown}: {what}", RESTORE)
                    yield _sample(line, f"{shown}: line {count}")
        except (OSError, EOFError, zlib.error) as error:
            raise errors.CheckError(f"{shown}: cannot be read: {error}", RESTORE) from error
        if (count, digest.hexdigest()) != (self.kept.count, self.kept.sha256):
            raise errors.CheckError(
                f"{shown}: {count} samples that are not those the run kept ({self.kept.count})",
                RESTORE,
            )


def _sample(line: bytes, shown: str) -> Sample:
    try:
        return decode(line)
    except msgspec.ValidationError as error:
        raise errors.DataError(f"{shown}: {context.said(error)}", RESTORE) from error
    except RecursionError as error:
        raise errors.DataError(f"{shown}: is nested too deeply", RESTORE) from error
    except ValueError as error:
        raise errors.DataError(f"{shown}: is not a sample: {error}", RESTORE) from error
