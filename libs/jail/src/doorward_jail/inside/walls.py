"""The walls of a sandbox, which it puts up before it runs any program: namespaces, mounts, limits, capabilities, system
calls.

Source: user_namespaces(7), mount(2), capabilities(7), prctl(2), seccomp(2).
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import resource
import signal
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_held = ctypes.PyDLL(None, use_errno=True)  # calls with the interpreter's lock held
_functions = {name: getattr(_libc, name) for name in ("capset", "mount", "prctl", "sethostname", "unshare")}
"""Looked up once: else each sandbox would do so, in memory of its own."""

_CLONE = {"x86_64": 56, "aarch64": 220}

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
_RDONLY = 1
_SET_DUMPABLE, _SET_SECCOMP, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 4, 22, 24, 38, 47
_AMBIENT_CLEAR_ALL = 4
_FILTER = 2
_ARENA_MAX = -8
_CAPABILITY_VERSION_3 = 0x20080522
_THIS_PROCESS, _NO_CAPABILITIES = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()

PROGRAM = 9
"""The descriptor of the program that a sandbox executes, if it is no Python: the filter of system calls allows to
execute this one and nothing else."""

SCRATCH = "/tmp"  # noqa: S108 (of a namespace of its own)
WORK = "/work"


class _Fprog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def become(uid: int, gid: int) -> None:
    """Become this user for good, and lose all capabilities."""
    if os.getuid() != uid:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    _prctl(_SET_DUMPABLE, 1)  # else /proc/self would belong to root


def hide(hidden: bool = True) -> None:
    """Let no process of the same user look into this one, or trace it."""
    _prctl(_SET_DUMPABLE, 0 if hidden else 1)


def start(*, fresh: bool, network: bool) -> int:
    """Fork. If `fresh`, the child is the first process of its own namespaces and has to call `settle`.

    Python has no such fork. It is safe in a process without running threads whose pid is 1: libc is not told of the
    fork and still believes in that pid, which the child has too; neither is Python, whose only thread goes on. The
    child runs no program. Returns: as `os.fork`. Raises: OSError if the kernel or a policy refuses.
    """
    if not fresh:
        return os.fork()
    flags = _NEWUSER | _NEWNS | _NEWPID | _NEWIPC | _NEWUTS | _NEWCGROUP | (0 if network else _NEWNET) | signal.SIGCHLD
    pid = int(_held.syscall(_CLONE[os.uname().machine], *map(ctypes.c_ulong, (flags, 0, 0, 0, 0))))
    number = ctypes.get_errno()
    if pid < 0:
        raise OSError(number, f"clone: {os.strerror(number)}")
    return pid


def settle(uid: int, gid: int) -> None:
    """Keep the user of this process in its new namespace. Raises: OSError."""
    _write("/proc/self/setgroups", b"deny")
    _write("/proc/self/uid_map", b"%d %d 1" % (uid, uid))
    _write("/proc/self/gid_map", b"%d %d 1" % (gid, gid))


def mounts(size: int, inodes: int) -> list[Mount]:
    """The mounts of a sandbox, for `mount`: fresh scratch space with one quota for all of it, and no process but ours.

    Found once in the zygote: each object that a sandbox needs for itself is a page of memory more.
    """
    found = [Mount(place=b"/", flags=_REC | _PRIVATE)]
    for place in ("/proc", "/sys", "/dev/pts", "/dev/mqueue", *_writable()):  # a container's sandboxes share the others
        if os.path.isdir(place):
            found.append(_hidden(place.encode()))
    options = f"size={size},nr_inodes={inodes},mode=755".encode()
    found.append(Mount(b"tmpfs", SCRATCH.encode(), b"tmpfs", _NOSUID | _NODEV | _NOEXEC, options))
    for place in (WORK, "/dev/shm", SCRATCH):  # noqa: S108
        if os.path.isdir(place):
            part = os.path.join(SCRATCH, place.replace("/", "_"))
            found.append(Mount(part.encode(), place.encode(), None, _BIND, makes=True))
    return found


def _writable() -> list[str]:
    """Mounts that a sandbox could write to, and that are not made anew for each: engines have some of their own."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
        places = [line.split(" ")[1].encode().decode("unicode_escape") for line in file]
    ours = ("/", SCRATCH, WORK)
    return [
        place
        for place in dict.fromkeys(places)
        if place not in ours and not place.startswith(("/proc", "/sys", "/dev")) and os.access(place, os.W_OK)
    ]


def _hidden(place: bytes) -> Mount:
    flags = _NOSUID | _NODEV | _NOEXEC
    found = Mount(b"tmpfs", place, b"tmpfs", flags | _RDONLY, b"size=0,nr_inodes=2,mode=555")
    for options in (b"hidepid=2", b"subset=pid,hidepid=2") if place == b"/proc" else ():
        found = Mount(b"proc", place, b"proc", flags, options, instead=found)
    return found


class Mount:
    """A mount: what is mounted where. `makes` a folder of `source`; if it is refused, another is made `instead`."""

    def __init__(
        self,
        source: bytes | None = None,
        place: bytes = b"",
        kind: bytes | None = None,
        flags: int = 0,
        options: bytes | None = None,
        *,
        makes: bool = False,
        instead: Mount | None = None,
    ) -> None:
        self.arguments = (source, place, kind, ctypes.c_ulong(flags), options)
        self.makes = source if makes else None
        self.instead = instead


def mount(wanted: list[Mount]) -> None:
    """Make the mounts of a sandbox. Raises: OSError."""
    for each in wanted:
        if each.makes:
            os.mkdir(each.makes, 0o700)
        one: Mount | None = each
        while one is not None and _functions["mount"](*one.arguments) != 0:
            one = one.instead  # an engine that masks parts of /proc forbids a whole one
            if one is None:
                raise _refused("mount")
    _call("sethostname", b"sandbox", 7)


def unlist_mounts() -> None:
    """Empty `/proc/self/mountinfo`, which tells where on the host each mount comes from.

    It lists the mounts of the process's namespace that are below its root. So take another mount namespace, and keep as
    root the files of this one, which the first process keeps alive.
    """
    here = os.open("/", os.O_PATH | os.O_DIRECTORY)
    _call("unshare", _NEWNS)
    os.fchdir(here)
    os.chroot(".")
    os.close(here)


def _reserved() -> int:
    """Bytes of address space of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def limits(config: dict[str, Any]) -> list[tuple[int, tuple[int, int]]]:
    """The limits that the kernel keeps for a sandbox and all that it starts, for `limit`. Found once in the zygote."""
    wanted = {
        "RLIMIT_CORE": 1,  # core(5): the only limit that a crash handler of the host respects
        # An open file may hold memory that is not counted where a sandbox is one process.
        "RLIMIT_NOFILE": config["files"] // 4 if config["one_process"] else config["files"],
        "RLIMIT_FSIZE": config["scratch"],
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_SIGPENDING": 4096,
        "RLIMIT_RTPRIO": 0,
        "RLIMIT_NICE": 0,
    }
    if config["fresh"] and tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 14):
        # One more for the first process. Older kernels do not count the processes of each user namespace by itself.
        wanted["RLIMIT_NPROC"] = config["processes"] + 1
    if config["memory"]:  # in addition to the address space that preloaded packages have reserved
        wanted["RLIMIT_AS"] = _reserved() + config["memory"]
    found = []
    for name, value in wanted.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        found.append((kind, (most, most)))
    return found


def limit(wanted: list[tuple[int, tuple[int, int]]]) -> None:
    """Set the limits of a sandbox."""
    if any(kind == resource.RLIMIT_AS for kind, _ in wanted):
        with contextlib.suppress(AttributeError):
            _libc.mallopt(_ARENA_MAX, 1)  # glibc would reserve 128 MiB for each thread
    for kind, both in wanted:
        resource.setrlimit(kind, both)


def first_to_die() -> None:
    """Let the kernel kill this process before the zygote if memory runs out."""
    with contextlib.suppress(OSError):
        _write("/proc/self/oom_score_adj", b"1000")


def filter_of(bpf: str) -> Any:
    """A filter of system calls for `privileges`, made once."""
    program = base64.b64decode(bpf)
    return _Fprog(len(program) // 8, program)


def privileges(filter: Any) -> None:
    """Give up all capabilities, the ways to new ones, and all system calls that are not on the list. This is the last
    wall."""
    _prctl(_SET_NO_NEW_PRIVS, 1)
    prctl = _functions["prctl"]
    prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(64):
        if prctl(_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # there are no more
    _call("capset", _THIS_PROCESS, _NO_CAPABILITIES)
    _prctl(_SET_SECCOMP, _FILTER, ctypes.byref(filter))


def _write(file: str, text: bytes) -> None:
    number = os.open(file, os.O_WRONLY)
    try:
        os.write(number, text)
    finally:
        os.close(number)


def _prctl(option: int, *args: Any) -> None:
    _call("prctl", option, *args, *([0] * (4 - len(args))))


def _call(name: str, *args: Any) -> None:
    converted = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in args]
    if _functions[name](*converted) != 0:
        raise _refused(name)


def _refused(name: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{name}: {os.strerror(number)}")
