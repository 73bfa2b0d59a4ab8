"""Connections: results that come in pages (Relay's Cursor Connections Specification)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doorward import Reply
from graphql import GraphQLField, GraphQLObjectType, get_named_type, get_nullable_type, is_object_type

PAGE = "doorward_page"
"""The name by which a call asks for `pageInfo` beside whatever the program has selected."""

_ITEMS = ("nodes", "edges")
_DIRECTIONS = (("after", "hasNextPage", "endCursor"), ("before", "hasPreviousPage", "startCursor"))


def page_info(type: Any) -> GraphQLObjectType | None:
    """The type of `pageInfo` if `type` is a connection."""
    if not is_object_type(type) or not any(name in type.fields for name in _ITEMS):
        return None
    info = get_named_type(type.fields["pageInfo"].type) if "pageInfo" in type.fields else None
    return info if isinstance(info, GraphQLObjectType) and "hasNextPage" in info.fields else None


def items_field(type: Any) -> str:
    """The field of a connection with its items; "" if `type` is none."""
    return next(name for name in _ITEMS if name in type.fields) if page_info(type) else ""


def is_paged(field: GraphQLField) -> bool:
    """Whether a field answers one page of many, of which the caller should say how large it is."""
    return page_info(get_named_type(field.type)) is not None or not field.args.keys().isdisjoint(("first", "limit"))


def plan(field: GraphQLField, names: Mapping[str, str]) -> dict[str, Any] | None:
    """How pages of a field are turned, for a function's `data["pages"]`: the selection that tells of them, and the
    arguments that take their cursors. `names` are the names of the arguments in Python. `None` if it has no pages."""
    info = page_info(get_nullable_type(field.type))
    if info is None or "after" not in field.args or "endCursor" not in info.fields:
        return None
    told = [name for _, *both in _DIRECTIONS for name in both if name in info.fields]
    taken = {name: names[name] for name in ("after", "before", "first", "last") if name in field.args}
    return {"select": f"{PAGE}: pageInfo {{ {' '.join(told)} }}", "arguments": taken}


@dataclass(frozen=True, slots=True)
class _Turn:
    argument: str
    more: str
    cursor: str


def paged(pages: Mapping[str, Any], arguments: Mapping[str, Any], reply: Reply) -> Reply:
    """The reply with the arguments for the next page, and without what only tells of pages."""
    if not isinstance(reply.value, dict):
        return reply
    value = {name: inner for name, inner in reply.value.items() if name != PAGE}
    info, ours = reply.value.get(PAGE), pages["arguments"]
    items = next(([name] for name in _ITEMS if isinstance(value.get(name), list)), [])
    backwards = "before" in ours and ours.get("last") in arguments and ours.get("first") not in arguments
    turn = _Turn(*_DIRECTIONS[backwards])
    if not isinstance(info, dict) or info.get(turn.more) is not True:
        return Reply(value, items=items)
    cursor, argument = info.get(turn.cursor), ours[turn.argument]
    if not isinstance(cursor, (str, int)) or arguments.get(argument) == cursor:
        return Reply(value, items=items, left=f"it says that there is more, but its {turn.cursor} leads nowhere")
    return Reply(value, items=items, next={**arguments, argument: cursor})
