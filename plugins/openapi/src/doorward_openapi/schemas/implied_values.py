"""Values that the document itself implies: a program need not give a required argument that has one."""

from __future__ import annotations

from typing import Any

from doorward_openapi.document.refs import BadRef, Documents
from doorward_openapi.document.values import matching

_MAX_HOPS = 30


def value(documents: Documents, node: Any, file: str, *, default: bool = True) -> Any:
    """The only value that a schema allows, else its `default`; None if it has neither. Only scalars
    count, and no empty text."""
    own = _merged(documents, node, file)
    kind = own.get("type")
    allowed = [own["const"]] if "const" in own else own["enum"] if isinstance(own.get("enum"), list) else []
    if len(allowed) != 1 and default and "default" in own and (not allowed or own["default"] in allowed):
        allowed = [own["default"]]
    fitting = matching(allowed, kind) if len(allowed) == 1 else []
    return next((each for each in fitting if isinstance(each, (str, int, float)) and each != ""), None)


def _merged(documents: Documents, node: Any, file: str) -> dict[str, Any]:
    """The keywords of a schema and of the schema that it refers to, directly or by a single part of `allOf`;
    nearer ones take precedence."""
    own: dict[str, Any] = {}
    for _ in range(_MAX_HOPS):
        if not isinstance(node, dict):
            break
        own = {**node, **own}
        parts = node.get("allOf")
        if isinstance(ref := node.get("$ref"), str):
            try:
                place = documents.find(ref, file)
            except BadRef:
                break
            node, file = place.node, place.file
        else:
            node = parts[0] if isinstance(parts, list) and len(parts) == 1 else None
    return own
