"""Who a request of a client is from."""

from __future__ import annotations

from typing import Any

from doorward.types import LOCAL

PRINCIPAL = "doorward.principal"
"""The key of the ASGI scope under which the entrance says who asks."""


def principal_of(ctx: Any) -> str:
    """Whose request it is, by the SDK's request context: `local` over stdio, and over HTTP where no client is authenticated.

    Raises: KeyError for a request by HTTP that did not come through the entrance.
    """
    return LOCAL if ctx.request is None else str(ctx.request.scope[PRINCIPAL])
