"""The older grants, by Authlib: password, device code, JWT bearer, clients that sign; and token exchange, which it does
not have."""

from __future__ import annotations

import secrets
import time
from typing import Any

import flask
import jwt
from authlib.oauth2.rfc6749 import BaseGrant, InvalidGrantError, TokenEndpointMixin, grants
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion, JWTBearerGrant
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from cryptography.hazmat.primitives.asymmetric import ec
from joserfc.jwk import import_key

SIGNS = ec.generate_private_key(ec.SECP256R1())
"""The key of the identity provider."""
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
METHODS = ("client_secret_basic", "client_secret_post", "none", "private_key_jwt")


def register(server: Any, app: flask.Flask, state: Any) -> None:
    """Have an authorization server know these grants."""
    used: set[str] = set()

    class Password(grants.ResourceOwnerPasswordCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def authenticate_user(self, username: str, password: str) -> str | None:
            return username if state.users.get(username) == password else None

    class Assertion(JWTBearerGrant):
        def process_assertion_claims(self, assertion: str) -> Any:
            """An identity assertion is the trusted provider's, for this client, this server and this resource, once."""
            if jwt.get_unverified_header(assertion).get("typ") != "oauth-id-jag+jwt":
                return super().process_assertion_claims(assertion)
            try:
                told = jwt.decode(assertion, SIGNS.public_key(), ["ES256"], audience=state.issuer)
            except jwt.InvalidTokenError as error:
                raise InvalidGrantError(str(error)) from None
            client = self.authenticate_token_endpoint_client()
            if told["client_id"] != client.client_id or told["resource"] != state.url or told["jti"] in used:
                raise InvalidGrantError("an assertion for another client or resource, or one that was used")
            used.add(told["jti"])
            return {"iss": client.client_id, "sub": told["sub"]}

        def resolve_issuer_client(self, issuer: str) -> Any:
            return state.clients.get(issuer)

        def resolve_client_public_key(self, client: Any) -> Any:
            return import_key(client.key, "EC")

        def get_audiences(self) -> list[str]:
            return [state.issuer, f"{state.issuer}/token"]

        def authenticate_user(self, subject: str) -> str:
            return subject

        def has_granted_permission(self, client: Any, user: str) -> bool:
            return True

    class Signed(JWTBearerClientAssertion):
        CLIENT_AUTH_METHOD = "private_key_jwt"

        def get_audiences(self) -> list[str]:
            return [state.issuer, f"{state.issuer}/token"]

        def resolve_client_public_key(self, client: Any) -> Any:
            return import_key(client.key, "EC")

        def validate_jti(self, claims: Any, jti: str) -> bool:
            new = jti not in used
            used.add(jti)
            return new

    class Exchange(BaseGrant, TokenEndpointMixin):  # RFC 8693
        GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def validate_token_request(self) -> None:
            self.request.client = self.authenticate_token_endpoint_client()
            subject = state.find(self.request.form["subject_token"])
            if not subject or subject.revoked or subject.is_expired():
                raise InvalidGrantError(f"the subject token {self.request.form['subject_token']} is not valid")
            self.request.user = subject.user
            form = self.request.form
            self.actor = state.find(form["actor_token"]) if "actor_token" in form else None
            if "actor_token" in form and (self.actor is None or self.actor.user != "the client itself"):
                raise InvalidGrantError("the actor token is not valid")
            if form.get("requested_token_type") == ID_JAG:
                known = {"audience": state.issuer, "resource": state.url, "subject_token_type": ACCESS_TOKEN}
                if wrong := next((name for name, value in known.items() if form.get(name) != value), ""):
                    raise InvalidGrantError(f"{wrong} is not that of an application here")

        def create_token_response(self) -> Any:
            if self.request.form.get("requested_token_type") == ID_JAG and not state.opaque:
                now = int(time.time())
                claims = {
                    "iss": "https://idp.example.com", "aud": state.issuer, "resource": state.url, "iat": now,
                    "sub": self.request.user, "client_id": state.here, "exp": now + 60, "jti": secrets.token_hex(8),
                    "scope": self.request.form.get("scope", ""),
                }  # fmt: skip
                signed = jwt.encode(claims, SIGNS, "ES256", {"typ": "oauth-id-jag+jwt"})
                told = {"issued_token_type": ID_JAG, "access_token": signed, "token_type": "N_A", "expires_in": 60}
                return 200, told, self.TOKEN_RESPONSE_HEADER
            token = self.generate_token(
                user=self.request.user, scope=self.request.payload.scope, include_refresh_token=False
            )
            self.save_token(token)
            if self.actor is not None:
                state.tokens[-1].act = {"sub": self.actor.client_id}
            return (
                200,
                token | {"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"},
                self.TOKEN_RESPONSE_HEADER,
            )

    class Device(DeviceAuthorizationEndpoint):
        CLIENT_AUTH_METHODS = METHODS
        INTERVAL = 0.05

        def get_verification_uri(self) -> str:
            return f"{state.issuer}/enter"

        def save_device_credential(self, client_id: str, scope: str, data: dict[str, Any]) -> None:
            state.devices[data["device_code"]] = {"client_id": client_id, "scope": scope, **data}

    class DeviceCode(DeviceCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def query_device_credential(self, device_code: str) -> Any:
            found = state.devices.get(device_code)
            return DeviceCredentialDict(found) if found else None

        def query_user_grant(self, user_code: str) -> tuple[str, bool] | None:
            found = next(device for device in state.devices.values() if device["user_code"] == user_code)
            return ("alice", found["approved"]) if "approved" in found and state.slow_down <= 0 else None

        def should_slow_down(self, credential: Any) -> bool:
            state.slow_down -= 1
            return state.slow_down >= 0

    for grant in (Password, Assertion, Exchange, DeviceCode):
        server.register_grant(grant)
    server.register_client_auth_method("private_key_jwt", Signed())
    server.register_endpoint(Device)

    @app.post("/device")
    def device() -> Any:
        return server.create_endpoint_response(Device.ENDPOINT_NAME)

    @app.get("/enter")
    def enter() -> str:
        """The page at which a person enters a code; here a visit with the code is enough."""
        code = flask.request.args["user_code"]
        next(device for device in state.devices.values() if device["user_code"] == code)["approved"] = not state.deny
        return "done"
