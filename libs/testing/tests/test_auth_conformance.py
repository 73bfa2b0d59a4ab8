"""Each mistake in an auth fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

import pytest

from .conftest import Failures, Told

pytestmark = pytest.mark.slow

FETCHED = """
import asyncio
import secrets

import httpx2
from doorward import LoginRefused, PluginContext, Secret, ServerError, Settings
from doorward_testing import AuthConformance


class TicketSettings(Settings):
    office: str
    pin: Secret


class Tickets:
    Settings = TicketSettings
    held = ""

    def __init__(self, context: PluginContext) -> None:
        self.context, self.turn = context, asyncio.Lock()

    def create_auth(self) -> httpx2.Auth:
        own, context, settings = self, self.context, self.context.settings

        class Fetched(httpx2.Auth):
            async def async_auth_flow(self, request):
                if request.url.origin not in [httpx2.URL(url).origin for url in (context.url, *context.origins)]:
                    raise ServerError("the ticket is for another origin")
                for _ in range(2):
                    async with own.turn:
                        own.held = own.held or await own.fetch(settings.office, await settings.pin.get())
                    context.redact(own.held)
                    request.headers["X-Ticket"] = own.held
                    response = yield request
                    if response.status_code != 401:
                        return
                    own.held = ""

        return Fetched()

    async def fetch(self, office: str, pin: str) -> str:
        async with httpx2.AsyncClient() as client:
            answer = await client.post(office, json={"pin": pin})
        if answer.status_code != 200:
            raise LoginRefused("the ticket office says no")
        return answer.json()["ticket"]

    async def close(self) -> None:
        self.held = ""


class TestTickets(AuthConformance):
    driver = Tickets
    renews = True

    def settings(self, host):
        return {"office": self.server.url + "/office", "pin": "${CANARY}"}

    def answer(self, request):
        return (200, {}, {"ticket": secrets.token_urlsafe(18)}) if request.path == "/office" else None
"""

SIGNED = """
import hashlib
import hmac
import itertools

import httpx2
from doorward import PluginContext, Secret, Settings
from doorward_testing import AuthConformance

NUMBERS = itertools.count()


class SignedSettings(Settings):
    key: Secret


class Signed:
    Settings = SignedSettings

    def __init__(self, context: PluginContext) -> None:
        self.context = context

    def create_auth(self) -> httpx2.Auth:
        context = self.context

        class Signing(httpx2.Auth):
            async def async_auth_flow(self, request):
                if request.url.origin == httpx2.URL(context.url).origin:
                    number = str(next(NUMBERS))
                    key = await context.settings.key.get()
                    signature = hmac.new(key.encode(), number.encode(), hashlib.sha256).hexdigest()
                    context.redact(signature)
                    request.headers["X-Signature"] = signature
                yield request

        return Signing()


class TestSigned(AuthConformance):
    driver = Signed

    def settings(self, host):
        return {"key": "${CANARY}"}
"""

GOOD = {"fetched": FETCHED, "signed": SIGNED}

MISTAKES = {
    "async create_auth": (
        SIGNED,
        ("def create_auth", "async def create_auth"),
        "test_the_driver_is_complete",
        "Signed.create_auth is asynchronous, and core does not await it",
    ),
    "async create_auth of tickets": (FETCHED, ("    Settings = T", "    S = T"), "test_the_driver_is_complete", "no `Settings`"),
    "early secret": (
        SIGNED,
        ("        context = self.context\n", "        context = self.context\n        context.settings.key.reveal()\n"),
        "test_nothing_is_revealed_early",
        "create_auth without the secret raised MissingSecret",
    ),
    "early request": (
        FETCHED,
        ("        own, context", '        httpx2.post(self.context.settings.office, json={})\n        own, context'),
        "test_nothing_is_revealed_early",
        "create_auth made a request",
    ),
    "no signature": (
        SIGNED,
        ('request.headers["X-Signature"] = signature', "pass"),
        "test_requests_are_signed",
        "the request carries no credential",
    ),
    "only the first": (
        SIGNED,
        ("                    request.headers", "                    if not hasattr(context, 'done'): object.__setattr__(context, 'done', 1); request.headers"),
        "test_requests_are_signed",
        "the request carries no credential",
    ),
    "missing secret": (
        SIGNED,
        ("key = await context.settings.key.get()", "key = context.settings.key.missing() and 'a-default-key-of-ours'"),
        "test_a_missing_secret_is_named",
        "a request went out without its secret",
    ),
    "swallowed secret": (
        SIGNED,
        ("key = await context.settings.key.get()", "key = {}[context.settings.key.raw]"),
        "test_a_missing_secret_is_named",
        "a missing secret raised KeyError",
    ),
    "unnamed secret": (
        FETCHED,
        ("await settings.pin.get())", "await self.pin())"),
        "test_a_missing_secret_is_named",
        "a missing secret raised AttributeError",
    ),
    "not renewed": (
        FETCHED,
        ("                    own.held = \"\"\n", "                    return\n"),
        "test_an_answer_of_401",
        "after a 401 the request was not sent with new credentials, but answered 401",
    ),
    "over and over": (
        SIGNED,
        ("                yield request\n", "                for _ in range(9): yield request\n"),
        "test_an_answer_of_401",
        "credentials that are refused were tried 9 times",
    ),
    "leaves home": (
        SIGNED,
        ("if request.url.origin == httpx2.URL(context.url).origin:", "if True:"),
        "test_credentials_stay_at_home",
        "credentials went to another origin: compare its origin with `context.url`",
    ),
    "leaves home later": (
        FETCHED,
        ("if request.url.origin not", "if not own.held and request.url.origin not"),
        "test_credentials_stay_at_home",
        "credentials went to another origin",
    ),
    "one for all": (
        FETCHED,
        ("own.held", "Tickets.held"),
        "test_each_principal_has_its_own",
        "bob's request carries a credential of alice",
    ),
    "not redacted": (
        FETCHED,
        ("context.redact(own.held)", "pass"),
        "test_nothing_comes_back",
        "credentials reached the program: call `context.redact(value)` before each request",
    ),
    "not redacted of many": (
        SIGNED,
        ("context.redact(signature)", "pass"),
        "test_nothing_comes_back_of_many",
        "credentials reached the program",
    ),
    "a session that is not there": (
        FETCHED,
        ('    async def close(self) -> None:\n        self.held = ""', "    async def close(self) -> None:\n        await self.client.aclose()"),
        "test_it_can_be_closed",
        "close raised AttributeError",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["fetched", "signed"])
def test_a_good_one_passes(failures: Failures, kind: str) -> None:
    """An auth without mistakes has no failure: one that fetches a token, and one that signs each request anew."""
    assert failures(GOOD[kind]) == {}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    told(*MISTAKES[mistake])


ANSWERS = {
    '(200, {"ticket": "t"})': "returned (200, {'ticket': 't'}).",
    '{"ticket": "t"}': "returned {'ticket': 't'}.",
    '(200, {}, {"ticket": self})': "returned (200, {}, {'ticket': <",
    '("200", {}, {})': "returned ('200', {}, {}).",
    "(200, {'X-Left': 1}, {})": "returned (200, {'X-Left': 1}, {}).",
    "1 / 0": "raised ZeroDivisionError: division by zero.",
}


@pytest.mark.parametrize(("path", "method"), [("/office", "POST"), ("/unsigned", "GET")])
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_wrong_answer_is_told(failures: Failures, answer: str, path: str, method: str) -> None:
    """An `answer` that is none, or raises, is named by each test that asks for it, and nothing waits for it."""
    right = '(200, {}, {"ticket": secrets.token_urlsafe(18)}) if request.path == "/office"'
    assert right in FETCHED
    found = failures(FETCHED.replace(right, f'{answer} if request.path == "{path}"'), "are_signed or of_many")
    assert set(found) == {"test_requests_are_signed", "test_nothing_comes_back_of_many"}
    for told in found.values():
        assert f"`answer`, given {method} {path}, {ANSWERS[answer]}" in told
        assert "Return (status, headers, body)" in told
        assert "doorward_testing/" not in told
