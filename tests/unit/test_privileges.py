"""Who a command is, step by step: what only root can try for real is in functional/test_sudo.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import pytest

from fixturegen import errors, privileges
from fixturegen.cli import permission
from fixturegen.cli.main import COMMANDS, cli

USER = 4242  # a user whom the system does not know
KEPT = {"HOME", "USER", "LOGNAME"}


class Kernel:
    """The system calls of a process that is root, each noted; they change nothing real."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[object, ...]] = []
        self.uids: tuple[int, ...] = (0, 0, 0)
        self.gids: tuple[int, ...] = (0, 0, 0)
        for name in KEPT:
            monkeypatch.setenv(name, "root's")
        monkeypatch.setenv("SUDO_UID", str(USER))
        monkeypatch.setenv("SUDO_GID", str(USER))
        monkeypatch.setattr(os, "geteuid", lambda: self.uids[1])
        monkeypatch.setattr(os, "getegid", lambda: self.gids[1])
        monkeypatch.setattr(os, "getgroups", lambda: [0, 7])
        monkeypatch.setattr(os, "getresuid", lambda: self.uids)
        monkeypatch.setattr(os, "getresgid", lambda: self.gids)
        monkeypatch.setattr(os, "setgroups", lambda groups: self.note("groups", *groups))
        monkeypatch.setattr(os, "setresuid", self.setresuid)
        monkeypatch.setattr(os, "setresgid", self.setresgid)
        monkeypatch.setattr(os, "chdir", lambda folder: self.note("chdir", self.uids[1]))

    def note(self, *step: object) -> None:
        self.steps.append(step)

    def setresuid(self, *ids: int) -> None:
        self.note("uids", *ids)
        self.uids = ids

    def setresgid(self, *ids: int) -> None:
        self.note("gids", *ids)
        self.gids = ids


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    return Kernel(monkeypatch)


FOR_GOOD = [("groups", USER), ("gids", USER, USER, USER), ("uids", USER, USER, USER)]
ASIDE = [("groups", USER), ("gids", USER, USER, 0), ("uids", USER, USER, 0)]


def test_groups_go_first_and_the_user_id_last(kernel: Kernel) -> None:
    user = privileges.drop_privileges()
    assert user is not None and str(user) == f"user {USER}"
    assert kernel.steps == FOR_GOOD
    assert privileges.drop_privileges() is None


def test_aside_has_a_way_back_and_a_way_out(kernel: Kernel) -> None:
    aside = privileges.step_aside()
    assert aside is not None and kernel.steps == ASIDE
    assert os.environ["HOME"] == "root's"  # nothing looks into it meanwhile
    kernel.steps.clear()
    aside.become_root()
    assert kernel.steps == [("uids", 0, 0, 0), ("gids", 0, 0, 0), ("groups", 0, 7)]
    kernel.steps.clear()
    aside.become_caller()
    assert kernel.steps == FOR_GOOD
    assert os.environ["HOME"] == "/"


def test_out_without_being_root_once_more(kernel: Kernel) -> None:
    aside = privileges.step_aside()
    assert aside is not None
    kernel.steps.clear()
    aside.become_caller()
    assert kernel.steps == FOR_GOOD[1:]  # the groups are the user's already, and need root


@pytest.mark.parametrize("name", COMMANDS)
def test_no_folder_is_entered_before_the_command_is_the_user(kernel: Kernel, name: str) -> None:
    """Every command, those to come too, and before its own words are read."""
    with pytest.raises(click.NoSuchOption):
        cli.main(["-C", "there", name, "--no-such-option"], standalone_mode=False)
    steps = {"run": ASIDE, "tune": []}.get(name, FOR_GOOD)
    assert kernel.steps == [*steps, ("chdir", 0 if name == "tune" else USER)]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "tune"])
def test_variables_of_something_else_stop_every_command(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SUDO_UID", "x")
    with pytest.raises(errors.UsageError, match="not what sudo sets"):
        cli.main(["-C", "there", name], standalone_mode=False)
    assert kernel.steps == []


def test_without_sudo_root_stays_root(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name)
    with pytest.raises(click.NoSuchOption):
        cli.main(["-C", "there", "list", "--no-such-option"], standalone_mode=False)
    assert kernel.steps == [("chdir", 0)]


@pytest.mark.parametrize("refused", ["setresuid", "setresgid", "setgroups"])
def test_a_system_that_refuses_is_an_error_and_not_root(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    def refuse(*ids: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, refused, refuse)
    with pytest.raises(errors.FileError, match="did not drop root's rights") as caught:
        privileges.drop_privileges()
    assert "unset SUDO_UID SUDO_GID" in caught.value.hint


def test_a_python_that_cannot_be_read_is_told_with_the_way_out(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != os.__file__)
    for step in (privileges.drop_privileges, privileges.step_aside):
        kernel.uids = (0, 0, 0)
        with pytest.raises(errors.UsageError, match=f"user {USER} cannot read") as caught:
            step()
        assert "unset SUDO_UID SUDO_GID" in caught.value.hint


def test_folders_of_root_are_no_longer_named(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """access() asks for the real user, who is no longer root: here for one who sees only /."""
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) not in {"/r", "/root"})
    monkeypatch.setenv("XDG_CACHE_HOME", "/r")
    monkeypatch.setenv("CARGO_HOME", "/root")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    privileges.drop_privileges()
    assert "XDG_CACHE_HOME" not in os.environ and "CARGO_HOME" not in os.environ
    assert os.environ["TMPDIR"] == str(tmp_path)
    assert os.environ["USER"] == os.environ["LOGNAME"] == f"user {USER}"


def test_the_line_to_type_imports_nothing_of_the_folder_where_it_is_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py")])
    line = privileges.sudo_line("tune", "restore")
    assert line == f"sudo {sys.executable} -P -m fixturegen tune restore"


def test_root_is_refused_to_whoever_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: USER)
    with (
        pytest.raises(errors.UsageError, match="--as-root: this is not root") as caught,
        permission.standby((), Path("/"), None, as_root=True),
    ):
        pass
    assert "sudo" in caught.value.hint and "--as-root" in caught.value.hint
