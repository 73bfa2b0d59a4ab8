"""Where the calls of a function may go, as policies are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from doorward import Function
from doorward_openapi.settings import OpenAPISettings
from doorward_openapi.source import OpenAPI


@pytest.mark.parametrize(
    ("keys", "base", "reached"),
    [
        ({"base_url": "https://api.example.com/v1"}, None, ["https://api.example.com/v1"]),
        ({"base_url": "https://api.example.com"}, "https://other.example.com", ["https://api.example.com"]),
        ({}, "https://named.example.com/v2", ["https://named.example.com/v2"]),
        (
            {"base_url": "https://api.example.com", "origins": ["https://up.example.com"]},
            "https://up.example.com/x",
            ["https://up.example.com/x", "https://up.example.com"],
        ),
        ({"socket": "/run/api.sock"}, "http://named.example.com", ["socket:/run/api.sock"]),
        ({"socket": "/run/api.sock", "base_url": "http://box.example.com"}, None, ["socket:/run/api.sock"]),
    ],
)
def test_what_a_policy_is_told(keys: dict[str, Any], base: str | None, reached: list[str]) -> None:
    """The configured place, else the one that the document names for the function; the socket that carries its
    requests; and the origins to which they may be redirected."""
    settings = OpenAPISettings(spec="x.json", **keys)
    assert OpenAPI.upstreams(settings, Function("api", "get", data={"base": base} if base else {})) == reached


def test_what_a_server_is_said_to_reach_as_a_whole() -> None:
    """Without a function only what is configured counts."""
    assert OpenAPI.upstreams(OpenAPISettings(spec="x.json"), None) == []
    settings = OpenAPISettings(spec="x.json", base_url="https://api.example.com")
    assert OpenAPI.upstreams(settings, None) == ["https://api.example.com"]


def test_a_call_tells_its_request() -> None:
    """What a mock knows it by: the method, the path with its query below the base URL, and the body."""
    arguments = [{"arg": "id", "name": "id", "in": "path"}, {"arg": "q", "name": "q", "in": "query"}]
    function: Any = SimpleNamespace(data={"method": "GET", "path": "/items/{id}", "arguments": arguments})
    assert OpenAPI.sent(function, {"id": "a b", "q": "x"}) == ("GET", "/items/a%20b?q=x", None)
