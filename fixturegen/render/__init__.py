"""Templates and values to text, in a sandbox; what nothing has changed is not rendered again."""

from fixturegen.render.sources import (
    abandoned,
    environment,
    finalizer,
    fixture_files,
    leftovers,
    read_template,
    render_text,
)

__all__ = [
    "abandoned",
    "environment",
    "finalizer",
    "fixture_files",
    "leftovers",
    "read_template",
    "render_text",
]
