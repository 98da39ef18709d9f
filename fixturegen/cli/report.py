"""`fixturegen report`."""

from __future__ import annotations

import shlex

import click

from fixturegen import bounds, errors, files, record, report
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_difference
from fixturegen.report.view import plural
from fixturegen.runner import ending


@click.command(context_settings=HELP_OPTIONS)
@names_argument
@click.option(
    "--run",
    "run_name",
    metavar="NAME",
    help="Make this stored run the text; default: the run that the text names, else the "
    "newest complete one.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit 1 and show the difference if a text is not what its stored "
    "samples give.",
)
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], run_name: str | None, check: bool) -> None:
    """Write the fixtures' texts again from stored samples; starts no process.

    \b
    fixturegen report                    every text again, from the run it names
    fixturegen report p04 --run quiet    another stored run becomes the text
    fixturegen report --check            byte for byte the same, on any machine?
    """
    project = project_of(ctx)
    chosen = project.choose(names)
    if run_name and len(chosen) > 1:
        raise errors.UsageError("--run goes with one FIXTURE", f"one of: {', '.join(chosen)}")
    made = []  # all texts before the first is written, so that an error leaves nothing
    for name in chosen:
        run = run_name or report.current_run(project, name)
        if run is None and names:
            raise errors.UsageError(f"{name} has no complete run", f"fixturegen run {name}")
        if run is None:
            say(f"{'no run':<9}  {name}: fixturegen run {name}", err=check)
            continue
        text = report.stored_text(project, project.load(name), record.stored(project, name, run))
        bounds.spend(f"{name}'s text", len(text))
        made.append((name, run, text))
    drift = 0
    for name, run, text in made:
        path = report.text_path(project, name)
        if not check:
            changed = files.write(path, text)
            if run in ending.textless(project, name):  # its text lay beside it until now
                files.remove(record.run_folder(project, name, run) / record.REPORT)
            say(f"{'update' if changed else 'identical':<9}  {project.shown(path)}  (run {run})")
            continue
        old = files.read_bytes(path) if files.is_file(path) else b""
        if old != text.encode():
            drift += 1
            say_difference(old, text, project.shown(path))
    if drift:
        words = shlex.join(
            ["fixturegen", "report", *names, *(["--run", run_name] if run_name else [])]
        )
        differ = f"{plural(drift, 'text')} differ{'s' * (drift == 1)} from what the samples give"
        say(f"{differ}; repair: {words}", err=True)
        ctx.exit(1)
