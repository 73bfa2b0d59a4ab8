"""`add openapi` writes the auth that a document asks for, and it works: each kind of credential, against an API that
wants it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from .forked import Forked
from .product import Answering, web

BASIC = base64.b64encode(b"me:pass-w0rd-0f-me").decode()
WANTED = {  # what the API wants to see: the path is the name of the scheme
    "basic": lambda request, query: request.headers.get("Authorization") == f"Basic {BASIC}",
    "bearer": lambda request, query: request.headers.get("Authorization") == "Bearer t0ken-of-me",
    "prefixed": lambda request, query: request.headers.get("Authorization") == "Token t0ken-of-me",
    "header": lambda request, query: request.headers.get("X-Key") == "k3y-of-me",
    "query": lambda request, query: query.get("key") == ["k3y-of-me"],
    "cookie": lambda request, query: request.headers.get("Cookie") == "sid=k3y-of-me",
    "both": lambda request, query: (
        (request.headers.get("X-App"), request.headers.get("X-Key")) == ("k3y-of-me", "k3y-2-of-me")
    ),
    "oauth2": lambda request, query: request.headers.get("Authorization") == "Bearer issued",
}


class Handler(Answering):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        allowed = WANTED[parts.path.strip("/")](self, parse_qs(parts.query))
        self.answer({"fine": allowed}, 200 if allowed else 401)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        known = self.headers.get("Authorization") == f"Basic {base64.b64encode(b'client-of-me:s3cret-of-me').decode()}"
        self.answer({"access_token": "issued", "token_type": "Bearer", "expires_in": 300}, 200 if known else 401)


def key(name: str, where: str = "header", **more: str) -> dict[str, str]:
    return {"type": "apiKey", "in": where, "name": name, **more}


SCHEMES: dict[str, dict[str, Any]] = {
    "basic": {"basic": {"type": "http", "scheme": "basic"}},
    "bearer": {"bearer": {"type": "http", "scheme": "bearer"}},
    "prefixed": {"prefixed": key("Authorization", description="Send `Authorization: Token <key>`.")},
    "header": {"header": key("X-Key")},
    "query": {"query": key("key", "query")},
    "cookie": {"cookie": key("sid", "cookie")},
    "both": {"app": key("X-App"), "key": key("X-Key")},
    "oauth2": {"oauth2": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/token", "scopes": {}}}}},
}
VALUES = {
    "USERNAME": "me", "PASSWORD": "pass-w0rd-0f-me", "TOKEN": "t0ken-of-me", "KEY": "k3y-of-me", "KEY_2": "k3y-2-of-me",
    "CLIENT_ID": "client-of-me", "CLIENT_SECRET": "s3cret-of-me",
}  # fmt: skip


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with web(Handler) as url:
        yield url


class Folder:
    def __init__(self, folder: Path, kind: str, new: bool = True, **more: Any) -> None:
        self.folder = folder
        self.doorward = Forked(folder / ".none", "").command()[:-2]
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("API_", "DOORWARD_CONFIG"))
        }
        security = [{name: [] for name in SCHEMES[kind]}]
        answer = {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}}}
        get = {"operationId": "look", "security": security, "responses": answer}
        info = {"title": "Api", "version": "1"}
        document = {
            "openapi": "3.1.0",
            "info": info,
            "paths": {f"/{kind}": {"get": get}},
            "components": {"securitySchemes": SCHEMES[kind]},
        }
        (folder / f"{kind}.json").write_text(json.dumps({**document, **more}))
        if new:
            (folder / "doorward.toml").write_text('# mine\nstate = "state"\nexecutor = "monty"\n')

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [*self.doorward, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code, done
        return done.stdout + done.stderr

    @property
    def servers(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "doorward.toml").read_text())["servers"]

    @property
    def server(self) -> dict[str, Any]:
        return self.servers["api"]


def test_the_suggested_auths_work(tmp_path: Path, url: str) -> None:
    """`add` writes them while no variable is set, and says which to set; once they are in .env, calls work. CONTRACT:
    AUT-01, AUT-09."""
    variables, program = [], []
    for kind in WANTED:
        here = Folder(tmp_path, kind, kind == "basic")
        told = json.loads(here.run("add", "openapi", f"api_{kind}", f"{kind}.json", "--base-url", url, "--json"))
        assert told["servers"][f"api_{kind}"]["functions"] == 1
        assert (told["suggested"]["written"], told["suggested"]["closed"]) == (True, 1)
        assert here.servers[f"api_{kind}"]["auth"] == told["suggested"]["auth"]
        variables += told["suggested"]["variables"]
        program.append(f"import api_{kind}\nresult.append(api_{kind}.look()['fine'])")
    assert "API_BEARER_TOKEN" in here.run("call", "api_bearer.look", code=2)
    (tmp_path / ".env").write_text("".join(f"{name}={VALUES[name.split('_', 2)[2]]}\n" for name in variables))
    (tmp_path / "all.py").write_text("\n".join(["result = []", *program]))
    assert json.loads(here.run("run", "all.py", "--json"))["value"] == [True] * len(WANTED)


def test_what_is_told(tmp_path: Path, url: str) -> None:
    """In words: what was written, which variables to set and where; `doctor` then names those that are missing. With
    `--no-auth` nothing is written, and `doctor` and a refused call say what to write. CONTRACT: AUT-01."""
    here = Folder(tmp_path, "oauth2")
    added = here.run("add", "openapi", "api", "oauth2.json", "--base-url", url)
    assert "set API_CLIENT_ID, API_CLIENT_SECRET in .env" in added
    assert "or instead: auth = " in added
    assert "unchanged" not in added
    assert (tmp_path / "doorward.toml").read_text().startswith("# mine\n")
    checked = json.loads(here.run("doctor", "--json", code=1))["checks"]
    missing = [check["check"] for check in checks(checked) if not check["ok"]]
    assert all(
        any(f"${{{name}}} has no value" in text for text in missing) for name in ("API_CLIENT_ID", "API_CLIENT_SECRET")
    ), missing

    here.run("add", "openapi", "api", "oauth2.json", "--base-url", url, "--force", "--no-auth")
    assert "auth" not in here.server
    (advice,) = [
        check["advice"]
        for check in checks(json.loads(here.run("doctor", "--json"))["checks"])
        if "has no auth" in check["check"]
    ]
    assert (
        f'Add to [servers.api]: auth = {{type = "oauth2", flow = "client_credentials", token_url = "{url}/token"'
        in advice
    )
    refused = here.run("call", "api.look", code=1)
    assert "[servers.api] has no credentials: the operator gives it an `auth` of the type oauth2 or jwt" in refused
    assert "/token" not in refused


def checks(all_of_them: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [check for check in all_of_them if check["check"].startswith("server")]


def test_secrets_do_not_go_elsewhere_on_the_word_of_a_document(tmp_path: Path, url: str) -> None:
    """A token URL of another origin is written as a comment, and told."""
    elsewhere = {
        "oauth2": {
            "type": "oauth2",
            "flows": {"clientCredentials": {"tokenUrl": "https://login.example/token", "scopes": {}}},
        }
    }
    here = Folder(tmp_path, "oauth2", components={"securitySchemes": elsewhere})
    added = here.run("add", "openapi", "api", "oauth2.json", "--base-url", url)
    assert "https://login.example/token, which is not where the API is" in added
    assert "auth" not in here.server
    file = tmp_path / "doorward.toml"
    file.write_text(file.read_text().replace("# auth", "auth"))
    assert here.server["auth"]["token_url"] == "https://login.example/token"
    here.run("add", "openapi", "api", "oauth2.json", "--base-url", url, "--force")
    assert file.read_text().count("login.example") == 1


def test_what_the_operator_says_stays(tmp_path: Path, url: str) -> None:
    """`--auth` is not overwritten; `doctor` hints at what the document does not know, without an error."""
    here = Folder(tmp_path, "header")
    given = '{ type = "api_key", name = "X-Other", value = "${HOME}" }'
    assert "auth:" not in here.run("add", "openapi", "api", "header.json", "--base-url", url, "--auth", given)
    assert here.server["auth"]["name"] == "X-Other"
    hints = checks(json.loads(here.run("doctor", "--json"))["checks"])
    assert [
        c["ok"] for c in hints if "an API key in header x-other; its document knows header x-key" in c["check"]
    ] == [True]


def test_a_public_api_gets_nothing(tmp_path: Path, url: str) -> None:
    """CONTRACT: AUT-08."""
    here = Folder(tmp_path, "header", components={}, paths={"/header": {"get": {"operationId": "look"}}})
    assert "auth" not in here.run("add", "openapi", "api", "header.json", "--base-url", url)
    assert "auth" not in here.server


class Closed(Handler):
    """An MCP server that wants a login."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        self.send_header(
            "WWW-Authenticate",
            f'Bearer resource_metadata="http://{self.headers["Host"]}/.well-known/oauth-protected-resource"',
        )
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_an_mcp_server_that_wants_a_login(tmp_path: Path) -> None:
    """`add mcp` writes the auth, and says to log in. CONTRACT: AUT-01."""
    here = Folder(tmp_path, "header")
    with web(Closed) as url:
        added = here.run("add", "mcp", "api", "--url", f"{url}/mcp", code=1)
    assert "auth: it wants credentials: OAuth with a login, by `doorward login api`" in added
    assert here.server["auth"] == {"type": "oauth2"}
