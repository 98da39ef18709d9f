"""Compares what is committed with what it would be now, and writes nothing."""

from fixturegen.check.findings import (
    Checked,
    check_fixture,
    check_named,
    check_orphans,
    check_runs,
    kept_of_builtin,
)

__all__ = [
    "Checked",
    "check_fixture",
    "check_named",
    "check_orphans",
    "check_runs",
    "kept_of_builtin",
]
