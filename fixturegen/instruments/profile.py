"""What perf recorded, read from the text of `perf script` and `perf annotate`; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

# `book 25360 cpu-clock:uhppp: `: the name may have spaces, the event its modifiers.
_HEAD = re.compile(r"(?P<comm>\S.*)\s+(?P<tid>\d+)\s+(?P<event>\S+):\s*$")
_LOST = re.compile(r".*PERF_RECORD_LOST(?:_SAMPLES)? lost (\d+)$")
_FRAME = re.compile(r"\s+([0-9a-f]+) (.+?) \((/.*|\[.*\]|[^()]*)\)$")
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
# ` 28.99 :   4643:   add ...`, and source lines without an address between them.
_INSTRUCTION = re.compile(r"\s*(\d+\.\d+)?\s*:\s*([0-9a-f]+):\s+(.*)$")
_SOURCE = re.compile(r"\s*:\s*\d*\s?(.*)$")
_PLACE = re.compile(r"\s*(?:\(inlined by\) )?(?:0x[0-9a-f]+: )?(.+?) at .+$")
_ARGUMENTS = re.compile(r"(?<=[\w}])<.*$")  # of a generic function: they fill whole lines
_HASH = re.compile(r"::h[0-9a-f]{16}$")

UNKNOWN = "[unknown]"


class Frame(Struct, frozen=True):
    """One entry of a stack: `address` is within the file `where`, `name` the function's."""

    address: int
    name: str
    where: str


class Taken(Struct, frozen=True):
    """One sample: its thread and its stack, the innermost frame first."""

    comm: str
    thread: int
    event: str
    frames: tuple[Frame, ...]


class Recording(Struct, frozen=True):
    """The samples of one process in order, and how many the kernel could not keep."""

    samples: list[Taken]
    lost: int

    @property
    def event(self) -> str:
        """What was sampled, without its modifiers: `cycles`, `cpu-clock`."""
        names = {
            sample.event.rpartition("/")[0] or sample.event.split(":")[0] for sample in self.samples
        }
        return ", ".join(sorted(name.replace("/", " ").strip() for name in names))


class Hot(Struct, frozen=True):
    """A function of the flat profile: its name, its file, its own samples."""

    name: str
    file: str
    samples: int


class Stack(Struct, frozen=True):
    """A whole stack, the outermost frame first, and how many samples found it."""

    samples: int
    frames: list[str]


class Line(Struct, frozen=True):
    """A line of an annotated function: its share in percent ("" for source) and its text."""

    share: str
    text: str


class Profile(Struct, frozen=True):
    """What a report shows of one recording; kept beside the samples as `NAME.profile.json`."""

    event: str
    frequency: int
    samples: int
    lost: int
    thread: int
    flat: list[Hot]
    hottest: str
    annotated: list[Line]
    unannotated: str
    stacks: list[Stack]


def read_script(text: str) -> Recording:
    """Return what `perf script -F comm,tid,event,ip,sym,symoff,dso --show-lost-events` shows."""
    samples: list[Taken] = []
    frames: list[Frame] = []
    lost = 0
    head: re.Match[str] | None = None
    for line in [*text.splitlines(), "."]:
        frame = _FRAME.match(line) if head else None
        if frame:
            name = _HASH.sub("", _OFFSET.sub("", frame[2]))
            frames.append(Frame(int(frame[1], 16), name, frame[3]))
        elif line.strip():
            if head:
                samples.append(Taken(head["comm"], int(head["tid"]), head["event"], tuple(frames)))
            gone = _LOST.match(line)
            lost += int(gone[1]) if gone else 0
            head, frames = None if gone else _HEAD.match(line), []
    return Recording(samples, lost)


def read_places(text: str, addresses: Sequence[int]) -> dict[int, list[str]]:
    """Return the functions at each address, the innermost first, from `addr2line -aifpC`."""
    places: dict[int, list[str]] = {address: [] for address in addresses}
    address = -1
    for line in text.splitlines():
        begins = re.match(r"0x([0-9a-f]+): ", line)
        address = int(begins[1], 16) if begins else address
        place = _PLACE.match(line)
        if place and address in places and place[1] != "??":
            name = _HASH.sub("", place[1])
            places[address].append(name if name.startswith("<") else _ARGUMENTS.sub("", name))
    return places


def own_addresses(recording: Recording, binary: str) -> list[int]:
    """Return the addresses in `binary` that its samples name: of callers, those of the calls."""
    wanted = {
        frame.address - (place > 0)
        for sample in recording.samples
        for place, frame in enumerate(sample.frames)
        if frame.where == binary
    }
    return sorted(wanted)


def expanded(sample: Taken, binary: str, inlined: Mapping[int, Sequence[str]]) -> list[str]:
    """Return the names of a sample's stack, the outermost first, inlined functions among them."""
    names: list[str] = []
    for place, frame in enumerate(sample.frames):
        within = inlined.get(frame.address - (place > 0), ()) if frame.where == binary else ()
        # Of Rust, addr2line gives the innermost the name of the whole: its own is not known then.
        unnamed = len(within) > 1 and short(within[0]) == short(frame.name)
        names += within[unnamed:-1]
        names.append(frame.name if frame.name != UNKNOWN else f"[{_file(frame.where)}]")
    return names[::-1]


def _file(where: str) -> str:
    return where.strip("[]").rpartition("/")[2] or "unknown"


def fold(stacks: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the lines of folded stacks: `comm;outermost;...;innermost count`, sorted."""
    lines = (";".join(name.replace(";", ":") for name in (comm, *names)) for comm, names in stacks)
    return "".join(f"{stack} {count}\n" for stack, count in sorted(Counter(lines).items()))


def biggest(stacks: Sequence[Sequence[str]], length: int) -> list[Stack]:
    """Return the stacks with the most samples, the outermost frame first."""
    ordered = sorted(Counter(map(tuple, stacks)).items(), key=lambda item: (-item[1], item[0]))
    return [Stack(count, list(names)) for names, count in ordered[:length]]


def chosen_thread(recording: Recording, function: str) -> int:
    """Return the thread with the most samples in `function`, else the one with the most samples."""
    threads = Counter(sample.thread for sample in recording.samples)
    inside = Counter(
        sample.thread
        for sample in recording.samples
        if sample.frames and short(sample.frames[0].name) == function
    )
    best = (inside or threads).most_common()
    return min((thread for thread, count in best if count == best[0][1]), default=-1)


def short(name: str) -> str:
    """Return the last part of a function's name: `think` of `book::stages::think`."""
    plain = re.sub(r"<.*>::|\{\{|\}\}|\(.*\)$", "", name)
    return re.sub(r"\W+", "_", plain.rpartition("::")[2]).strip("_")


def counted(
    stacks: Sequence[Sequence[str]], known: Callable[[str], bool]
) -> dict[str, dict[str, list[int | str]]]:
    """Return the samples of each function: `own` where it is innermost, `total` where it stands.

    Only of functions that `known` knows, under their short names.
    """
    own, total = Counter[str](), Counter[str]()
    for names in stacks:
        total.update({short(name) for name in names if known(name)})
        own.update([short(names[-1])] if names and known(names[-1]) else [])
    return {
        "own": {name: [own[name]] for name in sorted(total) if name},
        "total": {name: [total[name]] for name in sorted(total) if name},
    }


def flat(samples: Sequence[Taken], length: int) -> list[Hot]:
    """Return the functions with the most samples of their own, as `perf report` shows them."""
    leaves = Counter(
        (sample.frames[0].name, _file(sample.frames[0].where))
        if sample.frames
        else (UNKNOWN, "unknown")
        for sample in samples
    )
    best = sorted(leaves.items(), key=lambda item: (-item[1], item[0]))[:length]
    return [Hot(name, file, count) for (name, file), count in best]


def excerpt(text: str, length: int = 40, least: float = 0.5) -> list[Line]:
    """Return what `perf annotate --stdio` shows around the instructions with samples.

    Each line has its `share` in percent ("" for source) and its text; "..." stands for what is
    left out. At most `length` lines: around the hottest instructions first.
    """
    lines: list[tuple[float, Line]] = []
    for line in text.splitlines():
        instruction = _INSTRUCTION.match(line)
        source = None if instruction else _SOURCE.match(line)
        if instruction:
            share = instruction[1] or "0.00"
            code = re.sub(r"\s+", " ", instruction[3]).strip()
            lines.append((float(share), Line(share, f"{instruction[2]}: {code}")))
        elif source and source[1].strip() and lines:
            lines.append((0.0, Line("", source[1].strip())))
    hot = sorted(
        (i for i, (share, _) in enumerate(lines) if share >= least), key=lambda i: (-lines[i][0], i)
    )
    kept: set[int] = set()
    for i in hot:
        more = kept | {j for j in range(i - 2, i + 2) if 0 <= j < len(lines)}
        kept = more if len(more) <= length else kept
    result: list[Line] = []
    for i in sorted(kept):
        if i and i - 1 not in kept:
            result.append(Line("", "..."))
        result.append(lines[i][1])
    return result
