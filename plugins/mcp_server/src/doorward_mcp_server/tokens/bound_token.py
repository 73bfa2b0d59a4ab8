"""Tokens that open some endpoints alone."""

from __future__ import annotations

from typing import Any

from mcp.server.auth.provider import AccessToken


class BoundToken(AccessToken):
    """A token that opens the endpoints that it names, and nothing else; `None`: whatever its principal may."""

    endpoints: tuple[str, ...] | None = None


def bound_to(token: Any) -> tuple[str, ...] | None:
    """The endpoints to which a token is bound; `None`, as every token of a plugin's verifier: to none."""
    return token.endpoints if isinstance(token, BoundToken) else None
