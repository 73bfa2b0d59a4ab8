"""What the tests of the search share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward import Compiled, Function, Gateway
from doorward_search.learning.learning import Learning
from doorward_search.plugin import FunctionSearch, Search
from doorward_search.testing import SearchedCatalog
from doorward_search.views import search_views, view
from doorward_search.views.search_views import SearchViews
from doorward_store_sqlite.catalog import SqliteCatalog
from doorward_testing.samples import CONFIG

from .meanings import Meanings


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real(
        "search", "search_view", "search_views", "learned", "doorward-store-sqlite", "text", "program_helpers"
    )


class Searched(SearchedCatalog):
    """A catalog in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteCatalog(path))


def function(name: str, summary: str = "", server: str = "s", **fields: object) -> Function:
    return Function(server, name, fields.pop("id", name), summary, **fields)  # type: ignore[arg-type]


def stored(folder: Path, *functions: Function) -> Searched:
    """A catalog of these functions."""
    catalog = Searched(folder / "catalog.db")
    for server in dict.fromkeys(f.server for f in functions):
        compiled = Compiled([f for f in functions if f.server == server], {"Thing": {"type": "object"}})
        catalog.store(server, compiled, fingerprint="f", settings="c", ms=1)
    catalog.refresh()
    return catalog


def plugin_of(gate: Gateway) -> Search:
    """The plugin of this distribution in a gateway."""
    found: Search = gate.plugins.manager.get_plugin("search")
    return found


def engine(gate: Gateway) -> FunctionSearch:
    return plugin_of(gate).engine


def learning(gate: Gateway) -> Learning:
    return plugin_of(gate).learning


def views(gate: Gateway) -> SearchViews:
    return plugin_of(gate).engine.views


@pytest.fixture
def meanings(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> type[Meanings]:
    """The view, installed as `means`; a fresh class for each test."""
    kind = type("Meanings", (Meanings,), {"made": []})
    doorward_host.install("search_view", "means", kind)
    monkeypatch.setattr(search_views, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(search_views, "MIN_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(view, "ANSWER_SECONDS", 100)
    return kind


@pytest.fixture
def project(cli: Any, doorward_host: Any) -> Any:
    """The command line beside a configuration with the server `weather`."""
    doorward_host.write(CONFIG)
    return cli
