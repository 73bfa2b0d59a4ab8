"""Requests that gateways on other machines send on: see `peers`."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from doorward_mcp_server.http.peers import PROOF_HEADER, SENT_HEADER, Head, Peers
from doorward_mcp_server.http.sessions import Refused, again
from doorward_mcp_server.http.siblings import FROM_PEER, GONE, Siblings


class FromPeers:
    """Opens what other gateways have sent, and has the application answer what is in it, as if the client had come
    here. All else goes to the application as it is."""

    def __init__(self, app: ASGIApp, peers: Peers, siblings: Siblings) -> None:
        self._app, self._peers, self._siblings = app, peers, siblings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sealed = Headers(scope=scope).get(SENT_HEADER) if scope["type"] == "http" else None
        if sealed is None:
            await self._app(scope, receive, send)
            return
        try:
            head = self._peers.opened(sealed)
            send = self._proving(head, send)
            body = await _body(head, receive)
            if body is not None:
                await self._answer(head, body, scope, receive, send)
        except Refused as refused:
            await refused.answer()(scope, receive, send)

    async def _answer(self, head: Head, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        if head.to != self._peers.process.id:
            if not self._siblings.knows(head.to):
                raise Refused(404, GONE)
            await self._siblings.forward(head.to, scope, body, receive, send)  # sealed as it is
            return
        self._peers.spend(head.nonce)
        path, _, query = head.target.partition("?")
        inner = {
            **scope,
            "method": head.method,
            "path": unquote(path),
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers],
            FROM_PEER: True,
        }
        await self._app(inner, again(body, receive), send)

    def _proving(self, head: Head, send: Send) -> Send:
        """A `send` that proves that this is a gateway, unless the one that it comes from has done so."""

        async def proving(message: Message) -> None:
            if message["type"] == "http.response.start":
                proof = (PROOF_HEADER.encode(), self._peers.proof(head.nonce, message["status"]))
                others = [each for each in message["headers"] if each[0] != proof[0]]
                message = {**message, "headers": [*others, proof]}
            await send(message)

        return proving


async def _body(head: Head, receive: Receive) -> bytes | None:
    """The body that was sealed; `None` if who sends it is gone. Raises: Refused."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        more = message["more_body"]
        body += message["body"]
        if len(body) > head.size:
            break
    if not hmac.compare_digest(hashlib.sha256(body).hexdigest(), head.digest):
        raise Refused(403, "this is not the body that was sealed")
    return bytes(body)
