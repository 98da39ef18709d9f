"""`fixturegen doctor`: what this machine will and will not show, and what to install."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import Coloured, Line, say, say_json
from fixturegen.units import WIDTH, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fixturegen import languages
    from fixturegen.languages import Language
    from fixturegen.machine import Choice, Machine
    from fixturegen.machine.condition import Condition
    from fixturegen.machine.layout import Layout
    from fixturegen.machine.rust_toolchain import Chosen
    from fixturegen.process import Tool

INDENT = 29  # of the text: 2 + state 6 + 2 + name 17 + 2
COLOURS = {"ok": "green", "note": "yellow", "absent": "cyan"}
FORMAT = 1


# Not the docstring: click wants the character \b, and a docstring with a backslash has to be raw.
HELP = """Say what this machine will and will not show, and what to install.

\b
The summary comes first. Below it each fact has one of three verdicts:
  ok      as it should be
  note    it works, but it changes what the numbers mean
  absent  not there, or not readable: unknown, and never taken as ok

A line that starts with -> says what to do. The map at the end shows packages, NUMA nodes, shared
caches, cores and PCI devices, and where programs would be measured. Nothing is changed, nothing
needs root, and the exit code is 0 whatever is missing; 6 for --picture without lstopo.

\b
Examples:
  fixturegen doctor
  fixturegen doctor --json
  fixturegen doctor --picture machine.svg
  fixturegen doctor --sysfs copy-of-another-machine
"""
PICTURE_S = 60.0
PICTURES = (".svg", ".png", ".pdf", ".ps", ".fig", ".txt", ".xml")


@click.command(
    "doctor",
    help=HELP,
    context_settings=HELP_OPTIONS,
    short_help="Say what this machine can and cannot show.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as one JSON object.")
@click.option(
    "--sysfs",
    "root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Read DIR/sys, DIR/proc and DIR/etc instead of this machine's. Starts no tool.",
)
@click.option(
    "--picture",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Have lstopo draw the machine too: FILE.svg, .png, .pdf, .ps, .fig, .txt or .xml.",
)
def command(as_json: bool, root: Path | None, picture: Path | None) -> None:
    """Print the page, or the object of --json."""
    from fixturegen import machine as machines
    from fixturegen.machine.conditions import conditions
    from fixturegen.machine.layout import layout
    from fixturegen.machine.situation import situation

    place = Path("/") if root is None else root
    if picture is not None:
        _draw(picture, root)
    machine = machines.describe(place)
    here = situation(machine, place)
    choice = machines.pick_cpus(machine, frozenset(here.allowed), 1)
    asked, needs = _tools() if here.live else ([], {})
    every = [*asked, *conditions(machine, here)]
    disturbed = machines.disturbances(place)
    boxes = layout(place, machine, choice)
    if as_json:
        import msgspec

        facts = _facts(machine, choice, every, disturbed, _made(every, needs))
        facts["map"] = msgspec.to_builtins(boxes)
        say_json(facts)
        return
    lines = _page(machine, choice, every, disturbed, _made(every, needs))
    say(*lines, *_map(boxes), *([f"picture: {picture}"] if picture else []))


def _tools() -> tuple[list[Condition], dict[str, set[str]]]:
    """Return the conditions of tools, and what each language needs of them, by its label.

    A language whose package is wrong has a row that says so.
    """
    from fixturegen import errors
    from fixturegen.instruments import registry
    from fixturegen.languages import LANGUAGES
    from fixturegen.machine.condition import Condition
    from fixturegen.machine.tools import LAUNCHER, SHIMS, TOOLS, tools

    rows: dict[str, Tool] = {}
    needs: dict[str, set[str]] = {}
    wrong = []
    by_rustup = []
    for name in LANGUAGES:
        try:
            language = LANGUAGES[name]
            default = language.compilers[:1] or language.tools("")
            for tool in (*default, *language.compilers[1:]):
                rows.setdefault(tool.command, _row_of(language, tool, optional=tool not in default))
        except errors.FixturegenError as error:
            wrong.append(Condition(TOOLS, name, "absent", error.what, error.hint))
            continue
        if any(tool.command in SHIMS for tool in default):
            by_rustup.append(name)
        if default:
            needs[language.label] = {
                LAUNCHER.name if tool.command in LAUNCHER.commands else tool.command
                for tool in default
            }
    return [*tools(rows.values(), registry.tools(), _chosen(by_rustup)), *wrong], needs


def _chosen(languages: list[str]) -> Chosen | None:
    """Return what the project asks rustup for; its first fixture in these speaks for all."""
    import contextlib

    from fixturegen import errors, files
    from fixturegen.fixture.project import Project, find_root
    from fixturegen.machine.rust_toolchain import chosen

    with contextlib.suppress(OSError, errors.FixturegenError):  # doctor works anywhere
        project = Project(find_root(Path.cwd()))
        places = [project.root / each / name for each in languages for name in project.own]
        if found := chosen(next(filter(files.exists, places), project.root)):
            return found._replace(file=project.shown(Path(found.file)))
    return None


def _row_of(language: Language, needed: languages.Tool, *, optional: bool) -> Tool:
    """Return what doctor asks of a tool that a language needs."""
    from fixturegen.process import Tool

    name = needed.command
    asked = (argv[-1] for argv in language.identity("") if argv[0] == name)
    without = f"no {language.label} program can be built"
    return Tool(
        name,
        (name,),
        needed.package,
        f"no build that names {name} can be made" if optional else without,
        "" if optional else f"{language.label} programs (no toolchain)",
        next(asked, "--version"),
    )


def _map(boxes: Layout) -> list[str]:
    from fixturegen.machine.drawing import drawn

    return ["", "Map", *(f"  {line}" for line in drawn(boxes, WIDTH - 2))]


def _draw(picture: Path, root: Path | None) -> None:
    """Have lstopo write `picture`; raises an error that says why it could not, and what to do."""
    from fixturegen import errors, process

    if picture.suffix not in PICTURES:
        raise errors.UsageError(
            f"--picture {picture}: unknown picture format",
            f"it ends in one of {', '.join(PICTURES)}",
        )
    # lstopo itself first: lstopo-no-graphics draws no .png, .pdf and .ps.
    tool = next((name for name in ("lstopo", "lstopo-no-graphics") if process.find(name)), None)
    if tool is None:
        raise errors.ToolMissingError(
            f"--picture {picture}: lstopo is not installed", "apt install hwloc"
        )
    source = ["--input", str(root.absolute()), "--input-format", "fsroot"] if root else []
    # Without a display lstopo falls back to text unless it is told the format.
    form = picture.suffix[1:] if picture.suffix != ".txt" else "ascii"
    argv = [tool, "--force", "--of", form, *source, str(picture.absolute())]
    done = process.run(argv, timeout_s=PICTURE_S)
    if done.code != 0 or not picture.exists():
        from fixturegen.machine.tree import printable

        said = printable(done.stderr) or f"exit code {done.code}"
        hint = "hwloc reads a copy that was made with hwloc-gather-topology" if root else ""
        if not root and "-no-" in tool:
            hint = "it draws .svg, .fig, .txt and .xml; apt install hwloc for the others"
        raise errors.FileError(f"--picture {picture}: {tool} made none: {said}", hint)


def _facts(
    machine: Machine,
    choice: Choice,
    conditions: list[Condition],
    disturbed: list[str],
    made: list[str],
) -> dict[str, object]:
    """Return the object of --json: plain values, `format` changes if a key changes its meaning."""
    from dataclasses import asdict

    import msgspec

    summary = {
        "can_make": made,
        "cannot_show": _distinct(condition.cannot for condition in conditions),
        "keep_in_mind": [*_distinct(condition.beware for condition in conditions), *disturbed],
        "missing": [condition.name for condition in conditions if _installable(condition)],
    }
    return {
        "format": FORMAT,
        "summary": summary,
        "cpus": {"measure": choice.cpus, "python": choice.others, "reason": choice.reason},
        "findings": [asdict(condition) for condition in conditions],
        "disturbances": disturbed,
        "machine": msgspec.to_builtins(machine),
    }


def _page(
    machine: Machine,
    choice: Choice,
    conditions: list[Condition],
    disturbed: list[str],
    made: list[str],
) -> list[Line]:
    from fixturegen.machine import one_line

    lines: list[Line] = [*wrapped(one_line(machine)), ""]
    lines += _summary(choice, conditions, disturbed, made)
    section = ""
    for condition in conditions:
        if condition.section != section:
            section = condition.section
            lines += ["", section]
        lines += _row(condition.state, condition.name, condition.text, condition.advice)
    lines += ["", "Now"]
    for sentence in disturbed:
        lines += _row("note", "disturbance", sentence, "")
    return lines if disturbed else [*lines, *_row("ok", "disturbances", "none seen", "")]


def _summary(
    choice: Choice, conditions: list[Condition], disturbed: list[str], made: list[str]
) -> list[str]:
    """Return the three to five lines that a reader wants first."""
    cannot = _distinct(condition.cannot for condition in conditions)
    minded = [*_distinct(condition.beware for condition in conditions), *disturbed]
    missing = [condition.name for condition in conditions if _installable(condition)]
    pairs = [
        ("It cannot show", "; ".join(cannot) or "nothing that fixturegen knows is out of reach")
    ]
    if any(condition.section == "Tools" for condition in conditions):
        listed = " and ".join(filter(None, [", ".join(made[:-1]), *made[-1:]]))
        pairs.insert(
            0, ("This machine can make", f"{listed} fixtures" if made else "no fixtures yet")
        )
    if minded:
        pairs.append(("Keep in mind", "; ".join(minded)))
    if choice.cpus:
        python = f"; Python on {_list(choice.others)}" if choice.others else ""
        pairs.append(("It would measure on", f"{_list(choice.cpus)}{python}"))
    if missing:
        pairs.append(("Not installed", ", ".join(missing)))
    lines = []
    for label, text in pairs:
        lines += wrapped(f"{text}.", f"{label + ':':<23}")
    return lines


def _row(state: str, name: str, text: str, advice: str) -> list[Line]:
    head = f"  {state:<6}  {name:<17}  "
    first, *rest = wrapped(text, head)
    return [
        Coloured(first, state, COLOURS[state]),
        *rest,
        *(wrapped(advice, " " * INDENT + "-> ") if advice else []),
    ]


def _made(conditions: list[Condition], needs: dict[str, set[str]]) -> list[str]:
    """Return the labels of the languages whose tools run."""
    from fixturegen.machine.tools import OF_THE_LAUNCHER

    working = {condition.name for condition in conditions if condition.state != "absent"}
    if working.isdisjoint(OF_THE_LAUNCHER):
        return []  # without the launcher nothing can be measured
    return [label for label, tools in needs.items() if tools <= working]


def _installable(condition: Condition) -> bool:
    return condition.state == "absent" and "apt install" in condition.advice


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _list(cpus: tuple[int, ...]) -> str:
    from fixturegen.machine.phrases import cpu_list

    return f"{'CPU' if len(cpus) == 1 else 'CPUs'} {cpu_list(tuple(sorted(cpus)))}"
