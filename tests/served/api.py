"""The HTTP API of these tests, on two loopback ports (two origins): it tells what it received, in every disguise, and
misbehaves.

Run as `python api.py PORT OTHER_PORT [LOG]` (0: any free one); the first line on stdout is a JSON list of both base
URLs. It ends when its standard input does, so that it never outlives whoever started it. The names of all items that are
created are appended to the file LOG, a line of JSON each: it has them when this process was killed, too.
"""

from __future__ import annotations

import asyncio
import base64
import html
import json
import os
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda s: s,
    "reversed": lambda s: s[::-1],
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64_inside": lambda s: base64.b64encode(f"x{s}y".encode()).decode(),
    "base64_further": lambda s: base64.b64encode(f"xy{s} and more".encode()).decode(),
    "base64_url": lambda s: base64.urlsafe_b64encode(f"{s}?".encode()).decode().rstrip("="),
    "percent": lambda s: quote(s, safe=""),
    "percent_all": lambda s: "".join(f"%{b:02x}" for b in s.encode()),
    "hex": lambda s: s.encode().hex(),
    "hex_upper": lambda s: s.encode().hex().upper(),
    "json": lambda s: json.dumps(json.dumps({"got": s})),
    "html": html.escape,
}
COMPLAINT = {
    "exception_message": "Invalid.",
    "exception_detail": [{"loc": ["body", "name"], "msg": "Field\x1b[31m required"}],
}
"""What the API answers to `status(code=422)`."""
COMPLAINED = 'answered 422 Unprocessable Entity: "Invalid: body.name: Field required"'
"""What a program, or who reads its failure, is told of that."""
COMPLAIN = """
import doorward, shelf
try:
    shelf.status(code=422)
except doorward.ApiError as error:
    print([str(error), error.status, error.body["exception_detail"][0]["loc"]])
shelf.status(code=422)
"""
"""A program that catches it and prints what it is told, and then does not catch it."""
PLACES = ("body", "key", "text", "bytes", "header", "header_name", "error", "problem", "broken_json", "location")


def document(url: str) -> dict[str, Any]:
    """The OpenAPI document for this address."""
    paths: dict[str, Any] = {}

    def add(method: str, path: str, operation: str, summary: str, returns: Any = None, **more: Any) -> None:
        answer = (
            {"description": "OK", "content": {"application/json": {"schema": returns}}}
            if returns
            else {"description": "OK"}
        )
        paths.setdefault(path, {})[method] = {
            "operationId": operation,
            "summary": summary,
            "responses": {"200": answer},
            **more,
        }

    def query(*names: str, kind: str = "integer") -> list[dict[str, Any]]:
        return [{"name": name, "in": "query", "schema": {"type": kind}} for name in names]

    def path(name: str, kind: str = "string") -> dict[str, Any]:
        return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}

    item = {"$ref": "#/components/schemas/Item"}
    listed = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": item}, "nextPage": {"type": "integer"}},
    }
    body = {"required": True, "content": {"application/json": {"schema": item}}}
    add(
        "get",
        "/items",
        "listItems",
        "List the items of the shelf, page by page",
        listed,
        parameters=query("page"),
        tags=["items"],
    )
    add(
        "get",
        "/items/{id}",
        "getItem",
        "One item of the shelf",
        item,
        parameters=[path("id", "integer")],
        tags=["items"],
    )
    add("post", "/items", "createItem", "Put an item on the shelf", item, requestBody=body, tags=["items"])
    add("delete", "/items/{id}", "deleteItem", "Throw an item away", parameters=[path("id", "integer")], tags=["items"])
    add("get", "/slow", "slow", "Answers after some milliseconds", parameters=query("ms"))
    add("get", "/big", "big", "A large answer", parameters=query("count"))
    add("get", "/status/{code}", "status", "Answers with a status code", parameters=[path("code", "integer")])
    add("get", "/drop", "drop", "Breaks the connection off in the middle of its answer")
    add("get", "/away", "away", "Redirects to another origin", parameters=query("code"))
    add("get", "/mark/{name}", "mark", "Remembers that somebody was here", parameters=[path("name")])
    add("get", "/headers", "headers", "The names of the headers received, and the value of X-Version")
    add(
        "get",
        "/echo/{form}/{place}",
        "echo",
        "Tells the credentials received",
        parameters=[path("form"), path("place"), *query("pad")],
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shelf", "version": "1", "description": "Items on a shelf"},
        "servers": [{"url": url}],
        "paths": paths,
        "components": {
            "schemas": {
                "Item": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "integer"},
                        "itemName": {"type": "string"},
                        "price": {"type": "number"},
                    },
                    "required": ["itemName"],
                }
            }
        },
    }


def item(n: int) -> dict[str, Any]:
    return {"id": n, "itemName": f"item {n}", "price": n * 1.5}


def application(urls: list[str], log_file: str = os.devnull) -> Starlette:
    """The API at `urls[0]`, and the same at `urls[1]`, the other origin."""
    marks: list[str] = []
    seen: list[dict[str, Any]] = []
    waiting: list[Request] = []
    hurried = threading.Event()
    created_log = open(log_file, "a", buffering=1)  # noqa: SIM115

    async def openapi(request: Request) -> Response:
        return JSONResponse(document(urls[0]))

    async def items(request: Request) -> Response:
        if request.method == "POST":
            created = await request.json()
            created_log.write(f"{json.dumps(created.get('itemName'))}\n")
            return JSONResponse({**created, "id": 1}, 201)
        page = int(request.query_params.get("page", 1))
        return JSONResponse(
            {"items": [item(10 * page + n) for n in range(10)], "nextPage": page + 1 if page < 3 else 0}
        )

    async def one(request: Request) -> Response:
        return (
            Response(status_code=204) if request.method == "DELETE" else JSONResponse(item(request.path_params["id"]))
        )

    async def slow(request: Request) -> Response:
        end = time.monotonic() + int(request.query_params.get("ms", 100)) / 1000
        waiting.append(request)
        try:
            while (left := end - time.monotonic()) > 0 and not hurried.is_set():
                await asyncio.sleep(min(left, 0.05))
        finally:
            waiting.remove(request)
        return JSONResponse({"slept": True})

    async def big(request: Request) -> Response:
        return JSONResponse([item(n) for n in range(int(request.query_params.get("count", 10_000)))])

    async def status(request: Request) -> Response:
        code = request.path_params["code"]
        return JSONResponse(COMPLAINT if code == 422 else {"title": "it went wrong", "detail": "on purpose"}, code)

    async def drop(request: Request) -> Response:
        async def parts() -> Any:
            yield b'{"half": '
            raise ConnectionAbortedError

        return StreamingResponse(parts(), media_type="application/json", headers={"content-length": "1000"})

    async def away(request: Request) -> Response:
        return RedirectResponse(f"{urls[1]}/items/1", int(request.query_params.get("code", 302)))

    async def mark(request: Request) -> Response:
        marks.append(request.path_params["name"])
        return JSONResponse({"marked": True})

    async def headers(request: Request) -> Response:
        return JSONResponse({"names": sorted(request.headers), "x-version": request.headers.get("x-version")})

    async def echo(request: Request) -> Response:
        form = FORMS[request.path_params["form"]]
        told = ["x" * int(request.query_params.get("pad", 0)) + form(credential) for credential in credentials(request)]
        match request.path_params["place"]:
            case "body":
                return JSONResponse({"told": told, "deep": [{"er": ["so: " + t for t in told]}]})
            case "key":
                return JSONResponse(dict.fromkeys(told, 1))
            case "text":
                return PlainTextResponse("\n".join(told))
            case "bytes":
                return Response("\0".join(told).encode(), media_type="application/octet-stream")
            case "header":
                return JSONResponse(
                    {"ok": True}, headers={f"x-told-{n}": t.replace("\n", "") for n, t in enumerate(told)}
                )
            case "header_name":
                return JSONResponse(
                    {"ok": True}, headers={re.sub(r"[^\w!#$%&'*+.^`|~-]", "-", f"x-told-{t}"): "1" for t in told}
                )
            case "error":
                return JSONResponse(
                    {"message": f"your credentials {told} are wrong", "errors": [{"msg": t} for t in told]}, 403
                )
            case "problem":
                return PlainTextResponse(f"Bad credentials: {told}", 500)
            case "broken_json":
                return Response('{"told": ' + "".join(told), media_type="application/json")
            case _:
                return RedirectResponse(f"{urls[1]}/items/1?stolen={quote(''.join(told))}#{told[-1] if told else ''}")

    async def login(request: Request) -> Response:
        """A session, as a cookie and as a token, for whoever has a password."""
        asked = await request.json()
        made = {name: f"{name}-{secrets.token_urlsafe(20)}" for name in ("cookie", "token")}
        answer = JSONResponse({"token": made["token"], "welcome": asked}, headers={"X-Told": asked["password"]})
        answer.set_cookie("sid", made["cookie"], path="/")
        return answer

    async def log(request: Request) -> Response:
        return JSONResponse({"marks": marks, "seen": seen, "waiting": len(waiting)})

    async def hurry(request: Request) -> Response:
        hurried.set() if request.path_params["on"] else hurried.clear()
        return JSONResponse(None)

    async def remember(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not scope["path"].startswith(("/log", "/hurry")):
            at = urls.index(f"http://127.0.0.1:{scope['server'][1]}")
            told = list(credentials(Request(scope)))
            seen.append({"origin": at, "path": scope["path"], "credentials": told})
        await routes(scope, receive, send)

    routes = Starlette(
        routes=[
            Route("/openapi.json", openapi),
            Route("/items", items, methods=["GET", "POST"]),
            Route("/items/{id:int}", one, methods=["GET", "DELETE"]),
            Route("/slow", slow),
            Route("/big", big),
            Route("/status/{code:int}", status),
            Route("/drop", drop),
            Route("/away", away),
            Route("/mark/{name}", mark),
            Route("/headers", headers),
            Route("/echo/{form}/{place}", echo),
            Route("/login", login, methods=["POST"]),
            Route("/log", log),
            Route("/hurry/{on:int}", hurry),
        ]
    )
    return remember  # type: ignore[return-value]


def credentials(request: Request) -> Iterator[str]:
    """All that a request carries to say who asks, also what stands in it encoded."""
    for name in ("authorization", "x-api-key", "x-static", "x-extra", "cookie"):
        value = request.headers.get(name)
        if value is not None:
            yield value
            kind, _, token = value.partition(" ")
            if kind == "Basic":
                yield base64.b64decode(token).decode()
            elif kind == "Bearer":
                yield token
    if "key" in request.query_params:
        yield request.query_params["key"]
        yield request.url.query


def main() -> None:
    sockets = [socket.create_server(("127.0.0.1", int(port))) for port in sys.argv[1:3]]
    for listener in sockets:  # else each answer waits 40 ms for an acknowledgement
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    urls = [f"http://127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    server = uvicorn.Server(
        uvicorn.Config(application(urls, *sys.argv[3:]), log_level="critical", timeout_graceful_shutdown=1)
    )

    def end_with_stdin() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_stdin, daemon=True).start()
    print(json.dumps(urls), flush=True)
    asyncio.run(server.serve(sockets))


if __name__ == "__main__":
    main()
