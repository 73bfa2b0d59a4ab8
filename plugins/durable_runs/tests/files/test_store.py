"""Stored runs: whole or not at all, for one process at a time, for their principal alone, and for a while."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import anyio
import pytest
import structlog
from doorward.model.errors import ConfigError, DoorwardError, StateError, UnknownName
from doorward_durable_runs import Box
from doorward_durable_runs.files import frames
from doorward_durable_runs.files.given import Given
from doorward_durable_runs.files.store import FileRuns, FileRunStore
from doorward_durable_runs.journal.journals import Journals
from doorward_durable_runs.settings import RunSettings

RUN = "0123456789abcdef"


def runs(folder: Path, key: str = "", **settings: object) -> FileRuns:
    return FileRuns(folder / "runs", RunSettings(**settings), (lambda: key) if key else None)  # type: ignore[arg-type]


def given(run: str = RUN, principal: str = "ada", **more: object) -> Given:
    now = time.time()
    return Given(run, principal, "secret = 1", created=now, expires=now + 60, **more)  # type: ignore[arg-type]


def test_what_is_appended_is_read_again(tmp_path: Path) -> None:
    """Values that JSON has no word for, too. Only the owner of the folder can read it."""
    file = runs(tmp_path).create(given(functions=("a.*",), params={"half": "\ud800"}))
    file.append([(b"T", {"v": [1.5, float("inf")]}), (b"W", {"for": "approval", "what": ["a person"]})])
    file.close()
    stored = runs(tmp_path).show(RUN)
    assert (stored.state, stored.for_, stored.what) == ("waiting", "approval", ("a person",))
    assert stored.given.functions == ("a.*",)
    assert stored.given.params == {"half": "\ud800"}
    assert stored.frames[1] == (b"T", {"v": [1.5, float("inf")]})
    (path,) = (tmp_path / "runs").glob("*.run")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_with_sync_a_power_cut_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written is on the disk when it has been appended, and so is the name of its file."""
    synced: list[os.stat_result] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda number: synced.append(os.fstat(number)))
    file = runs(tmp_path, sync=True).create(given())
    file.append([(b"T", {"v": [1.0]})])
    file.close()
    (path,) = (tmp_path / "runs").glob("*.run")
    assert [(each.st_ino, each.st_size) for each in synced if not stat.S_ISDIR(each.st_mode)][-1] == (
        path.stat().st_ino,
        path.stat().st_size,
    )
    assert path.parent.stat().st_ino in {each.st_ino for each in synced}


def test_a_frame_that_was_not_written_to_its_end_is_left_out(tmp_path: Path) -> None:
    """At whatever byte its process died; the next one writes where the last whole frame ends."""
    file = runs(tmp_path).create(given())
    file.append([(b"T", {"v": [1.0]})])
    (path,) = (tmp_path / "runs").glob("*.run")
    whole = path.read_bytes()
    file.append([(b"T", {"v": [2.0]})])
    file.close()
    torn = path.read_bytes()
    for end in range(len(whole), len(torn)):
        path.write_bytes(torn[:end])
        again, stored = runs(tmp_path).claim(RUN, "ada")
        assert [said for kind, said in stored.frames if kind == b"T"] == [{"v": [1.0]}]
        again.append([(b"T", {"v": [3.0]})])
        again.close()
        assert runs(tmp_path).show(RUN).frames[-1] == (b"T", {"v": [3.0]})


def test_a_frame_that_is_damaged_is_no_end(tmp_path: Path) -> None:
    """What comes after it may say that a call went out: it is not cut off, and the run does not go on."""
    file = runs(tmp_path).create(given())
    file.append([(b"T", {"v": [1.0]})])
    (path,) = (tmp_path / "runs").glob("*.run")
    place = path.stat().st_size - 2
    file.append([(b"S", {"n": 0})])
    file.close()
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    store = runs(tmp_path)
    with pytest.raises(StateError, match="damaged"):
        store.claim(RUN, "ada")
    assert path.read_bytes() == content
    assert (store.all(), store.unread()) == ([], 1)


@pytest.mark.slow
def test_no_bit_that_changes_is_overlooked(tmp_path: Path) -> None:
    """One of each byte, in kinds, lengths and checksums too: a frame that looks like another, or like the end, may hide
    a call that went out."""
    file = runs(tmp_path).create(given(began=1.0))
    file.append([(b"S", {"n": 0}), (b"W", {"for": "approval", "what": []})])
    file.close()
    (path,) = (tmp_path / "runs").glob("*.run")
    content, stored = path.read_bytes(), runs(tmp_path).show(RUN)
    for byte in range(len(content)):
        damaged = bytearray(content)
        damaged[byte] ^= 1 << byte % 8
        path.write_bytes(damaged)
        with pytest.raises(DoorwardError):
            runs(tmp_path).claim(RUN, "ada")[0].close()
        assert path.read_bytes() == damaged
    path.write_bytes(content)
    assert runs(tmp_path).show(RUN) == stored


@pytest.mark.slow
def test_who_waited_for_a_run_that_is_removed_does_not_have_it(tmp_path: Path) -> None:
    """A run that was cancelled goes on nowhere."""
    store = runs(tmp_path)
    held = store.create(given())
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(runs(tmp_path).claim, RUN, "ada")
        time.sleep(0.1)
        next((tmp_path / "runs").glob("*.run")).unlink()
        held.close()
        with pytest.raises(UnknownName):
            waits.result()


@pytest.mark.slow
def test_one_process_has_a_run(tmp_path: Path) -> None:
    """The second is told; when the first dies, however, the run is free and known to have died."""
    runs(tmp_path).create(given()).close()
    hold = f"""\
import sys, time
from pathlib import Path
from doorward_durable_runs.settings import RunSettings
from doorward_durable_runs.files.store import FileRuns
file, _ = FileRuns(Path({str(tmp_path / "runs")!r}), RunSettings(), None).claim({RUN!r}, "ada")
print("held", flush=True)
time.sleep(60)
"""
    holder = subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StateError, match="is running"):
            runs(tmp_path).claim(RUN, "ada")
        assert runs(tmp_path).all()[0].state == "running"
    finally:
        holder.kill()
        holder.wait()
    assert runs(tmp_path).all()[0].state == "died"
    runs(tmp_path).claim(RUN, "ada")[0].close()


def test_a_run_belongs_to_its_principal(tmp_path: Path) -> None:
    """Another one cannot tell whether it is there, whatever it calls it."""
    store = runs(tmp_path)
    store.create(given()).close()
    told = set()
    for run in (RUN, "f" * 16, "*", "../" + RUN, ""):
        with pytest.raises(UnknownName) as error:
            store.claim(run, "eve")
        told.add(error.value.message.replace(repr(run), "…"))
    assert told == {"there is no stored run …"}
    assert store.all("eve") == []
    with pytest.raises(UnknownName):
        store.remove(RUN, "eve")


@pytest.mark.slow
def test_with_a_key_nothing_can_be_read_or_changed_without_it(tmp_path: Path) -> None:
    """Nor moved to another run."""
    store = runs(tmp_path, "a long key")
    file = store.create(given())
    file.append([(b"T", {"v": [1.0]}), (b"T", {"v": [2.0]})])
    file.close()
    (path,) = (tmp_path / "runs").glob("*.run")
    content = path.read_bytes()
    assert b"secret" not in content
    assert runs(tmp_path, "a long key").show(RUN).given.code == "secret = 1"
    for other in ("", "another key"):
        with pytest.raises(StateError):
            runs(tmp_path, other).show(RUN)
        assert runs(tmp_path, other).all() == []
    moved = path.with_name(path.name.replace(RUN, "f" * 16))
    moved.write_bytes(content)
    moved.chmod(0o600)
    with pytest.raises(StateError, match="changed"):
        store.show("f" * 16)


def test_runs_are_kept_for_a_while_and_only_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more: those that ended are removed first, then those that could go on, and the log says so. One that runs is
    never touched."""
    store = runs(tmp_path, most=2)
    with monkeypatch.context() as patch:
        patch.setattr(store, "_sweep_soon", lambda principal: None)  # one that finds run 4 under way would forget run 1
        for number in range(5):
            file = store.create(Given(f"{number:016x}", "ada", "1", created=number, expires=time.time() + 60))
            if number:
                file.append([(b"O", {"ok": True})] if number > 1 else [(b"W", {"for": "login"})])
                file.close()
        store.create(Given("e" * 16, "bob", "1", created=1, expires=1)).close()
    store.sweep()
    assert [run.given.run for run in store.all()] == [f"{number:016x}" for number in (1, 0)]
    with structlog.testing.capture_logs() as logs:
        store.create(Given(f"{7:016x}", "ada", "1", created=7, expires=time.time() + 60)).close()
        wait_for_sweep(store)
    assert [(line["event"], line["run"]) for line in logs] == [("run_forgotten", f"{1:016x}")]
    assert [run.given.run for run in store.all()] == [f"{number:016x}" for number in (7, 0)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not count what is read")
@pytest.mark.parametrize("key", ["", "a long key"])
def test_a_sweep_reads_next_to_nothing(tmp_path: Path, key: str) -> None:
    """The heads of all runs, and of those that are too many where their frames begin; never what they hold."""
    store, large = runs(tmp_path, key), [(b"T", {"v": "x" * 10_000})] * 100
    for number in range(20):
        file = store.create(Given(f"{number:016x}", "ada", "1", created=number, expires=time.time() + 60))
        file.append([*large, (b"O", {"ok": True})] if number % 2 else large)
        file.close()
    before = bytes_read()
    runs(tmp_path, key, most=5).sweep()
    assert bytes_read() - before < 20 * 5000
    assert [int(run.given.run, 16) for run in store.all()] == [18, 16, 14, 12, 10]


def wait_for_sweep(store: FileRuns) -> None:
    sweeping = store._sweeping
    if sweeping.ident is not None:
        sweeping.join()


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


def test_nobody_waits_for_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that begin and end have one made, in a thread of its own and never two at once, for each principal."""
    store, threads, go = runs(tmp_path, most=100), list[Any](), Event()
    monkeypatch.setattr(store, "sweep", lambda principal: (threads.append((principal, current_thread())), go.wait()))
    for number in range(3):
        store.create(given(f"{number:016x}")).close()
    sweeping = store._sweeping
    store.create(given("f" * 16, "bob")).close()
    go.set()
    sweeping.join()
    assert {principal for principal, _ in threads} == {"ada", "bob"}
    assert {thread for _, thread in threads} == {sweeping}
    assert sweeping is not current_thread()


def test_no_more_runs_are_stored_than_are_kept(tmp_path: Path) -> None:
    """Without a sweep that somebody asks for: each run that begins or ends makes room for itself, in every process."""
    stores = [runs(tmp_path, most=3), runs(tmp_path, most=3)]
    for number in range(8):
        file = stores[number % 2].create(Given(f"{number:016x}", "ada", "1", created=number, expires=time.time() + 60))
        file.append([(b"O", {"ok": True})])
        file.close()
        for store in stores:
            wait_for_sweep(store)
        assert len(stores[0].all()) <= 3
    assert [int(run.given.run, 16) for run in stores[0].all()] == [7, 6, 5]


def test_a_sweep_leaves_what_runs(tmp_path: Path) -> None:
    """However long ago its file was written to."""
    store = runs(tmp_path)
    file = store.create(Given(RUN, "ada", "1", created=1, expires=2))
    (path,) = (tmp_path / "runs").glob("*.run")
    os.utime(path, (1, 1))
    store.sweep()
    assert path.exists()
    file.close()
    store.sweep()
    assert not path.exists()


def test_a_full_disk_is_told_and_leaves_whole_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = runs(tmp_path)
    file = store.create(given())
    write = os.write
    monkeypatch.setattr(os, "write", lambda number, content: write(number, content[:5]))
    with pytest.raises(StateError, match="cannot be written"):
        file.append([(b"T", {"v": [1.0]})])
    monkeypatch.undo()
    file.append([(b"T", {"v": [2.0]})])
    file.close()
    assert [said for _, said in store.show(RUN).frames[1:]] == [{"v": [2.0]}]


B = (b"B", {"n": 0, "f": "a.b", "k": "k", "a": "a.b()"})
STRANGE: list[list[tuple[bytes, object]]] = [
    [(b"W", [1])],
    [(b"W", {"for": 5, "what": 5})],
    [(b"L", {})],
    [(b"O", [])],
    [(b"S", {"n": 4})],
    [(b"E", {"n": 4, "ms": 1, "b": 1, "r": {"value": 1}})],
    [B, (b"E", {"n": 0, "ms": 1, "b": 1, "r": {"value": 1, "newer": 2}})],
    [B, (b"E", {"n": 0, "ms": 1, "b": 1, "e": {}})],
    [(b"F", {"uri": 1})],
    [(b"T", {"v": 5})],
    [(b"T", b"[" * 100_000)],
    [(b"T", b"{")],
]


@pytest.mark.parametrize("strange", STRANGE)
def test_a_journal_that_makes_no_sense_stops_nothing_but_its_run(
    tmp_path: Path, strange: list[tuple[bytes, Any]]
) -> None:
    """It was changed, or another version wrote it: it is not resumed, and runs are still listed, swept and made."""
    store = runs(tmp_path)
    store.create(given("f" * 16)).close()
    file = store.create(given())
    file.append(strange)
    file.close()
    with pytest.raises(StateError, match="cannot be read"):
        anyio.run(Journals(FileRunStore(store), RunSettings()).claim, RUN, "ada")
    with pytest.raises(StateError, match="cannot be read"):
        anyio.run(Journals(FileRunStore(store), RunSettings()).replay, RUN, None)
    assert "f" * 16 in {each.given.run for each in store.all()}
    store.sweep()
    runs(tmp_path).claim("f" * 16, "ada")[0].close()


@pytest.mark.parametrize("head", [{}, [], {"run": RUN}, {"run": RUN, "principal": "bob", "code": "1"}])
def test_a_journal_with_another_head_belongs_to_nobody(tmp_path: Path, head: Any) -> None:
    store = runs(tmp_path)
    store.create(given()).close()
    (path,) = (tmp_path / "runs").glob("*.run")
    path.write_bytes(frames.MAGIC + frames.written(b"H", head, 0, Box(None, b"", "")))
    with pytest.raises((StateError, UnknownName)):
        store.claim(RUN, "ada")
    assert store.all("ada") == []
    store.sweep()


def test_a_copy_of_a_journal_is_no_second_run(tmp_path: Path) -> None:
    """Else its writes went out twice."""
    store = runs(tmp_path)
    store.create(given()).close()
    (path,) = (tmp_path / "runs").glob("*.run")
    shutil.copy(path, path.with_name(path.name.replace(RUN, "e" * 16)))
    with pytest.raises(UnknownName):
        store.claim("e" * 16, "ada")
    assert len(store.all()) == 1


def test_a_link_in_place_of_a_journal_is_not_followed(tmp_path: Path) -> None:
    store = runs(tmp_path)
    store.create(given()).close()
    (path,) = (tmp_path / "runs").glob("*.run")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DoorwardError):
        store.claim(RUN, "ada")
    with pytest.raises(UnknownName):
        store.show(RUN)
    before = (tmp_path / "elsewhere").read_bytes()
    store.sweep()
    assert (store.all(), (tmp_path / "elsewhere").read_bytes()) == ([], before)


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """No run is stored, read or removed behind a link, though it is ours; the state folder itself may be one."""
    runs(tmp_path).create(given()).close()
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    (tmp_path / "runs").symlink_to("elsewhere")
    store, names = runs(tmp_path), sorted((tmp_path / "elsewhere").iterdir())
    works: list[Callable[[], object]] = [
        lambda: store.create(given(run="e" * 16)), lambda: store.claim(RUN, "ada"), lambda: store.show(RUN),
        store.all, store.unread, store.sweep, lambda: store.equal(given(run="e" * 16)), lambda: store.remove(RUN),
    ]  # fmt: skip
    for work in works:
        with pytest.raises(ConfigError, match="is a link"):
            work()
    assert not store.any()
    assert sorted((tmp_path / "elsewhere").iterdir()) == names
    (tmp_path / "runs").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "runs")
    (tmp_path / "state").symlink_to(tmp_path)
    assert [each.given.run for each in runs(tmp_path / "state").all()] == [RUN]


def test_a_journal_that_could_not_be_begun_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next try begins it anew."""
    store = runs(tmp_path)
    with monkeypatch.context() as full:
        full.setattr("os.write", lambda number, content: 0)
        with pytest.raises(StateError, match="No space left"):
            store.create(given())
    assert not store.any()
    store.create(given()).close()
    assert len(store.all()) == 1
