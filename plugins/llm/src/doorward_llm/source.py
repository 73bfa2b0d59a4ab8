"""The source driver `llm`: calls of `ask` and `think` become requests to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from doorward import Call, Compiled, Function, ServerContext, Settings

from doorward_llm.functions import functions
from doorward_llm.settings import LLMSettings

if TYPE_CHECKING:
    from doorward_llm.models import Models


class LLM:
    """A language model as functions."""

    Settings: ClassVar[type[Settings]] = LLMSettings

    def __init__(self, server: ServerContext[LLMSettings]) -> None:
        self._server = server
        self._settings = server.settings
        self._opened: Models | None = None

    @staticmethod
    def upstreams(settings: LLMSettings, function: Function | None) -> Sequence[str]:
        """The address of the provider."""
        return [settings.address] if settings.has_provider else []

    async def fingerprint(self) -> str:
        return repr(functions(self._server.name, self._settings))

    async def compile(self) -> Compiled:
        return Compiled(functions(self._server.name, self._settings), description="A language model")

    async def call(self, call: Call) -> Any:
        """Ask the model. Raises: ApiError, ServerError, Refused, LimitExceeded."""
        arguments = call.arguments
        messages = arguments.get("messages") or [{"role": "user", "content": arguments["prompt"]}]
        if system := arguments.get("system_prompt"):
            messages = [{"role": "system", "content": system}, *messages]
        answer = await self.models().complete(
            messages,
            model=arguments.get("model", ""),
            max_tokens=arguments.get("max_tokens", 1000),
            timeout=call.time_left,
        )
        return answer.text

    async def close(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    def models(self) -> Models:
        if self._opened is None:
            from doorward_llm.models import Models

            self._opened = Models(self._server)
        return self._opened
