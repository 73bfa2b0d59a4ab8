"""Policy: what would be decided of one call, and by which rule. The configuration stays a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from doorward import Call, Decision, DoorwardError, Principal, Program
from doorward.administration import bind_arguments

from doorward_console.panel import Found, Question
from doorward_console.services import service

if TYPE_CHECKING:
    from doorward import Gateway

MAX_TRIED = 1000
"""Calls, the last ones, of which is told what a rule would have decided."""

_WORDS = {"allow": "It is allowed.", "confirm": "A person is asked first.", "deny": "It is refused."}


async def view(question: Question) -> Found:
    """What is decided of the call that is described; of none, what the lists say and who there is."""
    gateway, query = question.gateway, question.query
    function, text, principal = query.get("function", ""), query.get("arguments", ""), meant(question)
    found: dict[str, Any] = {"function": function, "arguments": text, "principal": str(principal), "decision": None}
    if function:
        try:
            arguments = json.loads(text or "{}")
            if not isinstance(arguments, dict):
                raise ValueError("arguments are an object")
            found["decision"] = await decided(gateway, function, principal, arguments)
        except (ValueError, RecursionError) as error:
            found["decision"] = _as_json(Decision("deny"), wrong=f"The arguments are no JSON object: {error}")
    policy = gateway.config.policy
    lists = {key: [*(getattr(policy, key, None) or ())] for key in ("allow", "deny")}
    text = query.get("rule", "") if question.visitor.is_operator else ""
    found |= {"rule": text, "tried": await _tried(question, text) if text.strip() else None}
    known = gateway.principals.configured() if question.visitor.is_operator else []
    rules = _rules(gateway) if question.visitor.is_operator else []
    return Found({**found, "lists": lists, "rules": rules, "principals": known, "file": gateway.loaded.file})


def _rules(gateway: Gateway) -> list[dict[str, Any]]:
    """The rules in their order. Of how many functions each decides is not counted here: that takes its time."""
    try:
        from doorward_policy_rules import explained
    except ModuleNotFoundError:
        return []
    return explained(gateway, None, "", count=False)


async def _tried(question: Question, text: str) -> dict[str, Any]:
    """What a rule would have been for, of the last calls in the audit log."""
    try:
        from doorward_policy_rules import tried
    except ModuleNotFoundError as error:
        return {"wrong": f"This needs {str(error.name).replace('_', '-')}."}
    reader = service(question.gateway, "doorward_audit_jsonl:AUDIT")
    if reader is None:
        return {"wrong": "There is no audit log: `plugins` of the configuration does not name audit_jsonl."}
    try:
        lines = await anyio.to_thread.run_sync(reader.last, MAX_TRIED, {"event": "call_finished"})
        calls = [tuple(str(line.get(key, "")) for key in ("function", "principal", "decision")) for line in lines]
        return {"calls": len(calls), "wrong": "", **tried(question.gateway, text, calls)}  # type: ignore[arg-type]
    except DoorwardError as error:
        return {"wrong": str(error)}
    except OSError as error:
        return {"wrong": f"The log cannot be read: {error.strerror}"}


def meant(question: Question) -> Principal:
    """The principal whose rights are looked at: the visitor, or whom an operator names."""
    named = question.query.get("principal", "")
    if named and question.visitor.is_operator:
        return Principal(named)
    return question.visitor.principal


async def decided(gateway: Gateway, name: str, principal: Principal, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What is decided of a call with these arguments, or why it is none. Nothing is called."""
    await gateway.ready()
    policy, program = gateway.discovery.policy, Program("", principal=principal)
    try:
        function = gateway.broker.functions.find(name, principal, near=False)
        if refusal := policy.refusal(program, function):
            return _as_json(Decision("deny"), wrong=refusal)
        may_be = policy.told(function, principal) if policy.decides else ""
        try:
            bound = bind_arguments(function, (), arguments, gateway.catalog)
        except DoorwardError as error:
            return _as_json(Decision("allow" if not may_be else "confirm"), may_be=may_be, wrong=str(error))
        return _as_json(await policy.decide(Call(function, bound, principal=principal)), may_be=may_be)
    except DoorwardError as error:
        return _as_json(Decision("deny"), wrong=str(error))


def _as_json(decision: Decision, *, wrong: str = "", may_be: str = "") -> dict[str, Any]:
    words = wrong or _WORDS[decision.then]
    return {"then": decision.then, "rule": decision.rule, "reason": decision.reason, "words": words, "depends": may_be}
