"""Knobs on other machines' files: what is turned, in which order, and what comes back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixturegen import errors, tune
from fixturegen.machine.tree import Tree
from fixturegen.tune import access, lasting, planning, table, turning
from fixturegen.tune.values import Changes, Entry

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import knobs
from knobs import ASLR, JOURNAL, NO_TURBO, SMT, THP, WATCHDOG, governor, held, value
from trees import CPU, lay

Maker = Callable[[Path], Path]


@pytest.fixture
def writes(tmp_path: Path) -> Iterator[Callable[[Path], knobs.Writes]]:
    made: list[knobs.Writes] = []

    def make(root: Path) -> knobs.Writes:
        made.append(knobs.Writes(root))
        return made[-1]

    yield make
    for each in made:
        each.close()


def notes(done: lasting.Restored) -> str:
    return " | ".join(lasting.notes_of(done.backs))


@pytest.mark.parametrize("make", knobs.MACHINES)
def test_every_machine_is_exactly_as_before_after_apply_and_restore(
    tmp_path: Path, make: Maker
) -> None:
    root = make(tmp_path)
    before = held(root)
    names = [k.knob for k in tune.states(root) if k.verdict == "yes"]
    done = tune.apply(root, names)
    assert [each.knob for each in done.turned if each.took] == [
        name for name in table.APPLY_ORDER if name in names
    ]
    assert {k.knob for k in tune.states(root) if k.verdict == "set"} >= set(names)
    assert held(root) != before
    restored = tune.restore(root)
    assert (restored.failed, notes(restored)) == (False, "")
    assert held(root) == before
    assert not (root / JOURNAL).exists()
    again = tune.restore(root)
    assert (again.turned, again.backs) == (False, ())
    assert held(root) == before


def test_the_values_of_intel_pstate(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    tune.apply(root, ())
    assert [value(root, governor(n)) for n in range(4)] == ["performance"] * 4
    assert value(root, NO_TURBO) == "1"  # inverted
    assert value(root, WATCHDOG) == "0"
    assert value(root, THP) == "always madvise [never]"
    assert value(root, SMT) == "on"  # never implied
    assert value(root, ASLR) == "2"  # neither


@pytest.mark.parametrize(
    ("make", "off"),
    [
        (knobs.acpi, {f"{CPU}/cpufreq/boost": "0"}),
        (knobs.amd, {f"{CPU}/cpufreq/policy0/boost": "0", f"{CPU}/cpufreq/policy1/boost": "0"}),
        (knobs.per_cpu, {f"{CPU}/cpu0/cpufreq/boost": "0", f"{CPU}/cpu1/cpufreq/boost": "0"}),
    ],
)
def test_turbo_in_its_other_places(tmp_path: Path, make: Maker, off: dict[str, str]) -> None:
    root = make(tmp_path)
    (turned,) = tune.apply(root, ["turbo"]).turned
    assert (turned.value, turned.reason) == ("off", "")
    assert {path: value(root, path) for path in off} == off


def test_policies_that_differed_differ_again(tmp_path: Path) -> None:
    root = knobs.amd(tmp_path)
    assert [k.value for k in tune.states(root) if k.knob == "turbo"] == ["mixed"]
    tune.apply(root, ["turbo"])
    tune.restore(root)
    assert [value(root, f"{CPU}/cpufreq/policy{n}/boost") for n in (0, 1)] == ["1", "0"]


def test_only_one_kind_of_core_lacks_a_policy(tmp_path: Path) -> None:
    root = knobs.hybrid(tmp_path)
    (turned,) = tune.apply(root, ["governor"]).turned
    assert turned.value == "performance"
    assert [value(root, governor(n)) for n in range(6)] == ["performance"] * 6


def test_what_is_written_and_in_which_order(
    tmp_path: Path, writes: Callable[[Path], knobs.Writes]
) -> None:
    root = knobs.intel(tmp_path)
    log = writes(root)
    tune.apply(root, list(table.KNOBS))
    governors = [governor(n) for n in range(4)]
    assert log.take() == [*governors, NO_TURBO, WATCHDOG, ASLR, THP, SMT]
    tune.restore(root)
    assert log.take() == [SMT, *governors, NO_TURBO, WATCHDOG, ASLR, THP]


def test_nothing_is_written_that_holds_the_value_already(
    tmp_path: Path, writes: Callable[[Path], knobs.Writes]
) -> None:
    root = lay(knobs.intel(tmp_path), {governor(1): "performance", NO_TURBO: "1"})
    log = writes(root)
    tune.apply(root, ["governor", "turbo"])
    tune.restore(root)
    assert governor(1) not in (written := log.take())
    assert NO_TURBO not in written


def test_cpus_are_back_before_their_governors_are_written(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {f"{CPU}/cpu{n}/online": "1" for n in (2, 3)})
    with knobs.Kernel(root, second=(2, 3)) as kernel:
        tune.apply(root, ["smt", "governor"])
        while "off" not in kernel.seen_at:
            pass
        assert value(root, knobs.ONLINE) == "0,1"
        done = tune.restore(root)
        assert not done.failed
        assert value(root, knobs.ONLINE) == "0-3"
    # The clock of a file system is a coarse one, so only the order of whole steps is compared.
    order = [back.path for back in done.backs]
    assert order.index(SMT) < order.index(governor(0))


def test_cpus_that_do_not_come_back_are_said_and_the_journal_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = knobs.intel(tmp_path)
    tune.apply(root, ["smt", "governor"])
    lay(root, {knobs.ONLINE: "0-1"})
    monkeypatch.setattr(turning, "PATIENCE_S", 0.05)
    done = tune.restore(root)
    assert done.failed
    assert "CPUs 2-3 did not come back" in notes(done)
    assert value(root, governor(0)) == "powersave"  # the rest is put back all the same
    assert (root / JOURNAL).exists()
    lay(root, {knobs.ONLINE: "0-3"})
    assert not tune.restore(root).failed
    assert not (root / JOURNAL).exists()


def test_smt_on_starts_every_cpu_and_those_that_were_offline_are_stopped_again(
    tmp_path: Path,
) -> None:
    root = knobs.part_offline(tmp_path)
    with knobs.Kernel(root, second=(2, 3), delay_s=0.02) as kernel:
        kernel.all = "0-3"  # all come back, also the one that was offline before
        tune.apply(root, ["smt"])
        while "off" not in kernel.seen_at:
            pass
        restored = tune.restore(root)
    assert not restored.failed
    assert value(root, SMT) == "on"
    assert value(root, f"{CPU}/cpu2/online") == "1"
    assert value(root, f"{CPU}/cpu3/online") == "0"


def test_a_cpu_that_someone_else_started_meanwhile_is_left(tmp_path: Path) -> None:
    root = knobs.part_offline(tmp_path)
    tune.apply(root, ["smt"])
    lay(root, {f"{CPU}/cpu3/online": "1"})
    assert "cpu3/online was left as it is: someone else set it to 1" in notes(tune.restore(root))


def test_interrupts_bound_to_cpus_that_leave_are_journaled(tmp_path: Path) -> None:
    root = knobs.part_offline(tmp_path)
    entries = {e.path: e for e in planning.changes(root, ["smt"]).entries}
    assert "proc/irq/5/smp_affinity_list" in entries  # bound to CPU 2 alone
    assert "proc/irq/6/smp_affinity_list" not in entries  # keeps CPUs 0 and 1


def test_a_moved_interrupt_comes_back_unless_someone_moved_it_again(tmp_path: Path) -> None:
    root = lay(knobs.part_offline(tmp_path), {"proc/irq/7/smp_affinity_list": "2"})
    changes = planning.changes(root, ["smt"])
    assert turning.turn(root, changes, "smt").took
    lay(root, {f"proc/irq/{n}/smp_affinity_list": "0-1" for n in (5, 7)})  # the kernel's move
    changes = turning.observed(root, changes, "smt")
    lay(root, {"proc/irq/7/smp_affinity_list": "0"})  # irqbalance's
    backs = turning.restore(root, changes)
    assert value(root, "proc/irq/5/smp_affinity_list") == "2"
    assert value(root, "proc/irq/7/smp_affinity_list") == "0"
    assert [b.path for b in backs if b.result == "theirs"] == ["proc/irq/7/smp_affinity_list"]


def test_smt_is_refused_where_a_cpuset_of_version_1_would_lose_cpus(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/cpuset/docker/abc"
    root = lay(knobs.intel(tmp_path), {f"{group}/cpuset.cpus": "2-3"})
    before = held(root)
    (state,) = (k for k in tune.states(root) if k.knob == "smt")
    assert state.verdict == "no"
    assert "would lose CPUs 2-3 for good" in state.reason
    with pytest.raises(errors.FileError, match="cgroup v1"):
        tune.apply(root, ["governor", "smt"])
    assert held(root) == before
    lay(root, {f"{group}/cpuset.cpus": "0-1"})
    assert tune.apply(root, ["smt"]).kept


@pytest.mark.parametrize("line", ["cpuset /cg cpuset rw 0 0", "x /cg cgroup rw,cpuset,cpu 0 0"])
def test_a_cpuset_mounted_elsewhere_is_found(tmp_path: Path, line: str) -> None:
    root = lay(
        knobs.intel(tmp_path),
        {"proc/self/mounts": line, "cg/a/b/cpuset.cpus": "3", "cg/a/cpuset.cpus": "0"},
    )
    assert planning.smt_reason(Tree(root)).startswith("/cg/a/b: a cpuset")


@pytest.mark.parametrize("state", ["forceoff", "notsupported", "notimplemented"])
def test_smt_that_cannot_be_switched(tmp_path: Path, state: str) -> None:
    root = lay(knobs.intel(tmp_path), {SMT: state})
    with pytest.raises(errors.FileError, match="smt cannot be turned here"):
        tune.apply(root, ["smt"])
    assert value(root, SMT) == state


def test_smt_that_did_not_take_is_said_and_everything_named_is_rolled_back(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {f"{CPU}/smt/active": "1"})
    before = held(root)
    with pytest.raises(errors.FileError, match="threads still share cores"):
        tune.apply(root, ["governor", "smt"])
    assert held(root) == before
    assert not (root / JOURNAL).exists()


def test_a_value_that_does_not_take_is_said_with_what_was_read_back(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    # Two switches that are one file: what is written to the second undoes the first.
    one, other = f"{CPU}/intel_pstate/no_turbo", f"{CPU}/cpufreq/boost"
    (root / other).parent.mkdir(exist_ok=True)
    (root / other).unlink(missing_ok=True)
    (root / other).hardlink_to(root / one)
    entries = (Entry("turbo", one, "0", "1"), Entry("turbo", other, "0", "0"))
    turned = turning.turn(root, Changes(entries, {}, (0, 1)), "turbo")
    assert turned.reason == f"/{one} was set to 1 and holds 0"
    assert value(root, one) == "0"


def test_a_virtual_machine_with_nothing(tmp_path: Path) -> None:
    root = knobs.nothing(tmp_path)
    assert {k.verdict for k in tune.states(root)} == {"no"}
    assert all(k.reason for k in tune.states(root))
    with pytest.raises(errors.FileError, match="no knob can be turned here: governor: no cpufreq"):
        tune.apply(root, ())
    with pytest.raises(errors.FileError, match="governor cannot be turned here"):
        tune.apply(root, ["governor"])
    assert not (root / JOURNAL).exists()
    assert not tune.restore(root).turned


def read_only(path: Path) -> None:
    path.chmod(0o444)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    target = path.with_name("elsewhere")
    path.rename(target)
    path.symlink_to(target.name)


def garbage(path: Path) -> None:
    path.write_text("\x1b[31m what")


@pytest.mark.parametrize("spoil", [read_only, folder, fifo, link, garbage])
@pytest.mark.parametrize("path", [governor(2), NO_TURBO, WATCHDOG])
def test_a_file_that_cannot_be_set_costs_its_knob_and_no_other(
    tmp_path: Path, spoil: Callable[[Path], None], path: str
) -> None:
    root = knobs.intel(tmp_path)
    spoil(root / path)
    before = held(root)
    knob = {governor(2): "governor", NO_TURBO: "turbo", WATCHDOG: "nmi_watchdog"}[path]
    done = tune.apply(root, ())
    turned = {each.knob: each for each in done.turned}
    if not (path == governor(2) and spoil in (folder, fifo)):  # then there is one policy less
        assert turned[knob].reason
    assert turned["thp"].took
    tune.restore(root)
    assert held(root) == before
    if turned[knob].reason:
        with pytest.raises(errors.FileError, match=f"{knob} cannot be turned here, so nothing was"):
            tune.apply(root, ["thp", knob])
        assert held(root) == before


def test_a_driver_without_the_governor_is_named(tmp_path: Path) -> None:
    root = lay(
        knobs.acpi(tmp_path),
        {f"{CPU}/cpufreq/policy1/scaling_available_governors": "ondemand userspace"},
    )
    (state,) = (k for k in tune.states(root) if k.knob == "governor")
    assert state.reason == "policy1 offers no performance, only ondemand userspace"


def test_what_someone_else_changed_is_left_and_said(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    tune.apply(root, ())
    lay(root, {governor(1): "schedutil", NO_TURBO: "0"})
    done = tune.restore(root)
    assert not done.failed
    assert value(root, governor(1)) == "schedutil"
    assert value(root, governor(0)) == "powersave"
    assert value(root, NO_TURBO) == "0"
    assert "policy1/scaling_governor was left as it is: someone else set it to schedutil" in (
        notes(done)
    )
    assert [b.result for b in done.backs if b.path == NO_TURBO] == ["already"]
    assert not (root / JOURNAL).exists()


def test_what_someone_else_changed_before_the_write_is_not_written(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    changes = planning.changes(root, ["governor"])
    lay(root, {governor(3): "schedutil"})
    turned = turning.turn(root, changes, "governor")
    assert "changed by someone else: powersave before, now schedutil" in turned.reason
    assert [value(root, governor(n)) for n in range(4)] == ["powersave"] * 3 + ["schedutil"]


def test_a_change_of_governor_does_not_move_turbo(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {NO_TURBO: "1"})
    changes = planning.changes(root, ["governor"])
    with turning._turbo_kept(root, changes, "governor"):
        lay(root, {NO_TURBO: "0"})  # as intel_pstate does
    assert value(root, NO_TURBO) == "1"


def test_turbo_reset_by_a_governor_and_then_by_a_crash_is_restored(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {NO_TURBO: "1"})
    before = held(root)
    changes = planning.changes(root, ["governor", "turbo"])
    assert turning.turn(root, changes, "governor").took
    tune.restore(root)
    turning.restore(root, changes)
    assert held(root) == before


def test_what_a_governor_forgets_is_put_back(tmp_path: Path) -> None:
    root = knobs.acpi(tmp_path)
    before = held(root)
    tune.apply(root, ["governor"])
    lay(root, {f"{CPU}/cpufreq/ondemand/up_threshold": "95"})  # the default, on its return
    backs = {b.path: b.result for b in tune.restore(root).backs}
    # It could be read while turned, so what it holds is someone's: said. A kernel takes it away.
    assert backs[f"{CPU}/cpufreq/ondemand/up_threshold"] == "theirs"
    lay(root, {f"{CPU}/cpufreq/ondemand/up_threshold": "80"})
    changes = planning.changes(root, ["governor"])
    turning.turn(root, changes, "governor")
    (root / f"{CPU}/cpufreq/ondemand/up_threshold").unlink()
    changes = turning.observed(root, changes, "governor")
    lay(root, {f"{CPU}/cpufreq/ondemand/up_threshold": "95"})
    backs = {b.path: b.result for b in turning.restore(root, changes)}
    assert backs[f"{CPU}/cpufreq/ondemand/up_threshold"] == "restored"
    assert held(root) == before


def test_a_speed_set_by_hand_and_a_preference_come_back(tmp_path: Path) -> None:
    root = knobs.mixed(tmp_path)
    before = held(root)
    speed, preference = (
        f"{CPU}/cpufreq/policy2/{name}"
        for name in ("scaling_setspeed", "energy_performance_preference")
    )
    changes = planning.changes(root, ["governor"])
    turning.turn(root, changes, "governor")
    lay(root, {speed: "<unsupported>", preference: "performance"})  # as a kernel shows them
    changes = turning.observed(root, changes, "governor")
    turning.restore(root, changes)
    assert value(root, speed) == "1800000"
    assert value(root, preference) == "balance_performance"
    assert held(root) == before


def test_two_applies(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    before = held(root)
    tune.apply(root, ["governor"])
    with pytest.raises(errors.LockedError, match="turned already, by fixturegen tune apply"):
        tune.apply(root, ["thp"])
    with pytest.raises(errors.LockedError), tune.guard(["thp"], root):
        pass
    assert value(root, THP) == "always [madvise] never"
    tune.restore(root)
    assert held(root) == before


def test_applying_what_is_so_already_leaves_nothing_to_restore(tmp_path: Path) -> None:
    root = lay(knobs.intel(tmp_path), {WATCHDOG: "0"})
    done = tune.apply(root, ["nmi_watchdog"])
    assert (done.kept, done.turned[0].took) == (False, True)
    assert not (root / JOURNAL).exists()


def test_a_write_cut_short_is_nobodys(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    before = held(root)
    tune.apply(root, ["governor"])
    (root / governor(0)).write_text("")
    tune.restore(root)
    assert held(root) == before


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a/b/../c", "c"), ("up/c", "c"), ("abs/c", "c"), ("../../a/c", "c"), ("deep/c", "c")],
)
def test_links_on_the_way_stay_below_the_root(tmp_path: Path, path: str, expected: str) -> None:
    root = lay(tmp_path / "root", {"a/c": "inside", "a/b/d": ""})
    lay(tmp_path, {"a/c": "outside"})
    (root / "up").symlink_to("../../../a")
    (root / "abs").symlink_to("/a")
    (root / "deep").symlink_to("up")
    assert access.write(root, path, "x") == ""
    assert value(root, "a/c") == "x"
    assert value(tmp_path, "a/c") == "outside"


def test_links_that_go_in_circles_and_the_file_itself_are_refused(tmp_path: Path) -> None:
    root = lay(tmp_path, {"real": "1", "folder/x": "1"})
    (root / "round").symlink_to("round")
    (root / "file").symlink_to("real")
    assert "ELOOP" in access.write(root, "round/x", "0")
    assert "ELOOP" in access.write(root, "file", "0")
    assert access.write(root, "folder", "0") == "a folder (EISDIR)"
    assert access.write(root, "none/x", "0") == "absent"
    assert access.write(root, "real/x", "0") == "absent"
    assert value(root, "real") == "1"


@pytest.mark.parametrize(
    ("knob", "path", "written"),
    [
        ("governor", governor(0) + "/../../../../../../etc/passwd", "performance"),
        ("governor", governor(0), "performance\nroot"),
        ("governor", governor(0), "../x"),
        ("governor", f"{CPU}/cpufreq/policy0/ondemand/../scaling_governor", "1"),
        ("governor", "etc/passwd", "performance"),
        ("governor", NO_TURBO, "1"),
        ("turbo", NO_TURBO, "2"),
        ("turbo", f"{NO_TURBO}\n", "1"),
        ("smt", SMT, "forceoff"),
        ("smt", "proc/irq/1/smp_affinity_list", "0;1"),
        ("smt", "proc/irq/\N{ARABIC-INDIC DIGIT ONE}/smp_affinity_list", "0"),
        ("aslr", ASLR, "3"),
        ("nothing", ASLR, "0"),
    ],
)
def test_only_files_and_values_of_the_table_are_permitted(
    knob: str, path: str, written: str
) -> None:
    assert not table.permitted(knob, path, written)


def test_an_unknown_knob_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="no knob 'boost'"):
        tune.apply(knobs.intel(tmp_path), ["boost"])
    with pytest.raises(errors.UsageError), tune.guard(["boost"], tmp_path):
        pass


def test_drop_caches(tmp_path: Path) -> None:
    root = knobs.intel(tmp_path)
    assert turning.drop_caches(root) == ""
    assert value(root, knobs.DROP) == "3"
    assert turning.drop_caches(tmp_path / "sys") == "absent"


def test_a_choice_is_written_without_emptying_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is killed in between leaves the choices that there are."""
    monkeypatch.delattr(os, "ftruncate")
    lay(tmp_path, {THP: "always [madvise] never"})
    assert access.write(tmp_path, THP, "never") == ""
    assert (tmp_path / THP).read_text() == "always madvise [never]\n"
