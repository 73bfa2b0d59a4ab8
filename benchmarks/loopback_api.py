"""An HTTP API that costs as little as possible, so that only the way to it is measured.

Its first line is its address; it ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

ITEM = json.dumps({"id": 1, "name": "thing", "price": 1.5, "tags": ["a", "b"]}).encode()
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"


def document(url: str) -> dict[str, Any]:
    """What the API offers, as OpenAPI."""
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}}}
    number = [{"name": "n", "in": "query", "schema": {"type": "integer"}}]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Loopback", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            "/item": {
                "get": {"operationId": "item", "parameters": number, "responses": answer},
                "post": {"operationId": "add_item", "parameters": number, "responses": answer},
            },
            "/slow": {"get": {"operationId": "slow", "parameters": number, "responses": answer}},
        },
    }


class Api(asyncio.Protocol):
    """Answers each request as soon as its head is there; `/slow` after 100 ms."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._got = b""

    def data_received(self, data: bytes) -> None:
        self._got += data
        while b"\r\n\r\n" in self._got:
            head, _, rest = self._got.partition(b"\r\n\r\n")
            if head.startswith(b"POST"):
                size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:")
                if len(rest) < size:
                    return
                rest = rest[size:]
            self._got = rest
            delay = 0.1 if head.startswith(b"GET /slow") else 0
            answer = ANSWER % (len(ITEM), ITEM)
            if delay:
                asyncio.get_running_loop().call_later(delay, self._transport.write, answer)
            else:
                self._transport.write(answer)


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Api, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
