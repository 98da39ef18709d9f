"""The map of the machine, on files of machines that are not here."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fixturegen import errors, machine
from fixturegen.cli.doctor import command
from fixturegen.machine.drawing import drawn, strided
from fixturegen.machine.layout import all_cores, layout

sys.path.insert(0, str(Path(__file__).parents[1] / "machines"))
import trees
from trees import CPU, cache, lay

PCI = "sys/bus/pci/devices"


def device(address: str, code: str, node: int, name: str) -> trees.Files:
    folder = f"{PCI}/{address}"
    return {
        f"{folder}/class": code,
        f"{folder}/numa_node": str(node),
        f"{folder}/vendor": "0x15b3",
        f"{folder}/device": "0x1017",
        f"{folder}/{name}/flags": "0x1",
    }


def server(root: Path, *, interleaved: bool = False) -> Path:
    """Two packages of 32 cores and 64 threads; L3 for 8 cores, or for the package."""
    siblings = [f"{n % 64},{n % 64 + 64}" for n in range(128)]
    package = {n: n % 2 if interleaved else n % 64 // 32 for n in range(128)}
    third = {n: package[n] if interleaved else n % 64 // 8 for n in range(128)}
    own = {n: ",".join(str(c) for c in range(128) if third[c] == third[n]) for n in range(128)}
    parts: list[trees.Files] = [
        {f"{CPU}/cpu{n}/topology/physical_package_id": str(package[n]) for n in range(128)},
        device("0000:41:00.0", "0x020000", 0, "net/eth0"),
        device("0000:c1:00.0", "0x010802", 1, "nvme/nvme0"),
        device("0000:00:00.0", "0x060000", 0, "none"),
    ]
    for node in (0, 1):
        folder = f"sys/devices/system/node/node{node}"
        listed = ",".join(str(n) for n in range(128) if package[n] == node)
        parts.append(
            {
                f"{folder}/cpulist": listed,
                f"{folder}/meminfo": f"Node {node} MemTotal:  131072000 kB",
            }
        )
    for n in range(128):
        parts += [
            cache(n, 0, 1, "Data", "32K", siblings[n]),
            cache(n, 3, 3, "Unified", "32M", own[n]),
        ]
    return lay(
        root,
        trees.KERNEL,
        trees.x86("Some Server", count=128),
        trees.cpus(siblings, "0-127"),
        *parts,
    )


def drawing(root: Path, width: int = 78) -> list[str]:
    found = machine.describe(root)
    online = found.online if isinstance(found.online, tuple) else ()
    choice = machine.pick_cpus(found, frozenset(online), 1)
    return drawn(layout(root, found, choice), width)


def test_a_laptop(tmp_path: Path) -> None:
    assert drawing(trees.intel_pstate(tmp_path))[:6] == [
        "package 0",
        "`- L3 8 MiB",
        "   |- core 0  CPUs 0,2",
        "   `- core 1  CPUs 1,3  <== CPU 1",
        "each core: L1d 32 KiB, L1i 32 KiB",
        "<== measures here: not on CPU 0's core, where timekeeping and unmoved",
    ]


def test_a_hybrid_processor_shows_its_classes_and_the_cache_of_a_module(tmp_path: Path) -> None:
    root = lay(
        trees.hybrid_intel(tmp_path),
        *(cache(n, 2, 2, "Unified", "2M", "4-5") for n in (4, 5)),
        *(cache(n, 2, 2, "Unified", "1280K", ("0-1", "2-3")[n // 2]) for n in range(4)),
        *(cache(n, 3, 3, "Unified", "12M", "0-5") for n in range(6)),
    )
    assert drawing(root)[:5] == [
        "package 0",
        "`- L3 12 MiB",
        "   |- L2 2 MiB  cores 4-5  CPUs 4-5  efficiency",
        "   |- core 0               CPUs 0-1  performance, L2 1.2 MiB",
        "   `- core 2               CPUs 2-3  performance, L2 1.2 MiB  <== CPU 2",
    ]


def test_two_sockets_with_their_devices_and_128_cpus(tmp_path: Path) -> None:
    lines = drawing(server(tmp_path))
    assert lines[:9] == [
        "package 0, NUMA node 0, 125 GiB",
        "|- L3 32 MiB",
        "|  |- core 0               CPUs 0,64",
        "|  |- core 1               CPUs 1,65           <== CPU 1",
        "|  `- cores 2-7            CPUs 2-7,66-71      2 threads each",
        "|- L3 32 MiB  cores 8-15   CPUs 8-15,72-79     2 threads each",
        "|- L3 32 MiB  cores 16-23  CPUs 16-23,80-87    2 threads each",
        "|- L3 32 MiB  cores 24-31  CPUs 24-31,88-95    2 threads each",
        "`- PCI 0000:41:00.0  network eth0 (15b3:1017)",
    ]
    assert "`- PCI 0000:c1:00.0  NVMe disk nvme0 (15b3:1017)" in lines
    assert not [line for line in lines if "0000:00:00.0" in line]  # a bridge
    assert len(lines) < 22


def test_packages_whose_cpus_alternate(tmp_path: Path) -> None:
    lines = drawing(server(tmp_path, interleaved=True))
    assert "|- L3 32 MiB  cores 0-62:2  CPUs 0-126:2          2 threads each" in lines
    assert lines[-1] == "0-6:2 means 0, 2, 4 and 6"


def test_nodes_within_a_package(tmp_path: Path) -> None:
    root = server(tmp_path)
    for node, cpus in enumerate(("0-15,64-79", "16-31,80-95", "32-63,96-127")):
        lay(root, {f"sys/devices/system/node/node{node}/cpulist": cpus})
    lines = drawing(root)
    assert lines[:2] == ["package 0", "|- NUMA node 0, 125 GiB"]
    assert lines[8].startswith("`- NUMA node 1, 125 GiB")
    assert "package 1, NUMA node 2" in lines
    assert len(all_cores(layout(root, machine.describe(root), machine.Choice((), "")))) == 64


def test_second_threads_that_are_offline(tmp_path: Path) -> None:
    root = lay(tmp_path, trees.cpus(["0,2", "1,3"], "0-1", offline="2-3"))
    lines = drawing(root)
    assert "`- core 1  CPU  1  <== CPU 1" in lines
    assert "offline: CPUs 2-3" in lines


def test_isolated_cpus_stand_apart(tmp_path: Path) -> None:
    root = lay(tmp_path, trees.cpus([str(n) for n in range(8)], "0-7"), {f"{CPU}/isolated": "5-7"})
    lines = drawing(root)
    assert lines[1:4] == [
        "|- cores 0-4  CPUs 0-4",
        "|- core 5     CPU  5    isolated  <== CPU 5",
        "`- cores 6-7  CPUs 6-7  isolated",
    ]
    assert "isolated from the scheduler: CPUs 5-7" in lines


def test_a_virtual_machine_and_nothing_at_all(tmp_path: Path) -> None:
    assert drawing(trees.small_guest(tmp_path / "guest"))[:2] == [
        "processor",
        "`- 1 core  CPU  0  <== CPU 0",
    ]
    (tmp_path / "none").mkdir()
    assert drawing(tmp_path / "none") == ["unknown: no file says which CPUs there are"]


def test_devices_of_no_known_node(tmp_path: Path) -> None:
    root = lay(
        trees.intel_pstate(tmp_path),
        device("0000:01:00.0", "0x030000", -1, "drm/card0"),
        device("0000:02:00.0", "0x010000", 7, "virtio3/block/vda"),
    )
    lines = drawing(root)
    assert "PCI 0000:01:00.0  display card0 (15b3:1017)" in lines
    assert "PCI 0000:02:00.0  storage vda (15b3:1017)" in lines


@pytest.mark.parametrize("seed", range(6))
def test_every_cpu_is_drawn_once_on_80_columns_whatever_the_files_say(
    tmp_path: Path, seed: int
) -> None:
    generator = random.Random(seed)
    root = server(tmp_path, interleaved=bool(seed % 2))
    files = [path for path in root.rglob("*") if path.is_file() and "cpu" in str(path)]
    for path in generator.sample(files, 40):
        path.write_text(
            generator.choice(["", "-1", "0-3", "5", "garbage\x1b[1m", "9" * 30, "0,64"])
        )
    found = machine.describe(root)
    boxes = layout(root, found, machine.Choice((), ""))
    drawn_cpus = [cpu for core in all_cores(boxes) for cpu in core.cpus]
    if isinstance(found.online, tuple):
        assert set(drawn_cpus) == set(found.online)
    text = "\n".join(drawn(boxes, 78))
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 78
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((3,), "3"),
        ((0, 1, 2, 3, 8), "0-3,8"),
        ((0, 2, 4), "0,2,4"),
        ((0, 2, 4, 6), "0-6:2"),
        ((1, 3, 5, 7, 8, 9), "1-7:2,8-9"),
        ((0, 64), "0,64"),
    ],
)
def test_strided(numbers: tuple[int, ...], text: str) -> None:
    assert strided(numbers) == text


def doctor(*words: str) -> Any:
    return CliRunner().invoke(command, list(words))


def test_doctor_ends_with_the_map_and_has_it_as_json(tmp_path: Path) -> None:
    root = server(tmp_path)
    text = doctor("--sysfs", str(root)).output
    assert max(map(len, text.splitlines())) <= 80
    assert text.split("\nMap\n")[1].startswith(
        "  package 0, NUMA node 0, 125 GiB\n  |- L3 32 MiB\n"
    )
    found = json.loads(doctor("--sysfs", str(root), "--json").output)["map"]
    assert found["boxes"][1]["devices"][0]["names"] == ["nvme0"]
    assert found["choice"]["cpus"] == [1]


def tool(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def test_a_picture_is_lstopos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path / "bin", "lstopo-no-graphics", 'for last; do :; done; echo "$@" > "$last"')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "machine").mkdir()
    result = doctor("--sysfs", str(tmp_path / "machine"), "--picture", str(tmp_path / "a.svg"))
    assert result.exit_code == 0
    assert f"picture: {tmp_path}/a.svg" in result.output
    assert (tmp_path / "a.svg").read_text() == (
        f"--force --of svg --input {tmp_path}/machine --input-format fsroot {tmp_path}/a.svg\n"
    )


def test_a_picture_that_cannot_be_made_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    missing = doctor("--picture", str(tmp_path / "a.svg")).exception
    assert isinstance(missing, errors.ToolMissingError)
    assert (missing.exit_code, missing.hint) == (6, "apt install hwloc")
    tool(tmp_path / "bin", "lstopo-no-graphics", "echo 'format not supported' >&2; exit 1")
    refused = doctor("--picture", str(tmp_path / "a.png")).exception
    assert isinstance(refused, errors.FileError)
    assert "format not supported" in str(refused)
    wrong = doctor("--picture", str(tmp_path / "a.gif")).exception
    assert isinstance(wrong, errors.UsageError)


@pytest.mark.skipif(
    subprocess.run(
        ["sh", "-c", "command -v lstopo-no-graphics lstopo"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="needs hwloc; a script stands in for lstopo above",
)
def test_a_real_picture(tmp_path: Path) -> None:
    assert doctor("--picture", str(tmp_path / "a.svg")).exit_code == 0
    assert "<svg" in (tmp_path / "a.svg").read_text()
