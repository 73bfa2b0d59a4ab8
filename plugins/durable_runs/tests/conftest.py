"""What the tests of stored runs share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("runs", "plans", "undo", "runs.commit", "runs.undo", "doorward-policy-rules")


@pytest.fixture
def distro(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a curated distribution whose manifest is given."""

    def install(manifest: str, name: str = "acme", requires: tuple[str, ...] = ("doorward",)) -> None:
        info = tmp_path / "site" / f"{name}_distro-1.2.dist-info"
        info.mkdir(parents=True)
        needs = "".join(f"Requires-Dist: {r}\n" for r in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-distro\nVersion: 1.2\n{needs}")
        (info / "entry_points.txt").write_text(f"[doorward.distro]\n{name} = {name}_distro\n")
        package = tmp_path / "site" / f"{name}_distro"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "distro.toml").write_text(manifest)
        monkeypatch.syspath_prepend(tmp_path / "site")
        monkeypatch.delitem(sys.modules, f"{name}_distro", raising=False)

    return install
