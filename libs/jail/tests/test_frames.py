"""Frames between sandbox and host, and the list of system calls."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import socket
import struct
from typing import Any

import pytest
from doorward_jail import docker_profile, kafel_policy
from doorward_jail.connections import inbox
from doorward_jail.connections.inbox import MAX_PARTS, Inbox
from doorward_jail.inside.channel import Channel
from doorward_jail.inside.protocol import BadFrame, Frames, encode
from doorward_jail.seccomp import ARCHITECTURES, bpf, calls
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), VALUES), st.binary()), max_size=5
    ),
    st.lists(st.floats(0, 1), max_size=20),
)
def test_frames_come_as_they_were_sent(messages: list[tuple[dict[str, Any], bytes]], cuts: list[float]) -> None:
    """However the bytes are cut on their way."""
    wire = b"".join(encode(message, blob) for message, blob in messages)
    frames, got = Frames(2**20), []
    for start, end in itertools.pairwise([0, *sorted(int(cut * len(wire)) for cut in cuts), len(wire)]):
        got += frames.feed(wire[start:end])
    assert got == messages


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    try:
        for message, blob in Frames(1000).feed(data):
            assert isinstance(message, dict)
            assert isinstance(blob, bytes)
    except BadFrame:
        pass


@pytest.mark.parametrize("body", [b"[]", b"1", b"{", b'{"a": 1}x', b"[" * 100_000, b"\xff", b""])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadFrame):
        list(Frames(2**20).feed(struct.pack(">I", len(body)) + body))


def test_a_frame_that_is_too_large_is_refused_before_it_is_there() -> None:
    with pytest.raises(BadFrame, match="more than 100"):
        list(Frames(100).feed(struct.pack(">I", 101)))


def _deep(levels: int, characters: int) -> bytes:
    nested = b"[" * (levels - 1) + b"]" * (levels - 1)
    return encode({"text": "x" * characters, "value": 0}).replace(b'"value":0', b'"value":' + nested)[4:]


async def _heard(body: bytes) -> list[Any]:
    """What comes of a frame: its message, or why it is none."""
    heard: list[Any] = []
    taken = Inbox(2**24, lambda message, blob: heard.append(message), lambda why, hint: heard.append(why))
    taken.feed(struct.pack(">I", len(body)) + body)
    await taken.all_read()
    return heard


@pytest.mark.slow
@pytest.mark.parametrize("characters", [1, 2**19], ids=["small", "large"])
@pytest.mark.parametrize("levels", [199, 200, 202, 700, 200_000])
def test_what_is_nested_too_deep_is_no_frame(levels: int, characters: int) -> None:
    """A frame that is read in a thread may be as deep as one that is read at once, and nothing of one that is deeper is
    heard."""
    (heard,) = asyncio.run(_heard(_deep(levels, characters)))
    if levels <= 200:
        assert isinstance(heard, dict)
        assert len(heard["text"]) == characters
    else:
        assert str(heard).startswith("it sent no JSON: ")


SEEN: list[dict[str, Any]] = [{}, {"seen": []}, {"seen": [-1.5e300, 2]}]


@pytest.mark.slow
@pytest.mark.parametrize("spaces", [False, True], ids=["compact", "with spaces"])
@pytest.mark.parametrize("seen", SEEN, ids=str)
@pytest.mark.parametrize("part", ["[]", "0", '{"a":1}', '"a"'])
def test_a_message_of_many_parts_is_not_read(
    monkeypatch: pytest.MonkeyPatch, part: str, seen: dict[str, Any], spaces: bool
) -> None:
    """Nothing is made of a result or of the arguments of a call: it is heard that they have too many parts, and which
    times the program has read."""

    def read(text: object, **options: object) -> object:
        raise AssertionError("it was read")

    monkeypatch.setattr(inbox, "from_json", read)
    monkeypatch.setattr(inbox, "read_json", read)
    many = [json.loads(part)] * (MAX_PARTS + 1)
    for message, heard in (
        ({**seen, "done": {"value": many}}, {**seen, "done": {"parts": MAX_PARTS}}),
        ({**seen, "done": {"error": {"message": many}}}, {**seen, "done": {"parts": MAX_PARTS}}),
        ({**seen, "id": 7, "call": "a.b", "args": [many], "kwargs": {}}, {**seen, "id": 7, "parts": MAX_PARTS}),
    ):
        body = json.dumps(message).encode() if spaces else encode(message)[4:]
        assert asyncio.run(_heard(body)) == [heard]


def test_a_message_of_many_parts_that_no_program_fills_ends_the_sandbox() -> None:
    """It is none of ours, wherever in it the number of a question stands."""
    many = [0] * (MAX_PARTS + 1)
    for message in (
        {"began": many},
        {"artefact": many, "id": 1},
        {"seen": [many], "done": {}},
        {"seen": [[]], "x": many},
    ):
        (heard,) = asyncio.run(_heard(encode(message)[4:]))
        assert heard.startswith("it sent no JSON: more than 100,000 parts")


def test_a_text_is_one_part() -> None:
    """However many commas and brackets are in it."""
    message = {"done": {"value": ",[{" * MAX_PARTS}}
    assert asyncio.run(_heard(encode(message)[4:])) == [message]


async def _told_of_nothing() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.5)  # who reads then fails
        channel = Channel(ours)
        asked = asyncio.ensure_future(channel.ask_later({"call": "calc.wait"}))
        await asyncio.sleep(0)
        channel._readable()
        theirs.sendall(encode({"id": 1, "value": 5}))
        assert (await asked)[0]["value"] == 5


def test_an_answer_that_a_thread_has_read_already() -> None:
    """The event loop, which was told that there is something to read, does not wait for the next one."""
    asyncio.run(_told_of_nothing())


# System calls

ALLOW, EPERM, EINVAL, ENOSYS, NO_FAMILY, KILL = 0x7FFF0000, 0x50001, 0x50016, 0x50026, 0x50061, 0x80000000


def verdict(program: bytes, machine: str, number: int, *arguments: int, audit: int = 0) -> int:
    """What a filter says of a call: classic BPF, as far as filters here use it (seccomp(2))."""
    data = struct.pack("=IIQ6Q", number, audit or ARCHITECTURES[machine], 0, *arguments, *[0] * (6 - len(arguments)))
    at = accumulator = 0
    while True:
        code, true, false, value = struct.unpack_from("=HBBI", program, 8 * at)
        at += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, value)[0]
            case 0x15 | 0x25 | 0x35 | 0x45:
                tests = {
                    0x15: accumulator == value,
                    0x25: accumulator > value,
                    0x35: accumulator >= value,
                    0x45: accumulator & value,
                }
                at += true if tests[code] else false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(hex(code))


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_allows_the_list_and_nothing_else(machine: str) -> None:
    program = bpf(machine)
    allowed = {call.numbers[machine] for call in calls() if machine in call.numbers and not call.zygote}
    by_name = {call.name: call.numbers[machine] for call in calls() if machine in call.numbers}
    narrowed = {by_name[name] for name in ("clone", "socket", "socketpair", "ioctl", "flock")}
    for number in range(600):
        said = verdict(program, machine, number, 1)
        if number in allowed - narrowed:
            assert said == ALLOW, number
        elif number not in narrowed:
            assert said in (EPERM, ENOSYS), number
    assert verdict(program, machine, 435) == ENOSYS  # clone3
    assert verdict(program, machine, by_name["unshare"]) == EPERM
    assert verdict(program, machine, by_name["mount"]) == EPERM
    assert verdict(program, machine, 0x40000000 + by_name["read"]) == EPERM


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_arguments_that_are_refused(machine: str) -> None:
    by_name = {call.name: call.numbers[machine] for call in calls() if machine in call.numbers}
    plain, alone, online = bpf(machine), bpf(machine, one_process=True), bpf(machine, network=True)
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(plain, machine, by_name["clone"], flag | 17) == EPERM
    assert verdict(plain, machine, by_name["clone"], 17) == ALLOW
    assert verdict(alone, machine, by_name["clone"], 17) == EPERM
    assert verdict(alone, machine, by_name["clone"], 0x003D0F00) == ALLOW  # a thread of libc
    assert verdict(alone, machine, by_name["memfd_create"]) == EPERM
    for family in range(46):
        assert verdict(plain, machine, by_name["socket"], family) == (ALLOW if family == 1 else NO_FAMILY)
        assert verdict(online, machine, by_name["socket"], family) == (ALLOW if family in (1, 2, 10, 16) else NO_FAMILY)
        assert verdict(online, machine, by_name["socketpair"], family) == (ALLOW if family == 1 else NO_FAMILY)
    assert verdict(plain, machine, by_name["ioctl"], 0, 0x5412) == EPERM  # TIOCSTI
    assert verdict(plain, machine, by_name["flock"], 3, fcntl.LOCK_SH) == ENOSYS
    locks = {fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_SETLKW, 36, 37, 38}
    files = {
        fcntl.F_DUPFD,
        fcntl.F_DUPFD_CLOEXEC,
        fcntl.F_GETFD,
        fcntl.F_SETFD,
        fcntl.F_GETFL,
        fcntl.F_SETFL,
        fcntl.F_SETPIPE_SZ,
    }
    for command in range(1100):  # leases and notices are about what others do
        said = verdict(plain, machine, by_name["fcntl"], 3, command)
        assert said in ((ALLOW,) if command in locks | files else (ALLOW, EINVAL)), command
        assert said == EINVAL or command not in (fcntl.F_SETLEASE, fcntl.F_GETLEASE, fcntl.F_NOTIFY, 1039, 1040)
    assert verdict(plain, machine, by_name["fcntl"], 3, 1024 + 2**31) == EINVAL
    assert verdict(plain, machine, by_name["ioctl"], 0, 0x5401) == ALLOW


def test_another_architecture_ends_the_process() -> None:
    """Such as the 32-bit entry of a 64-bit kernel, where numbers mean other calls."""
    assert verdict(bpf("x86_64"), "x86_64", 3, audit=0x40000003) == KILL


def test_the_same_list_in_other_languages() -> None:
    names = json.loads(docker_profile())["syscalls"][0]["names"]
    assert {"read", "clone", "unshare"} <= set(names)
    assert not {"ptrace", "bpf", "keyctl", "io_uring_setup", "userfaultfd", "setns", "personality", "kexec_load"} & set(
        names
    )
    assert "DEFAULT ERRNO(1)" in kafel_policy()
