"""What holds for every search view, with both kinds of models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from doorward_search_embeddings import Embeddings
from doorward_testing import Host, SearchViewConformance

from .conftest import Endpoint, save_model


class TestFolder(SearchViewConformance):
    driver = Embeddings

    def settings(self, host: Host) -> dict[str, Any]:
        return {"folder": str(save_model(host.folder / "model"))}


class TestEndpoint(SearchViewConformance):
    driver = Embeddings

    @pytest.fixture(autouse=True)
    def _served(self) -> Iterator[None]:
        self.endpoint = Endpoint()
        yield
        self.endpoint.close()

    def settings(self, host: Host) -> dict[str, Any]:
        return {"url": self.endpoint.url, "model": "small"}
