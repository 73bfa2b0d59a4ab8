"""The text of a jail's configuration: the reviewed `jail.cfg`, followed by what differs from machine to machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from doorward import ExecutorError

if TYPE_CHECKING:
    from doorward_jail.nsjail.interpreter import Interpreter

SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/libx32", "/lib", "/lib64", "/lib32", "/libx32")
"""Where systems keep libraries and the loader; those that exist are mounted."""
LINKS = ("/bin", "/sbin")
"""Other names for folders in /usr on systems with a merged /usr; made if their target is mounted."""
DATA = ("/usr/share/zoneinfo",)
INSIDE = 1000
"""The ids of the user and the group of programs inside the jail."""
PACKAGES = "/packages"
"""The folder of packages inside the jail, whatever it is outside."""
SCRATCH = ("/work", "/tmp", "/dev/shm")  # noqa: S108
"""The folders that programs may write to. Each run mounts fresh ones over these."""
OWN = tuple(map(Path, ("/dev", PACKAGES, "/proc", "/tmp", "/work")))  # noqa: S108
"""The folders that are a program's own: no folder of the host can be mounted there."""


def jail_config(
    python: Interpreter,
    paths: Sequence[Path],
    *,
    name: str = "nsjail",
    shown: Sequence[tuple[Path, str]] = (),
    user: int,
    seccomp: str = "",
    scratch: int = 2**20,
    inodes: int = 1000,
) -> str:
    """The configuration of a jail that runs `python` and has `paths` mounted as well, all read-only; and `shown`, files
    and folders under other names, which lie below `PACKAGES`. `name` is that of the executor.

    `user` is the id that the jail's processes have outside if this process is root; otherwise they have the id of this
    process. `scratch` (bytes) and `inodes` are for a jail whose runs cannot have scratch space of their own, and which
    therefore serves a single run.
    """
    lines = [files(__package__).joinpath("jail.cfg").read_text(encoding="utf-8"), "# This machine"]
    lines += _who(user)
    lines += [
        f'mount {{ dst: "{place}" fstype: "tmpfs" rw: true options: "size={scratch},nr_inodes={inodes},mode=1777" '
        "nosuid: true nodev: true noexec: true }"
        for place in SCRATCH
    ]
    lines += [_mount(place) for place in _places(python, paths, name)]
    lines += [_bind(source, inside) for source, inside in zip(python.packages, packages_inside(python), strict=True)]
    lines += [_bind(source, inside) for source, inside in shown]
    if python.library and python.needs_path:
        lines.append(f'envar: "LD_LIBRARY_PATH={_quoted(python.library)}"')
    if seccomp:
        lines.append(f'seccomp_string: "{_quoted(seccomp)}"')
    return "\n".join(lines) + "\n"


def packages_inside(python: Interpreter) -> list[str]:
    """The folders on a program's `sys.path` that hold packages."""
    return [f"{PACKAGES}/{number}" for number, _ in enumerate(python.packages)]


def _who(user: int) -> list[str]:
    """The mapping of users and groups. Root maps itself too, and keeps what it takes to become `user`: only root
    can mount files below folders that only root may enter. The first thing the zygote does is to become INSIDE, by
    which it loses all capabilities."""
    if os.geteuid():
        pairs, caps = [(INSIDE, os.geteuid(), os.getegid())], []
    else:
        pairs, caps = [(0, 0, 0), (INSIDE, user, user)], ["CAP_SETUID", "CAP_SETGID"]
    maps = [
        f'{kind} {{ inside_id: "{inside}" outside_id: "{outside}" count: 1 }}'
        for inside, uid, gid in pairs
        for kind, outside in (("uidmap", uid), ("gidmap", gid))
    ]
    return maps + [f'cap: "{cap}"' for cap in caps]


def _places(python: Interpreter, paths: Sequence[Path], name: str) -> list[Path]:
    """The folders to mount, outer folders first, none twice.

    Raises: ExecutorError for a folder that cannot be mounted.
    """
    wanted = [Path(p) for p in (*SYSTEM, *DATA) if os.path.exists(p)]
    found: list[Path] = []
    for place in sorted({*wanted, *python.places, *paths}, key=lambda p: (not p.is_symlink(), len(p.parts), p)):
        if _within(place, OWN) or place == Path("/"):
            raise ExecutorError(
                f"{place} cannot be shown in a jail",
                hint=f"It is, or lies below, one of {', '.join(map(str, OWN))}: move it.",
            )
        if place in paths and not place.exists():
            raise ExecutorError(f"{place}: no such file or folder", hint=f"Fix `paths` of [executors.{name}].")
        if place.exists() and not _within(place, found):
            found.append(place)
    return found + [
        link
        for link in map(Path, LINKS)
        if link.is_symlink() and _within(link.resolve(), found) and not _within(link, found)
    ]


def _mount(place: Path) -> str:
    if place.is_symlink() and place.parent == Path("/"):  # merged /usr: /lib is a link to usr/lib
        return f'mount {{ src: "{_quoted(os.readlink(place))}" dst: "{_quoted(place)}" is_symlink: true }}'
    return _bind(place, place)


def _bind(source: Path, inside: str | Path) -> str:
    return f'mount {{ src: "{_quoted(source)}" dst: "{_quoted(inside)}" is_bind: true nosuid: true nodev: true }}'


def _within(place: Path, folders: Iterable[Path]) -> bool:
    return any(place == folder or folder in place.parents for folder in folders)


def _quoted(text: str | Path) -> str:
    """A text for double quotes in protobuf's text format: bytes that are not plain ASCII become octal escapes."""
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in os.fsencode(str(text)))
