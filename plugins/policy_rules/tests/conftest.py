"""Rules as a configuration, and an organisation's distribution, have them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward_testing import Cli
from doorward_testing.samples import CONFIG


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("doorward-policy-rules")


@pytest.fixture
def project(cli: Cli, doorward_host: Any) -> Cli:
    """The command line beside a configuration with the server `weather`."""
    doorward_host.write(CONFIG)
    return cli


@pytest.fixture
def distro(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs a curated distribution whose manifest is given."""

    def install(manifest: str) -> None:
        info, package = tmp_path / "site" / "acme_distro-1.2.dist-info", tmp_path / "site" / "acme_distro"
        info.mkdir(parents=True)
        needs = "Requires-Dist: doorward\nRequires-Dist: doorward-policy-rules\n"
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-distro\nVersion: 1.2\n{needs}")
        (info / "entry_points.txt").write_text("[doorward.distro]\nacme = acme_distro\n")
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "distro.toml").write_text(manifest)
        monkeypatch.syspath_prepend(tmp_path / "site")
        monkeypatch.delitem(sys.modules, "acme_distro", raising=False)

    return install
