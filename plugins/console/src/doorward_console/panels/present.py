"""The object that a call would change, as it is now: read by the function at the same path, when somebody asks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError, Refused
from doorward.deciding import ACCOUNT

from doorward_console.panel import Question
from doorward_console.panels.policy import decided
from doorward_console.recent import shown_value

if TYPE_CHECKING:
    from doorward import Function
    from doorward_approvals import ApprovalRequest

_IN_PATH = re.compile(r"\{([^{}]+)\}")


def reading_call(question: Question, request: ApprovalRequest) -> tuple[str, dict[str, Any]] | None:
    """The function that reads what a call would change, and its arguments; `None` if none is known."""
    try:
        function = question.gateway.broker.functions.find(request.function, request.principal, near=False)
        given = json.loads(request.arguments)
    except (DoorwardError, ValueError):
        return None
    method, _, path = function.route.partition(" ")
    parts = _IN_PATH.findall(path)
    if method in ("", "GET") or not parts or not isinstance(given, dict) or ACCOUNT in given:
        return None  # another account of the server may have another object there
    reader = next((each for each in question.gateway.catalog.functions(function.server) if _reads(each, path)), None)
    if reader is None:
        return None
    theirs, ours = _named(function), _named(reader)
    if not all(theirs.get(part, part) in given for part in parts):
        return None
    return reader.qualified, {ours.get(part, part): given[theirs.get(part, part)] for part in parts}


async def present(question: Question, request: ApprovalRequest) -> dict[str, Any]:
    """What the read answers, through the broker, as the principal who asks for the write.

    Raises: Refused unless policy lets them read it without asking anybody; DoorwardError as the call does.
    """
    call = reading_call(question, request)
    if call is None:
        raise Refused("no function is known that reads what this call would change")
    name, arguments = call
    principal = question.gateway.admission.known(request.principal)
    if (await decided(question.gateway, name, principal, arguments))["then"] != "allow":
        raise Refused(f"policy does not let {request.principal} call {name} without being asked")
    value = await question.gateway.call(name, arguments, principal=principal)
    return {"by": name, "value": shown_value(value)}


def _reads(function: Function, path: str) -> bool:
    return function.route == f"GET {path}" and function.read_only is True


def _named(function: Function) -> dict[str, str]:
    """The names of parameters here, by those upstream."""
    return {theirs: ours for ours, theirs in function.names.items()}
