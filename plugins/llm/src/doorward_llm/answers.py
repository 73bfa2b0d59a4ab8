"""Answers that must fit a JSON Schema: read, checked, and asked for again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from doorward import InvalidArguments, ServerError
from doorward.values import quoted
from doorward_json import read_json

MAX_SCHEMA_CHARACTERS = 20_000
MAX_REPAIRS = 2
"""Times that a model is told what was wrong with its answer. Each is a round."""

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
"""What models like to write around JSON, whatever they are told."""


class Misfit(ValueError):
    """An answer that is no JSON, or does not fit. The message is for the model."""


class Expected:
    """The values that a schema allows. Raises: InvalidArguments if it is no schema of its own."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema_rs

        try:
            self.text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
            if len(self.text) > MAX_SCHEMA_CHARACTERS:
                raise ValueError(f"it has more than {MAX_SCHEMA_CHARACTERS:,} characters")
            self._validator = jsonschema_rs.Draft202012Validator(
                dict(schema),
                retriever=_nothing,
                pattern_options=jsonschema_rs.RegexOptions(),  # they take time in proportion to the text
            )
        except (ValueError, RecursionError, jsonschema_rs.ValidationError) as error:
            why = str(error).partition("\n")[0][:300]
            raise InvalidArguments(f"`schema` cannot be used: {quoted(why)}") from None

    def value(self, text: str) -> Any:
        """The value in an answer. Raises: Misfit."""
        import jsonschema_rs

        fenced = _FENCE.fullmatch(text)
        try:
            value = read_json(fenced[1] if fenced else text)
        except (ValueError, RecursionError) as error:
            raise Misfit(f"it is no JSON: {error}"[:300]) from None
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            where = "/".join(map(str, error.instance_path))
            raise Misfit(f"{f'at {where}: ' if where else ''}{error.message}"[:500]) from None
        return value


def instruction(schema: str) -> str:
    """What asks a model for JSON. Providers differ in which schemas they enforce, and the model of a client takes none,
    so all are told in words, and the answer is checked here."""
    return (
        "Answer with one JSON value and nothing else: no explanation, no code fence. It must fit this JSON Schema:\n"
        + schema
    )


def correction(misfit: Misfit) -> str:
    """What tells the model to try again."""
    return f"That does not fit: {misfit}. Answer again, with the JSON value alone."


def never_fits(model: str, misfit: Misfit) -> ServerError:
    """The error when all attempts are over."""
    hint = "Make `schema` simpler, say in the prompt what is wanted, or allow more `max_tokens`."
    return ServerError(
        f"the model {model} gave no answer that fits `schema`, in {MAX_REPAIRS + 1} attempts; the last: {misfit}",
        hint=hint,
    )


def _nothing(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched: a schema must hold all that it refers to")
