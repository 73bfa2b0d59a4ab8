"""Runs that an earlier version has stored in files are there, once, and their files are not."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import time
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import structlog
from doorward.engines import MemoryStore
from doorward_durable_runs import Box, Given, RunSettings, Sealing
from doorward_durable_runs.storage.earlier_files import MAGIC
from doorward_durable_runs.storage.frames import as_json
from doorward_durable_runs.storage.store_runs import StoreRuns
from doorward_testing import Host
from doorward_testing.samples import CONFIG

pytestmark = pytest.mark.anyio

RUN = "0123456789abcdef"
FRAMES: list[tuple[bytes, Any]] = [
    (b"B", {"n": 0, "f": "a.b", "k": "k", "a": "a.b()"}),
    (b"S", {"n": 0}),
    (b"W", {"for": "approval", "what": ["a person"]}),
]


def write(folder: Path, box: Box, frames: list[tuple[bytes, Any]] = FRAMES, *, run: str = RUN) -> Path:
    """A file as that version wrote it."""
    now = float(int(time.time()))
    folder.mkdir(mode=0o700, exist_ok=True)
    path, content = folder / f"{'a' * 12}-{'b' * 12}-{run}.run", MAGIC
    given = asdict(Given(run, "ada", "1", created=now, expires=now + 60))
    for place, (kind, said) in enumerate([(b"H", given), *frames]):
        payload = box.sealed(as_json(said), b"%b %d" % (kind, place))
        head = struct.pack(">cII", kind, len(payload), zlib.crc32(payload))
        content += head + struct.pack(">I", zlib.crc32(head)) + payload
    path.write_bytes(content)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("key", ["", "a long key"])
async def test_a_file_is_taken_over_once(tmp_path: Path, key: str) -> None:
    """By whichever process comes first; what a file held is sealed with what all processes of the store share."""
    store, folder, reveal = MemoryStore(), tmp_path / "runs", (lambda: key) if key else None
    write(folder, Sealing(reveal, folder / "salt", "runs").box(f"run {RUN}"))
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    for where in (folder, kept):
        stored = await StoreRuns(store, RunSettings(), reveal, where).show(RUN, "ada")
        assert (stored.state, [*stored.frames][1:]) == ("waiting", FRAMES)
        assert not where.exists()
    elsewhere = StoreRuns(store, RunSettings(), reveal)
    assert [each.what for each in await elsewhere.all("ada")] == [("a person",)]
    held, _ = await elsewhere.claim(RUN, "ada")
    await held.append([(b"O", {"ok": True})])
    await held.close()
    assert [each.state for each in await elsewhere.all()] == ["ended"]
    await elsewhere.close()


async def test_a_frame_that_was_not_written_to_its_end_is_left_out(tmp_path: Path) -> None:
    """At whatever byte its process died."""
    folder, box = tmp_path / "runs", Box(None, b"", "")
    whole = write(folder, box, FRAMES[:2]).read_bytes()
    torn = write(folder, box).read_bytes()
    for end in range(len(whole), len(torn), 7):
        path = write(folder, box)
        path.write_bytes(torn[:end])
        stored = await StoreRuns(MemoryStore(), RunSettings(), None, folder).show(RUN)
        assert ([*stored.frames][1:], stored.state) == (FRAMES[:2], "died")


async def test_a_file_that_cannot_be_read_stays(tmp_path: Path) -> None:
    """It may be sealed with a key that comes back, or is being written by an earlier version. It goes with its time."""
    folder, box = tmp_path / "runs", Box(None, b"", "")
    damaged = write(folder, box)
    content = bytearray(damaged.read_bytes())
    content[60] ^= 1
    damaged.write_bytes(content)
    copied = write(folder, box).rename(folder / f"{'a' * 12}-{'b' * 12}-{'e' * 16}.run")
    damaged.write_bytes(content)
    damaged.chmod(0o600)
    linked = folder / f"{'a' * 12}-{'b' * 12}-{'d' * 16}.run"
    linked.symlink_to(copied)
    held = write(folder, box, run="c" * 16)
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with structlog.testing.capture_logs() as logs:
            runs = StoreRuns(MemoryStore(), RunSettings(), None, folder)
            assert await runs.all() == []
    assert {each["event"] for each in logs} == {"not_taken_over"}
    assert {damaged, copied, linked, held} == {*folder.iterdir()}
    assert [each.given.run for each in await StoreRuns(MemoryStore(), RunSettings(), None, folder).all()] == ["c" * 16]
    os.utime(damaged, (1, 1))
    await StoreRuns(MemoryStore(), RunSettings(), None, folder).all()
    assert not damaged.exists()


async def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    path = write(tmp_path / "elsewhere", Box(None, b"", ""))
    (tmp_path / "runs").symlink_to("elsewhere")
    with structlog.testing.capture_logs() as logs:
        assert await StoreRuns(MemoryStore(), RunSettings(), None, tmp_path / "runs").all() == []
    assert [(each["event"], each["why"]) for each in logs] == [("not_taken_over", "it is a link")]
    assert path.exists()


async def test_no_earlier_version_goes_on_with_a_run_that_is_taken_over(tmp_path: Path) -> None:
    """Else both might make its next call."""

    class Watching(MemoryStore):
        async def commit(self, *changes: Any, **more: Any) -> int:
            with path.open() as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return await super().commit(*changes, **more)

    path = write(tmp_path / "runs", Box(None, b"", ""))
    assert len(await StoreRuns(Watching(), RunSettings(), None, tmp_path / "runs").all()) == 1


async def test_that_runs_are_stored_is_known_before_they_are_taken_over(tmp_path: Path) -> None:
    write(tmp_path / "runs", Box(None, b"", ""))
    runs = StoreRuns(MemoryStore(), RunSettings(), None, tmp_path / "runs")
    await runs.look()
    assert runs.any()


async def test_a_store_that_does_not_last_takes_over_nothing(doorward_host: Host) -> None:
    """It would be lost with the process; the operator is told."""
    config = f'store = "memory"\n{CONFIG}'
    async with doorward_host.gateway(config) as gate:
        path = write(gate.state / "runs", Box(None, b"", ""))
    with structlog.testing.capture_logs() as logs:
        async with doorward_host.gateway(config):
            pass
    assert [each["path"] for each in logs if each["event"] == "not_taken_over"] == [str(path.parent)]
    assert path.exists()
