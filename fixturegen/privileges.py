"""Who is root, how to become it, and how to stop being it under sudo.

Under sudo all commands but `tune` act as the user who typed it: a project may be a stranger's, and
what it makes root read, write or start would be root's. Without sudo root stays root, as in a
container, where the project's folder often belongs to nobody in particular.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from fixturegen import errors

SUDO = 'sudo env "PATH=$PATH" '  # sudo's own PATH has no virtual environment

# Folders that root's environment may name: kept only if the user can look into them.
_FOLDERS = (
    "CARGO_HOME",
    "RUSTUP_HOME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
)


class Caller(Struct, frozen=True):
    """The user who typed sudo; `name` is "" if the system knows none."""

    uid: int
    gid: int
    name: str

    def __str__(self) -> str:
        return self.name or f"user {self.uid}"


class Aside(Struct, frozen=True):
    """Root who acts as the user who typed sudo, and has a way back.

    What is started meanwhile has none: the saved ids, which are root's, end with exec.
    """

    caller: Caller
    gid: int
    groups: tuple[int, ...]

    def become_root(self) -> None:
        """Be root again, to start the guardian or because the user asked for it."""
        os.setresuid(0, 0, 0)
        os.setresgid(self.gid, self.gid, self.gid)
        os.setgroups(self.groups)

    def become_caller(self) -> None:
        """Be the user for good, from either state."""
        _become(self.caller)


def need_root(root: Path, *arguments: str) -> None:
    """Raise errors.UsageError with the line to type, unless root, or `root` is another folder."""
    if root == Path("/") and os.geteuid() != 0:
        raise errors.UsageError(
            "only root may turn the knobs of this machine; fixturegen never calls sudo itself",
            f"type: {sudo_line(*arguments)}",
        )


def sudo_line(*arguments: str) -> str:
    """Return the command line that starts this very fixturegen as root."""
    import shlex

    started = Path(sys.argv[0])
    if started.name == "fixturegen" and started.is_file():
        # The path and not the name: sudo looks on a PATH of its own.
        command = [str(started.absolute())]
    else:
        # -P: nothing in the folder where it is typed, which may be a stranger's, is imported.
        command = [sys.executable, "-P", "-m", "fixturegen"]
    return shlex.join(["sudo", *command, *arguments])


def caller() -> Caller | None:
    """Return the user who typed sudo, or None without sudo, or if that was root.

    Raises errors.UsageError if SUDO_UID and SUDO_GID are not a user and a group of that user.
    """
    import pwd

    uid, gid = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() != 0 or (uid is None and gid is None):
        return None
    if not all(re.fullmatch("[0-9]{1,9}", text or "") for text in (uid, gid)):
        raise _not_of_sudo(f"SUDO_UID={uid} SUDO_GID={gid}")
    caller = Caller(int(uid or 0), int(gid or 0), "")
    if caller.uid == 0:
        return None
    try:
        entry = pwd.getpwuid(caller.uid)
    except KeyError:
        if caller.gid == 0:
            raise _not_of_sudo(f"user {caller.uid} is unknown, and its group is root's") from None
        return caller
    if caller.gid not in {entry.pw_gid, *os.getgrouplist(entry.pw_name, entry.pw_gid)}:
        raise _not_of_sudo(f"{entry.pw_name} is not in group {caller.gid}")
    return Caller(caller.uid, caller.gid, entry.pw_name)


def _not_of_sudo(what: str) -> errors.UsageError:
    return errors.UsageError(
        f"SUDO_UID and SUDO_GID are not what sudo sets: {what}",
        "unset both to stay root, or start fixturegen with sudo",
    )


def drop_privileges() -> Caller | None:
    """Become the user who typed sudo, for good; return it, or None if nothing changed.

    Raises errors.UsageError as `caller`, and if that user cannot read this Python.
    """
    user = caller()
    if user is not None:
        _become(user)
    return user


def step_aside() -> Aside | None:
    """Act as the user who typed sudo, with a way back; None if nothing changed. Raises as above."""
    user = caller()
    if user is None:
        return None
    aside = Aside(user, os.getegid(), tuple(os.getgroups()))
    _take_ids(user, 0, aside.gid)
    _need_readable_python(user)
    return aside


def _become(user: Caller) -> None:
    _take_ids(user, user.uid, user.gid)
    _take_environment(user)
    _need_readable_python(user)


def _take_ids(user: Caller, saved_uid: int, saved_gid: int) -> None:
    """Take the user's ids: groups first, as these need root, and the user id last."""
    wanted = (user.gid, user.gid, saved_gid), (user.uid, user.uid, saved_uid)
    with contextlib.suppress(PermissionError):  # of a container whose root may not do that
        if os.geteuid() == 0:
            os.setgroups(os.getgrouplist(user.name, user.gid) if user.name else [user.gid])
        os.setresgid(*wanted[0])
        os.setresuid(*wanted[1])
    if (os.getresgid(), os.getresuid()) != wanted:
        raise errors.FileError(
            f"the system did not drop root's rights for {user}",
            "to stay root: unset SUDO_UID SUDO_GID",
        )


def _take_environment(user: Caller) -> None:
    """Let no variable lead to what is root's: cargo, rustup and our cache look into HOME."""
    import pwd

    home = pwd.getpwuid(user.uid).pw_dir if user.name else "/"
    os.environ.update(HOME=home, USER=str(user), LOGNAME=str(user))
    for name in _FOLDERS:
        if not os.access(os.environ.get(name, "/"), os.R_OK | os.X_OK):
            del os.environ[name]


def _need_readable_python(user: Caller) -> None:
    """Raise errors.UsageError if the user cannot read what is yet to be imported."""
    for module in (os.__file__, str(msgspec.__file__), __file__):
        if not os.access(module, os.R_OK):
            raise errors.UsageError(
                f"{user} cannot read the Python that root has started, and under sudo everything "
                f"but `tune` is done as that user: {Path(module).parent}",
                "use a Python that this user can read, or stay root: unset SUDO_UID SUDO_GID",
            )
