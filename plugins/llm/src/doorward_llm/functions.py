"""The functions that programs get: `ask` and `think`."""

from __future__ import annotations

from typing import Any

from doorward import Function

from doorward_llm.settings import LLMSettings

_NAMES = {"system_prompt": "systemPrompt", "max_tokens": "maxTokens"}
"""What other systems call the parameters; programs may use either."""

DEFAULT_MAX_TOKENS = 1000


def functions(server: str, settings: LLMSettings) -> list[Function]:
    """`ask` and `think`, with the limits of these settings in their schemas."""
    system_prompt: dict[str, Any] = {"type": "string", "default": "", "description": _system_prompts(settings)}
    most = {
        "type": "integer",
        "minimum": 1,
        "maximum": settings.max_tokens,
        "default": min(DEFAULT_MAX_TOKENS, settings.max_tokens),
        "description": "The most tokens of the answer",
    }
    schema = {
        "anyOf": [{"type": "object", "additionalProperties": {}}, {"type": "null"}],
        "default": None,
        "description": "A JSON Schema: the result is a JSON value that fits it, not text",
    }
    messages = {
        "type": "array",
        "minItems": 1,
        "maxItems": 100,
        "items": {
            "type": "object",
            "properties": {"role": {"enum": ["user", "assistant"]}, "content": {"type": "string"}},
            "required": ["role", "content"],
            "additionalProperties": False,
        },
    }
    rest = {"system_prompt": system_prompt, "max_tokens": most, "schema": schema}
    model = {"type": "string", "default": "", "description": "One of the models that the operator allows"}
    return [
        _function(
            server, "ask", "Ask a language model", {"prompt": {"type": "string", "minLength": 1}, **rest}, "prompt"
        ),
        _function(
            server,
            "think",
            "Go on with a conversation with a language model",
            {"messages": messages, "model": model, **_moved(rest)},
            "messages",
        ),
    ]


def _moved(rest: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `think` in their order."""
    return {name: rest[name] for name in ("max_tokens", "system_prompt", "schema")}


def _function(server: str, name: str, summary: str, properties: dict[str, Any], required: str) -> Function:
    return Function(
        server,
        name,
        f"llm/{name}",
        summary,
        "The result is text, or with `schema` a JSON value. A run may ask only so often, and for so many tokens.",
        parameters={
            "type": "object",
            "properties": properties,
            "required": [required],
            "additionalProperties": False,
        },
        names=_NAMES,
        tags=("llm",),
    )


def _system_prompts(settings: LLMSettings) -> str:
    if "*" in settings.system_prompts:
        return "Any text"
    return "One of " + ", ".join(repr(each) for each in settings.system_prompts)
