"""Summary to text through the fixture's report template; which run is the fixture's text."""

from fixturegen.report.ahead import prepare
from fixturegen.report.text import (
    current_run,
    render_report,
    stored_text,
    summarise,
    text_path,
)

__all__ = ["current_run", "prepare", "render_report", "stored_text", "summarise", "text_path"]
