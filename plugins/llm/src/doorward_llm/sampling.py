"""The model of the MCP client: asked by `sampling/createMessage`, in the way of the client's protocol version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward import Call, CannotAsk, ServerError
from doorward.values import clean_text

from doorward_llm.models import Completion, NotAnswered
from doorward_llm.tokens import estimate

MAX_NAME_CHARACTERS = 100
"""Characters of the name that a client gives its model."""


async def sample(call: Call, messages: Sequence[Mapping[str, str]], model: str, max_tokens: int) -> Completion:
    """What the client's model answers. Nobody says how many tokens that took, so they are estimated; they cost nothing
    here.

    Raises: CannotAsk if the client has no model for us, NotAnswered if it refuses, LimitExceeded if it takes too long.
    """
    if call.client is None:
        raise CannotAsk("no client is there to be asked")
    system = "\n\n".join(each["content"] for each in messages if each["role"] == "system")
    params: dict[str, Any] = {
        "messages": [
            {"role": each["role"], "content": {"type": "text", "text": each["content"]}}
            for each in messages
            if each["role"] != "system"
        ],
        "maxTokens": max_tokens,
        "includeContext": "none",
    }
    if system:
        params["systemPrompt"] = system
    if model:
        params["modelPreferences"] = {"hints": [{"name": model}]}
    try:
        answer = await call.client.ask("sampling/createMessage", params)
    except CannotAsk:
        raise
    except ServerError as error:
        raise NotAnswered(error.message, hint=error.hint) from None
    text = _text(answer.get("content"))
    if not text:
        raise ServerError("the client's model answered without a text", hint="Ask otherwise, or for more tokens.")
    told = clean_text(str(answer.get("model") or ""))[:MAX_NAME_CHARACTERS]
    return Completion(text, told, sum(estimate(each["content"]) for each in messages), estimate(text), 0.0)


def _text(content: Any) -> str:
    """The text of an answer, which is one content or several."""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("type") == "text")
