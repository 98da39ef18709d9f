"""A machine as plain JSON values. The keys are the fields of `Machine`."""

from __future__ import annotations

from typing import Any

from fixturegen.machine.values import Machine


def to_json(machine: Machine) -> dict[str, Any]:
    """Return dicts, lists, strings and integers; an unknown fact is {"unknown": reason}."""
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(machine)
    return plain
