"""`x-ms-pageable`: what a document says about the pages of an answer, for a function's `data["pages"]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from doorward import Function

_MAX_NAME_CHARS = 200


def plan(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """The keys of an answer that hold the items and the next link ("": there is only one page), and the id of the
    operation that gets the next page; `None` if the document says nothing."""
    said = node.get("x-ms-pageable")
    if not isinstance(said, dict) or "nextLinkName" not in said:
        return None
    link, items, operation = (_text(said.get(key)) for key in ("nextLinkName", "itemName", "operationName"))
    return {"link": link, "items": items or "value"} | ({"operation": operation} if operation else {})


def joined(functions: Sequence[Function]) -> list[Function]:
    """The functions; those that name another operation for the next page get what they need to know about it."""
    wanted = {id for f in functions if (id := f.data.get("pages", {}).get("operation"))}
    known = {f.id: f.data for f in functions if f.id in wanted}
    return [_joined(f, known) if "operation" in f.data.get("pages", {}) else f for f in functions]


def _joined(function: Function, known: Mapping[str, Mapping[str, Any]]) -> Function:
    pages = dict(function.data["pages"])
    other = known.get(pages.pop("operation"))
    if other and other["method"] == "GET":
        names = [wire["name"] for wire in other["arguments"] if wire["in"] == "query"]
        pages["operation"] = {"path": other["path"], "query": names}
    return replace(function, data={**function.data, "pages": pages})


def keys(value: Any, name: str) -> list[str]:
    """The keys that a name stands for: it may be a path with dots."""
    return [name] if isinstance(value, dict) and name in value else name.split(".")


def at(value: Any, name: str) -> Any:
    """The value that an answer has under a name."""
    for key in keys(value, name):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= _MAX_NAME_CHARS else ""
