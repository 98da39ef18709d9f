"""Rungs: their keys in fixture.toml, their CPUs, their reasons, and the order of turning."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from msgspec.structs import replace

from fixturegen import errors, machine, tune
from fixturegen.fixture import load as load_fixture
from fixturegen.languages import LANGUAGES
from fixturegen.model import Case, Fixture, Mode
from fixturegen.report.tuned import rungs as shown
from fixturegen.runs.context import Reading
from fixturegen.runs.placing import Places, places, reachable
from fixturegen.runs.rungs import NONE, Rungs, changed
from fixturegen.runs.schedule import Step
from fixturegen.runs.unmeasured import Place, unmeasured
from fixturegen.tune import Turned

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
from trees import CPU, lay

TOML = """\
title = "Rungs"
[[program]]
name = "seek"
languages = ["system"]
command = "find"
order = "ladder"
metric.wall = { value = "process.wall_ns", unit = "ns" }
"""


def load(*modes: str, toml: str = TOML) -> Fixture:
    for place, keys in enumerate(modes):
        toml += f'[[program.mode]]\nname = "m{place}"\n{keys}\n'
    return load_fixture(toml.encode(), "rungs", "fixture.toml", LANGUAGES)


# ---------------------------------------------------------------------------------- fixture.toml


def test_the_knobs_of_fixture_toml_are_those_of_the_table() -> None:
    items, _ = get_args(get_type_hints(Mode)["tune"])
    assert set(get_args(items)) == set(tune.KNOBS)


@pytest.mark.parametrize(
    ("keys", "toml", "said"),
    [
        ('tune = ["governer"]', TOML, "expected governor or turbo or smt"),
        ('tune = ["governor", "governor"]', TOML, "tune names twice"),
        ('tune = ["governor"]', TOML.replace("ladder", "fixed"), 'order = "ladder"'),
        ('core = "class-9"', TOML, "expected class-0 or class-1 or class-2 or isolated"),
        ('allow = "tune:governor"', TOML, "expected drop-caches"),
    ],
)
def test_keys_that_are_wrong(keys: str, toml: str, said: str) -> None:
    with pytest.raises(errors.SpecError) as caught:
        load(keys, toml=toml)
    assert said in f"{caught.value.what} {caught.value.hint}"


# ------------------------------------------------------------------------------------------ CPUs


def every(cpus: Collection[int]) -> frozenset[int]:
    return frozenset(cpus)


def placed(
    root: Path, *modes: str, cpu: int | None = None, allowed: Collection[int] = range(6)
) -> Places:
    return places(machine.describe(root), load(*modes), cpu, frozenset(allowed), every)


def test_each_class_of_a_hybrid_machine_has_its_own_core(tmp_path: Path) -> None:
    root = knobs.hybrid(tmp_path)
    found = placed(root, *(f'core = "class-{n}"' for n in range(3)), "")
    assert found.cpus == {"seek": (2,), "seek.m0": (2,), "seek.m1": (4,)}
    assert found.nowhere == {"seek.m2": "this machine has 2 classes of cores"}
    assert found.others == (0, 1, 5)
    none = placed(root, 'core = "class-1"', allowed=range(4))
    assert none.nowhere == {"seek.m0": "none of the efficiency cores is allowed to this process"}


def test_a_mode_that_wants_more_cpus_than_there_are_is_not_measured(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    found = placed(root, "cpus = 2", "", 'cpus = "all"', allowed=(1,))
    assert found.nowhere == {"seek.m0": "it wants 2 CPUs, and 1 may be used"}
    assert placed(root, "cpus = 2", allowed=(1, 2)).nowhere == {}
    toml = TOML.replace('order = "ladder"', "cpus = 3")
    of = load("", "cpus = 1", toml=toml)
    short = places(machine.describe(root), of, None, frozenset((0, 1)), every)
    assert short.nowhere == {"seek.m0": "it wants 3 CPUs, and 2 may be used"}
    assert short.cpus["seek.m1"] == (1,)


def test_a_machine_without_classes_says_so(tmp_path: Path) -> None:
    found = placed(knobs.intel(tmp_path), 'core = "class-0"', allowed=range(4))
    assert found.nowhere == {"seek.m0": "no difference between the cores of this machine is seen"}


def test_isolated_cpus_are_asked_for_though_the_scheduler_gives_none(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {f"{CPU}/isolated": "1,3"})
    found = placed(root, 'core = "isolated"', allowed=(0, 2))
    assert found.cpus["seek.m0"] == (1,)
    assert found.others == (2,)  # the program itself is pinned to CPU 0
    mine = places(
        machine.describe(root), load('core = "isolated"'), None, frozenset((0, 2)),
        lambda cpus: frozenset(),
    )  # fmt: skip
    assert mine.nowhere == {"seek.m0": "the isolated CPUs (1, 3) may not be used by this process"}
    lay(root, {f"{CPU}/isolated": ""})
    assert "decided at boot" in placed(root, 'core = "isolated"').nowhere["seek.m0"]


def test_a_rung_without_smt_has_no_cpu_that_goes_offline(tmp_path: Path) -> None:
    root = knobs.hybrid(tmp_path)
    smt = 'tune = ["smt"]'
    assert placed(root, smt, allowed=(1, 3, 5)).cpus["seek.m0"] == (5,)
    assert sorted(placed(root, smt, 'cpus = "all"\n' + smt).cpus["seek.m1"]) == [0, 2, 4, 5]
    gone = placed(root, smt, allowed=(1, 3)).nowhere
    assert gone == {"seek.m0": "all of its CPUs go offline without SMT"}
    said = placed(root, smt, cpu=3).nowhere
    assert said == {"seek.m0": "CPU 3, of --cpu, goes offline without SMT"}
    assert placed(root, smt, cpu=2).cpus["seek.m0"] == (2,)


def test_what_can_be_reached_is_tried_and_left_as_it_was() -> None:
    before = os.sched_getaffinity(0)
    assert reachable([*before, 4000]) == before
    assert os.sched_getaffinity(0) == before


# --------------------------------------------------------------------------------------- reasons


def reason(mode: str, **given: object) -> str:
    values: dict[str, object] = {
        "allowed": (), "again": "fixturegen run rungs", "build": Path("/nonexistent"),
        "root": False,
    }  # fmt: skip
    place = Place(**{**values, **given})  # type: ignore[arg-type]
    found = {"seek.system": Path("/usr/bin/find")}
    return unmeasured(load(mode), ["system"], found, place).get("seek.system.m0", "")


def test_reasons_name_the_whole_command() -> None:
    mode = 'tune = ["governor", "turbo"]'
    sudo = 'sudo env "PATH=$PATH" '
    asked = "the machine is changed only when asked, by root: "
    run = "fixturegen run rungs --allow tune:"
    assert reason(mode) == f"{asked}{sudo}{run}governor,turbo"
    assert reason(mode, root=True) == f"{asked}{run}governor,turbo"
    given = ("tune:thp", "tune:turbo")
    assert reason(mode, allowed=given) == f"{asked}{sudo}{run}thp,turbo,governor"
    given = ("tune:governor,turbo",)
    assert reason(mode, allowed=given) == f"needs root: {sudo}{run}governor,turbo"
    assert reason(mode, allowed=given, held=True) == ""


def test_reasons_of_knobs_that_are_not_there() -> None:
    mode, absent = 'tune = ["governor", "turbo", "smt"]', "no cpufreq"
    refused = {"governor": absent, "turbo": absent, "smt": "none", "thp": "no matter"}
    why = "governor, turbo: no cpufreq; smt: none"
    unasked = reason(mode, refused=lambda: refused)
    assert unasked.endswith(f"--allow tune:governor,turbo,smt (and cannot be here: {why})")
    given = ("tune:governor,turbo,smt",)
    found = reason(mode, allowed=given, held=True, refused=lambda: refused)
    assert found == f"cannot be turned here: {why}"


def test_a_knob_that_is_so_already_is_said_to_be() -> None:
    mode = 'tune = ["governor", "nmi_watchdog"]'
    found = reason(mode, already=lambda: ["nmi_watchdog", "thp"])
    assert found.endswith("--allow tune:governor,nmi_watchdog (nmi_watchdog: so already)")
    refused = {"governor": "no cpufreq"}
    found = reason(mode, already=lambda: ["nmi_watchdog"], refused=lambda: refused)
    assert found.endswith("(and cannot be here: governor: no cpufreq; nmi_watchdog: so already)")


def test_the_page_cache_of_a_container() -> None:
    mode = 'prepare = ["drop-caches"]\nallow = "drop-caches"'
    found = reason(mode, allowed=("drop-caches",), held=True, caches_refusal="read-only")
    assert found == "the caches cannot be emptied here, not even by root: read-only"


# --------------------------------------------------------------------------------------- turning


class Helper:
    """What the guardian is asked, in order; `lacking` does not take.

    It writes nothing: what it answers is what the folder says, or `value`.
    """

    def __init__(self, lacking: str = "", value: str = "") -> None:
        self.asked: list[str] = []
        self.lacking = lacking
        self.value = value
        self.root = Path()

    def set(self, knob: str) -> Turned:
        self.asked.append(f"+{knob}")
        value = self.value or tune.read_back(self.root)[knob]
        return Turned(knob, value, "it did not" if knob == self.lacking else "")

    def reset(self, knob: str) -> Turned:
        self.asked.append(f"-{knob}")
        return Turned(knob, "x")


LADDER = (
    "", 'tune = ["governor"]', 'tune = ["governor", "smt"]',
    'tune = ["governor", "smt", "turbo"]', 'tune = ["turbo"]', 'tune = ["thp"]',
)  # fmt: skip


def ladder(helper: Helper | None, found: dict[str, Any], root: Path) -> Rungs:
    if helper is not None:
        helper.root = root
    return Rungs(load(*LADDER), helper, root, found)  # type: ignore[arg-type]


def test_a_knob_that_is_no_more_what_it_was_turned_to_is_the_reason(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    rungs = ladder(Helper(value="performance"), found, knobs.intel(tmp_path))
    refused = rungs.enter(("seek", "m1"))
    assert refused == "governor did not stay: turned to performance, found powersave"
    assert found == {}


def climbed(helper: Helper, root: Path, *modes: int) -> list[str]:
    rungs = ladder(helper, {}, root)
    for number in modes:
        assert rungs.enter(("seek", f"m{number}")) == ""
        rungs.leave(("seek", f"m{number}"))
    rungs.end()
    return helper.asked


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ((0,), ""),
        ((1,), "+governor -governor"),
        ((1, 2), "+governor +smt -smt -governor"),
        ((1, 1), "+governor -governor"),
        ((1, 0, 1), "+governor -governor +governor -governor"),
        # While SMT is off the knobs of the CPUs that are offline cannot be written.
        ((2, 3), "+governor +smt -smt +turbo +smt -smt -governor -turbo"),
        ((3, 4), "+governor +turbo +smt -smt -governor -turbo +turbo -turbo"),
        ((4, 5), "+turbo -turbo +thp -thp"),
    ],
)
def test_knobs_change_between_rungs_and_only_as_far_as_they_must(
    tmp_path: Path, modes: tuple[int, ...], expected: str
) -> None:
    assert climbed(Helper(), knobs.intel(tmp_path), *modes) == expected.split()


def test_a_knob_that_did_not_take_is_the_reason_and_the_next_rung_is_right(tmp_path: Path) -> None:
    helper, found = Helper("smt"), {}
    rungs = ladder(helper, found, knobs.intel(tmp_path))
    assert rungs.enter(("seek", "m3")) == "smt did not take: it did not"
    assert found == {}
    assert rungs.enter(("seek", "m4")) == ""
    assert helper.asked == ["+governor", "+turbo", "+smt", "-governor", "-turbo", "+turbo"]


def test_a_program_that_turns_nothing_has_no_rungs(tmp_path: Path) -> None:
    fixture, found = load("", ""), {}
    rungs = Rungs(fixture, None, tmp_path, found)
    step = Step(Case("seek", "system", "default", "m0"), 1, 0)
    assert rungs.of(step) == NONE
    assert rungs.enter(NONE) == ""
    rungs.leave(NONE)
    assert found == {}


def test_without_a_guardian_the_rungs_are_read(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    rungs = ladder(None, found, knobs.intel(tmp_path))
    assert rungs.enter(("seek", "m0")) == ""
    lay(tmp_path, {knobs.THP: "[always] madvise never", knobs.governor(0): "ondemand"})
    rungs.leave(("seek", "m0"))
    mine, others = changed(found)
    assert mine == []
    assert others == [
        "governor was changed during seek m0: powersave, then ondemand x1, powersave x3",
        "thp was changed during seek m0: madvise, then always",
    ]
    (reading,) = found["seek"]["m0"]
    found["seek"]["m0"] = (replace(reading, turned=("thp",)),)
    assert changed(found)[0] == ["thp was changed during seek m0: madvise, then always"]


# ---------------------------------------------------------------------------------------- report


def test_a_report_has_the_states_that_were_read_back() -> None:
    one = {"governor": "performance", "smt": "off", "turbo": "unknown: no\x1b cpufreq"}
    other = {**one, "governor": "powersave"}
    found = {"seek": {"m1": [
        Reading(("governor", "smt"), one, one),
        Reading(("governor", "smt"), one, other),
    ], "m2": [Reading((), one)]}}  # fmt: skip
    text = shown(found)["seek"]
    assert text["m1"].states["governor"] == "performance, then powersave"
    assert text["m1"].words == "governor performance, then powersave, smt off"
    assert text["m1"].states["turbo"] == "unknown"
    assert text["m1"].reasons == {"turbo": "no\\x1b cpufreq"}
    assert text["m2"].words == ""
    assert shown({}) == {}
