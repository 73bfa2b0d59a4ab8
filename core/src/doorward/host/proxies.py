"""The proxies that the environment names: for which places they are not, and what is told of one that is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from doorward.host.loopback import IN_URLS, is_loopback
from doorward.model.errors import ConfigError


def not_by_proxy(*urls: str) -> dict[str, None]:
    """The `mounts` of an httpx2 client for which no proxy stands between it and this machine, at its usual names and
    where these URLs are: credentials go there by plain http, which nobody is to read, and a proxy would take its own
    loopback for it."""
    named = {host for url in urls if is_loopback(host := urlsplit(url).hostname or "")}
    return {f"all://{host}": None for host in [*IN_URLS, *(f"[{each}]" if ":" in each else each for each in named)]}


@contextmanager
def known_proxy() -> Iterator[None]:
    """A block that makes an HTTP client, by the proxies of the environment. Raises: ConfigError if one cannot be
    used, without its URL: that may have a password."""
    try:
        yield
        return
    except ImportError:
        what, hint = "needs the package socksio, which is not installed", "Run `pip install socksio`."
    except Exception:  # ValueError, and errors of the client's own
        what, hint = "is no URL of a proxy", "Write it as http://HOST:PORT."
    raise ConfigError(f"the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names {what}", hint=hint)
