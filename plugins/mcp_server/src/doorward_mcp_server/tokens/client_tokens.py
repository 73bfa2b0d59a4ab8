"""The tokens that `doorward token` makes for clients of HTTP. Imports no SDK."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "doorward_"
"""The beginning of each token, by which people and scanners of repositories recognise one."""


def new_token() -> str:
    """A token of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    """The hash of a token, as it stands in the configuration. A fast one will do: 256 random bits cannot be guessed."""
    return "sha256:" + hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
