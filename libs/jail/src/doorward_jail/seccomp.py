"""The system calls that a sandbox may make: one list (`syscalls.txt`), as a BPF program, a kafel policy and a container
profile.

The zygote may make a few more than the programs that it starts: it makes their namespaces.
Source: seccomp(2), Documentation/userspace-api/seccomp_filter.rst of Linux.
"""

from __future__ import annotations

import json
import platform
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_… by the machine's name (`os.uname().machine`)."""

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _EINVAL, _ENOSYS, _EAFNOSUPPORT = 1, 22, 38, 97
_LOAD, _JEQ, _JGT, _JGE, _JSET, _RET = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_NR, _ARCH, _ARG0, _ARG1, _ARG2, _ARG4 = 0, 4, 16, 24, 32, 48
_X32 = 0x40000000

_NEW_NAMESPACES = 0x7E020000
_CLONE_THREAD = 0x00010000
_AT_EMPTY_PATH = 0x1000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_SO_SNDBUF = 7
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_FCNTL = (*range(12), 15, 16, 36, 37, 38, 1030, 1031, 1032, 1033, 1034)
"""Commands of fcntl: descriptors, flags, locks (POSIX and open file description), owners of signals, sizes of pipes,
seals. Leases and notices of changes to files are left out: by them a program could delay or observe the whole machine.
Source: include/uapi/linux/fcntl.h."""

Instruction = tuple[int, int, int, int]


class Call(NamedTuple):
    """A system call: its name, its numbers by architecture, and whether only the zygote may make it."""

    name: str
    numbers: dict[str, int]
    zygote: bool


@cache
def calls() -> tuple[Call, ...]:
    """The list of `syscalls.txt`."""
    found, section = [], ""
    for line in (resources.files("doorward_jail") / "syscalls.txt").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, *numbers = line.split()
            known = {a: int(n) for a, n in zip(ARCHITECTURES, numbers, strict=True) if n != "-"}
            found.append(Call(name, known, section == "zygote"))
    return tuple(found)


def bpf(machine: str, *, one_process: bool = False, network: bool = False, executes: int | None = None) -> bytes:
    """The filter of a sandbox, as an array of `struct sock_filter`.

    `one_process`: no further process, and no memory outside of its address space, where only rlimits bound memory.
    `network`: allow Internet sockets too, for a sandbox to which the operator gives a network.
    `executes`: the descriptor of the only file that may be executed.
    """
    numbers = {call.name: call.numbers[machine] for call in calls() if not call.zygote and machine in call.numbers}
    newest = max(number for call in calls() for number in call.numbers.values())
    narrowed = {
        "clone": [*_unless(_ARG0, _JSET, [_NEW_NAMESPACES], _EPERM), *(_only_threads() if one_process else ())],
        "socket": _only(_ARG0, _families(network), _EAFNOSUPPORT),
        "socketpair": _only(_ARG0, _families(False), _EAFNOSUPPORT),
        "fcntl": _only(_ARG1, _FCNTL, _EINVAL),
        # It takes only the right to read a file, so a sandbox could block other readers. On some NFS it is missing too.
        "flock": [(_RET, 0, 0, _ERRNO | _ENOSYS)],
        "ioctl": _unless(_ARG1, _JEQ, [_TIOCSTI, _TIOCLINUX], _EPERM),
    }
    if one_process:
        # Buffers of sockets are memory of the kernel, which nothing counts in this case.
        narrowed["setsockopt"] = _unless(_ARG2, _JEQ, [_SO_SNDBUF], _EPERM)
        for name in ("fork", "vfork", "memfd_create"):
            numbers.pop(name, None)
    if executes is not None:
        numbers.pop("execve")
        narrowed["execveat"] = [*_only(_ARG0, [executes], _EPERM), *_only(_ARG4, [_AT_EMPTY_PATH], _EPERM)]
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, ARCHITECTURES[machine]),
        (_RET, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR),
        (_JGE, 0, 1, _X32),
        (_RET, 0, 0, _ERRNO | _EPERM),
    ]
    for name, rules in narrowed.items():
        number = numbers.pop(name)
        program += [(_JEQ, 0, len(rules) + 1, number), *rules, (_RET, 0, 0, _ALLOW)]
    for low, high in _ranges(numbers.values()):
        program += [(_JGE, 0, 2, low), (_JGT, 1, 0, high), (_RET, 0, 0, _ALLOW)]
    # clone3 hides its flags in memory; libc falls back to clone. It also works without calls newer than the list.
    program += [(_JEQ, 0, 1, 435), (_RET, 0, 0, _ERRNO | _ENOSYS)]
    program += [(_JGT, 0, 1, newest), (_RET, 0, 0, _ERRNO | _ENOSYS), (_RET, 0, 0, _ERRNO | _EPERM)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def kafel_policy() -> str:
    """The policy of a jail of nsjail, its zygote included. It uses numbers: versions of nsjail know different names."""
    machine = platform.machine()
    numbers = sorted(call.numbers[machine] for call in calls() if machine in call.numbers)
    allowed = ", ".join(f"SYSCALL[{n}]" for n in numbers)
    # ENOSYS for clone3: only then does libc fall back to clone, for threads of packages that are loaded ahead.
    rules = f"ALLOW {{ {allowed} }}, ERRNO({_ENOSYS}) {{ SYSCALL[435] }}"
    return f"POLICY doorward {{ {rules} }} USE doorward DEFAULT ERRNO({_EPERM})"


def docker_profile() -> str:
    """The policy of a container, its zygote included: a seccomp profile for engines of the Open Container Initiative,
    as JSON."""
    profile: dict[str, Any] = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": _EPERM,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": [
            {"names": [call.name for call in calls()], "action": "SCMP_ACT_ALLOW"},
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
        ],
    }
    return json.dumps(profile)


def _unless(argument: int, test: int, values: Iterable[int], errno: int) -> list[Instruction]:
    """Refuse if an argument passes a test with one of the values. Afterwards the accumulator no longer holds the call's
    number, which is not needed any more: the rules of each narrowed call end with a verdict."""
    return [(_LOAD, 0, 0, argument), *(i for v in values for i in ((test, 0, 1, v), (_RET, 0, 0, _ERRNO | errno)))]


def _only_threads() -> list[Instruction]:
    return [(_LOAD, 0, 0, _ARG0), (_JSET, 1, 0, _CLONE_THREAD), (_RET, 0, 0, _ERRNO | _EPERM)]


def _only(argument: int, values: Sequence[int], errno: int) -> list[Instruction]:
    """Refuse unless an argument is one of the values."""
    tests = [(_JEQ, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [(_LOAD, 0, 0, argument), *tests, (_RET, 0, 0, _ERRNO | errno)]


def _families(network: bool) -> Sequence[int]:
    return (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK) if network else (_AF_UNIX,)


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The numbers as ranges of consecutive ones."""
    low = high = -2
    for number in sorted(numbers):
        if number != high + 1:
            if low >= 0:
                yield low, high
            low = number
        high = number
    if low >= 0:
        yield low, high
