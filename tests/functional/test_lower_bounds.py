"""The oldest versions that pyproject.toml allows are installed together, and do what matters."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import laid
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDEST = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
# In a template's name, jinja2 before 3.1.5 takes this for code: it makes a file named "ran".
CODE = "{open(chr(114)+chr(97)+chr(110),chr(119))}.j2"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.version_info[:2] != OLDEST,
        reason=f"the bounds are those of Python {OLDEST[0]}.{OLDEST[1]}; "
        "some of these versions have no wheels for a newer one",
    ),
]


@dataclass(frozen=True)
class Venv:
    """An environment of its own; what runs in it sees nothing of the one that runs the tests."""

    folder: Path

    def run(self, program: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run one of the programs in its bin; PYTHON... variables are not passed on."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [str(self.folder / "bin" / program), *words],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def install(self, *words: str) -> None:
        """Install, from wheels alone; skip the test if there is no index to install from."""
        pip = ["install", "--only-binary", ":all:", "--disable-pip-version-check"]
        done = self.run("pip", *pip, *words, cwd=self.folder)
        if done.returncode and not self.reaches_the_index():
            pytest.skip("pip cannot reach the package index")
        assert done.returncode == 0, done.stdout + done.stderr

    def reaches_the_index(self) -> bool:
        """Return whether pip is told of any version of a project that is there for certain."""
        ask = ["--no-cache-dir", "--retries", "1", "--timeout", "20"]
        return self.run("pip", "index", "versions", "pip", *ask, cwd=self.folder).returncode == 0


def oldest(*lines: str) -> dict[str, str]:
    """Return the lower bound of each requirement by its name."""
    wanted = [Requirement(line) for line in lines]
    bounds = {
        each.name: [one.version for one in each.specifier if one.operator == ">="]
        for each in wanted
    }
    assert all(len(found) == 1 for found in bounds.values()), bounds
    return {name: version for name, (version,) in bounds.items()}


PINS = oldest(*PROJECT["dependencies"])


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """Return an environment with this project and the lower bound of all that it asks for."""
    made = Venv(tmp_path_factory.mktemp("oldest"))
    subprocess.run([sys.executable, "-m", "venv", str(made.folder)], check=True, timeout=120)
    building = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    made.install(*(f"{name}=={version}" for name, version in oldest(*building).items()))
    pins = [f"{name}=={version}" for name, version in PINS.items()]
    made.install("--no-build-isolation", str(ROOT), *pins)
    return made


def test_they_are_what_is_installed(venv: Venv, tmp_path: Path) -> None:
    code = (
        "import importlib.metadata as m, sys, fixturegen; print(fixturegen.__file__)\n"
        "for name in sys.argv[1:]: print(name, m.version(name))"
    )
    file, *versions = venv.run("python", "-c", code, *PINS, cwd=tmp_path).stdout.splitlines()
    assert Path(file).is_relative_to(venv.folder)
    assert [line.split()[0] for line in versions] == list(PINS)
    assert [Requirement(line.replace(" ", "==")) for line in versions] == [
        Requirement(f"{name}=={version}") for name, version in PINS.items()
    ]
    checked = venv.run("pip", "check", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_every_template_text_and_stored_sample_is_the_same_with_them(venv: Venv) -> None:
    done = venv.run("fixturegen", "check", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all agree" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list"], "p04-first-run"),
        (["run", "p04-first-run", "--plan"], "51 cases"),
        (["inspect", os.path.realpath(sys.executable)], "interpreter"),
        (["report", "--check"], ""),
        (["run", "--help"], "--resume"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_other_commands_work_with_them(venv: Venv, words: list[str], said: str) -> None:
    done = venv.run("fixturegen", *words, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout
    assert done.stderr == ""


def test_a_progress_bar_is_drawn_with_them(venv: Venv, tmp_path: Path) -> None:
    code = (
        "import os, pty, select, sys; master, slave = pty.openpty()\n"
        "os.environ['TERM'] = 'xterm'; sys.stderr = open(slave, 'w')\n"
        "from fixturegen.cli.progress import Progress, TimeLeft\n"
        "with Progress('first run', 2, 1, TimeLeft([], {})): pass\n"
        "said = b''\n"
        "while select.select([master], [], [], 1)[0]:\n"  # what is written comes in pieces
        "    said += os.read(master, 65536)\n"
        "print(said.decode())"
    )
    done = venv.run("python", "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "first run" in done.stdout
    assert "1/2" in done.stdout


def test_code_in_the_name_of_a_template_is_not_run(venv: Venv, tmp_path: Path) -> None:
    laid.project(tmp_path, source=f'//% include "{CODE}"\n{laid.SOURCE}')
    (tmp_path / "templates" / "p01" / CODE).write_text('//% from "empty.j2" import missing\n')
    (tmp_path / "templates" / "p01" / "empty.j2").write_text("\n")
    done = venv.run("fixturegen", "render", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()


def test_neither_does_jinja2_by_itself(venv: Venv, tmp_path: Path) -> None:
    code = (
        "import sys; from jinja2 import DictLoader; from jinja2.sandbox import *\n"
        "held = {sys.argv[1]: '{% from \"empty\" import missing %}said', 'empty': ''}\n"
        "loader = DictLoader(held)\n"
        "print(SandboxedEnvironment(loader=loader).get_template(sys.argv[1]).render())"
    )
    done = venv.run("python", "-c", code, CODE, cwd=tmp_path)
    assert done.stdout == "said\n", done.stderr
    assert not (tmp_path / "ran").exists()
