"""Inbox: what waits for a person, and what a person is asked."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, cast

from doorward import DoorwardError, Refused, UnknownName, log
from doorward.administration import run_in_thread
from doorward.engines import Put, scan_all

from doorward_console.logins import login_rows
from doorward_console.panel import Found, Moved, Question
from doorward_console.panels.present import present, reading_call
from doorward_console.panels.stored import stored_run
from doorward_console.services import service

if TYPE_CHECKING:
    from doorward_approvals import ApprovalRequest, Requests
    from doorward_pins import Pins

REFUSED = "console refused pins"
"""The table of changes that a person has refused, by their versions."""
_REFUSED_SECONDS = 90 * 86400.0

MAX_ANSWERED = 50
"""Answered requests that are listed."""


async def view(question: Question) -> Found:
    """The requests; or one, with all that is known of it."""
    requests = _requests(question)
    if question.rest:
        return Found(await _one(question, requests), "doorward_console/approval.html")
    mine = [each for each in await requests.all() if question.visitor.sees(each.principal)]
    waiting = sorted((each for each in mine if each.state == "open"), key=lambda each: each.expires)
    answered = [each for each in reversed(mine) if each.state != "open"][:MAX_ANSWERED]
    return Found(
        {
            "waiting": [_row(question, each) for each in waiting],
            "answered": [_row(question, each) for each in answered],
            "may_answer": question.visitor.may_answer,
            "logins": await _logins(question),
            "changed": await _changed(question),
        },
        live=True,
    )


async def post(question: Question) -> Moved | Found:
    """A person's answer; or what the call would change, as it is now."""
    if question.rest == "pins":
        return await _review(question)
    requests, form = _requests(question), question.form
    request = await _found(question, requests)
    if form.get("answer") == "look":
        found = await _one(question, requests) | {"present": await present(question, request)}
        return Found(found, "doorward_console/approval.html")
    if not question.visitor.may_answer:
        raise Refused(
            "you may not answer requests here", hint="[console] operators names who may; see also self_approval."
        )
    if form.get("answer") == "always":
        if not question.visitor.is_operator:
            raise Refused("operators write rules")
        await requests.allow_always(request.id, form.get("rule", "").replace("\r\n", "\n"), by=question.visitor.by)
        return Moved("approvals", "always")
    approve = form.get("answer") == "yes"
    if not approve and form.get("answer") != "no":
        raise Refused("an answer is yes or no")
    scope = cast("Literal['once', 'run', 'session']", form.get("scope", "once"))
    said = form.get("reason", "")
    await requests.answer(request.id, approve, by=question.visitor.by, said=said, scope=scope)
    return Moved("approvals", "approved" if approve else "denied")


def _requests(question: Question) -> Requests:
    from doorward_approvals import REQUESTS

    return question.gateway.services[REQUESTS]


async def _logins(question: Question) -> list[dict[str, Any]]:
    """The logins of the visitor that have ended, or end soon."""
    servers = (await question.gateway.list_servers(principal=str(question.visitor.principal)))["servers"]
    rows = await login_rows(question.logins, [each["name"] for each in servers], question.visitor)
    return [row for some in rows.values() for row in some if row["state"] in ("over", "soon")]


async def _changed(question: Question) -> list[dict[str, Any]]:
    """Functions whose text or shape has changed upstream, and that wait for a review, those that were refused last:
    for operators."""
    pins: Pins | None = service(question.gateway, "doorward_pins:PINS")
    if pins is None or not question.visitor.is_operator:
        return []
    with suppress(DoorwardError):  # a lock file that cannot be used is told where it is
        store, waiting = question.gateway.store, await run_in_thread(pins.waiting)
        refused = {each.key for each in await scan_all(store, REFUSED)} if waiting else ()
        found = [{**each, "refused": each["version"] in refused} for each in waiting]
        return sorted(found, key=lambda each: each["refused"])
    return []


async def _review(question: Question) -> Moved:
    """Take a change as it was shown, or refuse it: then it is folded away until the function changes once more."""
    pins, form = service(question.gateway, "doorward_pins:PINS"), question.form
    if pins is None or not question.visitor.is_operator:
        raise Refused("operators review what has changed, where doorward-pins holds it back")
    function, version = form.get("function", ""), form.get("version", "")
    about = {"function": function, "by": question.visitor.by}
    if form.get("answer") == "accept":
        await run_in_thread(pins.accept_version, function, version)
        log.info("pin_accepted", **about)
        servers = question.gateway.servers.modules
        await question.gateway.compiler.compile([servers[function.partition(".")[0]]], force=True)
        return Moved("approvals", "accepted")
    if form.get("answer") != "refuse" or version not in [each["version"] for each in await run_in_thread(pins.waiting)]:
        raise Refused("this change does not wait (any more)")
    await question.gateway.store.commit(Put(REFUSED, version, function.encode(), ttl=_REFUSED_SECONDS))
    log.info("pin_refused", **about)
    return Moved("approvals", "refused")


async def _found(question: Question, requests: Requests) -> ApprovalRequest:
    """The request that is meant. Somebody else's is told as one that is not there."""
    request = await requests.found(question.rest)
    if request is None or not question.visitor.sees(request.principal):
        raise UnknownName("there is no such request (any more)", hint="The inbox lists those that wait.")
    return request


async def _one(question: Question, requests: Requests) -> dict[str, Any]:
    request = await _found(question, requests)
    recent = question.recent.find(request.run)
    stored = await stored_run(question, request.run)
    description = recent.description if recent else stored.get("description", "")
    return {
        "request": {**_row(question, request), "description": description},
        "arguments": request.arguments,
        "lines": [*request.lines],
        "done": [asdict(call) for call in recent.calls] if recent else [],
        "code": recent.code if recent else stored.get("code", ""),
        "run_state": recent.state if recent else stored.get("state", ""),
        "rule": requests.proposed_rule(request),
        "may_answer": question.visitor.may_answer and request.state == "open",
        "reader": reading[0] if request.state == "open" and (reading := reading_call(question, request)) else "",
        "present": None,
    }


def _row(question: Question, request: ApprovalRequest) -> dict[str, Any]:
    recent = question.recent.find(request.run)
    kept = ("id", "function", "effect", "principal", "run", "rule", "reason", "scopes", "created", "expires", "state",
            "scope", "by", "said", "kind")  # fmt: skip
    row = {name: getattr(request, name) for name in kept} | {"scopes": [*request.scopes]}
    left = max(0, int(request.expires - time.time()))
    return row | {"description": recent.description if recent else "", "left": _left(left)}


def _left(seconds: int) -> str:
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"
