"""The guides of servers, from a file or by HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from doorward import ConfigError, Gateway, ServerError, UnknownName
from doorward.administration import answers_of, some
from doorward.configuration import module_name
from doorward.files import write_file
from doorward.serving import page
from doorward.values import in_a_line, status

if TYPE_CHECKING:
    import httpx2

MAX_GUIDE_BYTES = 256 * 2**10
"""Bytes of one guide."""

_DOWNLOAD_SECONDS = 20.0
"""Seconds that downloading a guide may take."""

_MAX_REDIRECTS = 5
_URL_PREFIXES = ("http://", "https://")


class Guides:
    """The guides of the servers of a gateway. A file is read each time an agent asks for it. A URL is fetched by each
    compile into the server's state folder, so reading its guide needs no network."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self._loaded = gateway, gateway.loaded
        self._revision, self._known = -1, dict[str, tuple[str, str]]()

    @property
    def _places(self) -> Mapping[str, tuple[str, str]]:
        """The configured name of each server that has a guide, and where that is, by the name of its module."""
        servers = self._gateway.servers
        if self._revision != servers.revision:
            said = {module: (name, servers.key_of(module, "skills")) for module, name in servers.modules.items()}
            self._known = {module: place for module, place in said.items() if place[1]}
            self._revision = servers.revision
        return self._known

    @property
    def configured(self) -> bool:
        """Whether any server has a guide, readable or not."""
        return bool(self._places)

    def names(self, principal: str) -> list[str]:
        """The servers of a principal that have a readable guide."""
        return self.page(principal)[0]

    def page(self, principal: str, limit: int | None = None, cursor: str | None = None) -> tuple[list[str], str]:
        """Some of them, and the cursor of the next page, if there is one. Raises: InvalidArguments."""
        shown, following = page(self._theirs(principal), limit, cursor)
        return [server for server in shown if self._file(server).is_file()], following

    def _theirs(self, principal: str) -> list[str]:
        theirs = self._gateway.principals.rights(principal).modules
        return [server for server in self._places if server in theirs]

    def read(self, server: str, principal: str) -> str:
        """The guide of a server of a principal, as it is now.

        Raises: UnknownName if there is none; ConfigError if it cannot be read.
        """
        if server not in self._places or server not in self._gateway.principals.rights(principal).modules:
            guides, more = self.page(principal, 20)
            raise UnknownName(
                f"there is no guide to {server[:100]!r}", hint=f"Guides: {some(guides)}{', …' * bool(more)}."
            )
        return self._read(server)

    def _read(self, server: str) -> str:
        """Raises: ConfigError."""
        file = self._file(server)
        try:
            with file.open("rb") as opened:
                raw = opened.read(MAX_GUIDE_BYTES)
        except OSError as error:
            raise self._wrong(server, f"cannot be read: {error.strerror}") from None
        return self._gateway.secrets.scrub(raw.decode("utf-8", "replace"), answers_of(server))

    async def refresh(self, name: str) -> str | None:
        """Fetch the guide of a configured server again, if it is at a URL.

        Returns: what is wrong with it, for the compile's warnings; `None` if it can be read.
        """
        server = module_name(name)
        if server not in self._places:
            return None
        try:
            place = self._places[server][1]
            if place.startswith(_URL_PREFIXES):
                await _download(place, self._file(server))
            self._read(server)
        except (ConfigError, ServerError) as error:
            self._gateway.secrets.scrub_error(error, answers_of(server))
            return in_a_line(error)
        except OSError as error:
            return f"the guide cannot be kept: {error.strerror}"
        return None

    def _file(self, server: str) -> Path:
        name, place = self._places[server]
        if place.startswith(_URL_PREFIXES):
            return self._gateway.state / "servers" / name / "skills.md"
        return self._loaded.folder / Path(place).expanduser()

    def _wrong(self, server: str, why: str) -> ConfigError:
        name, place = self._places[server]
        return ConfigError(
            why, place=f"{self._loaded.file} [servers.{name}] skills = {place!r}", hint="It is a path, or a URL."
        )


@contextlib.asynccontextmanager
async def _answer(client: httpx2.AsyncClient, url: str) -> AsyncIterator[httpx2.Response]:
    """The answer, after redirects within the same host. Others are not followed: agents read the guide, and its owner
    must not be able to show them what only this host can reach.

    Raises: ServerError, httpx2.HTTPError.
    """
    for _ in range(_MAX_REDIRECTS):
        async with client.stream("GET", url) as answer:
            if not answer.has_redirect_location:
                yield answer
                return
            before, to = answer.url, answer.url.join(answer.headers["location"])
        upgraded = (before.scheme, before.port, to.scheme, to.port) == ("http", None, "https", None)
        if to.host != before.host or not (upgraded or (to.scheme, to.port) == (before.scheme, before.port)):
            place = str(before).partition("?")[0]
            why = f"the guide {place} is redirected to {to.scheme}://{to.host}, which is not followed"
            raise ServerError(why, hint="If the guide is there, set `skills` of the server to that URL.")
        url = str(to.copy_with(username=None, password=None))
    raise ServerError(f"the guide is redirected more than {_MAX_REDIRECTS} times", hint="Check `skills` of the server.")


async def _download(url: str, file: Path) -> None:
    """Fetch a guide into a file. If this fails, the previous copy stays. Raises: ServerError, ConfigError."""
    import httpx2

    shown = url.partition("?")[0]
    content = b""
    try:
        with anyio.fail_after(_DOWNLOAD_SECONDS):
            plain = {"Accept-Encoding": "identity"}
            async with httpx2.AsyncClient(headers=plain) as client, _answer(client, url) as answer:
                answer.raise_for_status()
                if answer.headers.get("content-encoding", "identity").lower() != "identity":
                    raise ServerError(f"the guide {shown} is packed", hint="Its server was asked for it as it is.")
                async for part in answer.aiter_bytes():
                    content += part
                    if len(content) > MAX_GUIDE_BYTES:
                        why = f"the guide {shown} is larger than {MAX_GUIDE_BYTES // 2**10} KiB"
                        raise ServerError(why, hint="Shorten it: agents read all of it.")
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = status(error.response.status_code) if isinstance(error, httpx2.HTTPStatusError) else type(error).__name__
        raise ServerError(f"the guide {shown} cannot be had: {why}", hint="Check `skills` of the server.") from None
    write_file(file, content, private=True, follow=False)
