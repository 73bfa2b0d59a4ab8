"""`doorward dist show` and `verify`, of a distribution that is installed in a folder on the path."""

from __future__ import annotations

import importlib
import json
import py_compile
import sys
import zipfile
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from doorward_dist.installed import below
from doorward_dist.lock import Locked
from doorward_dist.verify import Finding, verify
from doorward_testing import Cli

from .conftest import MakeWheel

pytestmark = pytest.mark.slow

MANIFEST = """
lock = ["limits"]
[required]
plugins = ["corp"]
[files]
corp-guard = "{files}"
"""


@pytest.fixture
def site(wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution, a guard that it pins by its files, and a library below that."""
    from doorward_dist.wheels import read

    guard = wheel(
        "corp-guard", "1.0", points="[doorward.plugins]\ncorp = corp_guard:Guard\n", Requires_Dist=["corp-lib>=1"]
    )
    manifest = MANIFEST.format(files=read(guard).files_hash)
    distro = wheel(
        "corp-doorward",
        "2.0",
        {"corp_doorward/__init__.py": "", "corp_doorward/distro.toml": manifest},
        "[doorward.distro]\ncorp = corp_doorward\n",
        Requires_Dist=["corp-guard==1.0"],
    )
    for path in (guard, distro, wheel("corp-lib", "1.5")):
        zipfile.ZipFile(path).extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


def found(lock: dict[str, Locked] | None = None) -> list[Finding]:
    """What is wrong with the folder; how these tests are started is another matter."""
    importlib.invalidate_caches()
    return [each for each in verify(lock) if "corp" in each.what and "can be written" not in each.what]


def test_nothing_is_wrong(site: Path) -> None:
    """An untouched distribution has no finding; all that it needs is looked at."""
    assert found() == []
    assert below("corp-doorward") == {"corp-doorward", "corp-guard", "corp-lib"}


@pytest.mark.parametrize("file", ["corp_guard/__init__.py", "corp_lib/__init__.py", "corp_doorward/__init__.py"])
def test_each_changed_file_is_found(site: Path, file: str) -> None:
    """Of what is pinned, of what lies below that, and of the distribution itself."""
    (site / file).write_text("changed = True")
    assert any(str(site / file) in each.what for each in found())


def test_a_compiled_module_of_another_source_is_found(site: Path) -> None:
    """Python runs what is compiled; what does not come from the source is told, and what does is not."""
    source = site / "corp_lib/__init__.py"
    py_compile.compile(str(source), doraise=True)
    assert found() == []
    other = site.parent / "other.py"
    other.write_text("changed = True")
    compiled = Path(py_compile.compile(str(other), doraise=True) or "")
    Path(cache_from_source(str(source))).write_bytes(compiled.read_bytes())
    assert any("was not compiled from __init__.py" in each.what for each in found())
    Path(cache_from_source(str(source))).write_bytes(b"")
    assert any("was not compiled from __init__.py" in each.what for each in found())


def test_a_lock_is_compared(site: Path) -> None:
    """Versions and files of all packages, what is missing, and what the lock does not name."""
    own = {"corp-doorward": Locked("2.0", ""), "corp-guard": Locked("1.0", ""), "corp-lib": Locked("1.5", "")}
    assert found(own) == []
    wrong = {
        "corp-guard": Locked("1.0", f"sha256:{64 * '0'}"),
        "corp-lib": Locked("1.6", ""),
        "corp-gone": Locked("1", ""),
    }
    told = "\n".join(each.what for each in found(wrong))
    assert "corp-guard 1.0: is not the build that is pinned" in told
    assert "corp-lib 1.5 is 1.6 in the lock" in told
    assert "corp-gone is not installed, it is 1 in the lock" in told
    assert "corp-doorward 2.0 is not in the lock" in told


def test_another_version_is_found(site: Path) -> None:
    """A pinned package of another version, and one that is not there."""
    info = site / "corp_guard-1.0.dist-info"
    (info / "METADATA").write_text((info / "METADATA").read_text().replace("Version: 1.0", "Version: 1.1"))
    assert any("corp-guard 1.1 is not the pinned corp-guard==1.0" in each.what for each in found())
    for path in info.iterdir():
        path.unlink()
    info.rmdir()
    assert any("corp-guard: is not installed" in each.what for each in found())


def test_how_python_was_started(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `-I`, variables choose code: each is named."""
    monkeypatch.setenv("PYTHONPATH", str(site))
    told = [each.what for each in verify()]
    assert "PYTHONPATH is set" in told
    assert any("not isolated" in what for what in told)
    (site / "evil.pth").touch()
    assert any("evil.pth is run at each start" in each.what for each in verify())


def test_a_package_without_a_record_is_found(site: Path) -> None:
    """Whoever changes a file could remove what says so."""
    for name in ("corp_lib-1.5", "corp_doorward-2.0"):
        (site / f"{name}.dist-info/RECORD").unlink()
    told = [each.what for each in found()]
    assert [what.partition(":")[0] for what in told if "has no RECORD" in what] == ["corp-doorward 2.0", "corp-lib 1.5"]


@pytest.mark.parametrize(
    "place", ["corp_lib/__init__.py", "corp_lib", "corp_lib/__pycache__", "corp_lib-1.5.dist-info"]
)
def test_a_single_file_that_is_open_is_found(site: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only the folder of all packages, but each file and folder in it."""
    monkeypatch.setattr("os.access", lambda path, mode: str(path).endswith(place))
    told = [each.what for each in verify() if "can be written" in each.what]
    assert told == [f"{site / place} can be written by whoever runs Doorward"]


def test_the_site_of_the_system_is_no_finding(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's Python has a sitecustomize of its own in the standard library; one beside the packages is foreign."""
    monkeypatch.delitem(sys.modules, "sitecustomize", raising=False)
    for folder, wanted in ((site.parent / "lib", 0), (site, 1)):
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").touch()
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setattr("doorward_dist.verify._STDLIB", str(site.parent / "lib"))
        importlib.invalidate_caches()
        assert sum("sitecustomize is run" in each.what for each in verify()) == wanted


def test_without_a_distribution(cli: Cli, doorward_host: Any) -> None:
    """There is nothing to show, and that is what `verify` finds."""
    from doorward_dist.command import dist

    doorward_host.install("command", "dist", dist)
    assert "no distribution is installed" in cli("dist", "show").err
    ended = cli("dist", "verify", "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["problems"][0]["what"] == "no distribution is installed"


def test_what_is_shown(site: Path, cli: Cli, doorward_host: Any) -> None:
    """For people, and as JSON."""
    from doorward_dist.command import dist

    doorward_host.install("command", "dist", dist)
    shown = cli("dist", "show").out
    assert "corp-doorward 2.0" in shown
    assert "corp-guard==1.0 (installed: 1.0, files pinned)" in shown
    assert "[limits]" in shown
    told = json.loads(cli("dist", "show", "--json").out)
    assert told["required"] == ["corp"]
