"""The model of the configured provider. The library that reaches it is known to this module alone.

It is `openai`: all providers have an address that it can talk to, it uses our HTTP client, and it is imported with the
first request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from doorward import ApiError, Call, ConfigError, ServerContext, ServerError
from doorward.values import status
from doorward_http import error_text, retry_after

from doorward_llm.answers import instruction
from doorward_llm.filter import Filter
from doorward_llm.prices import cost_of
from doorward_llm.providers import PROVIDERS
from doorward_llm.settings import LLMSettings
from doorward_llm.tokens import estimate

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_RETRIES = 2
"""Times that a request is repeated which was refused for the moment, or did not arrive."""

MAX_TOKENS = 10**8
"""More tokens than any model can read or write: a provider that counts more has not counted."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and what it took. `cost` is in dollars, `None` if the price is not known."""

    text: str
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None = None


class NotAnswered(ServerError):
    """Nobody was there, or who was there refused: it took no tokens."""


class Models:
    """The models of the provider that a server is configured with."""

    def __init__(self, server: ServerContext[LLMSettings]) -> None:
        self._server = server
        self._settings = server.settings
        self._filter = Filter(server.outgoing, server.settings.personal_data)
        self._client: AsyncOpenAI | None = None
        self._opening = anyio.Lock()

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        model: str = "",
        max_tokens: int = 1000,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        call: Call | None = None,
    ) -> Completion:
        """What the model answers to `messages`, each with a `role` (system, user, assistant) and its `content`. With a
        `schema` it is asked for JSON that fits; whether it does is the caller's to check. What the filter finds is
        taken out before anything is sent. `call` waits for its turn, where the provider limits requests.

        Raises: ApiError, ServerError, RateLimited, Refused by the filter, ConfigError if no provider is configured.
        """
        settings = self._settings
        if not settings.has_provider:
            raise ConfigError(
                f"[servers.{self._server.name}] has no provider",
                hint=f"Set `provider` ({', '.join(PROVIDERS)}) with `api_key`, or `base_url` and `model`.",
            )
        asked = [{"role": str(each["role"]), "content": str(each["content"])} for each in messages]
        if schema is not None:
            asked = [{"role": "system", "content": instruction(json.dumps(schema, ensure_ascii=False))}, *asked]
        texts = [each["content"] for each in asked]
        cleared = await self._filter.cleared(texts)
        asked = [{**each, "content": text} for each, text in zip(asked, cleared, strict=True)]
        chosen = model or settings.default_model
        most = PROVIDERS[settings.provider].most if settings.provider else "max_tokens"
        place = _place(settings.address)
        seconds = settings.timeout if timeout is None else min(timeout, settings.timeout)
        client = await self._opened()
        from doorward_llm.http import ASKED, Asked

        body = {"model": chosen, "messages": asked, most: max_tokens}
        try:
            with anyio.fail_after(seconds) as scope:
                ASKED.set(Asked(call, max_tokens + sum(estimate(each["content"]) for each in asked), scope))
                answer = await client.post("/chat/completions", cast_to=object, body=body)
        except TimeoutError:
            hint = f"Try again, ask for less, or raise `timeout` of [servers.{self._server.name}]."
            raise ServerError(
                f"the model {chosen} at {place} did not answer within {seconds:.3g} s", hint=hint
            ) from None
        except Exception as error:
            raise self._explained(error, chosen, place) from None
        completion = self._read(answer, chosen, asked, place)
        tokens = completion.input_tokens, completion.output_tokens
        cost = await anyio.to_thread.run_sync(
            cost_of, settings, chosen, *tokens
        )  # the first one reads a list of prices
        return replace(completion, cost=cost)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _opened(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                library = await anyio.to_thread.run_sync(_library)
                from doorward_llm.http import Client

                address = self._settings.address
                self._client = library.AsyncOpenAI(
                    api_key="unused",  # our client signs the requests
                    admin_api_key="",
                    organization="",
                    project="",
                    webhook_secret="",
                    base_url=address,
                    max_retries=MAX_RETRIES,
                    http_client=Client(self._server.name, address, self._settings.api_key or self._server.auth()),
                )
            return self._client

    def _read(self, answer: Any, model: str, asked: Sequence[Mapping[str, str]], place: str) -> Completion:
        """Raises: ServerError for what is no answer of a model."""
        try:
            message = answer["choices"][0]["message"]
            text, refusal = message.get("content"), message.get("refusal")
        except (TypeError, KeyError, IndexError, AttributeError):
            hint = "Is that the address of an OpenAI-compatible API? Many end with /v1."
            raise ServerError(f"{place} answered with what is no answer of a model", hint=hint) from None
        if not isinstance(text, str) or not text:
            why = f": {error_text(refusal)}" if isinstance(refusal, str) and refusal else ""
            raise ServerError(
                f"the model {model} answered without a text{why}", hint="Ask otherwise, or for more tokens."
            )
        usage = answer.get("usage")
        told = usage if isinstance(usage, dict) else {}
        input_tokens = _count(told.get("prompt_tokens"), sum(estimate(each["content"]) for each in asked))
        output_tokens = _count(told.get("completion_tokens"), estimate(text))
        return Completion(text, model, input_tokens, output_tokens)

    def _explained(self, error: Exception, model: str, place: str) -> Exception:
        """An error of the library as one of ours."""
        import openai

        if isinstance(error, openai.APIStatusError):
            code, name = error.status_code, self._server.name
            hint = None
            if code in (401, 403):
                hint = f"The operator sets `api_key` of [servers.{name}]."
            elif code == 404:
                hint = f"Check `model` and `base_url` of [servers.{name}]."
            elif 300 <= code < 400:
                hint = f"No redirect is followed. If that is the address, set `base_url` of [servers.{name}] to it."
            elif code == 429 or code >= 500:
                hint = "Try again later."
            told = error_text(error.body)
            message = f"the model {model} at {place} answered {status(code)}" + (f": {told}" if told else "")
            after = retry_after(error.response.headers.get("retry-after", ""))
            return ApiError(message, status=code, body=error.body, retry_after=after, hint=hint)
        if isinstance(error, openai.APIConnectionError):
            why = str(error.__cause__ or error)[:200]
            hint = f"Check `base_url` of [servers.{self._server.name}], the network and the proxy."
            return NotAnswered(f"{place} cannot be reached: {why}", hint=hint)
        if isinstance(error, (openai.OpenAIError, ValueError, RecursionError)):
            return ServerError(f"{place} answered with what is no answer of a model: {type(error).__name__}")
        return error


def _library() -> Any:
    """The library, imported in a thread: that takes half a second."""
    import logging

    import openai

    logging.getLogger("openai").setLevel(logging.WARNING)  # OPENAI_LOG would write prompts to the log
    return openai


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _count(told: Any, estimated: int) -> int:
    is_count = isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= MAX_TOKENS
    return told if is_count else estimated
