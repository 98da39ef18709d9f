"""A machine as plain JSON values and back. The keys are the fields of `Machine`."""

from __future__ import annotations

from typing import Any

from fixturegen.errors import CheckError
from fixturegen.machine.values import Machine


def to_json(machine: Machine) -> dict[str, Any]:
    """Return dicts, lists, strings and integers; an unknown fact is {"unknown": reason}."""
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(machine)
    return plain


def from_json(plain: dict[str, Any]) -> Machine:
    """Return the machine that `to_json` was given; a missing key is Unknown, a strange one ignored.

    Raises CheckError if a value is of another kind than this version writes.
    """
    import msgspec

    try:
        return msgspec.convert(plain, Machine)
    except msgspec.ValidationError as error:
        raise CheckError(
            f"the machine in this context is not what fixturegen writes: {error}",
            "read it with the version of fixturegen that wrote it",
        ) from None
