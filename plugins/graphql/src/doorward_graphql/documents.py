"""The text of a schema → the schema. It is hostile: bounded in size, and whatever is wrong with it is one error."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import threading
from typing import Any

from doorward import ConfigError
from doorward_json import read_json
from graphql import GraphQLError, GraphQLSchema, build_ast_schema, build_client_schema, parse

from doorward_graphql.faults import sound_introspection, sound_syntax

MAX_SCHEMA_BYTES = 32 * 2**20
MAX_TOKENS = 500_000
"""Tokens of one SDL document."""

_one_at_a_time = threading.Lock()


def schema_of(text: str, place: str) -> GraphQLSchema:
    """The schema in SDL, or in the JSON of an introspection. Raises: ConfigError."""
    return schema_and_faults(text, place)[0]


def schema_and_faults(text: str, place: str) -> tuple[GraphQLSchema, list[tuple[str, str]]]:
    """The schema, and what was left out of it because it was wrong: where, and why. Raises: ConfigError."""
    faults: list[tuple[str, str]] = []
    try:
        if text.lstrip()[:1] == "{" and (told := introspection(text)):
            try:
                schema = build_client_schema(told, assume_valid=True)
            except Exception:  # the library takes all or nothing
                schema = build_client_schema(sound_introspection(told, faults), assume_valid=True)
        else:
            syntax = parse(text, max_tokens=MAX_TOKENS)
            try:
                schema = build_ast_schema(syntax, assume_valid=True, assume_valid_sdl=True)
            except Exception:
                syntax = sound_syntax(syntax, faults)
                schema = build_ast_schema(syntax, assume_valid=True, assume_valid_sdl=True)
        if schema.query_type and (schema.query_type.fields or not faults):
            return schema, faults
        why = "it has no Query type" if not faults else ": ".join(faults[0])
    except RecursionError:
        why = "it is nested too deeply"
    except Exception as error:  # the library checks no more than what it needs
        why = error.message if isinstance(error, GraphQLError) else f"{type(error).__name__}: {error}"
    hint = "It must be SDL (schema.graphql), or the JSON that answers an introspection query."
    raise ConfigError(f"is no GraphQL schema: {why[:300]}", place=place, hint=hint)


def kept_schema(text: str) -> GraphQLSchema:
    """The schema of a compile, by its text. Those that were used last are kept, for all principals of a server. Raises:
    ConfigError."""
    with _one_at_a_time:  # if several calls begin together, one of them reads it
        return _kept(text)


@functools.lru_cache(maxsize=8)
def _kept(text: str) -> GraphQLSchema:
    return schema_of(text, "the stored schema")


def introspection(text: str) -> Any:
    """The answer to an introspection query, or the `data` of it; `None` if the text is something else. Raises:
    ValueError if it is no JSON."""
    value = read_json(text)
    for found in (value, value.get("data") if isinstance(value, dict) else None):
        if isinstance(found, dict) and isinstance(found.get("__schema"), dict):
            return found
    return None


def digest(body: bytes) -> str:
    """A hash of a schema. In JSON, the order of members says nothing."""
    if body.lstrip()[:1] == b"{":
        with contextlib.suppress(ValueError, RecursionError):
            body = json.dumps(read_json(body), sort_keys=True).encode()
    return hashlib.sha256(body).hexdigest()
