"""`doorward dist build`: from distribution.toml to a wheel, a lock and an image."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
from doorward_dist import lock as locking
from doorward_dist import wheels as wheeling
from doorward_dist.pinned_files import hash_of_files, recorded_files
from doorward_testing import Cli, check_driver, check_light_import

from .conftest import SOURCE, MakeWheel

pytestmark = pytest.mark.slow


def built(doorward: Cli, source: Path, wheels: Path, *options: str) -> Any:
    """What the command says that it wrote."""
    ended = doorward("dist", "build", str(source), "--wheels", str(wheels), "--json", *options)
    assert ended.code == 0, ended.err + ended.out
    return json.loads(ended.out)


def refused(doorward: Cli, source: Path, wheels: Path, *options: str) -> str:
    ended = doorward("dist", "build", str(source), "--wheels", str(wheels), *options)
    assert ended.code == 2, ended.out
    assert not (source / "dist").exists()
    return ended.err


def test_a_command_is_imported_alone() -> None:
    """What builds and verifies is imported when it is needed."""
    check_light_import("doorward_dist.command", forbidden=("cyclonedx", "pydantic", "tomlkit"))
    check_driver("command", "dist")


def test_a_wheel_with_pins_hashes_and_locks(doorward: Cli, source: Path, wheels: Path) -> None:
    """The wheel has the tables of the source, the hash of what each pinned wheel installs, and the pins as
    requirements."""
    told = built(doorward, source, wheels)
    (path,) = told["written"]
    assert Path(path) == source / "dist/corp_doorward-2.0-py3-none-any.whl"
    assert any("doorward-kit" in what for what in told["unchecked"]), "needed, and not pinned"
    with zipfile.ZipFile(path) as wheel:
        manifest = tomllib.loads(wheel.read("corp_doorward/distro.toml").decode())
        metadata = wheel.read("corp_doorward-2.0.dist-info/METADATA").decode()
        points = wheel.read("corp_doorward-2.0.dist-info/entry_points.txt").decode()
    wanted = tomllib.loads(SOURCE)
    del wanted["distribution"]
    with zipfile.ZipFile(wheels / "corp_guard-1.0-py3-none-any.whl") as guard:
        record = recorded_files(guard.read("corp_guard-1.0.dist-info/RECORD").decode())
    assert manifest.pop("files")["corp-guard"] == hash_of_files(record)
    assert manifest == wanted
    assert re.findall(r"Requires-Dist: (.*)", metadata) == [
        "corp-guard==1.0",
        "doorward-dist==0.1.0",
        "doorward==0.1.0",
    ]
    assert points.split() == ["[doorward.distro]", "corp-doorward", "=", "corp_doorward"]


def test_nothing_of_a_pinned_wheel_runs(doorward: Cli, source: Path, wheels: Path, wheel: MakeWheel) -> None:
    """A pinned wheel is read, not imported."""
    text = "open('imported', 'w').close()"
    wheel("corp-guard", "1.0", {"corp_guard/__init__.py": text}, "[doorward.plugins]\ncorp = corp_guard:Guard\n")
    built(doorward, source, wheels)
    assert not Path("imported").exists()


WRONG = {
    "no file": (None, "there is no such file"),
    "no TOML": ("x", "cannot be read"),
    "no distribution": (SOURCE.replace("[distribution]", "[distributoin]"), "did you mean 'distribution'?"),
    "a name that is no name": (SOURCE.replace("corp-doorward", "corp doorward"), "distribution.name"),
    "a version that is none": (SOURCE.replace("2.0", "two"), "'two' is no version"),
    "no requirement": (SOURCE.replace("corp-guard==1.0", "corp guard"), "is no requirement"),
    "any version": (SOURCE.replace("corp-guard==1.0", "corp-guard"), "does not pin one version"),
    "any patch": (SOURCE.replace("corp-guard==1.0", "corp-guard==1.*"), "does not pin one version"),
    "a URL": (SOURCE.replace("corp-guard==1.0", "corp-guard @ https://x.example/y.whl"), "does not pin one version"),
    "twice": (SOURCE.replace('"corp-guard==1.0"', '"corp-guard==1.0", "Corp_Guard==1.1"'), "pinned more than once"),
    "a lock below a table": (SOURCE.replace('lock = ["http"]', "") + 'lock = ["http"]', "'lock' stands below [required]"),
    "no pin of what keeps its locks": (SOURCE.replace('"doorward-dist==0.1.0", ', ""), "doorward-dist is missing"),
    "an unknown wheel": (SOURCE.replace("corp-guard==1.0", "corp-guard==9.0"), "pip failed"),
    "its own pin": (SOURCE.replace("corp-doorward", "Corp.Guard"), "name: Corp.Guard is a package that it pins"),
    "a lock of nothing": (SOURCE.replace('["http"]', '["http", "hooks.crop"]'), "did you mean 'corp'?"),
    "settings of nothing": (SOURCE + "[locked.hooks.crop]\nx = 1\n", "did you mean 'corp'?"),
    "an executor of nobody": (SOURCE.replace("[locked.http]", '[defaults]\nexecutor = ["monty"]\n[locked.http]'), "'monty' is given by no pinned package"),
    "an observer of nobody": (SOURCE + "[locked.observers.spy]\nx = 1\n", "'spy' is given by no pinned package"),
    "a locked cache of nobody": (SOURCE.replace("[locked.http]", '[locked]\ncache = "sqlite"\n[locked.http]'), "'sqlite' is given by no pinned package"),
    "an unknown hook": (SOURCE.replace('["corp"]', '["crop"]'), "did you mean 'corp'?"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=list(WRONG))
def test_a_mistake_is_told(doorward: Cli, source: Path, wheels: Path, text: str | None, said: str) -> None:
    """In one line, with the place; nothing is written."""
    if text is None:
        (source / "distribution.toml").unlink()
    else:
        (source / "distribution.toml").write_text(text)
    assert said in refused(doorward, source, wheels)


def test_a_missing_tool_is_told(doorward: Cli, source: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who only serves has no tools to build; the message says what brings them."""
    monkeypatch.setattr(wheeling, "find_spec", lambda name: None)
    error = refused(doorward, source, wheels)
    assert "hatchling is not installed" in error
    assert "pip install doorward-dist[build]" in error


def test_a_wheel_without_hashes_is_refused(wheel: MakeWheel) -> None:
    """A RECORD that has no hash of a file pins nothing."""
    path = wheel("corp-guard", "1.0")
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    record = "corp_guard-1.0.dist-info/RECORD"
    content[record] = re.sub(rb"sha256=[^,]*,", b",", content[record])
    with zipfile.ZipFile(path, "w") as archive:
        for name, each in content.items():
            archive.writestr(name, each)
    with pytest.raises(wheeling.ConfigError, match=r"has no hash of corp_guard/__init__\.py"):
        wheeling.read(path)
    path.write_bytes(b"PK")
    with pytest.raises(wheeling.ConfigError, match="is no wheel"):
        wheeling.read(path)


def rezipped(path: Path, change: dict[str, bytes], add: str = "") -> Path:
    """A wheel with other files under an unchanged RECORD; `add` is in it twice."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()} | change
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings(action="ignore"):
        for name, each in [*content.items(), *([(add, content[add])] if add else [])]:
            archive.writestr(name, each)
    return path


@pytest.mark.parametrize(
    ("change", "add"),
    [
        ({"corp_guard/__init__.py": b"import os"}, ""),
        ({"evil.pth": b"import os"}, ""),
        ({"../../evil.py": b""}, ""),
        ({"/etc/evil.py": b""}, ""),
        ({"corp_guard-1.0.data/purelib/evil.py": b""}, ""),
        ({"corp_guard-1.0.dist-info/evil": b""}, ""),
        ({}, "corp_guard/__init__.py"),
        ({}, "corp_guard-1.0.dist-info/RECORD"),
    ],
)
def test_a_wheel_with_more_than_its_record_says_is_refused(
    wheel: MakeWheel, change: dict[str, bytes], add: str
) -> None:
    """The pinned hash is one of RECORD: what it does not say would be installed, and known to nobody."""
    path = rezipped(wheel("corp-guard", "1.0"), change, add)
    with pytest.raises(
        wheeling.ConfigError, match=f"its RECORD does not say what {re.escape(add or next(iter(change)))} is"
    ):
        wheeling.read(path)


def test_a_hostile_wheel_costs_no_memory(wheel: MakeWheel) -> None:
    """A description that is huge once it is unpacked is refused unread; a description of another package that lies in
    a folder of this one is not taken for its own."""
    bomb = {"corp_guard-1.0.dist-info/METADATA": bytes(64 * 2**20)}
    with pytest.raises(wheeling.ConfigError, match="METADATA is larger than"):
        wheeling.read(rezipped(wheel("corp-guard", "1.0"), bomb))
    inner = "corp_guard/other-9.dist-info"
    files = {f"{inner}/RECORD": "", f"{inner}/METADATA": "Name: other\nVersion: 9\n", "corp_guard/__init__.py": ""}
    assert wheeling.read(wheel("corp-guard", "1.1", files)).version == "1.1"


def test_hooks_of_its_own(doorward: Cli, source: Path, wheels: Path) -> None:
    """Modules in `src` become part of the package, and the hook plugins in them may be required."""
    text = SOURCE.replace("[locked.http]", '[distribution.hooks]\nhours = "hours:Hours"\n[locked.http]')
    (source / "distribution.toml").write_text(text.replace('["corp"]', '["corp", "hours"]'))
    assert "src has no module 'hours'" in refused(doorward, source, wheels)
    (source / "src").mkdir()
    (source / "src/hours.py").write_text("class Hours: ...\n")
    (path,) = built(doorward, source, wheels)["written"]
    with zipfile.ZipFile(path) as wheel:
        assert wheel.read("corp_doorward/hours.py") == b"class Hours: ...\n"
        points = wheel.read("corp_doorward-2.0.dist-info/entry_points.txt").decode()
    assert "hours = corp_doorward.hours:Hours" in points
    (source / "src/distro.toml").touch()
    ended = doorward("dist", "build", str(source), "--wheels", str(wheels))
    assert "is written by the build" in ended.err


def test_a_lock_of_everything_below(doorward: Cli, source: Path, wheels: Path) -> None:
    """The lock has every package with the hashes of its wheel and of its files; the bill of materials has the same, with
    licences and what needs what. Both are the same when they are made again."""
    written = [Path(each) for each in built(doorward, source, wheels, "--lock")["written"]]
    assert [path.name for path in written] == [
        "corp_doorward-2.0-py3-none-any.whl",
        "requirements.txt",
        "sbom.cdx.json",
    ]
    locked = locking.read(written[1])
    names = {"corp-doorward", "corp-guard", "corp-lib", "doorward", "doorward-dist", "doorward-kit"}
    assert set(locked) == names
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each.files) for each in locked.values())
    sbom = json.loads(written[2].read_text())
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    assert sbom["metadata"]["component"]["name"] == "corp-doorward"
    components = {each["name"]: each for each in sbom["components"]}
    assert set(components) == names - {"corp-doorward"}
    assert components["doorward"]["licenses"] == [{"license": {"id": "MIT"}}] or "MIT" in str(components["doorward"])
    assert components["corp-lib"]["licenses"] == [{"license": {"name": "Our own licence"}}]
    needs = {each["ref"]: each.get("dependsOn", []) for each in sbom["dependencies"]}
    assert needs["pkg:pypi/doorward@0.1.0"] == ["pkg:pypi/corp-lib@1.5"]
    assert needs["pkg:pypi/corp-doorward@2.0"] == [
        *("pkg:pypi/corp-guard@1.0", "pkg:pypi/doorward-dist@0.1.0", "pkg:pypi/doorward@0.1.0"),
    ]
    texts = [path.read_bytes() for path in written]
    built(doorward, source, wheels, "--lock")
    assert [path.read_bytes() for path in written] == texts


def test_pip_takes_the_lock(doorward: Cli, source: Path, wheels: Path, tmp_path: Path) -> None:
    """`pip install --require-hashes` installs by it, and refuses a wheel that was changed since."""
    built(doorward, source, wheels, "--lock")
    where = ["--find-links", str(wheels), "--find-links", str(source / "dist"), "--target", str(tmp_path / "target")]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", *where]
    command = [*install, "--requirement", str(source / "dist/requirements.txt")]
    assert subprocess.run(command, check=False).returncode == 0
    with zipfile.ZipFile(wheels / "corp_lib-1.5-py3-none-any.whl", "a") as archive:
        archive.writestr("corp_lib/more.py", "")
    ended = subprocess.run([*command, "--upgrade"], check=False, capture_output=True, text=True)
    assert ended.returncode != 0
    assert "DO NOT MATCH THE HASHES" in ended.stderr.upper()


def test_what_is_no_lock(tmp_path: Path) -> None:
    """A file that pins nothing is no lock; one of another tool has versions, and no hashes of files."""
    (tmp_path / "lock").write_text("# nothing\n")
    with pytest.raises(locking.ConfigError, match="pins nothing"):
        locking.read(tmp_path / "lock")
    (tmp_path / "lock").write_text(
        "Corp_Lib==1.5 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n    # via doorward\n"
    )
    assert locking.read(tmp_path / "lock") == {"corp-lib": ("1.5", "")}


def test_an_image_that_verifies_itself(doorward: Cli, source: Path, wheels: Path) -> None:
    """The Dockerfile installs by the lock, verifies, and starts isolated as nobody special."""
    written = {Path(each).name: Path(each) for each in built(doorward, source, wheels, "--image")["written"]}
    assert set(written) == {
        "corp_doorward-2.0-py3-none-any.whl", "requirements.txt", "sbom.cdx.json", "Dockerfile", ".dockerignore",
    }  # fmt: skip
    lines = written["Dockerfile"].read_text().splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001"]
    assert 'ENTRYPOINT ["/opt/doorward/bin/python", "-I", "-m", "doorward"]' in lines
    assert lines.index("USER 10001") < next(
        n for n, line in enumerate(lines) if "verify" in line and line.startswith("RUN")
    )
    assert "--require-hashes" in written["Dockerfile"].read_text()
    assert written[".dockerignore"].read_text().startswith("*\n")
