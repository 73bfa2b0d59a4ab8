"""The address at which HTTP is served, and the checks before it is."""

from __future__ import annotations

import ipaddress
import re
import ssl
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from doorward import ConfigError
from doorward.configuration import Loaded
from doorward.serving import IN_URLS
from doorward.values import is_loopback
from starlette.datastructures import Headers

from doorward_mcp_server.settings import HttpSettings, http_of, origin_of

HEALTH = "/healthz"
"""The path at which anyone is told that the server answers, and nothing else. `[http] path` wins over it."""

READY = "/readyz"
"""The path at which anyone is told whether the server takes programs. `[http] path` wins over it."""


@dataclass(frozen=True)
class Endpoint:
    """An address, and what `[http]` says of it."""

    loaded: Loaded
    host: str
    port: int

    @cached_property
    def http(self) -> HttpSettings:
        return http_of(self.loaded.config)

    @property
    def url(self) -> str:
        """The URL that clients use. It is also the resource for which their tokens must be issued."""
        http = self.http
        if http.url:
            return http.url if urlsplit(http.url).path else http.url + http.path
        return self.local

    @property
    def local(self) -> str:
        """The URL of the address itself."""
        http = self.http
        return f"{'https' if http.certificate else 'http'}://{_in_url(self.host)}:{self.port}{http.path}"

    @property
    def health(self) -> str:
        """The URL at which the server of this address says that it is well, as this machine reaches it."""
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"{'https' if self.http.certificate else 'http'}://{_in_url(host)}:{self.port}{HEALTH}"

    def check(self, *, authenticated: bool) -> None:
        """Raises: ConfigError if somebody could come in without a token, or read a token on its way."""
        http = self.http
        inside = is_loopback(self.host)
        named = urlsplit(http.url or "").hostname
        place = "[http] host" if not inside else "[http] url"
        if not authenticated and not (inside and (named is None or is_loopback(named))):
            raise ConfigError(
                f"serving on {http.url if inside else self.host} would let anyone who reaches it run programs with "
                f"your credentials",
                place=place,
                hint="Make tokens for its clients (`doorward token new NAME`), set [http.oauth], or bind to 127.0.0.1 "
                "without `url`.",
            )
        if _everywhere(self.host) and not http.url:
            raise ConfigError(
                f"{self.host} is every address of this machine, so it is not known what clients call it",
                place=place,
                hint='Set [http] url, for example "https://mcp.example.com/mcp".',
            )
        if not inside and not http.certificate and not (http.url or "").startswith("https://"):
            raise ConfigError(
                f"tokens would go to {self.host} in plain text",
                place=place,
                hint="Set [http] certificate and key, or behind a proxy that does TLS [http] url to its https address.",
            )

    def admits(self, headers: Headers) -> bool | None:
        """Whether the `Host` and the `Origin` of a request are allowed, against DNS rebinding and web pages: `False` if
        the host is not ours, `None` if the origin is not allowed. Each is matched as a whole, because
        `127.0.0.1:80@evil.example` begins well, too."""
        named = [_host(host) for host in headers.getlist("host")]
        if len(named) != 1 or named[0] not in self._hosts:
            return False
        origins = [origin_of(origin) for origin in headers.getlist("origin")]
        return (
            True if all(origin and (origin in self._origins or self._is_local(origin)) for origin in origins) else None
        )

    @cached_property
    def _hosts(self) -> set[str]:
        """The hosts that we are known by. Any port goes with them, because ports may be forwarded."""
        hosts = {*IN_URLS} if _everywhere(self.host) else {*IN_URLS, _in_url(self.host).lower()}
        return hosts | {_in_url(named.lower()) for named in [urlsplit(self.http.url or "").hostname] if named}

    @cached_property
    def _origins(self) -> set[str]:
        http = self.http
        parts = urlsplit(http.url or "")
        return {*http.origins, *filter(None, [origin_of(f"{parts.scheme}://{parts.netloc}")])}

    def _is_local(self, origin: str) -> bool:
        return is_loopback(self.host) and _host(origin.partition("://")[2]) in IN_URLS

    def tls(self) -> ssl.SSLContext | None:
        """The context for TLS, if it is configured. Raises: ConfigError if certificate and key cannot be used."""
        http = self.http
        if http.certificate is None or http.key is None:
            return None
        certificate, key = (self.loaded.folder / path.expanduser() for path in (http.certificate, http.key))
        for file, name in ((certificate, "certificate"), (key, "key")):
            try:
                file.read_bytes()
            except OSError as error:
                told = f"{file} cannot be read: {error.strerror}"
                hint = "The user who runs Doorward must be able to read it."
                raise ConfigError(told, place=f"[http] {name}", hint=hint) from None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"{certificate} and {key} cannot be used together: {error}",
                place="[http] certificate",
                hint="Both are PEM files: the certificate first, then those that signed it; and its private key, "
                "without a password.",
            ) from None
        return context


def _host(named: str) -> str | None:
    """The host in `host` or `host:port`; `None` if it is neither."""
    found = re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?", named.lower())
    return found[1] if found else None


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def _everywhere(host: str) -> bool:
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
