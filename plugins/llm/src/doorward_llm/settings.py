"""The configuration of a server with `source = "llm"`."""

from __future__ import annotations

from typing import Literal, Self, get_args
from urllib.parse import urlsplit

from doorward import Secret, Settings
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, field_validator, model_validator

from doorward_llm.providers import PROVIDERS, ProviderName

Kind = Literal["email", "iban", "card", "ssn", "phone"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What personal data there is."""

SYSTEM_PROMPTS = ("", "You are a helpful assistant", "You are a code analysis expert")


class Price(Settings):
    """What a model costs, in dollars for a million tokens."""

    input: NonNegativeFloat = Field(description="Of what the model is given")
    output: NonNegativeFloat = Field(description="Of what it answers")


class DailyQuota(Settings):
    """What all runs of one principal may use together within 24 hours."""

    rounds: PositiveInt | None = Field(1000, description="Requests to a model")
    tokens: PositiveInt | None = Field(1_000_000, description="Tokens, those of prompts and answers together")
    cost: PositiveFloat | None = Field(None, description="Dollars")


class LLMSettings(Settings):
    """The keys of `[servers.NAME]` with `source = "llm"`."""

    sampling: Literal["first", "only", "never"] = Field(
        "first",
        description="Whether the client's model is asked: first (a provider if it has none), only that one, or never",
    )
    provider: ProviderName | None = Field(None, description="Who has the model, if it is not that of the client")
    base_url: str | None = Field(
        None,
        description="An OpenAI-compatible address, for example http://localhost:11434/v1 (without /chat/completions)",
    )
    api_key: Secret | None = Field(None, description="The key of the provider, for example ${ANTHROPIC_API_KEY}")
    model: str = Field("", description="The model that is asked if a program names none; providers have a default")
    models: list[str] = Field([], description="Models that programs may name besides; * stands for any characters")
    system_prompts: list[str] = Field(
        [*SYSTEM_PROMPTS], description='System prompts that programs may use; ["*"] allows any'
    )
    max_tokens: PositiveInt = Field(4096, description="The most tokens of one answer")
    rounds: PositiveInt = Field(10, description="Requests to a model of one run")
    tokens: PositiveInt = Field(10_000, description="Tokens of one run, those of prompts and answers together")
    cost: PositiveFloat | None = Field(None, description="Dollars of one run")
    daily: DailyQuota = Field(DailyQuota(), description="What all runs of one principal may use within 24 hours")
    prices: dict[str, Price] = Field(
        {}, description="Dollars for a million tokens, for models whose price is not known"
    )
    personal_data: Literal["keep", "redact", "refuse"] | list[Kind] = Field(
        ["email", "ssn"],
        description="The kinds of personal data that are taken out of prompts; or what happens to all kinds",
    )
    timeout: PositiveFloat = Field(60.0, description="Seconds that one request may take")

    @field_validator("base_url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an http or https URL without a query")
        if "@" in parts.netloc:
            raise ValueError("must not hold a user or a password; use `api_key`")
        return value

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.sampling == "never" and not self.has_provider:
            raise ValueError("no model can be asked: set `provider` or `base_url`, or allow `sampling`")
        if self.base_url and not self.provider and not self.model:
            raise ValueError("`base_url` needs a `model`: only a named provider has a default one")
        return self

    @property
    def has_provider(self) -> bool:
        return bool(self.provider or self.base_url)

    @property
    def address(self) -> str:
        """Where the provider is; "" if there is none."""
        return self.base_url or (PROVIDERS[self.provider].base_url if self.provider else "")

    @property
    def url(self) -> str | None:
        """The same, for an `auth` of the server."""
        return self.address or None

    @property
    def default_model(self) -> str:
        return self.model or (PROVIDERS[self.provider].model if self.provider else "")
