"""Sign-in at the authorization server whose tokens the endpoint takes: an authorization code with PKCE (RFC 7636), a
state that is bound to the browser, and a nonce where it gives an ID token (OpenID Connect)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import anyio
import httpx2
from doorward import Refused, ServerError
from doorward.values import is_loopback
from doorward_auth_kit import exchange, plain_client

if TYPE_CHECKING:
    from doorward_console.settings import ConsoleOAuthSettings

LOGIN_SECONDS = 600
"""How long a person has at the authorization server."""

SESSION_SECONDS = 3600.0
"""How long a session lasts that began so, at most: then the authorization server is asked once more."""

RETRY_SECONDS = 5.0
"""Seconds between two requests for the metadata that fail."""

_METADATA_SECONDS = 3600.0
_SKEW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What the authorization server gave: an access token, the subject of its ID token if there is one, and where the
    person wanted to go."""

    token: str
    subject: str
    onward: str


class OAuthSignIn:
    """Sign-ins at one authorization server. What is to be remembered of one is in a cookie of the browser: it names
    nothing but what this browser has been given, and other processes can go on with it."""

    def __init__(self, settings: ConsoleOAuthSettings, issuer: str) -> None:
        self._settings, self.issuer = settings, issuer
        self._asking, self._not_before = anyio.Lock(), float("-inf")
        self._metadata: tuple[float, dict[str, Any]] = (float("-inf"), {})

    async def begin(self, redirect_uri: str, onward: str) -> tuple[str, str]:
        """Returns: the page that the person visits, and the value of the cookie. Raises: ServerError."""
        metadata = await self._discovered()
        kept = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")} | {"onward": onward}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(kept["verifier"].encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code", "client_id": self._settings.client_id, "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.scopes), "state": kept["state"], "nonce": kept["nonce"],
            "code_challenge": challenge, "code_challenge_method": "S256",
            **({"resource": self._settings.resource} if self._settings.resource else {}),
        }  # fmt: skip
        page = metadata["authorization_endpoint"]
        url = f"{page}{'&' if urlsplit(page).query else '?'}{urlencode(query)}"
        return url, base64.urlsafe_b64encode(json.dumps(kept).encode()).decode()

    async def finish(self, cookie: str, query: Mapping[str, str], redirect_uri: str) -> SignedIn:
        """Exchange the code with which the browser came back. Raises: Refused; ServerError."""
        try:
            kept = json.loads(base64.urlsafe_b64decode(cookie.encode(errors="replace")))
            state, nonce, verifier, onward = (str(kept[name]) for name in ("state", "nonce", "verifier", "onward"))
        except (ValueError, LookupError, TypeError):
            raise Refused("this is no answer to a sign-in of this browser") from None
        if not state or not secrets.compare_digest(state.encode(), query.get("state", "").encode(errors="replace")):
            raise Refused("this is no answer to a sign-in of this browser")
        metadata = await self._discovered()
        says_issuer = bool(metadata.get("authorization_response_iss_parameter_supported"))
        if query.get("iss", self.issuer if not says_issuer else "") != self.issuer:
            raise Refused("this is the answer of another authorization server")
        if "error" in query or not query.get("code"):
            why = re.sub(r"[^a-z_]", "", query.get("error", ""))[:60]
            raise Refused(f"the authorization server refused the sign-in: {why or 'it gave no code'}")
        told = await self._exchanged(metadata, query["code"], redirect_uri, verifier)
        token = told.get("access_token")
        if not isinstance(token, str) or not token:
            raise ServerError(f"{self.issuer} gave no access token")
        subject = self._subject(told.get("id_token"), nonce) if "openid" in self._settings.scopes else ""
        return SignedIn(token, subject, onward)

    async def _exchanged(
        self, metadata: Mapping[str, Any], code: str, redirect_uri: str, verifier: str
    ) -> dict[str, Any]:
        secret = self._settings.client_secret.reveal() if self._settings.client_secret else ""
        fields = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri, "code_verifier": verifier,
            "client_id": self._settings.client_id,
            **({"resource": self._settings.resource} if self._settings.resource else {}),
        }  # fmt: skip
        headers = {"Accept": "application/json"}
        if secret:
            both = f"{quote(self._settings.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        async with plain_client(self.issuer) as client:
            request = client.build_request("POST", metadata["token_endpoint"], data=fields, headers=headers)
            answer = await exchange(client, request)
        if answer.status_code != 200:
            raise Refused(f"the authorization server took the code for none of its own ({answer.status_code})")
        return _object(answer, self.issuer)

    def _subject(self, id_token: Any, nonce: str) -> str:
        """The subject of an ID token, which came from the issuer itself over TLS: that stands for its signature (OpenID
        Connect Core, section 3.1.3.7). Raises: Refused."""
        try:
            part = str(id_token).split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
            audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
            is_ours = self._settings.client_id in audience and (
                len(audience) == 1 or claims.get("azp") == self._settings.client_id
            )
            is_good = (
                claims["iss"] == self.issuer
                and is_ours
                and secrets.compare_digest(str(claims["nonce"]).encode(), nonce.encode())
                and float(claims["exp"]) > time.time() - _SKEW_SECONDS
            )
            if is_good:
                return str(claims["sub"])
        except (ValueError, LookupError, TypeError, AttributeError):
            pass
        raise Refused("the authorization server gave an ID token that is not for this sign-in")

    async def _discovered(self) -> dict[str, Any]:
        """The metadata of the issuer. Raises: ServerError."""
        at, known = self._metadata
        if time.monotonic() - at < _METADATA_SECONDS:
            return known
        async with self._asking:  # anybody can ask for a sign-in: the server is asked once for all of them
            at, known = self._metadata
            if time.monotonic() - at < _METADATA_SECONDS:
                return known
            if time.monotonic() < self._not_before:
                raise ServerError(f"{self.issuer} could not be asked a moment ago", hint="Try again in some seconds.")
            self._not_before = time.monotonic() + RETRY_SECONDS
            return await self._ask()

    async def _ask(self) -> dict[str, Any]:
        parts = urlsplit(self.issuer)
        path = parts.path.rstrip("/")
        places = [
            f"{self.issuer.rstrip('/')}/.well-known/openid-configuration",
            f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}",
        ]
        async with plain_client(self.issuer) as client:
            for place in places:
                answer = await exchange(
                    client, client.build_request("GET", place, headers={"Accept": "application/json"})
                )
                if answer.status_code != 200:
                    continue
                found = _object(answer, place)
                if found.get("issuer") != self.issuer:
                    raise ServerError(f"{place} is of another issuer")
                for name in ("authorization_endpoint", "token_endpoint"):
                    if not self._is_trusted(found.get(name)):
                        raise ServerError(f"{place} names no https {name}")
                self._metadata = time.monotonic(), found
                return found
        raise ServerError(f"{self.issuer} has no metadata (OpenID Connect Discovery, RFC 8414)")

    def _is_trusted(self, url: Any) -> bool:
        """Whether nobody on the way can read what is sent there."""
        if not isinstance(url, str):
            return False
        here = is_loopback(urlsplit(self.issuer).hostname or "") and is_loopback(urlsplit(url).hostname or "")
        return url.startswith("https://") or (here and url.startswith("http://"))


def _object(answer: httpx2.Response, place: str) -> dict[str, Any]:
    try:
        found = json.loads(answer.content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ServerError(f"{place} answered with no object")
    return found
