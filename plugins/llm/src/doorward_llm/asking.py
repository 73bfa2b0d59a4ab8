"""One call: what may be asked at all, who is asked, and what it took."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import anyio.to_thread
from doorward import Call, CannotAsk, ConfigError, InvalidArguments, LimitExceeded, Refused, ServerContext
from doorward.values import aside

from doorward_llm.amounts import Amounts
from doorward_llm.answers import MAX_REPAIRS, Expected, Misfit, correction, instruction, never_fits
from doorward_llm.daily import Daily
from doorward_llm.filter import Filter, count_masks
from doorward_llm.functions import DEFAULT_MAX_TOKENS
from doorward_llm.models import Completion, Models
from doorward_llm.prices import cost_of
from doorward_llm.quota import Quota
from doorward_llm.sampling import sample
from doorward_llm.settings import LLMSettings
from doorward_llm.tokens import estimate

Message = Mapping[str, str]


class Asking:
    """Asks for the programs of one server."""

    def __init__(self, server: ServerContext[LLMSettings], models: Models) -> None:
        self._name = server.name
        self._settings = settings = server.settings
        self._models = models
        self._filter = Filter(server.outgoing, settings.personal_data)
        self._quota = Quota(settings, _daily(server))

    async def answer(self, call: Call) -> Any:
        """The text that a model answers, or the value that fits the schema.

        Raises: Refused, InvalidArguments, LimitExceeded, ApiError, ServerError, ConfigError.
        """
        given = call.arguments
        model, most = given.get("model") or "", given.get("max_tokens", DEFAULT_MAX_TOKENS)
        expected = Expected(given["schema"]) if given.get("schema") is not None else None
        self._check(model, given.get("system_prompt") or "")
        messages = await self._messages(call, expected)
        call.details["prompt_sha256"] = _sha256("\n".join(each["content"] for each in messages))
        for attempt in range(MAX_REPAIRS + 1):
            completion = await self._round(call, messages, model, most)
            if expected is None:
                return completion.text
            try:
                return await aside(partial(expected.value, completion.text), len(completion.text))
            except Misfit as misfit:
                if attempt == MAX_REPAIRS:
                    raise never_fits(completion.model, misfit) from None
                said, told = await self._filter.cleared([completion.text, correction(misfit)])
                again: list[Message] = [{"role": "assistant", "content": said}, {"role": "user", "content": told}]
                messages = [*messages, *again]
        raise AssertionError  # the last attempt returns or raises

    def _check(self, model: str, system_prompt: str) -> None:
        """Raises: Refused."""
        settings = self._settings
        if model and model != settings.default_model and not any(fnmatchcase(model, each) for each in settings.models):
            allowed = ", ".join(filter(None, dict.fromkeys([settings.default_model, *settings.models])))
            raise Refused(f"the model {model!r} is not allowed", hint=f"Allowed: {allowed or 'none by name'}.")
        if system_prompt not in settings.system_prompts and "*" not in settings.system_prompts:
            allowed = ", ".join(map(repr, settings.system_prompts))
            raise Refused("this system prompt is not allowed", hint=f"Allowed: {allowed}. Say it in the prompt.")

    async def _messages(self, call: Call, expected: Expected | None) -> list[Message]:
        """The messages as they leave, cleared. Raises: Refused, InvalidArguments."""
        given = call.arguments
        messages = given.get("messages") or [{"role": "user", "content": given["prompt"]}]
        texts = [
            given.get("system_prompt") or "",
            *(each["content"] for each in messages),
            expected.text if expected else "",
        ]
        if (tokens := sum(map(estimate, texts))) > self._settings.tokens:
            said = f"the prompt has about {tokens} tokens, and a run may use {self._settings.tokens}"
            raise LimitExceeded(said, hint="Make it shorter.")
        cleared = await self._filter.cleared(texts)
        system, *contents, schema = cleared
        if expected and schema != expected.text:
            raise InvalidArguments(
                "`schema` holds a secret, or personal data: nothing was sent", hint="Leave it out of the schema."
            )
        call.usage.add("redacted", count_masks(cleared) - count_masks(texts))
        system = "\n\n".join(filter(None, [system, instruction(schema) if expected else ""]))
        sent: list[Message] = [
            {"role": each["role"], "content": text} for each, text in zip(messages, contents, strict=True)
        ]
        return [{"role": "system", "content": system}, *sent] if system else sent

    async def _round(self, call: Call, messages: Sequence[Message], model: str, most: int) -> Completion:
        """One request. Raises: LimitExceeded, ApiError, ServerError, ConfigError."""
        prompt = sum(estimate(each["content"]) for each in messages)
        cost = await self._most_cost(model, prompt, most)
        async with self._quota.reserved(call, Amounts(1, prompt + most, cost)) as reserved:
            completion = await self._completed(call, messages, model, most)
            tokens = completion.input_tokens + completion.output_tokens
            reserved.took = Amounts(1, tokens, completion.cost or 0.0)
        told = call.details
        told |= {"model": completion.model, "answer_sha256": _sha256(completion.text)}
        for name, count in (("input_tokens", completion.input_tokens), ("output_tokens", completion.output_tokens)):
            told[name] = int(told.get(name, 0)) + count
        return completion

    async def _completed(self, call: Call, messages: Sequence[Message], model: str, most: int) -> Completion:
        """The answer of whoever is to be asked. A client that refuses is the end: what somebody said no to must not be
        paid for elsewhere."""
        settings = self._settings
        if settings.sampling != "never":
            try:
                call.details["asked"] = "client"
                return await sample(call, messages, model or settings.model, most)
            except CannotAsk as error:
                del call.details["asked"]
                if settings.sampling == "only" or not settings.has_provider:
                    raise self._nobody(error) from None
        call.details["asked"] = settings.provider or "base_url"
        return await self._models.complete(messages, model=model, max_tokens=most, timeout=call.time_left, call=call)

    def _nobody(self, error: CannotAsk) -> ConfigError:
        """The error when there is no model."""
        hint = f"Few clients offer sampling: set `provider` and `api_key` of [servers.{self._name}]" + (
            ', and `sampling = "first"`.' if self._settings.sampling == "only" else "."
        )
        return ConfigError(f"there is no model to ask: {error.message}", hint=hint)

    async def _most_cost(self, model: str, prompt: int, most: int) -> float:
        """What a request may cost at most. Raises: ConfigError if money is limited, and nobody knows the price."""
        settings = self._settings
        if (settings.cost is None and settings.daily.cost is None) or not settings.has_provider:
            return 0.0
        model = model or settings.default_model
        cost = await anyio.to_thread.run_sync(cost_of, settings, model, prompt, most)
        if cost is None:
            hint = f'Set `prices = {{ "{model}" = {{ input = …, output = … }} }}` of [servers.{self._name}].'
            raise ConfigError(f"`cost` is limited, and the price of {model} is not known", hint=hint)
        return cost


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _daily(server: ServerContext[LLMSettings]) -> Daily | None:
    """What counts the use of a day, where that is limited. Raises: ConfigError without a store: each process would
    count for itself, and forget."""
    daily = server.settings.daily
    if all(limit is None for _, limit in daily):
        return None
    if server.store is None:
        hint = '`pip install doorward-store-sqlite` brings one; store = "memory" counts in this process alone.'
        raise ConfigError("quotas of a day need a store", place=f"[servers.{server.name}] daily", hint=hint)
    return Daily(server.store, server.name, daily, earlier=server.state / "quota.db")
