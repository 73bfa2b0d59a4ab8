"""An `Outcome` in the two forms that clients get: a dictionary without empty fields, and compact text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from doorward import Outcome
from doorward.recording import Waiting
from doorward.texts import apart, in_one_line, indented


def outcome_as_dict(outcome: Outcome) -> dict[str, Any]:
    """The answer as JSON, without empty fields. The value of a run that succeeded is always there."""
    # `asdict` would copy the whole value.
    fields: dict[str, Any] = {}
    for name in Outcome.__dataclass_fields__:
        own = {name: getattr(outcome, name)}
        fields |= {key: part.as_json() for key, part in outcome.parts.items()} if name == "parts" else own
    fields["artefacts"] = [_filled(asdict(a)) for a in outcome.artefacts]
    fields["error"] = _filled(asdict(outcome.error)) if outcome.error else None
    fields["waiting"] = _waiting(outcome.waiting) if outcome.waiting else None
    return {
        k: v
        for k, v in fields.items()
        if k in ("ok", "ms") or (k == "value" and outcome.ok) or v not in (None, "", (), [], {})
    }


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in fields.items() if v not in (None, "", ())}


def _waiting(waiting: Waiting) -> dict[str, Any]:
    told = {"for": waiting.for_, "run": waiting.run, "what": [*waiting.what], "next": waiting.next}
    return _filled(told) | ({"until": waiting.until} if waiting.until else {})


def _summary(calls: Sequence[Mapping[str, Any]]) -> str:
    """The calls of each function: how many there were, how many failed, how long they took."""
    told = []
    for function in dict.fromkeys(c["function"] for c in calls):
        mine = [c for c in calls if c["function"] == function]
        count, failed = sum(c["count"] for c in mine), sum(c["count"] for c in mine if not c["ok"])
        how = ("failed" if count == 1 else "all failed") if failed == count else f"{failed} failed"
        told.append(f"{function} ×{count}{f', {how}' if failed else ''} ({round(sum(c['ms'] for c in mine), 1)} ms)")
    return "; ".join(told)


def _used(server: str, amounts: Mapping[str, float]) -> str:
    """What was used of a server: `llm: rounds 3, tokens 812`."""
    return f"{server}: {', '.join(f'{name} {amount:.10g}' for name, amount in amounts.items())}"


def compact_json(value: Any) -> str:
    """A value as JSON without spaces, which has the fewest tokens."""
    return in_one_line(value, (",", ":"))


def outcome_as_text(outcome: Outcome, written: Callable[[Any], str] = in_one_line) -> str:
    """The answer for a reader who gets no structured content: the same content, most important first. `written` makes
    text of a value that is none; the lines of it stand as they are."""
    parts = []
    if outcome.error:
        error = outcome.error
        parts.append(
            f"{error.type}: {indented(error.message)}" + (f"\nin line {error.line} of your code" if error.line else "")
        )
        parts += [f"  line {f.line}, in {f.function}: {f.source}" for f in error.frames]
        parts += [f"hint: {indented(error.hint)}"] if error.hint else []
    elif waiting := outcome.waiting:
        parts.append(f"The run {waiting.run} waits ({waiting.for_}) and is suspended; nothing is lost.")
        parts += [f"- {indented(what)}" for what in waiting.what]
        parts += [f"then: {waiting.next}"] if waiting.next else []
    elif isinstance(outcome.value, str):
        parts.append(apart(outcome.value))
    else:
        parts.append(written(outcome.value))
    if cut := outcome.truncated:
        where = ", in a program" if "doorward.read(" in cut["read"] else ""
        parts.append(
            f"[cut: {cut['shape']}, {cut['bytes']} bytes; more with show_bytes; all of it{where}: {cut['read']}]"
        )
    for part in outcome.parts.values():
        parts += part.as_lines()
    if outcome.printed:
        parts.append(f"printed:\n{apart(outcome.printed.rstrip())}")
    named = in_one_line(outcome.value) if outcome.artefacts else ""
    parts += [
        f"artefact: {a.uri} ({f'{a.name}, ' if a.name else ''}{a.type}, {a.bytes} bytes)"
        for a in outcome.artefacts
        if f'"artefact": "{a.uri}"' not in named  # the handle in the value says the same
    ]
    parts += [f"calls: {_summary(outcome.calls)}"] if outcome.calls else []
    parts += [f"used: {'; '.join(_used(*each) for each in outcome.usage.items())}"] if outcome.usage else []
    parts += [f"note: {note}" for note in outcome.notes]
    parts += [f"session: {outcome.session_id}"] if outcome.session_id else []
    parts += [f"again: {outcome.next}"] if outcome.next else []
    parts += [f"{outcome.executor}, {outcome.ms} ms"] if outcome.executor else []
    return "\n".join(parts)
