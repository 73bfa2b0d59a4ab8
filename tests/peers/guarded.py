"""An API on loopback that a provider's access tokens protect: it verifies them by the provider's keys, as a resource
server does."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from served.product import Answering

AUDIENCE = "https://tools.example"
"""The `aud` that both providers put into access tokens, unless a test has them put another one."""


def key_pair() -> tuple[str, dict[str, Any]]:
    """A key for ES256 with which a client signs its assertions, as PEM, and its public half as a JWK for the
    provider."""
    private = ec.generate_private_key(ec.SECP256R1())
    public = jwt.algorithms.ECAlgorithm.to_jwk(private.public_key(), as_dict=True)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return pem, {**public, "use": "sig", "alg": "ES256", "kid": "client"}


class Guarded:
    """Its `url`, the OpenAPI document in `spec`, the claims of all tokens that it has accepted, and why it refused
    others."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spec = f"{url}/openapi.json"
        self.accepted: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self._ended: set[str] = set()

    def tokens(self) -> int:
        """How many different tokens it has accepted."""
        return len({claims["jti"] for claims in self.accepted})

    def end(self) -> None:
        """It takes none of the tokens any more that it has accepted."""
        self._ended |= {claims["jti"] for claims in self.accepted}

    def ended(self, claims: dict[str, Any]) -> bool:
        return claims["jti"] in self._ended

    def save(self, file: Path) -> Path:
        """Its document as a file, for which no token is needed."""
        file.write_text(json.dumps(_DOCUMENT))
        return file

    def server(self, auth: str, name: str = "mine", more: str = "") -> str:
        """Its entry in a configuration of Doorward, with `auth` as an inline table's content, and more lines."""
        return f'[servers.{name}]\nsource = "openapi"\nspec = "{self.spec}"\nbase_url = "{self.url}"\nauth = {{ {auth} }}\n{more}'


_CHALLENGE = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
_ANSWER = {"200": {"description": "-", "content": {"application/json": {"schema": {"type": "object"}}}}}
_DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Guarded", "version": "1"},
    "paths": {"/me": {"get": {"operationId": "me", "summary": "The claims of the token.", "responses": _ANSWER}}},
}


@contextlib.contextmanager
def guarded(issuer: str, jwks_url: str, audience: str = AUDIENCE) -> Iterator[Guarded]:
    """An API for tokens of the issuer for this audience (RFC 9068 section 4): `/me` answers with the token's claims."""
    keys = jwt.PyJWKClient(jwks_url)

    class Handler(Answering):
        def do_GET(self) -> None:
            if self.path == "/openapi.json":
                return self.answer(_DOCUMENT)
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            try:
                key = keys.get_signing_key_from_jwt(token)
                claims = jwt.decode(
                    token,
                    key,
                    ["RS256", "ES256"],
                    audience=audience,
                    issuer=issuer,
                    options={"require": ["exp", "aud", "iss"]},
                )
            except jwt.PyJWTError as error:
                api.refused += [f"{type(error).__name__}: {error}"] if token else []  # none: it is asked what it wants
                return self.answer({"error": type(error).__name__}, 401, _CHALLENGE)
            if api.ended(claims):
                return self.answer({"error": "ended"}, 401, _CHALLENGE)
            api.accepted.append(claims)
            return self.answer(claims)

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api = Guarded(f"http://127.0.0.1:{listening.server_port}")
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield api
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
