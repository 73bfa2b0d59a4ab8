"""nginx as most machines have it: it decodes a path before it chooses what answers, so an encoded slash is a slash to
it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorward_testing import reserve_port

from .peer import answers, gateway, program, run, running

pytestmark = [pytest.mark.anyio]

CONFIGURATION = """
daemon off; pid nginx.pid; error_log error.log;
events {{}}
http {{
  access_log off; client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
  server {{
    listen 127.0.0.1:{port};
    default_type text/plain;
    location /users/ {{ return 200 user; }}
    location ~ ^/users/[^/]*/keys {{ return 200 keys; }}
    location /admin/keys {{ return 200 admin; }}
  }}
}}
"""
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "users", "version": "1"},
    "paths": {
        "/users/{id}": {"get": {"operationId": "get_user"}},
        "/users/{id}/keys": {"get": {"operationId": "get_keys"}},
        "/users/{id}.{end}": {"get": {"operationId": "get_file"}},
        "/admin/keys": {"get": {"operationId": "get_admin"}},
    },
}


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "nginx").mkdir()
    port = reserve_port()
    (tmp_path / "nginx/nginx.conf").write_text(CONFIGURATION.format(port=port))
    command = [program("nginx"), "-p", str(tmp_path / "nginx"), "-e", "error.log", "-c", "nginx.conf"]
    with running(command, tmp_path, answers(f"http://127.0.0.1:{port}/users/1")):
        yield port


def asked(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


async def test_nginx_answers_nothing_but_what_policy_allows(nginx: int, tmp_path: Path) -> None:
    """What nginx would answer from the path of a denied function is refused before it is sent; plain values arrive."""
    assert asked(nginx, "/users/..%2Fadmin%2Fkeys") == "admin"  # so the attacks are some
    assert asked(nginx, "/users/7%2Fkeys") == asked(nginx, "/users/7%2F%2Fkeys") == "keys"
    (tmp_path / "api.json").write_text(json.dumps(DOCUMENT))
    async with gateway(
        tmp_path, spec="api.json", base_url=f"http://127.0.0.1:{nginx}", exclude=["get_admin", "get_keys"]
    ) as gate:
        code = """
import api
def said(call):
    try:
        return call()
    except Exception as error:
        return "another function" in str(error) or "must not be empty" in str(error)
dots = ["../admin/keys", "7/../../admin/keys", "x/..//../admin/keys", "./../admin/keys", "../admin/./keys"]
whole = [said(lambda: api.get_user(id=value)) for value in dots]
parts = said(lambda: api.get_file(id="", end="")), said(lambda: api.get_file(id=".", end="/admin/keys"))
[said(lambda: api.get_user(id="7")), said(lambda: api.get_user(id="a/b..c")), *whole, *parts]
"""
        outcome = await gate.execute(code)
        assert outcome.ok, outcome.error
        assert outcome.value[:2] == ["user", "user"]
        assert all(value is True for value in outcome.value[2:])
        for value in ("7/keys", "7//keys", "7\\keys", "7/keys/"):
            outcome = await gate.execute(f"import api\napi.get_user(id={value!r})")
            assert "can mean GET /users/{id}/keys, which may not be called" in outcome.error.message
    async with gateway(tmp_path, spec="api.json", base_url=f"http://127.0.0.1:{nginx}") as gate:
        outcome = await gate.execute("import api\napi.get_user(id='7/keys')", functions=["api.get_user"])
        assert "can mean GET /users/{id}/keys" in outcome.error.message
        assert await run(gate, "import api\napi.get_user(id='7/keys')") == "keys"
