"""The pages of a function's answer, one after the other. Each is a call like any other: checked, counted, scrubbed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from doorward.errors import InvalidArguments
from doorward.writing import dump

if TYPE_CHECKING:
    from doorward.door import RunDoor

MOST_PAGES = 100
"""That `doorward.pages` gets unless it is told otherwise."""


async def pages(run: RunDoor, function: Any, arguments: Mapping[str, Any], most: int = MOST_PAGES) -> list[Any]:
    """The values of a function's pages, from that of `arguments` on: until its source knows of no next page, `most` are
    there, or the run has no calls or room left. Where it stops early a note of the run says so.

    Raises: DoorwardError of the call that fails; InvalidArguments if `function` names none.
    """
    if not isinstance(function, str):
        hint = 'doorward.pages(github.issues_list, …) or doorward.pages("github.issues_list", …).'
        raise InvalidArguments(f"doorward.pages needs a function or its name, not {type(function).__name__}", hint=hint)
    limits = run.program.limits
    found: list[Any] = []
    seen: set[bytes] = set()
    following: Mapping[str, Any] | None = arguments
    last, size = b"", 0
    while following is not None and (asked := to_json(following, fallback=repr, bytes_mode="base64")) not in seen:
        if found and (len(found) >= most or run.made >= limits.calls or size > limits.result):
            run.notes.append(f"doorward.pages stopped after {len(found)} pages of {function[:200]}; there are more (most={most}).")
            break
        seen.add(asked)
        reply = await run.reply(function, (), following)
        before, last = last, dump(reply.value)
        if found and last == before:
            break  # an API that does not know the parameter answers the same for ever
        found.append(reply.value)
        size += len(last)
        following = reply.next
    return found
