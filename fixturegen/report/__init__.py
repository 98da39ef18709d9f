"""Summary to text through the fixture's report template; which run is the fixture's text."""

from fixturegen.report.ahead import prepare
from fixturegen.report.text import callables, render_report, stored_text
from fixturegen.runs.states import current_run, text_path
from fixturegen.runs.summary import summarise

__all__ = [
    "callables",
    "current_run",
    "prepare",
    "render_report",
    "stored_text",
    "summarise",
    "text_path",
]
