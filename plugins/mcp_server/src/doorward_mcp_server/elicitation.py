"""Requests to the client, checked. In the older era they are sent; in the newer one they are part of an answer
(`suspended_calls`)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import mcp_types as t
from doorward import CannotAsk, ServerError
from doorward.values import clean_text
from mcp import MCPError
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

_HINT = "Use a client that can be asked, or a function that asks nothing."


def question(ctx: Any, method: str, params: Mapping[str, Any]) -> t.ElicitRequest | t.CreateMessageRequest:
    """The request, if the client declares that it takes requests of this kind.

    Raises: CannotAsk if it does not; ServerError if the parameters do not fit the method.
    """
    kind = t.ElicitRequest if method == "elicitation/create" else t.CreateMessageRequest
    given = dict(params)
    if given.get("mode") == "url":
        given.setdefault("elicitationId", secrets.token_urlsafe(16))  # required in 2025-11-25, unknown in 2026-07-28
    try:
        asked = kind.model_validate({"method": method, "params": given}, by_name=False)
    except ValidationError as error:
        raise ServerError(f"what the client should be asked is no {method}: {_first(error)}") from None
    if missing := _missing(ctx.session.client_capabilities or t.ClientCapabilities(), given, method):
        raise CannotAsk(f"the client cannot be asked: {_name(ctx)} does not declare {missing}", hint=_HINT)
    return asked


def _name(ctx: Any) -> str:
    """What the client calls itself, if anything, and the protocol version that it speaks."""
    client = ctx.session.client_params
    name = " ".join(clean_text(client.client_info.name[:100]).split()) if client else ""
    return f"{name or 'it'} ({ctx.protocol_version})"


def _missing(client: t.ClientCapabilities, params: Mapping[str, Any], method: str) -> str:
    """The capability that the client lacks; empty if it has all. Elicitation without a named mode means forms."""
    if method == "elicitation/create":
        modes, wanted = client.elicitation, params.get("mode", "form")
        if (
            modes is None
            or (wanted == "url" and modes.url is None)
            or (wanted == "form" and modes.form is None and modes.url is not None)
        ):
            return f"elicitation ({wanted})"
    elif client.sampling is None or (params.get("tools") and client.sampling.tools is None):
        return "sampling with tools" if client.sampling else "sampling"
    return ""


def answer(asked: t.ElicitRequest | t.CreateMessageRequest, raw: Any) -> Mapping[str, Any]:
    """The client's answer as plain JSON. Raises: ServerError if it does not fit the request."""
    try:
        return _kind(asked).model_validate(raw, by_name=False).model_dump(by_alias=True, mode="json", exclude_none=True)
    except ValidationError as error:
        raise ServerError(
            f"the client answered {asked.method} with something that is not an answer to it: {_first(error)}"
        ) from None


async def send(ctx: Any, asked: t.ElicitRequest | t.CreateMessageRequest) -> Mapping[str, Any]:
    """Send a request on the connection of the request that is being served, and return the answer (until 2025-11-25).

    Raises: CannotAsk if it cannot be reached that way, ServerError if the client refuses.
    """
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    try:
        result: t.Result = await ctx.session.send_request(asked, _kind(asked), metadata=related)
    except MCPError as error:
        no_way = isinstance(error, NoBackChannelError) or error.code == t.METHOD_NOT_FOUND
        kind = CannotAsk if no_way else ServerError
        raise kind(f"the client cannot be asked: {error}"[:1000], hint=_HINT) from None
    except ValidationError as error:
        raise ServerError(
            f"the client answered {asked.method} with something that is not an answer to it: {_first(error)}"
        ) from None
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _kind(asked: t.ElicitRequest | t.CreateMessageRequest) -> type[t.Result]:
    if isinstance(asked, t.ElicitRequest):
        return t.ElicitResult
    return t.CreateMessageResultWithTools if asked.params.tools else t.CreateMessageResult


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, without the value itself."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:300]
