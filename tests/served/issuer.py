"""A small authorization server: real keys and metadata on loopback, and tokens with anything wrong in them that a test
wants."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from doorward_testing import reserve_port


class Issuer:
    """Serves its metadata and its public keys while it is up."""

    def __init__(self) -> None:
        self.private: dict[str, Any] = {}
        self.asked: list[str] = []
        self.add_key("one")
        self._port = reserve_port()
        self.url = f"http://127.0.0.1:{self._port}/realm"
        self.claimed = self.url
        self._server: ThreadingHTTPServer | None = None
        self.up()

    def add_key(self, kid: str, *, curve: bool = False) -> None:
        self.private[kid] = ec.generate_private_key(ec.SECP256R1()) if curve else rsa.generate_private_key(65537, 2048)

    def jwks(self) -> list[dict[str, Any]]:
        found = []
        for kid, key in self.private.items():
            algorithm: Any = (
                jwt.algorithms.ECAlgorithm
                if isinstance(key, ec.EllipticCurvePrivateKey)
                else jwt.algorithms.RSAAlgorithm
            )
            found.append({**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"})
        return [{"kty": "oct", "kid": "odd", "k": "c2VjcmV0"}, {"kty": "RSA", "kid": "broken", "n": "!"}, *found]

    def public_pem(self, kid: str = "one") -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return bytes(self.private[kid].public_key().public_bytes(serialization.Encoding.PEM, form))

    def up(self) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                answers: dict[str, Any] = {
                    "/realm/.well-known/openid-configuration": {
                        "issuer": issuer.claimed,
                        "jwks_uri": f"{issuer.url}/keys",
                    },
                    "/realm/keys": {"keys": issuer.jwks()},
                }
                found = answers.get(self.path)
                body = json.dumps(found).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def down(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None

    def token(
        self,
        subject: Any = "carol",
        *,
        audience: Any,
        kid: str = "one",
        kind: str | None = "at+jwt",
        key: Any = None,
        alg: str = "",
        **claims: Any,
    ) -> str:
        """A token, whose header says its `kind`; a claim that is `None` is left out."""
        now = int(time.time())
        every = {
            "iss": self.url,
            "aud": audience,
            "sub": subject,
            "iat": now,
            "exp": now + 300,
            "scope": "openid use",
            "azp": "app",
            **claims,
        }
        given = {name: value for name, value in every.items() if value is not None}
        key = key if key is not None else self.private[kid]
        alg = alg or ("ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "RS256")
        return jwt.encode(given, key, alg, {"kid": kid, "typ": kind})

    def __enter__(self) -> Issuer:
        return self

    def __exit__(self, *raised: object) -> None:
        self.down()
