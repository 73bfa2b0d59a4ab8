"""Past policy by the words of a request: against a server that decodes paths, folds `..`, and obeys headers and
fields."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest

from .forked import Forked
from .product import Answering, web

pytestmark = pytest.mark.anyio

ODD = (
    "X-HTTP-Method-Override",
    "X_HTTP_Method",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-Forwarded-Prefix",
    "X-Forwarded-For",
    "Forwarded",
    "Cookie",
    "Host",
)


class Obedient(Answering):
    """It does what it is told, by whatever, and says what that was."""

    def obey(self) -> None:
        told = {name.replace("_", "-").lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(told.get("content-length", 0))).decode()
        path, _, query = self.path.partition("?")
        fields = {**parse_qs(query), **parse_qs(body), **(json.loads(body) if body.startswith("{") else {})}
        path = told.get("x-original-url") or told.get("x-rewrite-url") or path
        method = (
            told.get("x-http-method-override")
            or told.get("x-http-method")
            or "".join(fields.get("_method", []))
            or self.command
        )
        path = posixpath.normpath(unquote(unquote(path)).replace("\\", "/")).replace("//", "/")
        self.answer(f"{method} {path} {told.get('x-forwarded-for', '')}".strip())

    do_GET = do_POST = obey


def parameters(*names: str, place: str = "header") -> list[dict[str, Any]]:
    return [{"name": name, "in": place, "schema": {"type": "string"}} for name in names]


FREE = {"name": "free", "in": "query", "schema": {"type": "object", "additionalProperties": True}}
FORM = {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "additionalProperties": True}}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "users", "version": "1"},
    "paths": {
        "/users/{id}": {
            "get": {
                "operationId": "get_user",
                "parameters": [*parameters(*ODD), *parameters("_method", place="query"), FREE],
            },
            "post": {"operationId": "set_user", "requestBody": FORM},
            "delete": {"operationId": "delete_user"},
        },
        "/users/{id}/keys": {"get": {"operationId": "get_keys"}},
        "/users/me": {"get": {"operationId": "get_me"}},
        "/admin/keys": {"get": {"operationId": "get_admin"}},
        "/public/../admin/keys": {"get": {"operationId": "get_public"}},
        "/x/{a}{b}/admin/keys": {"get": {"operationId": "get_two"}},
    },
}


@pytest.fixture
def obedient() -> Iterator[str]:
    with web(Obedient) as url:
        yield url


PROGRAM = """
import u
def said(call):
    try:
        return call()
    except Exception as error:
        return "refused: " + type(error).__name__
values = ["7/keys", "7//keys", "7%2Fkeys", "7\\\\keys", "me", "ME", "x/../me", "./me"]
values += ["../admin/keys", "..\\\\admin\\\\keys", "%2e%2e/admin/keys", "..%2Fadmin%2Fkeys"]
found = [said(lambda: u.get_user(id=value)) for value in values]
found += [said(lambda: u.get_two(a=".", b=".")), said(lambda: u.get_two(a="../..", b="x"))]
for name in names:
    found.append(said(lambda: u.get_user(id="7", **{name: "/admin/keys" if "url" in name else "DELETE"})))
for name in ("_method", ".method", " _METHOD"):
    found.append(said(lambda: u.get_user(id="7", free={name: "DELETE"})))
    found.append(said(lambda: u.set_user(id="7", body={name: "DELETE"})))
result = [found, [u.get_user(id="7"), u.get_user(id="a/b"), u.get_user(id="7", free={"a": "1"})]]
"""
CLOSED = ["u.get_keys", "u.get_me", "u.get_admin", "u.delete_user"]


@pytest.mark.parametrize(
    ("policy", "server"),
    [
        (f"[policy]\ndeny = {json.dumps(CLOSED)}\n", ""),
        ("", "read_only = true\nexclude = ['get_keys', 'get_me', 'get_admin']\n"),
    ],
    ids=["deny", "read_only"],
)
async def test_no_word_of_a_request_leads_past_policy(tmp_path: Path, obedient: str, policy: str, server: str) -> None:
    """No value, no declared header or field and no free object reaches what policy or `read_only` closes; plain calls
    go through. CONTRACT: SEC-08."""
    (tmp_path / "u.json").write_text(json.dumps(DOCUMENT))
    project = Forked(
        tmp_path, f'{policy}[servers.u]\nsource = "openapi"\nspec = "u.json"\nbase_url = "{obedient}"\n{server}'
    )
    report = json.loads(project.run("compile", "--json").stdout)["servers"]["u"]
    assert [skipped["where"] for skipped in report["skipped"]] == ["GET /public/../admin/keys"]
    assert sum("programs cannot give" in warning for warning in report["warnings"]) >= 5
    async with project.stdio() as agent:
        names = [
            "x_http_method_override",
            "X_HTTP_Method",
            "x_original_url",
            "x_forwarded_for",
            "x_rewrite_url",
            "cookie",
            "host",
            "_method",
            "method",
        ]
        found, plain = await agent.value(PROGRAM, params={"names": names})
    assert [each for each in found if not str(each).startswith("refused: ")] == []
    assert plain == ["GET /users/7", "GET /users/a/b", "GET /users/7"]
