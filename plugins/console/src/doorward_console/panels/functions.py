"""Functions: found as agents find them, with the reasons; one as agents read it, and what policy says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
from doorward import DoorwardError, InvalidArguments, Outcome, Principal, Program, UnknownName

from doorward_console.panel import Found, Question
from doorward_console.panels.outcomes import as_shown
from doorward_console.panels.policy import decided, meant

ASKED_SECONDS = 5.0
"""Seconds for which a page waits for a call that a person is asked about, where `[approvals] client = false` lets it
not learn that the request is stored."""


MAX_RELATED = 30
"""Producers of what a function needs that are listed."""


class _NobodyAtClient:
    """The client of a call from a page. It learns when a person is to be asked, and nobody answers here."""

    def __init__(self) -> None:
        self.asked = anyio.Event()

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        pass

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.set()
        await anyio.sleep_forever()
        raise AssertionError("unreachable")


async def view(question: Question) -> Found:
    """What a search finds, for the visitor or for a principal that an operator names; or one function."""
    gateway, query = question.gateway, question.query
    principal = meant(question)
    if question.rest:
        return await _one(question, principal)
    words = query.get("q", "")
    found = await gateway.search_functions(
        words, server=query.get("server") or None, limit=30, explain=True, cursor=query.get("cursor") or None,
        principal=Principal(principal),
    )  # fmt: skip
    return Found(
        {
            "functions": [{"matched": [], "summary": "", **each} for each in found["functions"]],
            "total": found.get("total", 0), "cursor": found.get("cursor", ""), "q": words,
            "server": query.get("server", ""), "principal": str(principal),
        }
    )  # fmt: skip


async def post(question: Question) -> Found:
    """Call a function as the visitor, through the broker: decided, limited and audited as all calls are."""
    text = question.form.get("arguments", "") or "{}"
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"the arguments are no JSON object: {error}") from None
    if not question.rest or not isinstance(arguments, dict):
        raise InvalidArguments("the arguments are a JSON object")
    page = await _one(question, question.visitor.principal, text)
    principal = question.visitor.principal
    asks = (await decided(question.gateway, question.rest, principal, arguments))["then"] == "confirm"
    client, outcome = _NobodyAtClient() if asks else None, None
    async with anyio.create_task_group() as group:

        async def give_up(client: _NobodyAtClient) -> None:  # such a call is not made before somebody has answered
            with anyio.move_on_after(ASKED_SECONDS):
                await client.asked.wait()
            group.cancel_scope.cancel()

        if client is not None:
            group.start_soon(give_up, client)
        outcome = await question.gateway.answer(question.rest, arguments, principal=principal, client=client)
        group.cancel_scope.cancel()
    if outcome is not None:
        return Found({**page.data, "outcome": as_shown(outcome)}, page.template)
    waits = ["A person is asked: see the inbox. After a yes, call it once more with the same arguments."]
    return Found({**page.data, "outcome": {**as_shown(Outcome(False)), "waits": waits}}, page.template)


async def _one(question: Question, principal: Principal, arguments: str = "{}") -> Found:
    [card] = await question.gateway.get_functions([question.rest], principal=principal)
    if "error" in card and not question.visitor.is_operator:
        raise UnknownName(card["error"])
    decision = await decided(question.gateway, question.rest, principal, {})
    found: dict[str, Any] = {"function": card, "principal": str(principal), "decision": decision, "outcome": None}
    found |= {"arguments": arguments, "tries": "error" not in card and principal == question.visitor.principal}
    return Found(found | await _related(question, principal), "doorward_console/function.html")


async def _related(question: Question, principal: Principal) -> dict[str, Any]:
    """Who gives what a function needs, and what is often called beside it, as far as the search knows that and the
    principal may call them: as agents are told."""
    gateway, asker = question.gateway, Program("", principal=principal)
    try:
        function = gateway.broker.functions.find(question.rest, principal, near=False)
        related = await gateway.search_engine().related(function, str(principal))
    except DoorwardError:
        return {"needs": [], "often_with": []}

    def may_call(name: str) -> bool:
        try:
            gateway.discovery.callable(name, asker)
        except DoorwardError:
            return False
        return True

    needs = [
        {"parameter": each.parameter, "producer": each.producer, "field": each.field, "learned": each.learned,
         "confidence": round(each.confidence, 2)}
        for each in related.given
        if may_call(each.producer)
    ]  # fmt: skip
    return {"needs": needs[:MAX_RELATED], "often_with": [name for name in related.often_with if may_call(name)]}
