"""Conformance tests of auths: inherit `AuthConformance`, and say which class it is and its settings.

Requests are made to a real server on loopback, `self.server`, which sees the credentials. It is the API, and the
provider of what is fetched, where `answer` says how that answers.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from doorward import ConfigError, DoorwardError
from doorward.abilities import SupportsClose

from doorward_testing.conformance.base import fail, only, origin, require
from doorward_testing.conformance.drivers import DriverConformance
from doorward_testing.conformance.echo import AT_ONCE, Answer, Echo, EchoServer, Request, no_authorities

MIN_CREDENTIAL_CHARACTERS = 6
"""Shorter pieces of what an auth adds to a request are taken for words, not for credentials. Core does not scrub them
either."""


_WORD = re.compile(r"[A-Za-z]{1,15}")


class AuthConformance(DriverConformance):
    """For auths. Say `driver`; override `settings`: what stands in `auth = {…}` but for `type`, with `${CANARY}` for
    the secret. `self.server.url` is the API and the provider. An auth that fetches its credentials overrides
    `answer`."""

    kind = "auth"
    renews: ClassVar[bool] = False
    """Whether it fetches new credentials when the API answers 401."""

    server: EchoServer

    def answer(self, request: Request) -> Answer | None:
        """What the provider answers to a request of a login (status, headers, body), with another token each time;
        `None` for any other request."""
        return None

    def credentials(self, request: Request) -> set[str]:
        """What is secret in a signed request: every piece that the auth has added. Override this where it adds more
        than credentials, a date for example."""
        usual = {**self._unsigned.headers, "host": request.headers.get("host")}
        added = {value for name, value in request.headers.items() if usual.get(name) != value}
        return {piece for value in {*added, request.query} for piece in _pieces(value)}

    def auth(self, host: Any, environ: Mapping[str, str], **context: Any) -> Any:
        """A fresh instance, with these fields of its context. Override this where `driver` takes more than that."""
        given = {"name": "api", "url": self.server.url, **context}
        return self.driver(host.context(self.driver.Settings, self.settings(host), environ=environ, **given))

    @pytest.fixture(autouse=True)
    def _server(self, _complete: None) -> Iterator[None]:
        import httpx2

        self.server = EchoServer(self.answer)
        try:
            httpx2.get(f"{self.server.url}/unsigned", verify=no_authorities())
            require(not self.server.fault, self.server.fault)
            self._unsigned = self.server.seen.pop()
            yield
        finally:
            self.server.close()
        require(not self.server.fault, self.server.fault)

    @pytest.fixture
    def environ(self) -> dict[str, str]:
        """The environment of the host: `CANARY` is a secret that nobody can guess."""
        return {"CANARY": f"canary-{secrets.token_urlsafe(18)}"}

    def test_nothing_is_revealed_early(self, host: Any) -> None:
        """To make the auth needs no secret: it is revealed with the first request."""
        with only((), "create_auth without the secret", "Reveal secrets when a request is made."):
            self.auth(host, {}).create_auth()
        require(not self.server.seen, "create_auth made a request: fetch credentials when a request is made")

    @pytest.mark.anyio
    async def test_requests_are_signed(self, host: Any, environ: dict[str, str]) -> None:
        """The server sees a credential, in each request."""
        auth = self.auth(host, environ).create_auth()
        for _ in range(2):
            status, request = await self._get(auth)
            require(status == 200, f"a signed request was answered with {status}")
            require(self.credentials(request), f"the request carries no credential: {request}")

    @pytest.mark.anyio
    async def test_a_missing_secret_is_named(self, host: Any) -> None:
        """A request without its secret is an error that names the variable; nothing is sent."""
        auth = self.auth(host, {}).create_auth()
        try:
            await self._get(auth)
        except ConfigError as error:
            require("CANARY" in str(error), f"the error does not name the variable CANARY: {error}")
        except Exception as error:
            fail(f"a missing secret raised {type(error).__name__}: {error}. Let MissingSecret pass.{origin(error)}")
        else:
            fail("a request went out without its secret: take it from `${CANARY}`, by `await secret.get()`")
        require(not self.server.calls, "a request went to the API without its secret")

    @pytest.mark.anyio
    async def test_an_answer_of_401(self, host: Any, environ: dict[str, str]) -> None:
        """Credentials that are over are fetched anew, once; those that cannot be are not tried over and over."""
        auth = self.auth(host, environ).create_auth()
        _, first = await self._get(auth)
        over = self.credentials(first)
        self.server.seen.clear()
        self.server.is_over = lambda request: bool(self.credentials(request) & over)
        if self.renews:
            status, last = await self._get(auth)
            require(status == 200, f"after a 401 the request was not sent with new credentials, but answered {status}")
            require(not self.credentials(last) & over, "the credentials that were refused were sent again")
            return
        with only(DoorwardError, "a request that is answered with 401", "Return the answer, or raise ServerError."):
            await self._get(auth)
        require(len(self.server.calls) <= 2, f"credentials that are refused were tried {len(self.server.calls)} times")

    @pytest.mark.anyio
    async def test_credentials_stay_at_home(self, host: Any, environ: dict[str, str]) -> None:
        """A request to another origin is refused, or goes without credentials: the first one, and one after a
        redirect."""
        elsewhere = EchoServer(lambda request: None)
        try:
            for already_used in (False, True):
                auth = self.auth(host, environ).create_auth()
                if already_used:
                    await self._get(auth)
                with only(DoorwardError, "a request to another origin", "Raise ServerError."):
                    await self._get(auth, f"{elsewhere.url}/stolen")
            lost = [request for request in elsewhere.calls if self.credentials(request)]
            instead = "compare its origin with `context.url` and `context.origins`; CredentialHome does that"
            require(not lost, f"credentials went to another origin: {instead}")
        finally:
            elsewhere.close()

    @pytest.mark.anyio
    async def test_each_principal_has_its_own(self, host: Any) -> None:
        """Where credentials are per principal, nobody's request carries those of somebody else."""
        found = []
        for principal in ("alice", "bob", "alice"):
            environ = {"CANARY": f"canary-of-{principal}-0123456789"}
            auth = self.auth(host, environ, principal=principal, per_principal=True).create_auth()
            found.append(self.credentials((await self._get(auth))[1]))
        require(not found[1] & (found[0] | found[2]), "bob's request carries a credential of alice")

    @pytest.mark.anyio
    async def test_nothing_comes_back(self, host: Any, environ: dict[str, str]) -> None:
        """An API that echoes what it was sent, in values, keys, headers and errors, shows a program no credential."""
        async with self._gateway(host, environ) as gate:
            with only((), "a signed request of a gateway", "It is meant to succeed."):
                told = [repr(await gate.call("api.echo"))]
            outcome = await gate.execute("await doorward.call('doorward.replies.reply', {'function': 'api.echo'})")
            require(outcome.ok, f"a signed request of a program failed: {outcome.error}")
            told.append(repr(outcome))
            try:
                await gate.call("api.refused")
            except DoorwardError as error:
                told.append(f"{error} {error.hint} {getattr(error, 'body', '')}")
        self._require_nothing_in("\n".join(told), environ)

    @pytest.mark.anyio
    async def test_nothing_comes_back_of_many(self, host: Any, environ: dict[str, str]) -> None:
        """The same for 64 calls at once, each of whose answers comes when all are under way."""
        async with self._gateway(host, environ) as gate:
            with only((), f"one of {AT_ONCE} signed requests at once", "They are all meant to succeed."):
                told = await asyncio.gather(*(gate.call("api.together") for _ in range(AT_ONCE)))
        self._require_nothing_in(repr(told), environ)

    @pytest.mark.anyio
    async def test_it_can_be_closed(self, host: Any, environ: dict[str, str]) -> None:
        """If it can be closed at all: unused, used, and a second time."""
        for used in (False, True):
            auth: Any = self.auth(host, environ)
            closes = isinstance(auth, SupportsClose)
            if not closes:
                return  # it has nothing to close
            with only((), "close", "Give back what was opened, if anything was."):
                if used:
                    await self._get(auth.create_auth())
                await auth.close()
                await auth.close()

    async def _get(self, auth: Any, url: str = "") -> tuple[int, Request]:
        """Make one request, with the auth. Returns: its status, and the last request that the server got."""
        import httpx2

        async with httpx2.AsyncClient(verify=no_authorities()) as client:
            response = await client.get(url or f"{self.server.url}/echo", auth=auth)
        return response.status_code, self.server.calls[-1] if self.server.calls else Request("", "", "")

    def _gateway(self, host: Any, environ: dict[str, str]) -> Any:
        from doorward_testing.samples import InProcess, Replies

        host.install("plugin", "replies", Replies)
        host.install("source", "echo", Echo)
        host.install("executor", "inprocess", InProcess)
        host.install("auth", "under_test", self.driver)
        auth = {"type": "under_test", **self.settings(host)}
        servers = {"api": {"source": "echo", "url": self.server.url, "auth": auth}}
        config = {"executor": "inprocess", "cache": "none", "plugins": ["replies"], "servers": servers}
        return host.gateway(config, environ=environ)

    def _require_nothing_in(self, told: str, environ: Mapping[str, str]) -> None:
        signed = [request for request in self.server.calls if self.credentials(request)]
        require(signed, "no request of the gateway carried a credential")
        secret = {piece for request in signed for piece in self.credentials(request)} | {*environ.values()}
        leaked = sorted(piece for piece in secret if piece in told)
        instead = "call `context.redact(value)` before each request, with everything in it that is secret"
        require(not leaked, f"{len(leaked)} of {len(secret)} credentials reached the program: {instead}")


def _pieces(value: str) -> set[str]:
    """The parts of a header's value, or of a query, that may be credentials, and are no words."""
    parts = re.split(r"[\s,;\"&]+|(?<=\w)=(?=[^=])", value)
    return {part for part in parts if len(part) >= MIN_CREDENTIAL_CHARACTERS and not _WORD.fullmatch(part)}
