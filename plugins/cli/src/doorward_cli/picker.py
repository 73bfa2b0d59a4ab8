"""The picker of `doorward search`: functions are found while a person types, and one is chosen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from doorward_cli.shared import plain

if TYPE_CHECKING:
    from doorward import Gateway

QUESTION = "Find (Tab chooses, Enter shows): "


async def pick(gate: Gateway, words: str, **options: Any) -> str:
    """The name of the function that a person chooses; "" if they leave. It needs a terminal."""
    session: PromptSession[str] = PromptSession(QUESTION, completer=_Functions(gate, options))
    try:
        chosen = await session.prompt_async(
            default=words, pre_run=lambda: session.default_buffer.start_completion(select_first=False)
        )
    except EOFError:
        return ""
    return chosen.strip()


class _Functions(Completer):
    """The functions that fit what was typed, best first, with what each does."""

    def __init__(self, gate: Gateway, options: dict[str, Any]) -> None:
        self._gate, self._options = gate, options

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()  # a catalog is asked asynchronously

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        if not document.text.strip():
            return
        found = await self._gate.search_functions(document.text, **self._options)
        for hit in found["functions"]:
            about = plain(" ".join(hit["summary"].split()))
            yield Completion(hit["function"], start_position=-document.cursor_position, display_meta=about)
