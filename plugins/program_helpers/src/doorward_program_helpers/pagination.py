"""Gets the pages of a function, one after the other. Each is a call like any other: checked, counted, scrubbed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import doorward_text  # which imports what it is asked for
from doorward import InvalidArguments
from doorward.administration import is_large
from doorward.administration import maybe_in_thread as done
from doorward.values import write_json
from doorward_text import at, is_field_of_one, keys_to_items, lists_in

from doorward_program_helpers.known_replies import known
from doorward_program_helpers.next_page import following as page_after

if TYPE_CHECKING:
    from doorward import Gateway, Reply
    from doorward.helping import HelperContext

MAX_PAGES = 100
"""Pages that `doorward.pages` gets unless the program says otherwise."""


async def pages(
    gateway: Gateway, run: HelperContext, function: Any, arguments: Mapping[str, Any], most: int = MAX_PAGES
) -> list[Any]:
    """The values of a function's pages, beginning with the page of `arguments`. It ends where the source has no next
    page, after `most` pages, or when the run has no calls or room left; a note says if it stops early.

    Raises: DoorwardError of the call that fails; InvalidArguments if `function` names none.
    """
    return [reply.value async for reply in _replies(gateway, run, "pages", function, arguments, most)]


async def items(
    gateway: Gateway,
    run: HelperContext,
    function: Any,
    arguments: Mapping[str, Any],
    most: int | None,
    declared: Sequence[str],
    route: str,
) -> list[Any]:
    """The items in the pages of a function, at most `most`. `declared` are the keys of the list in its schema, `route`
    is its own. A note says if an answer may be one thing whose field was taken for the list.

    Raises: as `pages`, and InvalidArguments for an answer with several lists that could be meant, or that is one thing.
    """
    found: list[Any] = []
    async for reply in _replies(gateway, run, "items", function, arguments, MAX_PAGES):
        keys = await done(_keys, function, reply, declared, large=is_large(reply.value))
        if not (reply.items or reply.link or reply.left or reply.next is not None):
            _check_several(run, function, route, reply.value, keys)
        found += at(reply.value, keys) or ()
        if most is not None and len(found) >= most:
            if len(found) > most or reply.next is not None:
                run.note(
                    f"doorward.items stopped after {most} items of {function[:200]}; there are more (most={most})."
                )
            return found[:most]
    return found


async def _replies(
    gateway: Gateway, run: HelperContext, helper: str, function: Any, arguments: Mapping[str, Any], most: int
) -> AsyncIterator[Reply]:
    if not isinstance(function, str):
        hint = f'doorward.{helper}(github.issues_list, …) or doorward.{helper}("github.issues_list", …).'
        raise InvalidArguments(
            f"doorward.{helper} needs a function or its name, not {type(function).__name__}", hint=hint
        )
    run.helper_makes_calls()
    limits, name = run.program.limits, function[:200]
    seen: set[str] = set()
    following: Mapping[str, Any] | None = arguments
    link, last, count, size = "", b"", 0, 0
    while following is not None and (asked := json.dumps([following, link], default=repr)) not in seen:
        if count and (count >= most or run.made >= limits.calls or size > limits.result_bytes):
            run.note(f"doorward.{helper} stopped after {_so_many(count)} of {name}; there are more (most={most}).")
            break
        seen.add(asked)
        reply = known(await run.reply(function, (), following, link=link), helper)
        before, last = last, await write_json(reply.value)
        if count and last == before:
            break  # an API that ignores the parameter would answer the same for ever
        if reply.next is None and not link and not reply.items:  # otherwise the source knows about its pages
            found, why = page_after(gateway, run.program.principal, function, following, reply.value)
            reply = replace(reply, next=found, left="" if found else reply.left or why)
        yield reply
        count, size = count + 1, size + len(last)
        following, link = reply.next, reply.link
        if reply.left:
            run.note(
                f"doorward.{helper} got {_so_many(count)} of {name}; there is another that it did not get: {reply.left}"
            )


def _so_many(count: int) -> str:
    return f"{count} page{'s' if count > 1 else ''}"


def _check_several(run: HelperContext, function: str, route: str, value: Any, keys: Sequence[str]) -> None:
    """Note that the items may be a field of one thing. Raises: InvalidArguments if they are."""
    if (is_one := is_field_of_one(function.partition(".")[2], route, value, keys)) is False:
        return
    what = f"an answer of {function[:200]} is {doorward_text.described(value, depth=1)[:300]}"
    named = ".".join(map(doorward_text.shown_key, keys))
    if is_one:
        hint = f"Call the function itself, once for each thing. Its {named} are a field of the answer."
        raise InvalidArguments(f"doorward.items: {what}: one thing, no list of them", hint=hint)
    run.note(f"doorward.items took {named}; {what}: if it is one thing, call the function itself.")


def _keys(function: str, reply: Reply, declared: Sequence[str]) -> Sequence[str]:
    """The keys to the list of a page. Raises: InvalidArguments."""
    value = reply.value
    for keys in (reply.items, declared):
        if keys and at(value, keys) is not None:
            return keys
    if (found := () if value is None else keys_to_items(value)) is not None:
        return found
    lists = lists_in(value) if isinstance(value, dict) else []
    what = (
        f"has several lists: {', '.join(lists)[:300]}"
        if lists
        else f"has no list; it is {doorward_text.described(value, depth=1)[:300]}"
    )
    hint = "doorward.pages(…) gives the answers themselves."
    if lists:
        hint = 'Take the list that you mean: [item for page in doorward.pages(…) for item in page["name"]].'
    elif isinstance(value, str):
        hint = "Call the function itself, and read its text; doorward.pages(…) gives the texts of all pages."
    raise InvalidArguments(f"doorward.items: an answer of {function[:200]} {what}", hint=hint)
