"""What a reader needs to judge or repeat a run: context.json as typed values, decoded once.

A context may come from a stranger: whatever is not of this shape raises errors.DataError, with the
file and the key. Its strings are bounded here, and escaped where they reach a text.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr, replace

from fixturegen import damage, errors
from fixturegen.build.binary import Binary
from fixturegen.instruments.made import Made
from fixturegen.instruments.perf import Perf
from fixturegen.launcher.hello import Hello
from fixturegen.machine.inherited import Inherited
from fixturegen.machine.values import Machine
from fixturegen.model import Sha256, Text, Texts, Value, Whole, canonical

FORMAT = 3  # 2 did not tell what was declared; 1 had no number and no digests either
KNOWN = (1, 2, FORMAT)
DECLARED = 3  # from this format on: what fixture.toml said (declared.py)
DIGESTS = 2  # from this format on: of the file itself, and of the compressed samples
RESTORE = "restore it from version control"

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}"  # of a run: also the name of its folder
SMALLEST, LARGEST = -(2**63), 2**64 - 1
ZEROS = "0" * 64  # what stands in place of the digest while it is computed

Name = Annotated[str, Meta(pattern=rf"^{NAME}\Z")]
# Of a file beside the samples; never one of the run's own three.
Attachment = Annotated[
    str,
    Meta(pattern=r"^(?!(context\.json|samples\.jsonl.*|report\.txt)\Z)[A-Za-z0-9][\w.-]{0,250}\Z"),
]
Moment = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z")]

_T = TypeVar("_T")


class Asked(Struct, frozen=True):
    """The options that a run was started with; None and empty mean: as the fixture declares."""

    rounds: Whole | None
    seed: Whole
    languages: Texts
    cpu: Whole | None
    allow: Texts = ()
    as_root: bool = False
    sysfs: Text = ""


class Reading(Struct, frozen=True):
    """One time that a rung was entered: the state of every knob in words, before and after."""

    turned: Texts
    before: dict[Text, Text]
    after: dict[Text, Text] = field(default_factory=dict)  # empty while its processes run


Readings = Annotated[tuple[Reading, ...], Meta(min_length=1)]


class Kept(Struct, frozen=True):
    """The samples of a finished run: digests of their lines, and of the file as it lies there."""

    count: Whole
    sha256: Sha256
    packed: Sha256 | None = None  # not in format 1


class Context(Struct, frozen=True, kw_only=True):
    """Everything that context.json holds."""

    format: int
    fixturegen: Text
    fixture: Text
    run: Name
    started: Moment
    number: Whole = 0  # grows from run to run of a fixture, whatever the clock says; 0 in format 1
    params: dict[Text, Value]
    declared_params: dict[Text, Value]
    seed: Whole
    rounds: dict[Text, Whole]
    declared_rounds: dict[Text, Whole]
    languages: Texts
    declared_languages: Texts
    missing: dict[Text, Text]  # language to the reason why it was left out
    machine: Machine
    cpus: dict[Text, tuple[Whole, ...]]
    cpu_reason: Text
    disturbances: Texts
    toolchain: dict[Text, Texts]
    binaries: dict[Text, Binary]
    options: Texts
    asked: Asked
    resumed: tuple[Whole, ...]  # how many samples were there at each resumption
    boot: Text = ""
    declared: dict[Text, Text] = field(default_factory=dict)  # declared.py; not before format 3
    c_library: Text = ""  # which one programs are started with, and its version; not before 3
    unmeasured: dict[Text, Text] = field(default_factory=dict)  # case to the reason
    storage: dict[Text, Text] = field(default_factory=dict)
    launcher: Hello = Hello()
    inherited: Inherited = Inherited()
    files: dict[Text, Made] = field(default_factory=dict)
    rungs: dict[Text, dict[Text, Readings]] = field(default_factory=dict)
    skipped: dict[Text, Whole] = field(default_factory=dict)
    walls_ns: dict[Text, Whole] = field(default_factory=dict)
    perf: Perf | None = None
    attachments: dict[Attachment, Sha256] = field(default_factory=dict)
    # None while the run is under way.
    lacking: Texts | None = None  # why it must not become the fixture's text
    samples: Kept | None = None
    digest: Sha256 | None = None  # of the file's bytes, with zeros in its place; not in format 1

    def __post_init__(self) -> None:
        """Name binaries and cases as they are named now, whether builds were declared or not."""
        for name in ("binaries", "unmeasured", "skipped", "walls_ns"):
            force_setattr(self, name, {canonical(k): v for k, v in getattr(self, name).items()})

    @property
    def complete(self) -> bool:
        """Whether the run has ended, and may be the fixture's text."""
        return self.lacking == ()


def encode(context: Context) -> bytes:
    """Return the bytes of context.json."""
    plain = {k: v for k, v in msgspec.to_builtins(context).items() if v is not None}
    return (json.dumps(plain, indent=1, sort_keys=True) + "\n").encode("ascii")


def signed(context: Context) -> tuple[Context, bytes]:
    """Return a finished run's context with its digest, and the bytes of its file."""
    blank = encode(replace(context, digest=ZEROS))
    digest = hashlib.sha256(blank).hexdigest()
    line = '"digest": "{}"'
    content = blank.replace(line.format(ZEROS).encode(), line.format(digest).encode(), 1)
    return replace(context, digest=digest), content


def proven(content: bytes, digest: str) -> bool:
    """Return whether `digest`, which stands in `content`, is that of `content`."""
    if content.count(digest.encode()) != 1:
        return False
    blank = content.replace(digest.encode(), ZEROS.encode())
    return hashlib.sha256(blank).hexdigest() == digest


def decode(content: bytes, shown: str) -> Context:
    """Return the context in the bytes of a file that messages call `shown`.

    Raises errors.DataError, and errors.CheckError for a version that this one does not know.
    """
    plain = parse(content, shown)
    if not isinstance(plain, dict) or type(plain.get("format")) is not int:
        raise errors.DataError(f"{shown}: not a run's context", RESTORE)
    if plain["format"] not in KNOWN:
        raise errors.CheckError(
            f"{shown}: format {plain['format']} is unknown to this version",
            f"fixturegen {_version(plain.get('fixturegen'))} wrote it and can read it",
        )
    context = convert(plain, Context, shown)
    for name, binary in context.binaries.items():
        if binary.name not in ("", name):
            raise errors.DataError(f"{shown}: binaries.{name[:80]}: has another name", RESTORE)
    parts = (context.digest, context.samples and context.samples.packed)
    if context.format < DIGESTS and any(parts):
        raise errors.DataError(f"{shown}: format: {context.format} has no digests", RESTORE)
    if (context.format < DECLARED) is bool(context.declared):
        why = f"format {context.format} has none" if context.declared else "missing"
        raise errors.DataError(f"{shown}: declared: {why}", RESTORE)
    if context.format >= DIGESTS and context.samples and not all(parts):
        key = "samples.packed" if context.digest else "digest"
        raise errors.DataError(f"{shown}: {key}: missing", RESTORE)
    return context


def _version(said: object) -> str:
    known = isinstance(said, str) and re.fullmatch(r"[0-9][0-9A-Za-z.+!-]{0,30}", said, re.ASCII)
    return str(said) if known else "(newer)"


def read(content: bytes, kind: type[_T], shown: str) -> _T:
    """Return the JSON in the bytes of the file `shown` as a `kind`; raises errors.DataError."""
    return convert(parse(content, shown), kind, shown)


def parse(content: bytes, shown: str) -> object:
    """Return the values of strict JSON: UTF-8, no key twice, numbers finite and of 64 bits."""
    try:
        values: object = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_once,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except RecursionError as error:
        raise errors.DataError(f"{shown}: is nested too deeply", RESTORE) from error
    except ValueError as error:
        if line := damage.marker(content):
            what = f"{shown}: line {line}: has a merge conflict: two runs of one name"
            raise errors.DataError(what, RESTORE) from error
        if wrong := damage.line_endings(content):
            raise errors.DataError(f"{shown}: has {wrong}", damage.repair(shown)) from error
        raise errors.DataError(f"{shown}: is not JSON: {error}", RESTORE) from error
    return values


def convert(plain: object, kind: type[_T], shown: str) -> _T:
    """Return plain values as a `kind`; raises errors.DataError naming the key."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise errors.DataError(f"{shown}: {said(error)}", RESTORE) from error


def said(error: msgspec.ValidationError) -> str:
    """Return msgspec's message with the key first: `machine.cpus[0].cpu: missing`."""
    message, _, place = str(error).partition(" - at ")
    path = place.replace("`", "").replace("$.", "").replace("$", "")
    missing = re.fullmatch("Object missing required field `(.+)`", message)
    if missing:
        return f"{path + '.' * bool(path)}{missing[1]}: missing"
    plain = message.replace("`", "")
    return f"{path or 'it'}: {plain[:1].lower()}{plain[1:]}"


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice[:80]!r} appears twice")
    return values


def _whole(text: str) -> int:
    number = int(text) if len(text) <= len(str(SMALLEST)) else LARGEST + 1
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"{text[:40]} does not fit in 64 bits")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a finite number")
    return number
