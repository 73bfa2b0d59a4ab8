"""The tools of an upstream → functions. Plain data in, plain data out: nothing here needs a connection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doorward import Compiled, Function, Skipped
from doorward.values import python_name, unique_names

from doorward_mcp_upstream.tools.documents import digest
from doorward_mcp_upstream.tools.parameters import Unusable, parameters
from doorward_mcp_upstream.tools.schemas import Schemas
from doorward_mcp_upstream.tools.text import line, prose, summed_up

MAX_TOOLS = 10_000
"""Tools of one server."""

_MAX_NAME_CHARACTERS = 500
"""Longest name of a tool."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_READS = re.compile(
    r"^(?:count|describe|find|get|list|look ?up|read|search|select|show)\b|\bread[- ]only\b|\bonly reads?\b|\bSELECT\b",
    re.IGNORECASE,
)
"""What the text of a tool begins with, or says, that reads."""

_CHANGES = re.compile(
    r"\b(?:(?:alter|append|archiv|cancel|chang|clear|creat|delet|destroy|drop|edit|empt|eras|insert|kill|mark|"
    r"merg|modif|mov|overwrit|purg|remov|renam|replac|reset|restor|revok|rotat|sav|send|terminat|truncat|updat|"
    r"upload|upsert|writ)(?:e|es|ed|ing|s|y|ies|ten)?|also|any|commands?|not|other|scripts?|statements?)\b",
    re.IGNORECASE,
)
"""What the text of a tool says that does more, or that does whatever it is told."""
_DEPRECATED = re.compile(r"\A\W*(?i:deprecated)\b|\((?i:deprecated)\)|\bDEPRECATED[:.!]")
"""How tools say so in their texts: the protocol has no field for it."""

WRAPPERS = {"result": "", "content": "string", "text": "string"}
"""Properties that only wrap the value, where they are an output schema's only ones, by the type that they must have:
frameworks wrap in `result` what is no object, and servers that answer a text repeat it as `content` or `text`."""

_APP_URI = re.compile(r"ui://[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,99}(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,99}){0,8}")
"""URIs of interfaces that are passed on: no part of one begins with a dot, or has to be encoded."""

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint")


def compiled(
    server: str, tools: Sequence[Mapping[str, Any]], *, era: str = "", skipped: Iterable[Skipped] = ()
) -> Compiled:
    """The functions for the tools in an answer to `tools/list`. A tool that cannot be used never loses the others."""
    left_out = list(skipped)
    usable: dict[str, Mapping[str, Any]] = {}
    for tool in tools[:MAX_TOOLS]:
        try:
            name = _name(tool)
            if name in usable:
                raise Unusable("there is another tool of this name")
            usable[name] = tool
        except Unusable as error:
            left_out.append(_skipped(tool, str(error)))
    if len(tools) > MAX_TOOLS:
        left_out.append(Skipped("tools", f"there are more than {MAX_TOOLS}; the others are left out"))
    names = unique_names(usable)
    schemas = Schemas()
    functions = []
    for id, tool in usable.items():
        try:
            functions.append(_function(server, names[id], tool, schemas, era))
        except Unusable as error:
            left_out.append(_skipped(tool, str(error)))
    return Compiled(functions, schemas.definitions, left_out, list(schemas.warnings))


def fingerprint(tool: Mapping[str, Any]) -> str:
    """A hash of everything in a tool that callers rely on: its schemas, and its hints about side effects. Empty if it
    is nested too deeply."""
    hints = tool.get("annotations")
    promised = [hints.get(hint) if isinstance(hints, Mapping) else None for hint in _HINTS]
    try:
        return digest([tool.get("inputSchema"), tool.get("outputSchema"), promised])
    except RecursionError:
        return ""


def app_of(tool: Mapping[str, Any]) -> str:
    """The URI of the interface of a tool, as listed; "" if it has none that is passed on."""
    meta = tool.get("_meta")
    ui = meta.get("ui") if isinstance(meta, Mapping) else None
    uri = ui.get("resourceUri") if isinstance(ui, Mapping) else None
    return uri if isinstance(uri, str) and _APP_URI.fullmatch(uri) else ""


def _name(tool: Any) -> str:
    name = tool.get("name") if isinstance(tool, Mapping) else None
    if not isinstance(name, str) or not name.strip():
        raise Unusable("it has no name")
    if len(name) > _MAX_NAME_CHARACTERS:
        raise Unusable(f"its name has {len(name)} characters")
    return name


def _skipped(tool: Any, why: str) -> Skipped:
    name = tool.get("name") if isinstance(tool, Mapping) else None
    return Skipped(line(name, 100) or "a tool", why[:500])


def _function(server: str, name: str, tool: Mapping[str, Any], schemas: Schemas, era: str) -> Function:
    id = tool["name"]
    if not (promise := fingerprint(tool)):
        raise Unusable("its schemas are nested too deeply")
    arguments, originals = parameters(tool.get("inputSchema"), schemas, id)
    returns, wrapped = _returns(tool.get("outputSchema"), schemas, id)
    hints = tool["annotations"] if isinstance(tool.get("annotations"), Mapping) else {}
    read_only = hints.get("readOnlyHint") is True
    summary, description = _texts(name, tool, hints)
    return Function(
        server=server,
        name=name,
        id=id,
        summary=summary,
        description=description,
        parameters=arguments,
        returns=returns,
        read_only=read_only,
        destructive=not read_only and _destroys(tool, hints),
        idempotent=read_only or hints.get("idempotentHint") is True,
        deprecated=any(map(_DEPRECATED.search, (summary, description))),
        names=originals,
        open=arguments["additionalProperties"] is False
        and tool["inputSchema"].get("additionalProperties") is not False,
        data={"tool": id, "era": era, "schema": promise}
        | ({"wrapped": wrapped} if wrapped else {})
        | ({"app": app} if (app := app_of(tool)) else {}),
    )


def _destroys(tool: Mapping[str, Any], hints: Mapping[str, Any]) -> bool:
    """Whether a tool may destroy something: the specification's default, unless its own text says that it reads, and
    nothing in it speaks of more. Such a tool is still a write."""
    if "destructiveHint" in hints:
        return hints["destructiveHint"] is not False
    words = f"{' '.join(_WORD.findall(tool['name']))}. {prose(tool.get('description'), 1500)}"
    return not (_READS.search(words) and not _CHANGES.search(words))


def _texts(name: str, tool: Mapping[str, Any], hints: Mapping[str, Any]) -> tuple[str, str]:
    """The summary in one line, and the rest. A title that says no more than the name is left out."""
    title = line(tool.get("title") or hints.get("title"), 100)
    summary, rest = summed_up(prose(tool.get("description"), 1500), 200)
    if title and python_name(title).strip("_") != name.strip("_") and not summary.lower().startswith(title.lower()):
        summary = f"{title}: {summary}" if summary else title
    return summary or title, rest


def _returns(schema: Any, schemas: Schemas, title: str) -> tuple[dict[str, Any] | None, str]:
    """The schema of the value of a call, and the property that wraps it; "" if there is none."""
    if not isinstance(schema, Mapping):
        return None, ""
    converted = schemas.convert(schema, f"{title}_output")
    whole = schemas.meant(converted)
    properties = whole.get("properties", {})
    name = next(iter(properties)) if len(properties) == 1 else ""
    if name in WRAPPERS and not any(key in whole for key in ("allOf", "anyOf", "additionalProperties")):
        kind = schemas.meant(properties[name]).get("type") if WRAPPERS[name] else ""
        if kind == WRAPPERS[name]:
            return properties[name] or None, name
    return converted or None, ""
