"""How an agent that writes no programs gets the next page of what it called: as a note beside the answer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError
from doorward.administration import plain_value as plain
from doorward.texts import JSON, in_one_line

from doorward_program_helpers.next_page import following

if TYPE_CHECKING:
    from doorward import Gateway, Reply
    from doorward.helping import HelperContext

_MAX_ARGUMENTS_CHARS = 1000
"""Characters of arguments that are written out."""


def next_call(
    gateway: Gateway, run: HelperContext, function: str, arguments: Mapping[str, Any], reply: Reply
) -> Iterator[str]:
    """The call that gets the page after this answer; programs have `doorward.pages` for that."""
    server = function.partition(".")[0]
    if run.program.language != JSON or server == "doorward":
        return
    after = reply.next
    if after is None:
        with contextlib.suppress(DoorwardError):  # a compile may have taken the function away; its answer is here
            after = following(gateway, run.program.principal, function, arguments, reply.value)[0]
    if reply.link or after is None:
        if reply.link:
            yield 'there are more pages: get_functions(["doorward.items"]) says how to get them'
        return
    given = in_one_line(plain({name: value for name, value in after.items() if value is not None}))
    if len(given) <= _MAX_ARGUMENTS_CHARS:
        yield f"there is a next page: call_function with the arguments {given}"
