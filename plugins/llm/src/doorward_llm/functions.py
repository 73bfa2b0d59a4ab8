"""The functions that programs get: `ask` and `think`."""

from __future__ import annotations

from collections.abc import Iterable

from doorward import Function

from doorward_llm.settings import KINDS, LLMSettings

_NAMES = {"system_prompt": "systemPrompt", "max_tokens": "maxTokens"}
"""What other systems call the parameters; programs may use either."""

DEFAULT_MAX_TOKENS = 1000
MAX_MESSAGES = 100

_MESSAGES = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_MESSAGES,
    "items": {
        "type": "object",
        "properties": {"role": {"enum": ["user", "assistant"]}, "content": {"type": "string"}},
        "required": ["role", "content"],
        "additionalProperties": False,
    },
}
_SCHEMA = {
    "anyOf": [{"type": "object", "additionalProperties": {}}, {"type": "null"}],
    "default": None,
    "description": "A JSON Schema: the result is a JSON value that fits it, not text",
}


def functions(server: str, settings: LLMSettings) -> list[Function]:
    """`ask` and `think`, which say what these settings allow."""
    prompt = {"type": "string", "minLength": 1}
    system = {"type": "string", "default": "", "description": _one_of(map(repr, settings.system_prompts))}
    models = _one_of(dict.fromkeys([settings.default_model or "that of the client", *settings.models]))
    model = {"type": "string", "default": "", "description": models}
    most = {
        "type": "integer",
        "minimum": 1,
        "maximum": settings.max_tokens,
        "default": min(DEFAULT_MAX_TOKENS, settings.max_tokens),
        "description": "The most tokens of the answer",
    }
    asked = {"prompt": prompt, "system_prompt": system, "max_tokens": most, "schema": _SCHEMA}
    thought = {"messages": _MESSAGES, "model": model, "max_tokens": most, "system_prompt": system, "schema": _SCHEMA}
    about = (
        "The result is text, or with `schema` a JSON value. "
        f"A run may ask {settings.rounds} times, for {settings.tokens:,} tokens in all."
        f" {_never_sent(settings)}"
    )
    return [
        Function(
            server,
            name,
            f"llm/{name}",
            summary,
            about,
            {"type": "object", "properties": given, "required": [next(iter(given))], "additionalProperties": False},
            names=_NAMES,
            tags=("llm",),
        )
        for name, summary, given in (
            ("ask", "Ask a language model", asked),
            ("think", "Go on with a conversation with a language model", thought),
        )
    ]


def _never_sent(settings: LLMSettings) -> str:
    """What the filter does to a prompt, for a program that would count on what it takes out."""
    match settings.personal_data:
        case "keep" | []:
            return "Secrets do not reach the model: [secret] stands in their place."
        case "refuse":
            return "Secrets do not reach the model: [secret] stands in their place. Personal data is refused."
        case kinds:
            masks = ", ".join(f"[{kind}]" for kind in (KINDS if isinstance(kinds, str) else kinds))
            return f"Secrets and personal data do not reach the model: [secret], {masks} stand in their place."


def _one_of(allowed: Iterable[str]) -> str:
    names = [*allowed]
    return "Any text" if "'*'" in names else f"One of {', '.join(names)}"
