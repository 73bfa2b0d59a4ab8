"""The demo's HTTP API: a small lending library on loopback, its data in memory, an API key before every answer.

Run as `python -m doorward_demo.service [PORT]`, with the key in `DEMO_API_KEY`. The first line on stdout is the base
URL; it ends when its standard input does, so that it never outlives the process that started it.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from importlib import resources

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from doorward_demo.library import Library, Problem, Record, checked

Handler = Callable[[Request], Awaitable[Response]]


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    body = {"title": error.detail, "status": error.status, "instance": request.url.path}
    return JSONResponse(body, error.status, media_type="application/problem+json")


async def _fields(request: Request, kind: str) -> Record:
    try:
        body = await request.json()
    except ValueError:
        raise Problem(400, "the body is no JSON") from None
    return checked(body, kind)


def routes(library: Library, guarded: Callable[[Handler], Handler]) -> list[Route]:
    """Every path of `openapi.json`."""

    async def document(request: Request) -> Response:
        return Response(
            resources.files("doorward_demo").joinpath("openapi.json").read_bytes(), media_type="application/json"
        )

    async def echo(request: Request) -> Response:
        return JSONResponse({"headers": dict(request.headers)})

    def collection(kind: str) -> Handler:
        async def handle(request: Request) -> Response:
            if request.method == "POST":
                record = library.create(kind, await _fields(request, kind), request.headers.get("idempotency-key", ""))
                return JSONResponse(record, 201)
            return JSONResponse(library.find(kind, request.query_params))

        return handle

    def single(kind: str) -> Handler:
        async def handle(request: Request) -> Response:
            record = library.get(kind, request.path_params["id"])
            if request.method == "PATCH":
                record.update(await _fields(request, kind))
            if request.method == "DELETE":
                del library.records[kind][record["id"]]
                return Response(status_code=204)
            return JSONResponse(record)

        return handle

    change = {"books": ["GET", "PATCH", "DELETE"], "members": ["GET", "PATCH", "DELETE"], "loans": ["GET", "PATCH"]}
    made = [Route("/openapi.json", document), Route("/debug/echo", guarded(echo))]
    for kind, methods in change.items():
        made.append(Route(f"/{kind}", guarded(collection(kind)), methods=["GET", "POST"]))
        made.append(Route(f"/{kind}/{{id:int}}", guarded(single(kind)), methods=methods))
    return made


def application(key: str) -> Starlette:
    """The API; only `/openapi.json` needs no key."""

    def guarded(handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            if not hmac.compare_digest(request.headers.get("x-api-key", "").encode(), key.encode()):
                raise Problem(401, "X-Api-Key is missing or wrong")
            return await handler(request)

        return handle

    return Starlette(routes=routes(Library(), guarded), exception_handlers={Problem: _problem})


def main() -> None:
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so only for sockets that name TCP
    server = uvicorn.Server(
        uvicorn.Config(application(os.environ["DEMO_API_KEY"]), log_level="warning", timeout_graceful_shutdown=1)
    )

    def end_with_stdin() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=end_with_stdin, daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    asyncio.run(server.serve([listener]))


if __name__ == "__main__":
    main()
