"""Has a person log in when a call needs that: the one at the client, else whoever reads what its run waits for."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from doorward import LOCAL, CannotAsk, DoorwardError, LoginRefused, Refused, Wait
from doorward.abilities import SupportsLogin
from doorward.serving import person_of
from doorward.values import clean_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import anyio
    from doorward import Call, Proceed, Reply, Run

    from doorward_approvals.asking import Ask
    from doorward_approvals.settings import ApprovalSettings

_MAX_SHOWN = 2000


class Logins:
    """The logins that the calls of one gateway need. `servers` are those of the gateway."""

    def __init__(self, settings: ApprovalSettings, servers: Any) -> None:
        self._settings, self._servers = settings, servers
        self._logging_in: dict[tuple[str, str], tuple[anyio.Lock, list[bool]]] = {}

    async def around(self, run: Run, call: Call, proceed: Proceed) -> Reply:
        """Make a call; if a login is missing, once more when a person has logged in."""
        try:
            return await proceed()
        except LoginRefused as refused:
            await self._came(run, call, refused)
        return await proceed()

    async def _came(self, run: Run, call: Call, refused: LoginRefused) -> None:
        """Return once a person has logged in; else the run is suspended. No request of the call was answered.

        Raises: LoginRefused as it was, if no person can do anything about it; Refused if one would not.
        """
        account = f"@{call.account}" if call.account else ""
        server, principal = call.function.server + account, person_of(call.principal)
        if (auth := self._auth(server, principal)) is None:
            raise refused
        if run.ask is not None and self._settings.client and principal == LOCAL:
            with call.clock.still():
                if await self._at_client(run.ask, auth, server, principal):
                    return
        if run.can_wait():
            module = call.function.server
            name = self._servers.modules.get(module, module) + account
            own = principal != LOCAL and self._servers.per_principal(module)
            whose = f" --principal {shlex.quote(principal)}" if own else ""
            await run.wait(Wait("login", f"{refused.message}. A person logs in: doorward login {name}{whose}"))
        raise refused

    def _auth(self, server: str, principal: str) -> SupportsLogin | None:
        """What a person logs in to, if there is such a thing."""
        try:
            return next((a for a in self._servers.auths_of(server, principal) if isinstance(a, SupportsLogin)), None)
        except DoorwardError:
            return None

    async def _at_client(self, ask: Ask, auth: SupportsLogin, server: str, principal: str) -> bool:
        """Whether the person at the client has logged in, or another call had them do it meanwhile.

        Raises: Refused if they would not.
        """
        import anyio

        async with self._turn(server, principal) as done:
            if done:
                return True
            with anyio.move_on_after(self._settings.patience):
                try:
                    await auth.login(_AtClient(ask, server, self._servers.outgoing(server.partition("@")[0])))
                except Refused:
                    raise
                except DoorwardError:  # the client cannot be asked to open a page, or the provider refused
                    return False
                done.append(True)
        return bool(done)

    @asynccontextmanager
    async def _turn(self, server: str, principal: str) -> AsyncIterator[list[bool]]:
        """A block for one call at a time. It gets what those that waited for the same login have to say: whether
        somebody has logged in."""
        import anyio

        lock, done = self._logging_in.setdefault((server, principal), (anyio.Lock(), []))
        try:
            async with lock:
                yield done
        finally:
            if not lock.statistics().tasks_waiting:
                self._logging_in.pop((server, principal), None)


class _AtClient:
    """A `LoginPrompt` for the person at the MCP client, by elicitation of a page (mode `url`). Only for clients on this
    machine: the page leads back to it."""

    def __init__(self, ask: Ask, server: str, scrub: Callable[[str], str]) -> None:
        self._ask, self._server, self._scrub = ask, server, scrub
        self._told: list[str] = []

    def tell(self, text: str) -> None:
        self._told.append(text)

    async def open(self, url: str) -> None:
        if not url.lower().startswith(("https://", "http://")):
            raise CannotAsk(f"the login to {self._server} begins at what is no web page")
        said = "\n".join([f"A program needs your login to {self._server}.", *self._told])
        message = clean_text(self._scrub(said))[:_MAX_SHOWN]
        answer = await self._ask("elicitation/create", {"mode": "url", "message": message, "url": url})
        if answer.get("action") != "accept":
            raise Refused(f"the person at the client does not log in to {self._server}", hint="Do without this server.")

    async def ask(self, question: str) -> str | None:
        return None
