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
    fork and still believes in that pid, which the child has too. Returns: as `os.fork`. Raises: OSError if the kernel
    or a policy refuses.
    """
    if not fresh:
        return os.fork()
    flags = _NEWUSER | _NEWNS | _NEWPID | _NEWIPC | _NEWUTS | _NEWCGROUP | (0 if network else _NEWNET) | signal.SIGCHLD
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = int(_held.syscall(_CLONE[os.uname().machine], *map(ctypes.c_ulong, (flags, 0, 0, 0, 0))))
    number = ctypes.get_errno()
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(number, f"clone: {os.strerror(number)}")
    return pid


def settle(uid: int, gid: int) -> None:
    """Keep the user of this process in its new namespace. Raises: OSError."""
    for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{file}", "w") as out:
            out.write(text)


def mounts(size: int, inodes: int) -> None:
    """Mount fresh scratch space with one quota for all of it, and hide all processes but ours."""
    _call("mount", None, b"/", None, _REC | _PRIVATE, None)
    for place in ("/proc", "/sys", "/dev/pts", "/dev/mqueue"):  # a container's sandboxes share the last two
        if os.path.isdir(place):
            _hide(place)
    flags = _NOSUID | _NODEV | _NOEXEC
    _call("mount", b"tmpfs", SCRATCH.encode(), b"tmpfs", flags, f"size={size},nr_inodes={inodes},mode=755".encode())
    for place in (WORK, "/dev/shm", SCRATCH):  # noqa: S108
        if os.path.isdir(place):
            part = os.path.join(SCRATCH, place.replace("/", "_"))
            os.mkdir(part, 0o700)
            _call("mount", part.encode(), place.encode(), None, _BIND, None)
    _call("sethostname", b"sandbox", 7)


def _hide(place: str) -> None:
    flags = _NOSUID | _NODEV | _NOEXEC
    if place == "/proc":
        for options in (b"subset=pid,hidepid=2", b"hidepid=2"):
            with contextlib.suppress(OSError):  # an engine that masks parts of /proc forbids a whole one
                _call("mount", b"proc", b"/proc", b"proc", flags, options)
                return
    _call("mount", b"tmpfs", place.encode(), b"tmpfs", flags | _RDONLY, b"size=0,nr_inodes=2,mode=555")


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


def reserved() -> int:
    """Bytes of address space of this process. Asked before `mounts`, after which there may be no /proc."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def limits(config: dict[str, Any]) -> None:
    """Set the limits that the kernel keeps for this process and all that it starts."""
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
        with contextlib.suppress(AttributeError):
            _libc.mallopt(_ARENA_MAX, 1)  # glibc would reserve 128 MiB for each thread
        wanted["RLIMIT_AS"] = config["reserved"] + config["memory"]
    for name, value in wanted.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


def first_to_die() -> None:
    """Let the kernel kill this process before the zygote if memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def privileges(bpf: str) -> None:
    """Give up all capabilities, the ways to new ones, and all system calls that are not on the list. This is the last
    wall."""
    _prctl(_SET_NO_NEW_PRIVS, 1)
    _libc.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(64):
        if _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # there are no more
    header, nothing = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    _call("capset", header, nothing)
    program = base64.b64decode(bpf)
    _prctl(_SET_SECCOMP, _FILTER, ctypes.byref(_Fprog(len(program) // 8, program)))


def _prctl(option: int, *args: Any) -> None:
    _call("prctl", option, *args, *([0] * (4 - len(args))))


def _call(name: str, *args: Any) -> None:
    converted = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in args]
    if getattr(_libc, name)(*converted) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
