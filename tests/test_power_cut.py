"""A power cut, as ext4 has one: what was not synced is gone. It needs root, and a disk of its own in a file."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward import Call
from doorward.files import shared_secret, write_file
from doorward_auth_kit import Vault
from doorward_durable_runs import STORED_RUNS
from doorward_testing.samples import CONFIG, Weather

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SHUTDOWN, NO_FLUSH = 0x8004587D, 2
"""EXT4_IOC_SHUTDOWN, and its flag with which not even the journal of the file system is written."""

SYNCED = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"\nruns.sync = true')
CITIES = "abcdef"
WRITES = f'result = [(await weather.add_station(city=city))["city"] for city in "{CITIES}"]'


def done(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


class Disk:
    """A file system of its own, at `folder`."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.image, self.folder = image, folder
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(32 * 2**20)
        done("mkfs.ext4", "-q", "-F", image)
        self._mount()

    def _mount(self) -> None:
        done("mount", "-o", "loop", self.image, self.folder)

    def cut(self) -> None:
        """From now on nothing is written any more."""
        import fcntl

        number = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(number, SHUTDOWN, struct.pack("I", NO_FLUSH))
        finally:
            os.close(number)

    def off(self) -> None:
        done("umount", "-l", self.folder)  # files that are open still do not hold it

    def again(self) -> None:
        """What is there after a start of the machine."""
        self.off()
        after = self.image.with_name(f"{self.image.name}+")
        shutil.copy(self.image, after)
        self.image = after
        self._mount()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("only root cuts the power, and of ext4")
    try:
        made = Disk(tmp_path / "image", tmp_path / "disk")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no disk can be made here: {error.stderr.decode(errors='replace').strip()}")
    try:
        yield made
    finally:
        made.off()


def test_files_are_whole(disk: Disk) -> None:
    """What a configuration file, a login, a key and the mark that a token was replaced say when they are written, they
    say afterwards, in folders that were new, too."""
    vault, file, key = (
        Vault(disk.folder / "state/credentials"),
        disk.folder / "new/doorward.toml",
        disk.folder / "k/key",
    )
    write_file(file, b"old" * 1000)
    write_file(file, b"new" * 1000)
    vault.save("mine", "x" * 1000)
    vault.mark("spent-1")
    secret = shared_secret(key, 32)
    disk.cut()
    with contextlib.suppress(Exception):
        write_file(file, b"lost" * 1000)
    disk.again()
    assert (file.read_bytes(), vault.load("mine"), shared_secret(key, 32)) == (b"new" * 1000, "x" * 1000, secret)
    assert vault.marked("spent-1")


@pytest.mark.parametrize("when", ["before its answer", "after it"])
@pytest.mark.parametrize("at", [0, 3, 5])
async def test_no_write_is_made_twice(
    doorward_host: Any, disk: Disk, monkeypatch: pytest.MonkeyPatch, at: int, when: str
) -> None:
    """With `[runs] sync`, wherever the power is cut: what was sent is known, and a person says what became of the last
    one. The run goes on then, and makes the others."""
    doorward_host.install_real("runs", "doorward-store-sqlite", "text", "program_helpers")
    made: list[str] = []
    call = Weather.call

    async def noted(self: Weather, asked: Call) -> Any:
        made.append(asked.arguments["city"])
        is_last = len(made) == at + 1
        if is_last and when == "before its answer":
            disk.cut()
        answer = await call(self, asked)
        if is_last and when == "after it":
            disk.cut()
        return answer

    monkeypatch.setattr(Weather, "call", noted)
    monkeypatch.setattr("doorward_durable_runs.storage.holders._is_gone", lambda name: True)  # as after a restart
    config = f'state = "{disk.folder / "state"}"\n{SYNCED}'
    async with doorward_host.gateway(config) as gate:
        await gate.execute(WRITES)
    assert made == list(CITIES[: at + 1])
    disk.again()
    async with doorward_host.gateway(config) as gate:
        runs = gate.services[STORED_RUNS]
        (stored,) = await runs.journals.store.all()
        await runs.resume(stored.given.run)
        assert made == list(CITIES[: at + 1])
        assert await runs.journals.answer(stored.given.run, made=({"city": CITIES[at]},)) == 1
        assert (await runs.resume(stored.given.run)).value == list(CITIES)
    assert made == list(CITIES)
