"""Trials that reach for files of the host: to read them, to write them, and those that are open there."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doorward_jail.probes import in_javascript
from doorward_jail.probes.trial import Asked, Trial, listed, open_folder, told

_READ = """
PATH = ""
result = open(PATH).read()
"""


@contextlib.contextmanager
def read(asked: Asked) -> Iterator[Trial]:
    with open_folder() as folder:
        canary = folder / "canary"
        canary.write_text(asked.token)
        canary.chmod(0o644)
        wrong = f"a program read the host's file {canary}"

        def judge(value: Any, error: Any) -> str:
            return wrong if asked.token in str(value) else ""

        yield Trial(
            asked.written(_READ, in_javascript.READ),
            {"PATH": str(canary)},
            judge,
            "a file that all may read cannot be read",
        )


_LOOK = """
import os
PATHS = []
FOLDERS = []
found = []
for path in PATHS:
    try:
        with open(path, "rb") as file:
            file.read(1)
            at = os.fstat(file.fileno())
        found.append([path, at.st_dev, at.st_ino])
    except OSError:
        pass
for folder in FOLDERS:
    try:
        found.append([folder, *os.listdir(folder)])
    except OSError:
        pass
result = found
"""


@contextlib.contextmanager
def look(asked: Asked) -> Iterator[Trial]:
    """Files of the system and of the user who runs Doorward. That the same path is there says nothing, for an image
    has one, too: it must be the same file, or a name that only the host has."""
    paths = [f"/proc/{os.getpid()}/environ", "/etc/shadow", "/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key"]
    with contextlib.ExitStack() as opened:
        folders = []
        for at in dict.fromkeys([os.path.expanduser("~"), os.getcwd(), "/dev/shm", "/var/tmp"]):  # noqa: S108
            with contextlib.suppress(OSError):
                folder = opened.enter_context(tempfile.TemporaryDirectory(prefix=f".{asked.token}-", dir=at))
                (canary := Path(folder, "canary")).write_text(asked.token)
                paths.append(str(canary))
                folders.append(at)
        there = {path: _identity(path) for path in paths}

        def judge(value: Any, error: Any) -> str:
            for path, *found in (each for each in listed(value) if isinstance(each, list) and each):
                if path in there and found == there[path]:
                    return f"a program read the host's file {path}"
                if path in folders and any(str(name).startswith(f".{asked.token}") for name in found):
                    return f"a program listed the host's folder {path}"
            return ""

        given = {"PATHS": paths, "FOLDERS": folders}
        yield Trial(
            asked.written(_LOOK, in_javascript.LOOK),
            given,
            judge,
            "neither files of the system nor of this user can be read",
        )


def _identity(path: str) -> list[int]:
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_dev, found.st_ino]


_WRITE = """
import os, sys
FOLDERS = []
SPECIAL = []
NAME = ""
PATH = ""
for folder in [*FOLDERS, sys.prefix, sys.base_prefix, os.path.dirname(os.__file__)]:
    try:
        with open(os.path.join(folder, NAME), "x") as file:
            file.write("x")
    except OSError:
        pass
for change in (lambda: open(PATH, "a").write("x"), lambda: os.chmod(PATH, 0o600), lambda: os.unlink(PATH)):
    try:
        change()
    except OSError:
        pass
opened = []
for path in SPECIAL:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        opened.append(path)
    except OSError:
        pass
result = opened
"""

_BELOW = ("/dev/shm", "/usr/lib", "/usr/local/bin", "/var/tmp")  # noqa: S108
_SPECIAL = (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
    "/proc/sysrq-trigger", "/dev/kmsg", "/dev/mem", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/net/tun",
)  # fmt: skip
"""What is only opened, to write: nothing is written there."""


@contextlib.contextmanager
def write(asked: Asked) -> Iterator[Trial]:
    with open_folder() as folder, open_folder() as other:
        ours = [str(folder), tempfile.gettempdir(), os.getcwd(), os.path.expanduser("~"), sys.prefix, sys.base_prefix]
        system = ["/", *(f"/{name}" for name in os.listdir("/")), *_BELOW, os.path.dirname(os.__file__)]
        folders = list(dict.fromkeys([*ours, *system]))
        (canary := other / "canary").write_text("as it was")
        canary.chmod(0o666)
        before = canary.stat()

        def judge(value: Any, error: Any) -> str:
            made = [path for name in folders if os.path.lexists(path := Path(name, asked.token))]
            for path in made:
                path.unlink(missing_ok=True)  # one folder may have several names
            if made:
                return f"a program wrote {made[0]} on the host"
            if not canary.exists() or canary.read_text() != "as it was" or canary.stat().st_mode != before.st_mode:
                return f"a program changed {canary} on the host"
            return told("could open for writing:", listed(value))

        given = {"FOLDERS": folders, "SPECIAL": list(_SPECIAL), "NAME": asked.token, "PATH": str(canary)}
        yield Trial(asked.written(_WRITE, in_javascript.WRITE), given, judge, "nothing of the host can be written")


_DESCRIPTORS = """
import os
WHERE = []
found = []
for number in range(512):
    try:
        at = os.fstat(number)
        if [at.st_dev, at.st_ino] == WHERE:
            os.write(number, b"x")
            found.append(number)
    except OSError:
        pass
result = found
"""


@contextlib.contextmanager
def descriptors(asked: Asked) -> Iterator[Trial]:
    """A pipe that whatever this process starts would inherit, if it inherited anything."""
    reads, writes = os.pipe()
    try:
        os.set_blocking(reads, False)
        os.set_inheritable(writes, True)
        found = os.fstat(writes)

        def judge(value: Any, error: Any) -> str:
            with contextlib.suppress(BlockingIOError):
                os.read(reads, 1)
                return "a program wrote to an open file of the gateway"
            return told("has open files of the gateway:", listed(value))

        where = {"WHERE": [found.st_dev, found.st_ino]}
        yield Trial(
            asked.written(_DESCRIPTORS, in_javascript.DESCRIPTORS), where, judge, "no open file of the gateway is there"
        )
    finally:
        os.close(reads)
        os.close(writes)


_LEAVE = """
import os
FOLDERS = []
NAME = ""
found = []
for folder in FOLDERS:
    path = os.path.join(folder, NAME)
    if os.path.exists(path):
        found.append(folder)
    try:
        open(path, "x").close()
    except OSError:
        pass
result = found
"""
"""Leaves a file in each folder that can be written to, and tells where one was."""

_SHARED = (
    *("/", "/dev", "/dev/mqueue", "/dev/shm", "/etc", "/home", "/media", "/mnt", "/opt", "/root", "/run"),  # noqa: S108
    *("/run/lock", "/run/secrets", "/run/user", "/srv", "/tmp", "/usr/local", "/usr/tmp", "/var"),  # noqa: S108
    *("/var/cache", "/var/crash", "/var/lib", "/var/lock", "/var/log", "/var/mail", "/var/run"),
    *("/var/spool", "/var/tmp", "/work"),  # noqa: S108
)
"""Where engines and images have folders for everybody to write. No whole tree is walked: what does not isolate would
leave files all over the host."""


@contextlib.contextmanager
def earlier(asked: Asked) -> Iterator[Trial]:
    """Files of an earlier program, which may have been another principal's, in the same container."""
    name = f"{asked.token}-left"

    def judge(value: Any, error: Any) -> str:
        made = [path for folder in _SHARED if os.path.lexists(path := Path(folder, name))]
        for path in made:
            path.unlink(missing_ok=True)  # one folder may have several names
        if made:
            return f"a program left {made[0]} on the host"
        return told("found files of an earlier program in", listed(value))

    code = asked.written(_LEAVE, in_javascript.LEAVE)
    yield Trial(code, {"FOLDERS": list(_SHARED), "NAME": name}, judge, "an earlier program leaves no file")
