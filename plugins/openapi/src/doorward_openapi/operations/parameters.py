"""Parameter objects (OpenAPI 3.x section "Parameter Object") → keywords."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from doorward_openapi.document.refs import Documents
from doorward_openapi.document.text import kind, line
from doorward_openapi.schemas.keywords import Keyword, Unusable
from doorward_openapi.schemas.schemas import MAX_DESCRIPTION_CHARS, Schemas
from doorward_openapi.wire import steering
from doorward_openapi.wire.paths import SLASHES, TEMPLATE

_USUAL = {"path": "simple", "header": "simple", "query": "form", "cookie": "form", "querystring": "form"}
_DELIMITED = {"spaceDelimited", "pipeDelimited", "tabDelimited"}
"""Only Swagger 2.0 has these in paths and headers."""

_STYLES = {
    "path": {"simple", "label", "matrix"} | _DELIMITED,
    "query": {"form", "deepObject"} | _DELIMITED,
    "header": {"simple"} | _DELIMITED,
    "cookie": {"form", "cookie"},
    "querystring": set[str](),
}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_NOT_OURS = {"accept", "content-type", "authorization"}
"""Header parameters that have to be ignored according to OpenAPI."""

_ENCODES = re.compile(r"\b(?:url|uri|percent)[ -]?encod|\bencode", re.IGNORECASE)
_IS_ENCODED = "Percent-encoded once when it is sent. "
"""Comes before what a document says of a variable of the path that its readers have to encode."""


def resolved(
    item: Mapping[str, Any], operation: Mapping[str, Any], file: str, op_file: str, documents: Documents
) -> list[tuple[dict[str, Any], str]]:
    """The parameters of a path item and its operation, with references resolved; the operation's own take precedence.

    Raises: Unusable, BadRef.
    """
    found: dict[tuple[Any, Any], tuple[dict[str, Any], str]] = {}
    for holder, where in ((item, file), (operation, op_file)):
        listed = holder.get("parameters")
        if listed is None:
            continue
        if not isinstance(listed, list):
            raise Unusable(f"its parameters are {kind(listed)}, not a list")
        for entry in listed:
            parameter, home = documents.follow(entry, where)
            if not isinstance(parameter, dict):
                raise Unusable(f"a parameter is {kind(parameter)}, not an object")
            name, location = parameter.get("name"), parameter.get("in")
            if name == "" and parameter.get("required") is not True:
                continue  # it cannot be sent, and need not be
            if not isinstance(name, str) or not isinstance(location, str) or not name or len(name) > 500:
                raise Unusable("a parameter has no name or no location")
            found[name, location] = parameter, home
    return list(found.values())


def keywords(
    parameters: list[tuple[dict[str, Any], str]],
    path: str,
    configured: Collection[tuple[str, str]],
    make: Callable[[dict[str, Any], str], Keyword],
) -> Iterator[Keyword]:
    """A keyword for each parameter, made by `make`. `configured` are the places and names of those that the
    operator sets, of headers as `steering.plain` writes them: programs may not give those. A path variable that no
    parameter declares is a string.

    Raises: Unusable, BadRef.
    """
    templated = list(dict.fromkeys(TEMPLATE.findall(path)))
    declared = set()
    for parameter, file in parameters:
        name, where = parameter["name"], parameter["in"]
        if where == "path":
            declared.add(name)
            if name not in templated:
                continue
        written = steering.plain(name) if where == "header" else name
        if (where, written) in configured or (where == "header" and not _sent(name, parameter)):
            continue
        if where not in _USUAL:
            raise Unusable(f"parameter {name[:100]!r} is in {where[:50]!r}, which is not known")
        yield make(parameter, file)
    for name in templated:
        if name not in declared:
            yield Keyword(name, "path", {"type": "string"}, required=True)


def _sent(name: str, parameter: Mapping[str, Any]) -> bool:
    if name.lower() in _NOT_OURS:
        return False
    if _TOKEN.fullmatch(name):
        return True
    if parameter.get("required") is True:
        raise Unusable(f"{name[:100]!r} is no name of a header")
    return False


def keyword(parameter: Mapping[str, Any], file: str, schemas: Schemas) -> Keyword:
    """The keyword argument for a parameter object.

    Raises: BadRef.
    """
    name, where = parameter["name"], parameter["in"]
    wire: dict[str, Any] = {}
    node, content = parameter.get("schema"), parameter.get("content")
    if isinstance(content, dict) and content:
        media = next(iter(content.values()))
        node = media.get("schema") if isinstance(media, dict) else None
        wire["json" if "json" in str(next(iter(content))) else "text"] = True
    style = parameter.get("style")
    style = style if isinstance(style, str) and style in _STYLES[where] else _USUAL[where]
    if style != _USUAL[where]:
        wire["style"] = style
    explode = parameter.get("explode")
    explode = explode if isinstance(explode, bool) else style in ("form", "cookie", "deepObject")
    if explode:
        wire["explode"] = True
    if parameter.get("allowReserved") is True:
        wire["reserved"] = True
    schema = described(schemas.convert(node, file), parameter)
    if not wire.get("json") and (form := schemas.binaries.found(node, file).base64):
        wire["base64"] = form
    spans = parameter.get(SLASHES) is True or (wire.get("reserved") and "/" in str(parameter.get("example")))
    if where == "path" and spans and wire.keys() <= {"reserved"} and schema.get("type") == "string":
        wire["slashes"] = True
    if parameter.get("allowEmptyValue") is True and where == "query":
        wire["empty"] = True
        schema = _or_empty(schema)
    return Keyword(name, where, schema, where == "path" or parameter.get("required") is True, wire)


def _or_empty(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, with the empty text allowed."""
    if schema.get("type") == "string" and schema.keys().isdisjoint({"enum", "const", "pattern", "minLength"}):
        return schema
    about: dict[str, Any] = {k: schema[k] for k in ("description", "default", "deprecated") if k in schema}
    return (
        {"anyOf": [{k: v for k, v in schema.items() if k not in about}, {"const": ""}], **about} if schema else schema
    )


def described(schema: dict[str, Any], parameter: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter's schema with the description, the example and the deprecation of the parameter."""
    about: dict[str, Any] = {}
    if text := line(parameter.get("description"), MAX_DESCRIPTION_CHARS):
        asks = parameter.get("in") == "path" and _ENCODES.search(text)
        about["description"] = f"{_IS_ENCODED}{text}"[:MAX_DESCRIPTION_CHARS] if asks else text
    if parameter.get("deprecated") is True:
        about["deprecated"] = True
    if isinstance(example := parameter.get("example"), (str, int, float)) and len(str(example)) <= 60:
        about["examples"] = [example]
    return {**schema, **about} if about else schema
