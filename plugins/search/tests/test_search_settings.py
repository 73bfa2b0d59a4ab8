"""What the configuration says of searches belongs to this distribution, as what it says of others does to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError
from doorward.configuration import load_config
from doorward_testing.samples import CONFIG


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An organisation's distribution that chooses and locks a search view."""
    info = tmp_path / "site" / "acme_distro-1.2.dist-info"
    info.mkdir(parents=True)
    needs = "Requires-Dist: doorward\nRequires-Dist: doorward-search\nRequires-Dist: doorward-search-embeddings\n"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-distro\nVersion: 1.2\n{needs}")
    (info / "entry_points.txt").write_text("[doorward.distro]\nacme = acme_distro\n")
    package = tmp_path / "site" / "acme_distro"
    package.mkdir()
    (package / "__init__.py").touch()
    chosen = "[defaults]\nsearch_view = ['means']\n[defaults.search_views.means]\nx = 1\n"
    (package / "distro.toml").write_text(f"lock = ['search_view']\n{chosen}")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "acme_distro", raising=False)


def test_a_locked_choice_locks_the_settings_of_what_is_chosen(acme: None, tmp_path: Path) -> None:
    """As it does of executors."""
    file = tmp_path / "doorward.toml"
    file.write_text("search_view = ['means']\n[search_views.means]\nx = 1\n")
    assert load_config(file, environ={})
    file.write_text("[search_views.means]\npaths = ['/etc']\n")
    with pytest.raises(ConfigError, match=r"search_views.means.paths .* locks \[search_views\]"):
        load_config(file, environ={})


@pytest.mark.anyio
async def test_it_can_be_left_out(doorward_host: Any) -> None:
    """Then exact names and plain words find functions; a table of its own puts it to use all the same."""
    async with doorward_host.gateway(f"capabilities = []\n{CONFIG}") as gate:
        assert (await gate.search_functions("get forecast"))["functions"][0]["function"] == "weather.get_forecast"
        assert not (await gate.search_functions("forcast", explain=True))["functions"]
    async with doorward_host.gateway(f"capabilities = []\n{CONFIG}[search]\nlearn = false\n") as gate:
        assert (await gate.search_functions("forcast"))["functions"]
