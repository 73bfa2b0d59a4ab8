"""The source driver `llm`: calls of `ask` and `think` become requests to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from doorward import Call, Compiled, Function, ServerContext, Settings

from doorward_llm.functions import functions
from doorward_llm.settings import LLMSettings

if TYPE_CHECKING:
    from doorward_enhance import Documentation, Enhancement

    from doorward_llm.asking import Asking
    from doorward_llm.models import Models


class LLM:
    """A language model as functions. Nothing is imported, opened or asked before the first call."""

    Settings: ClassVar[type[Settings]] = LLMSettings

    def __init__(self, server: ServerContext[LLMSettings]) -> None:
        self._server = server
        self._models: Models | None = None
        self._asking: Asking | None = None

    @staticmethod
    def upstreams(settings: LLMSettings, function: Function | None) -> Sequence[str]:
        """The address of the provider, if one is configured."""
        return [settings.address] if settings.has_provider else []

    async def fingerprint(self) -> str:
        """What the functions are made of."""
        return repr(functions(self._server.name, self._server.settings))

    async def compile(self) -> Compiled:
        """The two functions."""
        about = "A language model: text, or JSON that fits a schema"
        return Compiled(functions(self._server.name, self._server.settings), description=about)

    async def call(self, call: Call) -> Any:
        """Ask the model.

        Raises: Refused, InvalidArguments, LimitExceeded for what may not be asked; ApiError, ServerError, ConfigError.
        """
        if self._asking is None:
            from doorward_llm.asking import Asking

            self._asking = Asking(self._server, self.models())
        return await self._asking.answer(call)

    async def enhance(self, documentation: Documentation) -> Enhancement:
        """What the provider's model would add to a function's documentation, for `doorward compile --enhance`.

        Raises: ServerError; ConfigError where the next request would fail as well.
        """
        from doorward_llm.enhancing import enhancement

        return await enhancement(self.models(), documentation)

    def models(self) -> Models:
        """The models of the provider, for whatever else asks them."""
        if self._models is None:
            from doorward_llm.models import Models

            self._models = Models(self._server)
        return self._models

    async def close(self) -> None:
        """Close the connections."""
        models, self._models, self._asking = self._models, None, None
        if models is not None:
            await models.close()
