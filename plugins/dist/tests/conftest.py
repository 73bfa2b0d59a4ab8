"""Small wheels, of which distributions are built without an index."""

from __future__ import annotations

import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from doorward.config.config import Loaded, load
from doorward_testing import Cli

MakeWheel = Callable[..., Path]

SOURCE = """
lock = ["http"]
[distribution]
name = "corp-doorward"
version = "2.0"
plugins = ["doorward==0.1.0", "doorward-dist==0.1.0", "corp-guard==1.0"]
[locked.http]
host = "127.0.0.1"
[required]
plugins = ["corp"]
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def distro(distro: Any) -> Any:
    """One that names the owner of `[http]`, which it may lock."""
    return partial(distro, requires=("doorward", "doorward-mcp-server"))


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Loaded]:
    """Loads a configuration given as text, with the variables given as keywords."""

    def load_text(text: str, **environ: str) -> Loaded:
        (tmp_path / "doorward.toml").write_text(text, encoding="utf-8")
        return load(tmp_path / "doorward.toml", environ=environ)

    return load_text


@pytest.fixture
def wheel(tmp_path: Path) -> MakeWheel:
    """Makes a wheel in the folder `wheels`."""

    def make(name: str, version: str, files: Mapping[str, str] | None = None, points: str = "", **headers: Any) -> Path:
        stem = f"{name.replace('-', '_')}-{version}"
        head = [f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}"]
        head += [f"{key.replace('_', '-')}: {value}" for key, values in headers.items() for value in values]
        content = {
            **(files or {f"{name.replace('-', '_')}/__init__.py": ""}),
            f"{stem}.dist-info/METADATA": "\n".join(head) + "\n",
            f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{stem}.dist-info/entry_points.txt": points,
        }
        rows = [
            f"{path},sha256={urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
            for path, text in content.items()
        ]
        content[f"{stem}.dist-info/RECORD"] = "".join(rows) + f"{stem}.dist-info/RECORD,,\n"
        (tmp_path / "wheels").mkdir(exist_ok=True)
        made = tmp_path / "wheels" / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(made, "w") as archive:
            for path, text in content.items():
                archive.writestr(zipfile.ZipInfo(path), text)
        return made

    return make


@pytest.fixture
def wheels(wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A core with a library below it, and a guard; pip looks nowhere else."""
    wheel(
        "doorward", "0.1.0", Requires_Dist=["corp-lib>=1", 'corp-other>=1; extra == "more"'], License_Expression=["MIT"]
    )
    wheel("doorward-dist", "0.1.0")
    wheel("corp-lib", "1.5", License=["Our own licence\n   in lines"])
    wheel("corp-guard", "1.0", points="[doorward.plugins]\ncorp = corp_guard:Guard\n", Requires_Dist=["doorward-kit"])
    wheel("doorward-kit", "0.1.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return tmp_path / "wheels"


@pytest.fixture
def source(tmp_path: Path, wheels: Path) -> Path:
    """The source of a distribution."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/distribution.toml").write_text(SOURCE)
    return tmp_path / "source"


@pytest.fixture
def doorward(cli: Cli, doorward_host: Any, wheels: Path) -> Cli:
    """The command line with the command `dist`."""
    from doorward_dist.command import dist

    doorward_host.install("command", "dist", dist)
    return cli
