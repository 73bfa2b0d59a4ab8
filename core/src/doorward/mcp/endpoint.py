"""Where HTTP is served, and what must be so before it is."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from doorward.config import Loaded
from doorward.errors import ConfigError
from doorward.loopback import IN_URLS, is_loopback

if TYPE_CHECKING:
    from mcp.server.transport_security import TransportSecuritySettings


@dataclass(frozen=True)
class Endpoint:
    """An address with what `[http]` says of it."""

    loaded: Loaded
    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL that clients use, which is also what their tokens must be for."""
        http = self.loaded.config.http
        if http.url:
            return http.url if urlsplit(http.url).path else http.url + http.path
        return self.local

    @property
    def local(self) -> str:
        """The URL of the address itself."""
        http = self.loaded.config.http
        return f"{'https' if http.certificate else 'http'}://{_in_url(self.host)}:{self.port}{http.path}"

    def check(self, *, authenticated: bool) -> None:
        """Raises: ConfigError if others could come in without a token, or read one on its way."""
        http = self.loaded.config.http
        inside = is_loopback(self.host)
        named = urlsplit(http.url or "").hostname
        place = "[http] host" if not inside else "[http] url"
        if not authenticated and not (inside and (named is None or is_loopback(named))):
            raise ConfigError(
                f"serving on {http.url if inside else self.host} would let anyone who reaches it run programs with your credentials",
                place=place,
                hint="Make tokens for its clients (`doorward token new NAME`), set [http.oauth], or bind to 127.0.0.1 without `url`.",
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

    def security(self) -> TransportSecuritySettings:
        """Which `Host` and `Origin` are let in (against DNS rebinding, and web pages)."""
        from mcp.server.transport_security import TransportSecuritySettings

        http = self.loaded.config.http
        hosts = [*IN_URLS, _in_url(self.host)] if not _everywhere(self.host) else [*IN_URLS]
        origins = [f"{scheme}://{host}:*" for host in IN_URLS for scheme in ("http", "https")] if is_loopback(self.host) else []
        if http.url:
            parts = urlsplit(http.url)
            hosts.append(_in_url(parts.hostname or ""))
            origins.append(f"{parts.scheme}://{parts.netloc}")
        return TransportSecuritySettings(
            allowed_hosts=[name for host in dict.fromkeys(hosts) for name in (host, f"{host}:*")],
            allowed_origins=[*origins, *http.origins],
        )

    def tls(self) -> tuple[Path, Path] | None:
        """The certificate and its key. Raises: ConfigError if they cannot be used."""
        http = self.loaded.config.http
        if http.certificate is None or http.key is None:
            return None
        certificate, key = (self.loaded.folder / path.expanduser() for path in (http.certificate, http.key))
        for file, name in ((certificate, "certificate"), (key, "key")):
            try:
                file.read_bytes()
            except OSError as error:
                raise ConfigError(f"{file} cannot be read: {error.strerror}", place=f"[http] {name}") from None
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"{certificate} and {key} cannot be used together: {error}",
                place="[http] certificate",
                hint="Both are PEM files: the certificate first, then those that signed it; and its private key, without a password.",
            ) from None
        return certificate, key


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def _everywhere(host: str) -> bool:
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
