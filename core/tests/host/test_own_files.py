"""State is kept in files of ours: no link is followed, nothing of another user's is used, and who may not write there,
cannot."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward.catalog.catalog import Catalog
from doorward.host import files
from doorward.host.processes import Process
from doorward.model.errors import ConfigError
from doorward_store_sqlite.catalog import SqliteCatalog

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


def test_a_folder_that_is_made_private(tmp_path: Path) -> None:
    """Nobody else lists it afterwards; a link of ours is refused, and what it leads to keeps its mode."""
    (tmp_path / "one").mkdir()
    (tmp_path / "one").chmod(0o755)
    (tmp_path / "link").symlink_to("one")
    with pytest.raises(ConfigError, match="is a link") as caught:
        files.own_folder(tmp_path / "link", private=True)
    assert caught.value.hint
    (tmp_path / "to-nothing").symlink_to("nothing")
    with pytest.raises(ConfigError, match="is a link"):
        files.own_folder(tmp_path / "to-nothing", private=True)
    assert not (tmp_path / "nothing").exists()
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o755
    files.own_folder(tmp_path / "one", private=True)
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o700


def test_processes_are_not_looked_for_behind_a_link(tmp_path: Path) -> None:
    """Who lives is read in our own folder, or not at all."""
    one, other = Process(tmp_path / "processes"), Process(tmp_path / "processes")
    assert other.knows(one.id)
    (tmp_path / "processes").rename(tmp_path / "elsewhere")
    (tmp_path / "processes").symlink_to("elsewhere")
    assert not other.knows(one.id)
    assert other.id != one.id
    assert len([*(tmp_path / "elsewhere").iterdir()]) == 1


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


def a_device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    path.chmod(0o666)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)
    path.chmod(0o666)


def a_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0o766)


def anothers_file(path: Path) -> None:
    path.write_text("theirs")
    path.chmod(0o666)
    given_away(path)


def a_second_name(path: Path) -> None:
    (path.parent / "first").write_text("mine")
    (path.parent / "first").chmod(0o666)
    os.link(path.parent / "first", path)


def a_link_to_a_device(path: Path) -> None:
    a_device(path.parent / "null")
    path.symlink_to(path.parent / "null")


def a_link(path: Path) -> None:
    (path.parent / "victim").write_text("mine")
    (path.parent / "victim").chmod(0o666)
    path.symlink_to(path.parent / "victim")


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


STRANGE = [a_device, a_pipe, a_folder, anothers_file, a_second_name]
LINKS = [a_link, a_link_to_nothing, a_link_to_a_device]


def seen(folder: Path) -> dict[str, object]:
    """What is in a folder: kinds, modes, owners, contents, and which files they are."""
    found: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        each = path.lstat()
        held = os.readlink(path) if path.is_symlink() else path.read_bytes() if stat.S_ISREG(each.st_mode) else b""
        found[path.name] = (each.st_mode, each.st_uid, each.st_ino, each.st_nlink, held)
    return found


def opened(file: Path) -> None:
    os.close(files.own_file(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC))


def written(file: Path) -> None:
    files.write_own(file, b"ours")


def changed(file: Path) -> None:
    files.check_own(file)
    files.write(file, b"ours", private=True)


@pytest.mark.parametrize("work", [opened, written, changed])
@pytest.mark.parametrize("made", STRANGE)
def test_what_is_no_file_of_ours_stays_as_it_is(
    tmp_path: Path, made: Callable[[Path], None], work: Callable[[Path], None]
) -> None:
    """Neither opened, nor chmodded, nor truncated, nor replaced; the error names it and says what to do."""
    made(tmp_path / "one")
    before = seen(tmp_path)
    with pytest.raises(ConfigError, match=r"not a regular file|another user|a hard link") as caught:
        work(tmp_path / "one")
    assert seen(tmp_path) == before
    assert caught.value.place == str(tmp_path / "one")
    assert caught.value.hint


@pytest.mark.parametrize("work", [opened, changed])
@pytest.mark.parametrize("made", LINKS)
def test_a_link_leads_nowhere(tmp_path: Path, made: Callable[[Path], None], work: Callable[[Path], None]) -> None:
    """Where we append, or keep secrets, a link is refused; what it leads to stays as it is, also if that is a device,
    and is not made if there is none."""
    made(tmp_path / "one")
    before = seen(tmp_path)
    with pytest.raises(ConfigError, match="is a link"):
        work(tmp_path / "one")
    assert seen(tmp_path) == before


@pytest.mark.parametrize("made", LINKS)
def test_a_file_that_is_written_whole_takes_the_place_of_a_link(tmp_path: Path, made: Callable[[Path], None]) -> None:
    """What the link led to stays as it is."""
    made(tmp_path / "one")
    before = seen(tmp_path)
    written(tmp_path / "one")
    after = seen(tmp_path)
    assert (tmp_path / "one").read_bytes() == b"ours"
    assert stat.S_IMODE((tmp_path / "one").lstat().st_mode) == 0o600
    assert {**after, "one": None} == {**before, "one": None}


def test_a_power_cut_leaves_the_old_file_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content is on the disk before its name is, and the name when `write` returns."""
    synced: list[tuple[int, list[str]]] = []
    monkeypatch.setattr(
        os, "fsync", lambda number: synced.append((os.fstat(number).st_ino, sorted(os.listdir(tmp_path))))
    )
    (tmp_path / "one").write_text("old")
    files.write(tmp_path / "one", b"new")
    (content, before), (folder, after) = synced
    assert (content, folder) == ((tmp_path / "one").stat().st_ino, tmp_path.stat().st_ino)
    assert (len(before), after) == (2, ["one"])


@pytest.mark.parametrize("made", [a_device, a_pipe, a_folder, a_link_to_a_device])
def test_a_configuration_replaces_only_files(tmp_path: Path, made: Callable[[Path], None]) -> None:
    """A link may lead to the configuration (its own test), but not to a device, in whose folder a file would take its
    place."""
    made(tmp_path / "one")
    before = seen(tmp_path)
    with pytest.raises(ConfigError, match="is not a regular file"):
        files.write(tmp_path / "one", b"ours")
    assert seen(tmp_path) == before


def test_a_link_of_ours_leads_to_the_configuration(tmp_path: Path) -> None:
    """Over several links, relative ones too, and they stay; a link that another user put there is refused, and a
    circle is no file."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/doorward.toml").write_text("old")
    (tmp_path / "two").symlink_to("dotfiles/doorward.toml")
    (tmp_path / "one").symlink_to(tmp_path / "two")
    files.write(tmp_path / "one", b"new")
    assert (tmp_path / "dotfiles/doorward.toml").read_text() == "new"
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "two").is_symlink()
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(ConfigError):
        files.write(tmp_path / "round", b"new")
    given_away(tmp_path / "two")
    with pytest.raises(ConfigError, match="belongs to another user"):
        files.write(tmp_path / "one", b"newer")
    assert (tmp_path / "dotfiles/doorward.toml").read_text() == "new"


@pytest.mark.parametrize("work", [opened, written])
@pytest.mark.parametrize("made", [each for each in FOLDERS if each is not link_of_another] + [link_of_another])
def test_a_folder_of_others_gets_no_file_of_ours(
    tmp_path: Path, made: Callable[[Path], None], work: Callable[[Path], None]
) -> None:
    """Where others may rename our files, or put links in their place, none is made."""
    made(tmp_path / "folder")
    with pytest.raises(ConfigError, match=r"belongs to another user|other users may write") as caught:
        work(tmp_path / "folder/one")
    assert list((tmp_path / "folder").iterdir()) == []
    assert caught.value.hint


def test_a_link_of_another_on_the_way_is_refused(tmp_path: Path) -> None:
    """It could lead to another of our folders at any time."""
    (tmp_path / "real/state").mkdir(parents=True)
    (tmp_path / "way").symlink_to("real")
    written(tmp_path / "way/state/one")
    given_away(tmp_path / "way")
    for work in (opened, written):
        with pytest.raises(ConfigError, match="belongs to another user"):
            work(tmp_path / "way/state/two")
    assert [each.name for each in (tmp_path / "real/state").iterdir()] == ["one"]


def test_a_folder_that_is_moved_away_leads_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who puts a link in the place of a folder, after it was looked at, gets no file of ours there."""
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    check = files._check_folder

    def then_moved(*args: object, **given: object) -> None:
        check(*args, **given)  # type: ignore[arg-type]
        (tmp_path / "state").rename(tmp_path / "moved")
        (tmp_path / "state").symlink_to("elsewhere")

    monkeypatch.setattr(files, "_check_folder", then_moved)
    opened(tmp_path / "state/one")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (tmp_path / "moved/one").exists()


def test_a_file_that_we_did_not_make_keeps_its_mode_and_content(tmp_path: Path) -> None:
    """If the caller knows its own files, `O_TRUNC` empties and narrows only those."""
    file = tmp_path / "one"
    file.write_text("root:x:0:0")
    file.chmod(0o644)
    before = seen(tmp_path)
    with pytest.raises(ConfigError, match="is not a file that Doorward made"):
        files.own_file(file, os.O_RDWR | os.O_TRUNC, known=lambda number: os.read(number, 1) == b"{")
    assert seen(tmp_path) == before
    file.write_text("{}")
    os.close(files.own_file(file, os.O_RDWR | os.O_TRUNC, known=lambda number: os.read(number, 1) == b"{"))
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"", 0o600)


AS_ANOTHER = """
import os, sys
from pathlib import Path
from doorward import ConfigError
from doorward.files import own_file, own_folder, write_own
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
for name in sys.argv[1:]:
    for work in (lambda f: os.close(own_file(f, os.O_RDWR | os.O_CREAT)), lambda f: write_own(f, b"x")):
        try:
            work(Path(name))
            print("done")
        except (ConfigError, OSError) as error:
            print(type(error).__name__, error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user")
def test_another_user_has_the_same_walls(tmp_path: Path) -> None:
    """Who is not root uses folders of their own, and neither root's nor what everybody may write in."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        (base := Path(name)).chmod(0o755)
        for folder, owner, mode in (("own", 65534, 0o700), ("roots", 0, 0o755), ("open", 0, 0o1777)):
            (base / folder).mkdir()
            (base / folder).chmod(mode)
            os.chown(base / folder, owner, owner)
        given = [str(base / folder / "one") for folder in ("own", "roots", "open")]
        ended = subprocess.run([sys.executable, "-c", AS_ANOTHER, *given], capture_output=True, text=True, check=True)
        own, roots, everybodys = (ended.stdout.splitlines()[at : at + 2] for at in (0, 2, 4))
        assert own == ["done"] * 2, ended.stdout
        assert "PermissionError" in roots[0]
        assert "belongs to another user (0)" in roots[1]
        assert all("ConfigError" in each for each in everybodys), everybodys
        assert (base / "own/one").stat().st_uid == 65534
        assert {path.name for path in base.glob("*/*")} == {"one"}
