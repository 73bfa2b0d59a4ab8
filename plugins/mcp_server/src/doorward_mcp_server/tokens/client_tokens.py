"""The tokens by which clients of HTTP are known. Imports no SDK."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "doorward_"
"""How each token begins, so that people and scanners of repositories know one when they see it."""


def new_token() -> str:
    """A token of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    """As the configuration has it. A fast hash will do: 256 random bits cannot be guessed."""
    return "sha256:" + hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
