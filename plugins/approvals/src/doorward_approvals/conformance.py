"""Conformance tests of approval channels, by which a person is asked in another place: a chat, a webhook. Inherit
`ApprovalChannelConformance`, and say what reaches that place, and how a person answers there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from doorward import InvalidArguments, PluginContext
from doorward_testing import ODD_TEXTS, HookConformance, ask, only, require

from doorward_approvals.answering import answer
from doorward_approvals.request import ApprovalHooks, ApprovalRequest
from doorward_approvals.stored_approvals import StoredApprovals

T = TypeVar("T")

ANSWER_SECONDS = 10.0
"""How long an answer may be on its way."""

REQUEST = ApprovalRequest(
    "k3q9", "billing.pay_invoice", "write", '{"invoice": "R-17", "amount": 120}', "alice", "run-1",
    rule="[[policy.rules]] 1", reason="money leaves", lines=("4: billing.pay_invoice(invoice='R-17', amount=120)",),
)  # fmt: skip


class ApprovalChannelConformance(HookConformance):
    """For plugins with `approval_wanted`. Say `plugin`; override `told` and `answered`, and `settings`, where it needs
    any."""

    hookspecs = (ApprovalHooks,)
    hooks = ("approval_wanted",)
    seconds = 1.0
    """How long the hook itself may take: sending belongs in a thread or a task."""

    async def told(self) -> str:
        """Everything that has reached the person until now, as text."""
        self.say("async def told(self): return self.chat.text  # what the person sees")

    async def answered(self, request: ApprovalRequest, yes: bool) -> None:
        """Have the person answer a request there."""
        self.say("async def answered(self, request, yes): …  # as a person answers there")

    @pytest.mark.anyio
    async def test_the_person_reads_what_is_asked(self, host: Any) -> None:
        """Which function, with which arguments, and for whom: a yes to something else is none."""
        async with self.opened(host) as plugin:
            ask(plugin, "approval_wanted", request=REQUEST, answer=_Answers())
            for what in (REQUEST.function, "R-17", "120", REQUEST.principal):
                await _until(self._reads(what), f"the person does not read {what!r}")

    @pytest.mark.anyio
    @pytest.mark.parametrize("yes", [True, False])
    async def test_an_answer_comes_back(self, host: Any, yes: bool) -> None:
        """As it was given, with who gave it; and nothing is answered before."""
        answers = _Answers()
        async with self.opened(host) as plugin:
            ask(plugin, "approval_wanted", request=REQUEST, answer=answers)
            await _until(self._reads(REQUEST.function), "the person reads nothing")
            require(not answers.given, "it answered before the person did")
            await self.answered(REQUEST, yes)
            await _until(_true(lambda: answers.given), "the answer did not come back: call `answer`")
            said, by = answers.given[0]
            require(said is yes, f"the person said {yes}, and `answer` was called with {said!r}")
            require(isinstance(by, str) and by.strip(), "say who answered: answer(True, by='ann')")

    @pytest.mark.anyio
    async def test_a_late_answer_disturbs_nobody(self, host: Any) -> None:
        """The first answer counts; the future of a later one has InvalidArguments, which the plugin takes."""
        answers, odd = _Answers(late=True), list[Any]()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: odd.append(context))
        try:
            async with self.opened(host) as plugin:
                ask(plugin, "approval_wanted", request=REQUEST, answer=answers)
                await _until(self._reads(REQUEST.function), "the person reads nothing")
                with only((), "the plugin, whose answer was late,", "Take InvalidArguments."):
                    await self.answered(REQUEST, True)
                await _until(_true(lambda: answers.given), "the answer did not come back: call `answer`")
        finally:
            loop.set_exception_handler(None)
        require(not odd, f"a late answer failed in the background: {odd[:1]}")

    @pytest.mark.anyio
    async def test_it_keeps_nobody_waiting(self, host: Any) -> None:
        """The hook returns at once, whatever it is asked about, and raises nothing."""
        async with self.opened(host) as plugin:
            for number, text in enumerate(ODD_TEXTS):
                request = replace(REQUEST, id=f"odd{number}", arguments=text, reason=text, lines=(text,))
                began = time.monotonic()
                with only((), f"the plugin, asked about {text!r:.40},", "Send in a thread, and log what fails."):
                    ask(plugin, "approval_wanted", request=request, answer=_Answers())
                took = time.monotonic() - began
                require(took < self.seconds, f"it took {took:.1f} s, and nothing else ran meanwhile")

    def _reads(self, what: str) -> Callable[[], Awaitable[bool]]:
        async def reads() -> bool:
            return what in await self.told()

        return reads


class _Answers:
    """The `answer` of a request, which may be called from any thread."""

    def __init__(self, *, late: bool = False) -> None:
        self.given: list[tuple[Any, Any]] = []
        self._late = late

    def __call__(self, yes: bool, *, by: str, said: str = "", **more: Any) -> Future[ApprovalRequest]:
        self.given.append((yes, by))
        answered: Future[ApprovalRequest] = Future()
        if self._late:
            answered.set_exception(InvalidArguments("it has been answered"))
        else:
            answered.set_result(replace(REQUEST, state="approved" if yes else "denied", by=by, said=said))
        return answered


def requests_in(state: Path, key: Callable[[], str] | None = None) -> list[ApprovalRequest]:
    """All requests of a state folder, the oldest first, as another process reads them."""
    return list(_another_process(state, key, lambda stored: stored.all()))


def answer_in(
    state: Path, id: str, approve: bool, *, by: str = "ops", key: Callable[[], str] | None = None, **how: Any
) -> None:
    """Answer a request of a state folder, as another process does. Raises: as `answer`."""
    _another_process(state, key, lambda stored: answer(stored, id, approve, by=by, **how))


def _another_process(state: Path, key: Callable[[], str] | None, work: Callable[[StoredApprovals], Awaitable[T]]) -> T:
    engine = import_module("doorward_store_sqlite").SqliteStore  # that of the tests, and of no plugin

    async def done() -> T:
        store = engine(PluginContext("sqlite", engine.Settings(), state))
        try:
            return await work(StoredApprovals(store, state, key))
        finally:
            await store.close()

    with ThreadPoolExecutor(1) as thread:  # whoever asks may be in an event loop
        return thread.submit(anyio.run, done).result()


def _true(holds: Callable[[], object]) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        return bool(holds())

    return asked


async def _until(holds: Callable[[], Awaitable[bool]], otherwise: str) -> None:
    ends = time.monotonic() + ANSWER_SECONDS
    while not await holds():
        require(time.monotonic() < ends, f"{otherwise} within {ANSWER_SECONDS:g} s")
        await asyncio.sleep(0.01)
