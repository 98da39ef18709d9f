"""The command line: the only edge where errors become text and exit codes."""

from fixturegen.cli.main import run

__all__ = ["run"]
