"""The installed files of a distribution against what its wheel brought."""

from __future__ import annotations

import importlib
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path

import pytest
from doorward.config.installed_plugins import installed
from doorward.config.layers import find_index
from doorward.model.errors import ConfigError, PluginError
from doorward.plugins.manager import Plugins
from doorward_dist import pinned_files
from doorward_dist.pinned_files import BY_RECORD, check, file_problems, hash_of_files, recorded_files

FILES = {
    "corp_guard/__init__.py": "class Guard: ...\n",
    "corp_guard/rules/__init__.py": "",
    "corp_guard/words.txt": "no\n",
    "corp_space/tools/__init__.py": "",
    "corp_space/alone.py": "",
    "corp_space/inner/deep/__init__.py": "",
    "corp_single.py": "",
}
"""A package, a package and a module in a namespace, and a module."""


def wheel(folder: Path, files: Mapping[str, str] = FILES, version: str = "1.0", dist: str = "corp_guard") -> Path:
    """A wheel with these files."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{dist}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {dist.replace('_', '-')}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[doorward.plugins]\ncorp = corp_guard:Guard\n[console_scripts]\ncorp = corp_guard:g\n",
    }
    hashes = {
        name: urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip("=") for name, text in content.items()
    }
    content[f"{info}/RECORD"] = (
        "".join(f"{name},sha256={hashes[name]},{len(text)}\n" for name, text in content.items()) + f"{info}/RECORD,,\n"
    )
    path = folder / f"{dist}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in content.items():
            file.writestr(name, text)
    return path


def pinned(path: Path) -> str:
    """The hash of what a wheel brings."""
    with zipfile.ZipFile(path) as file:
        record = next(name for name in file.namelist() if name.endswith("/RECORD"))
        return hash_of_files(recorded_files(file.read(record).decode()))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path in which the wheel is installed."""
    zipfile.ZipFile(wheel(tmp_path)).extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield tmp_path / "site"
    importlib.invalidate_caches()


def told(name: str = "corp-guard", pin: str = "", **more: object) -> list[str]:
    importlib.invalidate_caches()
    return [problem.what for problem in file_problems(name, pin, **more)]  # type: ignore[arg-type]


@pytest.fixture
def pin(tmp_path: Path) -> str:
    return pinned(wheel(tmp_path))


def test_what_was_installed_is_as_pinned(site: Path, pin: str) -> None:
    """Untouched files are as their wheel brought them; what is compiled of them changes nothing."""
    assert told(pin=pin) == told(pin=BY_RECORD) == told() == []
    (site / "corp_guard/__pycache__").mkdir()
    (site / "corp_guard/__pycache__/rules.cpython-311.pyc").write_bytes(b"")
    assert told(pin=pin) == []


@pytest.mark.slow
@pytest.mark.parametrize("installer", [["pip", "install", "--no-index", "--quiet"], ["uv", "pip", "install", "-q"]])
def test_each_installer_leaves_the_same_hash(
    tmp_path: Path, pin: str, installer: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What pip and uv add to RECORD (scripts, their own notes, compiled modules) does not count."""
    target = ["--no-deps", "--target", str(tmp_path / "target"), str(wheel(tmp_path))]
    subprocess.run([sys.executable, "-m", *installer, *target], check=True)
    monkeypatch.syspath_prepend(tmp_path / "target")
    assert told(pin=pin) == []


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a changed module": (lambda s: (s / "corp_guard/__init__.py").write_text("class Guard: pass\n"), "was changed"),
    "a changed data file": (lambda s: (s / "corp_guard/words.txt").write_text(""), "was changed"),
    "a changed module in a namespace": (lambda s: (s / "corp_space/alone.py").write_text("1"), "was changed"),
    "changed entry points": (lambda s: (s / "corp_guard-1.0.dist-info/entry_points.txt").write_text(""), "was changed"),
    "a removed module": (lambda s: (s / "corp_guard/rules/__init__.py").unlink(), "is missing"),
    "an added module": (lambda s: (s / "corp_guard/rules/more.py").touch(), "was added"),
    "an added module without source": (lambda s: (s / "corp_guard/more.pyc").touch(), "was added"),
    "an added folder": (lambda s: [(s / "corp_guard/new").mkdir(), (s / "corp_guard/new/__init__.py").touch()], "was added"),
    "a linked folder": (lambda s: (s / "corp_guard/new").symlink_to(s), "was added"),
    "a link in place of a file": (
        lambda s: [(s / "corp_guard/words.txt").rename(s / "words"), (s / "corp_guard/words.txt").symlink_to(s / "words")],
        "no regular file",
    ),
    "another RECORD": (lambda s: _rerecord(s, "corp_guard/words.txt", ""), "is not the build that is pinned"),
    "no RECORD": (lambda s: (s / "corp_guard-1.0.dist-info/RECORD").unlink(), "is not the build that is pinned"),
    "a RECORD without hashes": (lambda s: _unhash(s), "is not the build that is pinned"),
}  # fmt: skip


def _rerecord(site: Path, path: str, text: str) -> None:
    """Change a file, and RECORD with it."""
    record = site / "corp_guard-1.0.dist-info/RECORD"
    old, new = (
        urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
        for content in ((site / path).read_bytes(), text.encode())
    )
    (site / path).write_text(text)
    record.write_text(record.read_text().replace(old, new))


def _unhash(site: Path) -> None:
    record = site / "corp_guard-1.0.dist-info/RECORD"
    record.write_text("".join(f"{line.partition(',')[0]},,\n" for line in record.read_text().splitlines()))


@pytest.mark.slow
@pytest.mark.parametrize(("change", "what"), CHANGES.values(), ids=list(CHANGES))
def test_each_change_is_told(site: Path, pin: str, change: Callable[[Path], object], what: str) -> None:
    """A file that was changed, removed or added, and a RECORD that was changed with it, is named."""
    change(site)
    assert any(what in line for line in told(pin=pin)), told(pin=pin)


def test_without_a_hash_files_are_compared_with_their_own_record(site: Path) -> None:
    """A distribution that nobody pins by hash is held against its RECORD, and where only its place counts, not even so."""
    (site / "corp_guard/words.txt").write_text("")
    assert [line for line in told(pin=BY_RECORD) if "was changed" in line]
    assert told() == []


SHADOWS = {
    "corp_guard": ("corp_guard/__init__.py", "corp_guard"),
    "corp_guard, a module in place of a package": ("corp_guard.py", "corp_guard"),
    "corp_single": ("corp_single.py", "corp_single"),
    "corp_single, a package in place of a module": ("corp_single/__init__.py", "corp_single"),
    "a namespace": ("corp_space/__init__.py", "corp_space.tools"),
    "in a namespace": ("corp_space/tools/__init__.py", "corp_space.tools"),
    "in a namespace of a namespace": ("corp_space/inner/deep/__init__.py", "corp_space.inner.deep"),
    "a package in place of a namespace in one": ("corp_space/inner/__init__.py", "corp_space.inner.deep"),
    "a module in a namespace": ("corp_space/alone.py", "corp_space.alone"),
}


@pytest.mark.parametrize(("file", "module"), SHADOWS.values(), ids=list(SHADOWS))
def test_what_shadows_a_module_is_told(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, module: str
) -> None:
    """A folder or file earlier on the path that Python would import in place of the pinned one is named, and it is not
    imported to find that out."""
    shadow = tmp_path / "shadow" / file
    shadow.parent.mkdir(parents=True)
    shadow.write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path / "shadow")
    assert any(line.startswith(f"`import {module}` would take ") for line in told()), told()
    assert module not in sys.modules


def test_a_folder_of_links_is_no_copy(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose `__init__.py` leads to the pinned file is another package: its other modules are its own."""
    (tmp_path / "shadow/corp_guard").mkdir(parents=True)
    (tmp_path / "shadow/corp_guard/__init__.py").symlink_to(site / "corp_guard/__init__.py")
    monkeypatch.syspath_prepend(tmp_path / "shadow")
    assert any("`import corp_guard` would take" in line for line in told())


def test_a_linked_site_is_the_same_place(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pin: str) -> None:
    """The same folder twice on the path, by a link (`lib64`), is one copy."""
    (tmp_path / "lib64").symlink_to(site)
    monkeypatch.syspath_prepend(tmp_path / "lib64")
    assert told(pin=pin) == []


def test_two_copies_are_told(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pin: str) -> None:
    """Two dist-info folders of one name are refused, wherever they lie and whatever their versions are."""
    zipfile.ZipFile(wheel(tmp_path)).extractall(tmp_path / "other")
    monkeypatch.syspath_prepend(tmp_path / "other")
    assert "is installed twice" in told(pin=pin)[0]
    monkeypatch.undo()
    zipfile.ZipFile(wheel(tmp_path, version="2.0")).extractall(site)
    monkeypatch.syspath_prepend(site)
    assert "is installed twice" in told(pin=pin)[0]


@pytest.mark.slow
def test_a_copy_in_a_folder_of_another_name_is_told(site: Path, pin: str) -> None:
    """A dist-info folder that is called otherwise, but says that it is the pinned distribution, is a second copy."""
    (site / "zzz-1.0.dist-info").mkdir()
    (site / "zzz-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: corp-guard\nVersion: 1.0\n")
    (site / "zzz-1.0.dist-info/entry_points.txt").write_text("[doorward.plugins]\ncorp = evil:Guard\n")
    importlib.invalidate_caches()
    forged = [dist for dist in distributions() if dist.metadata["Name"] == "corp-guard"]
    assert len(forged) == 2
    assert "is installed twice" in told(pin=pin, also=forged)[0]


def test_a_copy_in_an_archive_is_told(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel on the path is a copy, and shadows what is installed."""
    monkeypatch.syspath_prepend(wheel(tmp_path))
    assert "is installed twice" in told()[0]


def test_a_distribution_without_a_name_pins_nothing(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dist-info folder without METADATA has entry points of nobody known."""
    (site / "odd-1.0.dist-info").mkdir()
    (site / "odd-1.0.dist-info/entry_points.txt").write_text("[doorward.plugins]\nodd = odd:Guard\n")
    importlib.invalidate_caches()
    (odd,) = [entry for entry in installed() if entry.name == "odd"]
    assert odd.given_by == "unknown unknown"


def test_an_editable_install_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable install is refused, also where nothing says that it is one: its modules lie elsewhere."""
    info = tmp_path / "site/corp_guard-1.0.dist-info"
    zipfile.ZipFile(wheel(tmp_path, {"corp.pth": f"{tmp_path}/work\n"})).extractall(info.parent)
    (tmp_path / "work/corp_guard").mkdir(parents=True)
    (tmp_path / "work/corp_guard/__init__.py").touch()
    monkeypatch.syspath_prepend(info.parent)
    monkeypatch.syspath_prepend(tmp_path / "work")
    assert any("`import corp_guard` would take" in line for line in told())
    (info / "direct_url.json").write_text('{"url": "file:///work", "dir_info":{"editable":true}}')
    assert "is an editable install" in told()[0]
    (info / "direct_url.json").write_text("[")
    (info / "RECORD").unlink()
    assert any("`import corp_guard` would take" in line for line in told())


def test_what_is_not_installed(pin: str) -> None:
    """It is told to whoever verifies; nothing of it can be imported, so it stops no start."""
    assert told("corp-nobody", pin) == ["is not installed"]
    check({"corp-nobody": pin}, [])


def test_a_refusal_names_distribution_version_file_and_remedy(site: Path, pin: str) -> None:
    """One error, with what to do."""
    check({"corp-guard": pin}, [])
    pinned_files._check.cache_clear()
    (site / "corp_guard/words.txt").write_text("")
    with pytest.raises(ConfigError, match=r"^corp-guard 1\.0: \S+/corp_guard/words\.txt was changed") as refused:
        check({"corp-guard": pin}, [])
    assert refused.value.hint == "Install it again: pip install --force-reinstall --no-deps corp-guard==1.0"


def test_a_pinned_plugin_is_refused_before_it_is_imported(
    site: Path, distro: Callable[..., None], pin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading any plugin compares all that the distribution pins: by its place alone, or also by its files. A package
    that is not pinned to one version is not looked at."""
    (site / "corp_guard/__init__.py").write_text("raise SystemExit('imported')")
    distro("", requires=("corp-guard>=1",))
    monkeypatch.delitem(sys.modules, "corp_guard", raising=False)
    with pytest.raises(PluginError, match="SystemExit: imported"):
        Plugins(find_index()).driver("plugin", "corp")
    (site.parent / "site/acme_distro/distro.toml").write_text(f'[files]\nCorp_Guard = "{pin}"\n')
    with pytest.raises(ConfigError, match=r"^corp-guard 1\.0: \S+ was changed"):
        Plugins(find_index()).driver("plugin", "corp")
    (site.parent / "site/acme_distro/distro.toml").write_text("files = 1")
    with pytest.raises(ConfigError, match="files a table"):
        find_index()


def test_a_pin_without_hash_is_looked_for_in_its_place(
    site: Path, distro: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`corp-guard==1.0` alone refuses what shadows it."""
    distro("", requires=("corp-guard==1.0",))
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow/corp_guard.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path / "shadow")
    with pytest.raises(ConfigError, match="would take"):
        Plugins(find_index()).driver("plugin", "corp")


def test_files_are_read_once_and_nothing_more(site: Path, pin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check reads each file of the pinned distribution once, and without a hash none but its dist-info."""
    read: list[str] = []
    own = pinned_files._hash_of_file
    monkeypatch.setattr(pinned_files, "_hash_of_file", lambda file, told: read.append(file) or own(file, told))
    assert told() == []
    assert read == []
    assert told(pin=pin) == []
    assert sorted(read) == sorted(set(read))
    assert len(read) == len(FILES) + 3


def test_purelib_of_a_wheel_counts(tmp_path: Path) -> None:
    """What a wheel has in `.data/purelib` is installed beside the rest; its scripts and data go elsewhere."""
    text = "a-1.data/purelib/a/b.py,sha256=x,1\na-1.data/scripts/run,sha256=y,1\na-1.data/data/share/z,sha256=z,1\n"
    assert recorded_files(text) == recorded_files(
        "a/b.py,sha256=x,1\n../../../bin/run,sha256=y2,1\n../../../share/z,sha256=z,1\n"
    )


@pytest.mark.slow
def test_the_backport_finds_the_same(site: Path, tmp_path: Path) -> None:
    """A library that imports `importlib_metadata` replaces the finder of the whole process by its own."""
    (site / "odd-1.0.dist-info").mkdir()
    (site / "odd-1.0.dist-info/entry_points.txt").write_text("[doorward.plugins]\nodd = odd:Guard\n")
    code = (
        "import importlib_metadata, sys; sys.path.insert(0, sys.argv[1])\n"
        "from doorward.config.installed_plugins import installed; from doorward_dist.pinned_files import BY_RECORD, file_problems\n"
        "print(sorted(entry.given_by for entry in installed() if entry.name in ('odd', 'corp')))\n"
        "print([problem.what for problem in file_problems('corp-guard', BY_RECORD)])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, site], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["['corp-guard 1.0', 'unknown unknown']", "[]"]
