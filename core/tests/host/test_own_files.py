"""State is kept in files of ours: no link is followed, nothing of another user's is used, and who may not write there,
cannot."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward.catalog.catalog import Catalog
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.host import files
from doorward.model.errors import ConfigError

from ..conftest import InProcess, Weather

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="owners and links of POSIX")]

CONFIG = """
executor = "inprocess"
cache = "none"
plugins = []
[servers.weather]
source = "weather"
"""


def given_away(path: Path) -> None:
    try:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    except PermissionError:
        pytest.skip("only root gives files away")


def of_another(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    given_away(folder)


def open_to_others(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def open_to_the_group(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o770)


def link_of_another(folder: Path) -> None:
    (folder.parent / "mine").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "mine")
    given_away(folder)


def link_to_anothers(folder: Path) -> None:
    of_another(folder.parent / "theirs")
    folder.symlink_to(folder.parent / "theirs")


FOLDERS = [of_another, open_to_others, open_to_the_group, link_of_another, link_to_anothers]


@pytest.mark.parametrize("made", FOLDERS)
async def test_a_state_folder_of_others_is_refused(host: Any, made: Callable[[Path], None]) -> None:
    """Where somebody else could have put links, or could, nothing is written; the error says what to do."""
    host.install("source", "weather", Weather)
    host.install("executor", "inprocess", InProcess)
    state = host.folder / "state"
    made(state)
    with pytest.raises(ConfigError, match=r"belongs to another user|other users may write") as caught:
        async with host.gateway(CONFIG):
            pass
    assert caught.value.hint
    assert list(state.iterdir()) == []


async def test_a_link_of_ours_is_a_state_folder(host: Any) -> None:
    """Who keeps state on another disk by a link of their own goes on doing so."""
    host.install("source", "weather", Weather)
    host.install("executor", "inprocess", InProcess)
    (host.folder / "disk").mkdir()
    (host.folder / "state").symlink_to(host.folder / "disk")
    async with host.gateway(CONFIG) as gate:
        assert (await gate.execute("1 + 1")).value == 2
    assert (host.folder / "disk/catalog.db").exists()


@pytest.mark.parametrize("name", ["catalog.db", "catalog.db-wal", "catalog.db-shm", "catalog.db-journal"])
def test_the_catalog_follows_no_link(tmp_path: Path, name: str) -> None:
    """What lies in the place of the catalog, or of a file beside it, leads to no other file."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    state = tmp_path / "state"
    SqliteCatalog(state / "catalog.db").made().close()
    (state / name).unlink(missing_ok=True)
    (state / name).symlink_to(victim)
    with pytest.raises(ConfigError, match="is a link"):
        Catalog(SqliteCatalog(state / "catalog.db"))
    assert victim.read_bytes() == b""


def test_folders_are_made_for_us_alone(tmp_path: Path) -> None:
    """So are those in between, whatever the umask says."""
    before = os.umask(0)
    try:
        files.own_folder(tmp_path / "a/b/c")
    finally:
        os.umask(before)
    assert {stat.S_IMODE((tmp_path / each).stat().st_mode) for each in ("a", "a/b", "a/b/c")} == {0o700}


def test_what_is_written_in_state_takes_the_place_of_a_link(tmp_path: Path) -> None:
    """A guide that is fetched replaces what lies in its place, and does not write through it."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "skills.md").symlink_to(victim)
    files.write(state / "skills.md", b"fetched", private=True, follow=False)
    assert victim.read_text() == "mine"
    assert (state / "skills.md").read_text() == "fetched"
    assert not (state / "skills.md").is_symlink()


def test_who_waits_for_a_folder_does_not_wait_for_ever(tmp_path: Path) -> None:
    """A process that never gives a lock back makes an error for the others."""
    refused = pytest.raises(ConfigError, match="another process has held it")
    with files.alone(tmp_path / "one"), refused, files.alone(tmp_path / "two", 0.05):
        pass
