"""What a person is shown of a call: no credential is in it, everything else is, and nothing in it passes for our own
words. What is a credential is told by its value, and by the function's document: an agent chooses what it calls things.

Arguments and programs are written by agents. They are shown as JSON and as numbered lines, indented: a line break in a
value stays an escape, and so does whatever a terminal would obey or a reader could not see.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doorward import File
from doorward.administration import without_drawn_tokens
from doorward.texts import in_one_line, visible
from doorward_durable_runs import PlannedCalls, planned_calls

from doorward_approvals.request import ApprovalRequest

MAX_STORED_CHARACTERS = 200_000
"""Characters of arguments that are kept, to be shown."""

MAX_ASKED_CHARACTERS = 3000
"""Characters of arguments in a question to a client, whose window is small."""

MAX_ASKED_OF_PLAN = 20_000
"""The same for all calls of a plan, which are decided at once: beyond that, what is long in them is shortened."""

MAX_ASKED_TOGETHER, _LEAST_OF_MANY = 8000, 300
"""The same for several calls in one question, and what each of them has at least."""

_BRIEF_TEXT, _BRIEF_LIST, _BRIEF_OBJECT = 200, 10, 50
"""Characters of a text, items and members that are shown of long arguments, so that none hides the next."""

_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|U([0-9a-f]{8})|.)")
"""What `visible` writes besides the escapes of JSON, and those, so that a backslash is not taken for the next one."""

_MAX_LINES, _MAX_LINE_CHARACTERS = 5, 160
"""Lines of a program that are shown, and their length."""


def arguments_shown(arguments: Mapping[str, Any], scrub: Callable[[str], str], indent: int | None = 2) -> str:
    """The arguments of a call as JSON for a person. `scrub` knows the secrets of Doorward."""
    text = json.dumps(_without_tokens(arguments), ensure_ascii=False, indent=indent, default=_described)
    return _cut(visible(scrub(text)), MAX_STORED_CHARACTERS, "they are too long to be kept")


def lines_naming(code: str, function: str, scrub: Callable[[str], str]) -> tuple[str, ...]:
    """The lines of a program that name a function, with their numbers; the first few."""
    word = re.compile(rf"(?<!\w){re.escape(function.rpartition('.')[2])}(?!\w)")
    found = [(number, line) for number, line in enumerate(code.splitlines(), 1) if word.search(line)]
    return tuple(
        f"{number:>4} | {_cut(visible(scrub(line.rstrip())), _MAX_LINE_CHARACTERS, 'cut')}"
        for number, line in found[:_MAX_LINES]
    )


def as_text(request: ApprovalRequest, most: int = MAX_STORED_CHARACTERS) -> str:
    """A request as a person reads it. `most`: characters of its arguments."""
    left = f"`doorward approvals show {request.id}` shows all of them"
    who = visible(request.principal).replace("\n", r"\n")
    parts = [f"{who} wants to {request.wants} ({request.effect})."]
    if request.rule or request.reason:
        parts.append(f"A person is asked because of {': '.join(filter(None, (request.rule, request.reason)))}")
    if request.kind == "plan" and (plan := _read(request.arguments)) is not None:
        counts, calls = _plan(plan, most, f"`doorward approvals show {request.id}`")
        parts.append(f"Its calls: {counts}\n{_indented(calls)}")
    else:
        parts.append(f"Arguments:\n{_indented(_brief(request, most, left))}")
    if request.lines:
        parts.append("The lines of the program that name it:\n" + _indented("\n".join(request.lines)))
    return "\n\n".join(parts)


def as_list(requests: Sequence[ApprovalRequest]) -> str:
    """Requests of one run as a person reads them together: how many of what, then each with its arguments; first what
    destroys."""
    requests = sorted(requests, key=lambda each: each.effect != "destructive")
    counts = Counter(f"{each.function} ({each.effect})" for each in requests)
    who = visible(requests[0].principal).replace("\n", r"\n")
    parts = [f"{who} wants to make {', '.join(f'{count} × {what}' for what, count in counts.items())}."]
    why = dict.fromkeys(": ".join(filter(None, (each.rule, each.reason))) for each in requests)
    parts += [f"A person is asked because of {'; '.join(filter(None, why))}"] if any(why) else []
    most = max(_LEAST_OF_MANY, MAX_ASKED_TOGETHER // len(requests))
    for number, each in enumerate(requests, 1):
        left = f"`doorward approvals show {each.id}` shows all of them"
        parts.append(f"{number}. {each.function} ({each.effect}):\n{_indented(_brief(each, most, left))}")
    if lines := dict.fromkeys(line for each in requests for line in each.lines):
        parts.append("The lines of the program that name them:\n" + _indented("\n".join(lines)))
    return "\n\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _cut(text: str, most: int, why: str) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n… {len(text) - most} more characters are NOT shown here: {why}"


def _brief(request: ApprovalRequest, most: int, left: str) -> str:
    """Arguments of which each is shown, if only its beginning: an agent chooses their order and their length."""
    arguments = request.arguments
    if len(arguments) <= most:
        return arguments
    if (value := _read(arguments)) is None:
        return _cut(arguments, most, left)
    text = visible(json.dumps(_shortened(value), ensure_ascii=False, indent=2))
    return f"{_cut(text, most, left)}\n… what is long is NOT shown whole here: {left}"


def _plan(plan: Mapping[str, Any], most: int, left: str) -> tuple[str, str]:
    """How many calls of each function a plan has, and each of them, in a line as the agent was shown it. None is left
    out; if they are very long, arguments are shortened."""
    counts = ", ".join(f"{function} ×{count}" for function, count in plan["counts"].items())
    groups = [PlannedCalls(**each) for each in plan["changes"]]
    lines = [visible(line) for line in planned_calls(groups)]
    if sum(map(len, lines)) > (most := max(most, MAX_ASKED_OF_PLAN)):
        each = max(_LEAST_OF_MANY, most // len(lines))
        short = [visible(line) for line in planned_calls(groups, lambda value: in_one_line(_shortened(value)))]
        lines = [line if len(line) <= each else f"{line[:each]}… {len(line) - each} more characters" for line in short]
        lines.append(f"… what is long is NOT shown whole here: {left} shows all of it")
    return counts, "\n".join(lines)


def _read(arguments: str) -> Any:
    """The value of arguments that are shown; `None` if they were too long to be kept."""
    try:
        return json.loads(_ESCAPE.sub(_in_json, arguments))
    except ValueError:
        return None


def _in_json(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return json.dumps(chr(int(code, 16)))[1:-1] if code else escape[0]


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _BRIEF_TEXT:
            return f"{value[:_BRIEF_TEXT]}… {len(value) - _BRIEF_TEXT} more characters"
        case list():
            more = [f"… {len(value) - _BRIEF_LIST} more"] if len(value) > _BRIEF_LIST else []
            return [_shortened(part) for part in value[:_BRIEF_LIST]] + more
        case dict():
            more_members = {"…": f"{len(value) - _BRIEF_OBJECT} more"} if len(value) > _BRIEF_OBJECT else {}
            shown = list(value.items())[:_BRIEF_OBJECT]
            return {_shortened(name): _shortened(part) for name, part in shown} | more_members
    return value


def _without_tokens(value: Any) -> Any:
    """A value without what looks like a credential, each text by itself: none hides the next."""
    match value:
        case str():
            return without_drawn_tokens(value)
        case Mapping():
            return {str(key): _without_tokens(part) for key, part in value.items()}
        case list() | tuple():
            return [_without_tokens(part) for part in value]
    return value


def _described(value: Any) -> str:
    if isinstance(value, File):
        return f"<a file of {len(value.content)} bytes: {value.name or value.type or 'without a name'}>"
    return f"<{len(value)} bytes>" if isinstance(value, (bytes, bytearray)) else f"<{type(value).__name__}>"
