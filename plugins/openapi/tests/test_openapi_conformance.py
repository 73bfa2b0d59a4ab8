"""What every source promises, and the driver inside a real Doorward."""

from __future__ import annotations

import json

import pytest
from doorward import ApiError, InvalidArguments
from doorward_openapi import OpenAPI
from doorward_testing import SourceConformance, check_driver, check_light_import


class TestOpenAPIConformance(SourceConformance):
    driver = OpenAPI

    @pytest.fixture(autouse=True)
    def _upstream(self, upstream):
        self.url = upstream.url
        upstream.answers["/gone"] = (410, {}, b'{"message": "sold"}')

    def settings(self, host):
        parameters = [{"name": "X-Id", "in": "header", "schema": {"type": "integer"}}]
        paths = {"/a": {"get": {"operationId": "same", "parameters": parameters}, "post": {"operationId": "same"}}}
        paths["/gone"] = {"get": {"operationId": "gone"}}
        (host.folder / "d.json").write_text(json.dumps({"openapi": "3.1.0", "paths": paths}))
        return {"spec": "d.json", "base_url": self.url}

    def example(self, host):
        return "same", {"x_id": 1}

    def refused(self, host):
        return "gone", {}

    def broken(self, host):
        return {"spec": "none.json", "base_url": self.url}


@pytest.mark.slow
def test_openapi_is_installed():
    """The entry point leads to the driver, and importing it imports nothing heavy."""
    assert check_driver("source", "openapi") is OpenAPI
    check_light_import("doorward_openapi")


@pytest.mark.anyio
async def test_openapi_behind_the_broker(host, upstream, operation):
    """CONTRACT: SRC-01 A call through a gateway: arguments are checked, the request is made, the value comes back."""
    host.install_real("openapi")
    document = operation(
        "post",
        "/items/{id}",
        requestBody={
            "content": {"application/json": {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
        },
    )
    (host.folder / "d.json").write_text(json.dumps(document))
    async with host.gateway(f'[servers.api]\nsource = "openapi"\nspec = "d.json"\nbase_url = "{upstream.url}"') as gate:
        told = await gate.call("api.op", {"id": "a/b", "n": 3})
        assert (told["path"], told["body"]) == ("/items/a%2Fb", '{"n":3}')
        with pytest.raises(InvalidArguments):
            await gate.call("api.op", {"id": "x", "n": "three"})
        upstream.answers["/items/gone"] = (410, {}, b'{"message": "sold"}')
        with pytest.raises(ApiError, match=r"410 Gone: .sold"):
            await gate.call("api.op", {"id": "gone"})
