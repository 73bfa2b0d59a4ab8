"""Logins to servers that begin on a page: who is logged in until when, and the address that a person visits."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from doorward import LOCAL, DoorwardError, Refused, UnknownName, log
from doorward.abilities import SupportsLogin, TellsLogin

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorward import Gateway

    from doorward_console.visitor import Visitor

MAX_LOGINS = 20
"""Logins at one time; of more, the oldest is given up."""

SOON_SECONDS = 86400.0
"""A login that ends within a day waits in the inbox."""

_KNOWN_SECONDS = 30.0
"""Seconds for which an answer counts: lists are loaded every few seconds, and a keyring takes its time."""

_MAX_TOLD = 2000


@dataclass(slots=True)
class PageLogin:
    """A `LoginPrompt` for a person at a page: what is told them, the page of the provider, and what they paste."""

    scrub: Callable[[str], str]
    told: list[str] = field(default_factory=list)
    url: str = ""
    failed: str = ""
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """The address is known, or there will be none."""
    pasted: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    task: asyncio.Task[None] | None = None

    def tell(self, text: str) -> None:
        self.told.append(self.scrub(text)[:_MAX_TOLD])

    async def open(self, url: str) -> None:
        if not url.lower().startswith(("https://", "http://")):
            raise Refused("the login begins at what is no web page")
        self.url = url
        self.ready.set()

    async def ask(self, question: str) -> str | None:
        return await self.pasted


class Logins:
    """The logins that have begun on pages of one gateway, in this process."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._begun: dict[tuple[str, str], PageLogin] = {}
        self._known: dict[tuple[str, str], tuple[float, float | None]] = {}

    def whose(self, server: str, visitor: Visitor) -> str | None:
        """As whom a visitor logs in to a server, by the name of its module: as themselves where each principal has
        credentials of their own, else an operator for all. `None`: not at all."""
        if self._gateway.servers.per_principal(server.partition("@")[0]):
            return str(visitor.principal)
        return LOCAL if visitor.is_operator else None

    def names(self, server: str, visitor: Visitor) -> list[str]:
        """What a visitor may log in to at a server: it, or its accounts that are theirs."""
        accounts = self._gateway.servers.accounts.get(server)
        if accounts is None:
            return [server]
        settings = self._gateway.servers.configured[self._gateway.servers.modules[server]].settings
        theirs = settings.accounts if visitor.is_operator else accounts.of(str(visitor.principal))
        return [f"{server}@{each}" for each in theirs]

    async def ends(self, server: str, principal: str) -> float | None:
        """Until when a login holds, in seconds since the epoch: 0 if nobody is logged in, infinity if it is renewed by
        itself; `None` if no person logs in there, or nobody can tell."""
        known = self._known.get((server, principal))
        if known is None or known[0] < time.monotonic() - _KNOWN_SECONDS:
            if len(self._known) > 1000:
                self._known.clear()
            found: float | None = None
            try:
                for auth in self._gateway.servers.auths_of(server, principal):
                    if isinstance(auth, SupportsLogin) and isinstance(auth, TellsLogin):
                        found = await auth.login_ends()
            except DoorwardError:
                found = None
            known = self._known[server, principal] = time.monotonic(), found
        return known[1]

    async def begin(self, server: str, principal: str) -> PageLogin:
        """Begin a login, as `doorward login` does, in place of one that has begun. Returns: once the person can go on,
        or it has failed. Raises: DoorwardError."""
        auth = next(
            (a for a in self._gateway.servers.auths_of(server, principal) if isinstance(a, SupportsLogin)), None
        )
        if auth is None:
            raise UnknownName(f"nobody logs in to {server}", hint="Its credentials stand in the configuration.")
        self._give_up((server, principal))
        while len(self._begun) >= MAX_LOGINS:
            self._give_up(next(iter(self._begun)))
        login = self._begun[server, principal] = PageLogin(self._gateway.servers.outgoing(server.partition("@")[0]))
        login.task = asyncio.ensure_future(self._log_in(server, principal, auth, login))
        login.task.add_done_callback(partial(self._over, login))
        await login.ready.wait()
        return login

    def find(self, server: str, principal: str) -> PageLogin | None:
        """The login that has begun, and is not over or has failed."""
        return self._begun.get((server, principal))

    async def _log_in(self, server: str, principal: str, auth: SupportsLogin, login: PageLogin) -> None:
        try:
            await auth.login(login)
            log.info("logged_in", server=server, principal=principal)
            self._begun.pop((server, principal), None)
            self._known.pop((server, principal), None)
            name = self._gateway.servers.modules[server.partition("@")[0]]
            await self._gateway.compiler.compile_one(name)
        except DoorwardError as error:
            login.failed = login.scrub(f"{error} {error.hint or ''}".strip())[:_MAX_TOLD]
            log.warning("login_failed", server=server, why=login.failed)

    def _over(self, login: PageLogin, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            login.failed = "a defect, which is in the log"
            log.error("login_failed", why=type(error).__name__)
        login.ready.set()

    def _give_up(self, key: tuple[str, str]) -> None:
        login = self._begun.pop(key, None)
        if login is not None and login.task is not None:
            login.task.cancel()


async def login_rows(logins: Logins, servers: list[str], visitor: Visitor) -> dict[str, list[dict[str, Any]]]:
    """The logins of servers, by the names of their modules, that are a visitor's: `{"name", "ends", "state",
    "failed"}`, where `ends` is 0 unless a time is known."""
    rows: dict[str, list[dict[str, Any]]] = {server: [] for server in servers}

    async def look(server: str, name: str, whose: str) -> None:
        ends, begun = await logins.ends(name, whose), logins.find(name, whose)
        if ends is not None:
            state = "none" if not ends else "over" if ends < time.time() else "soon" if _is_soon(ends) else "ok"
            known = ends if 0 < ends < float("inf") else 0.0
            about = {"name": name, "ends": known, "state": state, "failed": begun.failed if begun else ""}
            rows[server].append(about)

    async with anyio.create_task_group() as group:
        for server in servers:
            if (whose := logins.whose(server, visitor)) is not None:
                for name in logins.names(server, visitor):
                    group.start_soon(look, server, name, whose)
    return rows


def _is_soon(ends: float) -> bool:
    return ends < time.time() + SOON_SECONDS
