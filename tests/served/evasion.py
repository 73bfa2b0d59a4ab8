"""What the tests of evasion share: a bank that writes down every request, and a configuration with rules about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from .forked import Forked
from .product import Answering, Project

LIMITS = "[limits]\nrate = 100000\n"


class Bank(Answering):
    """An API that does what it is asked to, and keeps the method, the path as it came, and the body of each request."""

    ledger: ClassVar[list[tuple[str, str, Any]]] = []

    def _answered(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length).decode(errors="replace")
        self.ledger.append((self.command, self.path, body))
        self.answer({"done": self.command, "path": self.path})

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answered


def document(url: str) -> dict[str, Any]:
    """The bank's OpenAPI document."""
    done: dict[str, Any] = {"responses": {"200": {"description": "ok", "content": {"application/json": {}}}}}

    def path(name: str, kind: str) -> dict[str, Any]:
        return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}

    def query(name: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "in": "query", "schema": schema}

    order = {
        "type": "object",
        "properties": {
            "amount": {"type": "number"},
            "toAccount": {"type": "string"},
            "note": {"type": "string"},
            "details": {"type": "object"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["amount"],
    }
    body = {"required": True, "content": {"application/json": {"schema": order}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bank", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            "/accounts": {"get": {"operationId": "listAccounts", "parameters": [query("page", {})], **done}},
            "/accounts/{id}": {
                "get": {"operationId": "getAccount", "parameters": [path("id", "integer")], **done},
                "delete": {"operationId": "deleteAccount", "parameters": [path("id", "string")], **done},
            },
            "/accounts/{id}/close": {"post": {"operationId": "closeAccount", "parameters": [path("id", "string")], **done}},
            "/accounts/{id}/payments": {
                "post": {"operationId": "payFrom", "parameters": [path("id", "integer")], "requestBody": body, **done},
            },
            "/notes/{name}": {
                "get": {"operationId": "getNote", "parameters": [path("name", "string")], **done},
                "delete": {"operationId": "deleteNote", "parameters": [path("name", "string")], **done},
            },
            "/payments": {"post": {"operationId": "makePayment", "requestBody": body, **done}},
            "/orders": {"post": {"operationId": "placeOrder", "parameters": [query("amount", {"type": "number"})], "requestBody": body, **done}},
            "/loose": {"get": {"operationId": "loose", "parameters": [query("id", {}), query("ids", {"type": "array"})], **done}},
        },
    }  # fmt: skip


RULES = """
[[policy.rules]]
match = "DELETE /accounts/**"
then = "deny"
reason = "accounts stay"
[[policy.rules]]
match = "bank.close_account"
then = "deny"
reason = "nobody closes accounts"
[[policy.rules]]
match = "bank.get_account"
when = "args.id > 100"
then = "deny"
reason = "only the first hundred"
[[policy.rules]]
match = "bank.make_payment"
when = "args.amount <= 10.0 && !has(args.details) && !has(args.tags)"
then = "allow"
[[policy.rules]]
match = "bank.make_payment"
when = "args.amount > 1000.0"
then = "deny"
reason = "too much"
[[policy.rules]]
match = "bank.make_payment"
then = "confirm"
reason = "money needs a person"
"""


def banking(
    folder: Path, url: str, rules: str = RULES, more: str = "", servers: tuple[str, ...] = ("bank",)
) -> Project:
    """A project with the bank as a server, under rules."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bank.json").write_text(json.dumps(document(url)))
    config = LIMITS + more + rules
    for name in servers:
        config += f'[servers.{name}]\nsource = "openapi"\nspec = "bank.json"\nbase_url = "{url}"\n'
    return Forked(folder, config)
