"""Answers of runs and of single calls; and how an agent that has neither programs nor resources reads all of one."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

import mcp_types as t
from doorward import Artefact, Outcome, ToolAnswer, ToolCaller
from doorward_text import outcome_as_dict

from doorward_mcp_server.images import shown
from doorward_mcp_server.output import outcome_text
from doorward_mcp_server.surface_words import on_surface

_NO_TEXT = "this is no text; hand it on to functions by its handle"


async def answered(caller: ToolCaller, outcome: Outcome) -> tuple[ToolAnswer, Sequence[t.ImageContent]]:
    """What came of a run, and its images."""
    outcome = on_surface(caller.gateway.surface(caller.principal), outcome)
    outcome, images = await shown(caller.gateway, outcome, caller.principal)
    failed = not outcome.ok and outcome.waiting is None  # a run that waits is not over
    return ToolAnswer(outcome_as_dict(outcome), outcome_text(outcome, caller.form), failed), images


async def read_on(caller: ToolCaller, cursor: str) -> ToolAnswer | Outcome:
    """A page of what an earlier answer left out, or of a file that holds text. Raises: UnknownName."""
    page = await caller.gateway.result(cursor, principal=caller.principal)
    uri = cursor.partition("?")[0]
    content = page.content.encode() if isinstance(page.content, str) else page.content
    read = _read(content, last=page.next is None)
    if read is None:
        handle = {"artefact": uri, "type": page.type, "bytes": page.total}
        file = Artefact(uri, page.type, page.total)
        return Outcome(True, value=handle, artefacts=(file,), notes=(_NO_TEXT,))
    value, end = read[0], page.offset + read[1]
    structured: dict[str, Any] = {"ok": True, "value": value}
    text = outcome_text(Outcome(True, value=value), caller.form)
    if end < page.total:
        structured["cursor"] = f"{uri}?offset={end}"
        text += f"\n[bytes {page.offset} to {end} of {page.total}; more: call_function with "
        text += f'cursor="{structured["cursor"]}"]'
    return ToolAnswer(structured, text)


def _read(content: bytes, *, last: bool) -> tuple[str, int] | None:
    """A page as text, and how many of its bytes that takes: its last character may go on in the next page. `None` if
    it is no text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(content, final=last)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else (text, len(content) - len(decoder.getstate()[0]))
