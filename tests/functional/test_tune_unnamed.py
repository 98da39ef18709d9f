"""`tune apply` without names says which knobs it leaves alone."""

from __future__ import annotations

import sys
from pathlib import Path

import laid

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs


def test_apply_without_names_says_what_it_turns(tmp_path: Path) -> None:
    machine = str(knobs.intel(tmp_path))
    done = laid.call(tmp_path, "tune", "apply", "--sysfs", machine)
    assert done.code == 0, done.said
    assert done.out.startswith("No knob is named: all but smt and aslr are turned.\n")
    assert laid.call(tmp_path, "tune", "restore", "--sysfs", machine).code == 0
    done = laid.call(tmp_path, "tune", "apply", "--sysfs", machine, "turbo")
    assert done.code == 0 and "No knob is named" not in done.out
    said = " ".join(laid.call(tmp_path, "tune", "--help").out.split())
    assert "`apply` without names turns all but smt and aslr" in said
