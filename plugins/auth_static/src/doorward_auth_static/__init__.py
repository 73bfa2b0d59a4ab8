"""Credentials that need no fetching: a fixed header, a JWT, HTTP basic, an API key.

Each driver makes an `httpx2.Auth` that reveals its secrets for every request, so that a rotated value is used at once.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote_plus

from doorward import ConfigError, Secret, ServerError, Settings, Template
from pydantic import Field, model_validator

if TYPE_CHECKING:
    import httpx2
    from doorward import PluginContext

PLUGIN_API = 1

WARN_BEFORE_SECONDS = 300.0
"""How long before a JWT's `exp` the warning is logged."""

TOKEN = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"  # noqa: S105
"""A header or cookie name (RFC 9110 section 5.6.2, RFC 6265 section 4.1.1)."""


class StaticSettings(Settings):
    """`auth = { type = "static", value = "Bearer ${X}" }`"""

    value: Secret = Field(description='The whole header value, for example "Bearer ${X}"')
    header: str = Field("Authorization", pattern=TOKEN, description="The header that carries it")


class StaticAuth:
    """Sets one header to a fixed value."""

    Settings = StaticSettings

    def __init__(self, context: PluginContext[StaticSettings]) -> None:
        self._context, self._settings = context, context.settings

    def create_auth(self) -> httpx2.Auth:
        return _auth(self._context, self._add)

    def filled_parameters(self) -> Collection[tuple[str, str]]:
        return [("header", self._settings.header)]

    async def _add(self, request: httpx2.Request) -> None:
        request.headers[self._settings.header] = await _header_value(self._settings.value)


class JwtSettings(Settings):
    """`auth = { type = "bearer", token = "${X}" }`, or `"jwt"`"""

    token: Secret = Field(description='The token; "Bearer " is put before it, unless it is there')


class JwtAuth:
    """Sets `Authorization: Bearer …` (RFC 6750 section 2.1), and logs one warning before a token expires."""

    Settings = JwtSettings

    def __init__(self, context: PluginContext[JwtSettings], *, clock: Callable[[], float] = time.time) -> None:
        self._context, self._settings, self._clock = context, context.settings, clock
        self._token = ""
        self._ends: float | None = None

    def create_auth(self) -> httpx2.Auth:
        return _auth(self._context, self._add)

    async def _add(self, request: httpx2.Request) -> None:
        token = (await _header_value(self._settings.token)).removeprefix("Bearer ")
        value = f"Bearer {token}"
        self._settings.token.remember(value)
        self._watch(token)
        request.headers["Authorization"] = value

    def _watch(self, token: str) -> None:
        """Warn once for each token when it has expired or is about to."""
        if token != self._token:
            self._token, self._ends = token, expiry(token)
        left = float("inf") if self._ends is None else self._ends - self._clock()
        if left > WARN_BEFORE_SECONDS:
            return
        self._ends = None
        from doorward import log

        event = "jwt_ended" if left <= 0 else "jwt_ends_soon"
        log.warning(event, server=self._context.name, seconds_left=round(left), hint="Put a new token in its place.")


def expiry(token: str) -> float | None:
    """When a JWT expires (`exp`, RFC 7519 section 4.1.4), in seconds since the epoch; `None` if it does not say, or is
    not a JWT. The signature is not checked: this is only for a warning."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, binascii.Error):
        return None


class BasicSettings(Settings):
    """`auth = { type = "basic", username = "me", password = "${X}" }`"""

    username: Template = Field(description="The user; scrubbed from outputs only where it comes from a ${…}")
    password: Secret = Field(description="The password; may be empty, where an API wants its key as the username")


class BasicAuth:
    """HTTP basic authentication in UTF-8 (RFC 7617)."""

    Settings = BasicSettings

    def __init__(self, context: PluginContext[BasicSettings]) -> None:
        self._context, self._settings = context, context.settings

    def create_auth(self) -> httpx2.Auth:
        return _auth(self._context, self._add)

    async def _add(self, request: httpx2.Request) -> None:
        username, password = await self._settings.username.get(), await self._settings.password.get()
        if re.search(r"[\x00-\x1f\x7f:]", username):
            raise ConfigError("the username holds a colon or a control character", place=self._settings.username.place)
        if re.search(r"[\x00-\x1f\x7f]", password):
            raise ConfigError(
                "the password holds a line break or another control character", place=self._settings.password.place
            )
        both = base64.b64encode(f"{username}:{password}".encode()).decode()
        self._settings.password.remember(both)
        request.headers["Authorization"] = f"Basic {both}"


class ApiKeySettings(Settings):
    """`auth = { type = "api_key", name = "X-Api-Key", value = "${X}", in = "header" }`"""

    name: str = Field(min_length=1, description="The header, query parameter or cookie")
    value: Secret = Field(description="The key")
    location: Literal["header", "query", "cookie"] = Field("header", alias="in", description="Where the key goes")

    @model_validator(mode="after")
    def _sendable(self) -> ApiKeySettings:
        if self.location != "query" and not re.fullmatch(TOKEN, self.name):
            raise ValueError(f"name: {self.name!r} cannot name a {self.location}")
        return self


class ApiKeyAuth:
    """Sends a key like OpenAPI's `apiKey` schemes: in a header, a query parameter or a cookie. It replaces what the
    request had under the same name."""

    Settings = ApiKeySettings

    def __init__(self, context: PluginContext[ApiKeySettings]) -> None:
        self._context, self._settings = context, context.settings

    def create_auth(self) -> httpx2.Auth:
        return _auth(self._context, getattr(self, f"_add_{self._settings.location}"))

    def filled_parameters(self) -> Collection[tuple[str, str]]:
        return [(self._settings.location, self._settings.name)]

    async def _add_header(self, request: httpx2.Request) -> None:
        request.headers[self._settings.name] = await _header_value(self._settings.value)

    async def _add_query(self, request: httpx2.Request) -> None:
        value = await self._settings.value.get()
        if not value:
            raise ConfigError("the key is empty", place=self._settings.value.place)
        # The raw query stays as it is: decoding and encoding it again would change what the source wrote.
        others = [
            part
            for part in request.url.query.decode("ascii").split("&")
            if part and unquote_plus(part.partition("=")[0]) != self._settings.name
        ]
        own = f"{quote(self._settings.name, safe='')}={quote(value, safe='')}"
        request.url = request.url.copy_with(query="&".join([*others, own]).encode("ascii"))

    async def _add_cookie(self, request: httpx2.Request) -> None:
        value = await _header_value(self._settings.value)
        if re.search(r'[\s",;\\]', value):
            raise ConfigError(
                "the key holds a character that no cookie may hold (RFC 6265 section 4.1.1)",
                place=self._settings.value.place,
            )
        cookies = [c.strip() for c in request.headers.get("Cookie", "").split(";")]
        others = [c for c in cookies if c and c.partition("=")[0].strip() != self._settings.name]
        request.headers["Cookie"] = "; ".join([*others, f"{self._settings.name}={value}"])


def _auth(context: PluginContext, add: Callable[[httpx2.Request], Awaitable[None]]) -> httpx2.Auth:
    """An `httpx2.Auth` that passes each request through `add`, but only for the configured origins, or else that of its
    first request. A source cannot carry the credentials elsewhere."""
    import httpx2

    home = [_origin(url) for url in (context.url, *context.origins)] if context.url else []

    class Static(httpx2.Auth):
        async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            origin = request.url.origin
            if home and origin not in home:
                raise ServerError(
                    f"the credentials of {context.name!r} are for {_text(home[0])} and were not sent to "
                    f"{_text(origin)}",
                    hint="Configure the other origin as a server of its own.",
                )
            await add(request)
            if not home:
                home.append(origin)
            yield request

    return Static()


def _origin(url: str) -> httpx2.Origin:
    import httpx2

    try:
        return httpx2.URL(url).origin
    except httpx2.InvalidURL:
        raise ServerError(f"{url[:100]!r} is no URL", hint="Write it as https://host/path.") from None


def _text(origin: httpx2.Origin) -> str:
    return f"{origin.scheme}://{origin.host}:{origin.port}"


async def _header_value(secret: Secret) -> str:
    """The current value of the secret as a header value (RFC 9110 section 5.5).

    Raises: MissingSecret; ConfigError, which does not show the value, if it is empty or cannot stand in a header.
    """
    value = await secret.get()
    if not value.strip():
        raise ConfigError("the credential is empty", place=secret.place, hint="Give it a value, or leave out `auth`.")
    if re.search(r"[\r\n]", value):
        raise ConfigError("the credential holds a line break, which would start another header", place=secret.place)
    if value != value.strip() or not re.fullmatch(r"[\x20-\x7e\t]+", value):
        raise ConfigError(
            "the credential holds a character that no header may hold, or begins or ends with a blank",
            place=secret.place,
        )
    return value
