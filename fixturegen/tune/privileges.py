"""Who is root, how to become it, and how to stop being it under sudo."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import sys
from pathlib import Path

from msgspec import Struct

from fixturegen import errors


class Caller(Struct, frozen=True):
    """The user who typed sudo."""

    uid: int
    gid: int
    name: str


def need_root(root: Path, *words: str) -> None:
    """Raise errors.UsageError with the line to type, unless root, or `root` is another folder."""
    if root == Path("/") and os.geteuid() != 0:
        raise errors.UsageError(
            "only root may turn the knobs of this machine; fixturegen never calls sudo itself",
            f"type: {sudo_line(*words)}",
        )


def sudo_line(*words: str) -> str:
    """Return the command line that starts this very fixturegen as root."""
    started = Path(sys.argv[0])
    if started.name == "fixturegen" and started.is_file():
        # The path and not the name: sudo looks on a PATH of its own.
        command = [str(started.absolute())]
    else:
        command = [sys.executable, "-m", "fixturegen"]
    return shlex.join(["sudo", *command, *words])


def caller() -> Caller | None:
    """Return the user who typed sudo, or None without sudo, or if that was root.

    Raises errors.UsageError if SUDO_UID and SUDO_GID are not a user and a group of that user.
    """
    uid, gid = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() != 0 or (uid is None and gid is None):
        return None
    if not all(re.fullmatch("[0-9]{1,9}", text or "") for text in (uid, gid)):
        raise _not_of_sudo(f"SUDO_UID={uid} SUDO_GID={gid}")
    found = Caller(int(uid or 0), int(gid or 0), "")
    if found.uid == 0:
        return None
    try:
        entry = pwd.getpwuid(found.uid)
    except KeyError:
        if found.gid == 0:
            raise _not_of_sudo(f"user {found.uid} is unknown, and its group is root's") from None
        return found
    if found.gid not in {entry.pw_gid, *os.getgrouplist(entry.pw_name, entry.pw_gid)}:
        raise _not_of_sudo(f"{entry.pw_name} is not in group {found.gid}")
    return Caller(found.uid, found.gid, entry.pw_name)


def _not_of_sudo(what: str) -> errors.UsageError:
    return errors.UsageError(
        f"SUDO_UID and SUDO_GID are not what sudo sets: {what}",
        "unset both to stay root, or start fixturegen with sudo",
    )


def drop_privileges() -> Caller | None:
    """Become the user who typed sudo, for good; return it, or None if nothing changed.

    Call it after `guard`, whose process stays root. Raises errors.UsageError as `caller`.
    """
    user = caller()
    if user is None:
        return None
    groups = os.getgrouplist(user.name, user.gid) if user.name else [user.gid]
    os.setgroups(groups)
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)
    if os.getresuid() != (user.uid,) * 3 or os.getresgid() != (user.gid,) * 3:
        raise errors.FileError(f"the system did not let go of root's rights for user {user.uid}")
    if user.name:
        # cargo and rustup look into HOME, which may still be root's.
        os.environ.update(HOME=pwd.getpwuid(user.uid).pw_dir, USER=user.name, LOGNAME=user.name)
    return user
