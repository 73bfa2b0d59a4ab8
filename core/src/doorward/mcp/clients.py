"""Who a request of a client is from, and the tokens by which clients of HTTP are known. Imports no SDK."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from doorward.model.types import LOCAL

PRINCIPAL = "doorward.principal"
"""The key of the ASGI scope under which the entrance says who asks."""
PREFIX = "doorward_"
"""How each token begins, so that people and scanners of repositories know one when they see it."""


def new_token() -> str:
    """A token of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    """As the configuration has it. A fast hash will do: 256 random bits cannot be guessed."""
    return "sha256:" + hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def principal_of(ctx: Any) -> str:
    """Whose request it is, by the SDK's request context: `local` over stdio, and over HTTP where no client is authenticated.

    Raises: KeyError for a request by HTTP that did not come through the entrance.
    """
    return LOCAL if ctx.request is None else str(ctx.request.scope[PRINCIPAL])
