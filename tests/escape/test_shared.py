"""What sandboxes share: the process that they are forked from, and the gateway, whose memory and time all clients
need."""

from __future__ import annotations

import re
import secrets
import time
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from .attack import text
from .conftest import Gate
from .host import Host

executors = pytest.mark.parametrize("executor", ["nsjail", "docker"])

_SECRETIVE = """
import vault
secret = {parameter!r}
for _ in range(20):
    print(vault.read(), secret)
with open("out/file", "w") as file:
    file.write(secret)
"""

_SEARCH = """
import base64
own = b"dw-memory-" + base64.b16encode(os.urandom(8))
libc.sbrk.restype = ctypes.c_void_p
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
reads, writes = os.pipe()
found = set()
top, here = libc.sbrk(0) & ~4095, id(own) & ~4095
for first, last in ((top - (48 << 20), top), (here - (24 << 20), here + (8 << 20))):
    before = b""
    for place in range(first, last, 4096):
        data = b""
        if libc.write(writes, place, 4096) == 4096:  # else there is no such page
            data = os.read(reads, 4096)
            found.update(re.findall(rb"dw-mem" + rb"ory-[0-9A-F]{16}", before + data))
        before = data[-40:]
result = [own in found, [word.decode() for word in found - {own}]]
"""

_UNREAD = """
data = b"".join(frame({"id": n, "file": HOST["uri"]}) for n in range(10 ** 6, 10 ** 6 + 160))
send(data)
time.sleep(1)
"""

_DRAWS = """
import os, ssl, tempfile
result = [ssl.RAND_bytes(16).hex(), next(tempfile._get_candidate_names()), os.getpid()]
"""


@executors
def test_memory_holds_nothing_of_earlier_runs(gates: Callable[..., Gate], host: Host, executor: str) -> None:
    """Neither a program nor its parameters, its calls or its output are in the memory that later programs get.
    CONTRACT: SBX-01"""
    gate = gates(executor)
    words = [f"dw-memory-{secrets.token_hex(8).upper()}" for _ in range(2)]
    for word in words:
        assert gate.run(_SECRETIVE.format(parameter=word), principal="alice").ok
        outcome = gate.run(text(_SEARCH, repr(host.facts)), timeout=60)
        assert outcome.ok, outcome.error
        assert outcome.value == [True, []]


@executors
def test_unread_answers_take_little_of_the_gateway(gates: Callable[..., Gate], executor: str) -> None:
    """Who asks 160 times for a file of 7 MiB and reads no answer is ended, before the gateway has grown by that."""
    gate = gates(executor)
    uri = gate.run("with open('out/large', 'wb') as file: file.write(bytes(7 << 20))").artefacts[0].uri
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    outcome = gate.run(text(_UNREAD, repr({"uri": uri})))
    assert not outcome.ok
    assert _peak() - before < 800
    assert gate.run("1 + 1", principal="bob").value == 2


@executors
def test_giant_names_of_artefacts_keep_nobody_waiting(gates: Callable[..., Gate], host: Host, executor: str) -> None:
    """Four files with names of 8 MB cost the gateway no time that others would notice."""
    gate = gates(executor)
    names = "data = frame({'artefact': 'y' * 8_000_000})\nfor _ in range(4): send(data, 9)"
    before = time.process_time()
    gate.run(text(names, repr(host.facts)), timeout=4)
    assert time.process_time() - before < 3
    assert gate.run("1 + 1", principal="bob").value == 2


def test_each_run_draws_its_own_keys(gates: Callable[..., Gate], tmp_path: Path) -> None:
    """Also when a package that is loaded ahead has drawn some: libraries must know that a sandbox is a new process."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    (site,) = tmp_path.glob("venv/lib/python3*/site-packages")
    (site / "draws.py").write_text("import ssl, tempfile\nssl.RAND_bytes(1)\nnext(tempfile._get_candidate_names())\n")
    gate = gates("nsjail", venv=str(tmp_path / "venv"), preload=["draws"])
    drawn = [gate.run(_DRAWS).value for _ in range(3)]
    assert len({key for key, _, _ in drawn}) == len({name for _, name, _ in drawn}) == 3
    assert 1 not in {pid for _, _, pid in drawn}


def _peak() -> float:
    """Of this process's memory, in MiB."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024
