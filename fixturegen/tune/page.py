"""The pages of `fixturegen tune`, ASCII, at most 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from fixturegen.machine.phrases import cpu_list
from fixturegen.tune.lasting import Applied, Restored, notes_of
from fixturegen.tune.values import KnobState, Turned
from fixturegen.units import plural, wrapped

LEFT = 52  # columns of a table before the verdict and the gaps: `yes, by root, if named`
INDENT = "  "
NOT_IMPLIED = "is turned only if it is named"
_VERDICTS = {"set": "already set", "yes": "yes", "root": "yes, by root", "no": "no"}


def show_lines(knobs: Sequence[KnobState], journal: str, hints: Sequence[str]) -> list[str]:
    """Return the page of `tune show`: the table, then each knob with its files."""
    rows = [("knob", "now", "would be", "can it be set")]
    for each in knobs:
        verdict = _VERDICTS[each.verdict]
        named = "" if each.implied or each.verdict in {"no", "set"} else ", if named"
        now = "unknown" if each.value.startswith("unknown: ") else each.value
        rows.append((each.knob, now, each.aim, verdict + named))
    lines = [*_table(rows), *(["", *wrapped(journal)] if journal else [])]
    for each in knobs:
        lines += ["", f"{each.knob}: {each.title}", *wrapped(each.why, INDENT)]
        lines += [line for path in fold(each) for line in wrapped(path, INDENT)]
        if each.reason:
            lines += wrapped(f"cannot be set: {each.reason}", f"{INDENT}-> ")
    return [*lines, "", *hints]


def fold(knob: KnobState) -> list[str]:
    """Return the knob's files; those that differ in one number only are one line."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place in knob.places:
        number = re.search(r"(?<=policy)[0-9]+|(?<=/cpu)[0-9]+(?=/)", place.path)
        if number is None:
            groups[place.path, ""] = []
        else:
            key = place.path[: number.start()], place.path[number.end() :]
            groups.setdefault(key, []).append(int(number.group()))
    lines = []
    for (before, after), numbers in groups.items():
        listed = cpu_list(tuple(sorted(numbers)))
        lines.append(f"/{before}{listed if len(numbers) < 2 else f'[{listed}]'}{after}")
    return lines


def applied_lines(
    before: dict[str, str], done: Applied, left: Sequence[KnobState], restore: str
) -> list[str]:
    """Return what `tune apply` prints: each knob before and after, and how to put it back."""
    rows = [_applied_row(before.get(each.knob, ""), each) for each in done.turned]
    rows += [(each.knob, before.get(each.knob, ""), "", NOT_IMPLIED) for each in left]
    lines = [line for row in rows for line in _outcome(*row)]
    lines += [line for note in done.notes for line in wrapped(f"note: {note}")]
    if not done.kept:
        return [*lines, "", "Nothing was changed, so there is nothing to restore."]
    return [
        *lines,
        "",
        "Until the next boot, or until the old values are put back:",
        f"  {restore}",
    ]


def _applied_row(before: str, turned: Turned) -> tuple[str, str, str, str]:
    if turned.took and before == turned.value:
        return turned.knob, before, "", "already set"
    if turned.took:
        return turned.knob, before, turned.value, ""
    return turned.knob, before, "", f"not turned: {turned.reason}"


def _outcome(knob: str, before: str, after: str, remark: str) -> list[str]:
    known = "" if before.startswith("unknown: ") else before
    change = f"{known} -> {after}" if after else known
    return wrapped(", ".join(part for part in (change, remark) if part), f"{knob:<14}")


def restored_lines(done: Restored, now: dict[str, str]) -> list[str]:
    """Return what `tune restore` prints: each knob as it is now, and what was left."""
    lines = [line for note in done.notes for line in wrapped(f"note: {note}")]
    if not done.turned:
        return [*lines, "Nothing to restore: no knob is turned."]
    for knob in dict.fromkeys(back.knob for back in done.backs):
        backs = [back for back in done.backs if back.knob == knob]
        count = sum(back.result == "restored" for back in backs)
        failed = any(back.result == "failed" for back in backs)
        what = f"{plural(count, 'file')} put back" if count else "nothing to put back"
        what = f"{what}, but not all" if count and failed else "not put back" if failed else what
        lines += wrapped(f"{now.get(knob, '')} ({what})", f"{knob:<14}")
    for note in notes_of(done.backs):
        lines += wrapped(note, "note: ")
    return lines


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    if sum(widths) > LEFT:  # mixed governors of many kinds
        widths[1] = max(10, LEFT - widths[0] - widths[2])
    lines = []
    for knob, now, aim, can in rows:
        first, *rest = textwrap.wrap(now, widths[1]) or [""]
        head = f"{knob:<{widths[0]}}  {first:<{widths[1]}}  {aim:<{widths[2]}}  {can}"
        lines += [head.rstrip(), *(" " * (widths[0] + 2) + more for more in rest)]
    return lines
