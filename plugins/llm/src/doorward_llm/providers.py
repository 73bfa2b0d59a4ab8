"""The providers that are known by name, each with its OpenAI-compatible address and the model that it is asked for."""

from __future__ import annotations

from typing import Literal, NamedTuple

ProviderName = Literal["anthropic", "openai", "gemini", "grok", "perplexity"]


class Provider(NamedTuple):
    """Where a provider is, its default model, and its name for the most tokens of an answer."""

    base_url: str
    model: str
    most: str = "max_tokens"


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider("https://api.anthropic.com/v1/", "claude-haiku-4-5-20251001"),
    # Its newer models refuse `max_tokens`.
    "openai": Provider("https://api.openai.com/v1/", "gpt-4o-mini", "max_completion_tokens"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai/", "gemini-2.5-flash-lite"),
    "grok": Provider("https://api.x.ai/v1/", "grok-4-1-fast-non-reasoning"),
    "perplexity": Provider("https://api.perplexity.ai/", "sonar"),
}
