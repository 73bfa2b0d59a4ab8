"""Where a schema comes from: the endpoint itself, by introspection, or a file or URL that has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from doorward import ApiError, ConfigError, ServerContext, ServerError, Suggestion
from doorward.values import status, write_json

from doorward_graphql.settings import GraphQLSettings, is_url

if TYPE_CHECKING:
    from doorward_graphql.client import Client


class NotTold(ServerError):
    """An endpoint answered without its schema."""


HEADERS = {
    "Accept": "application/graphql-response+json, application/json;q=0.9",
    "Content-Type": "application/json",
}
"""GraphQL over HTTP, sections 5.2 and 5.3."""


async def fetch(server: ServerContext[GraphQLSettings], client: Callable[[], Client]) -> bytes:
    """The bytes of a server's schema. Raises: ConfigError, ServerError."""
    from doorward_graphql.documents import MAX_SCHEMA_BYTES

    schema, settings = server.settings.schema_, server.settings
    if schema is None:
        return await _introspected(server, client())
    if not is_url(schema):
        return await anyio.to_thread.run_sync(_read, server.folder, schema, MAX_SCHEMA_BYTES)
    from doorward_graphql.client import origin

    what = f"{server.name}: the schema {schema.partition('?')[0]}"
    get = partial(
        client().send,
        what,
        "GET",
        schema,
        {"Accept": "*/*"},
        None,
        timeout=settings.timeout,
        left=settings.timeout,
        most=MAX_SCHEMA_BYTES,
        safe=True,
    )
    own = origin(schema) == origin(settings.url)
    answer = await get(credentials=own and settings.schema_auth)
    if own and answer.status != 200:
        answer = await get(credentials=True)
    if answer.status != 200:
        to = f" and leads to {answer.headers['location'][:300]!r}" if "location" in answer.headers else ""
        raise ServerError(f"{what} cannot be had: it answered {status(answer.status)}{to}", hint="Check `schema`.")
    return answer.body


def _read(folder: Path, schema: str, most: int) -> bytes:
    """Raises: ConfigError."""
    path = folder / Path(schema).expanduser()
    place = f"schema = {str(path)!r}"
    try:
        if not path.is_file():
            hint = "It is a path, relative to the configuration file, or a URL."
            raise ConfigError("there is no such file", place=place, hint=hint)
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", place=place) from None
    if len(raw) > most:
        raise ConfigError(f"has more than {most // 2**20} MiB", place=place)
    return raw


async def _introspected(server: ServerContext[GraphQLSettings], client: Client) -> bytes:
    """What the endpoint says of its schema; with credentials only if it does not tell it without, or the operator says
    that it has more with them. Raises: ServerError, with suggestions for `auth` if it wants credentials.
    """
    if client.has_credentials and not server.settings.schema_auth:
        try:
            return await _asked(server, client, credentials=False)
        except NotTold:
            pass
    return await _asked(server, client, credentials=True)


async def _asked(server: ServerContext[GraphQLSettings], client: Client, *, credentials: bool) -> bytes:
    """What the endpoint says of its schema: all that there is today, or what every server knows.

    Raises: NotTold; ServerError if it does not answer.
    """
    from graphql import get_introspection_query

    from doorward_graphql import answers
    from doorward_graphql.documents import MAX_SCHEMA_BYTES

    settings, what = server.settings, f"{server.name}: introspection"
    newest = get_introspection_query(
        specified_by_url=True, schema_description=True, input_value_deprecation=True, one_of=True
    )
    for query, last in ((newest, False), (get_introspection_query(), True)):
        answer = await client.send(
            what,
            "POST",
            settings.url,
            HEADERS,
            await write_json({"query": query, "operationName": "IntrospectionQuery"}),
            timeout=settings.timeout,
            left=settings.timeout,
            most=MAX_SCHEMA_BYTES,
            safe=True,
            credentials=credentials,
        )
        try:
            data = answers.data_of(what, answer, server.suggest)
        except ApiError as error:
            if answers.lacks_credentials(error):
                refused = NotTold(error.message, hint=error.hint)
                refused.auth = [_bearer(server.name)]
                raise refused from None
            if not last and answer.status < 500:
                continue
            hint = "If it tells nobody its schema, give its SDL, or the JSON of an introspection, as `schema`."
            raise NotTold(error.message, hint=hint) from None
        except ServerError as error:  # a page for people
            raise NotTold(error.message, hint=error.hint) from None
        if "__schema" in data:
            return answer.body
    hint = "Give its SDL, or the JSON of an introspection, as `schema`."
    raise NotTold(f"{what} was answered without a schema", hint=hint)


def _bearer(server: str) -> Suggestion:
    """GraphQL has no way to say which credentials a server takes. Most take a bearer token."""
    variable = re.sub(r"\W+", "_", server, flags=re.ASCII).upper() + "_TOKEN"
    return Suggestion([{"type": "bearer", "token": f"${{{variable}}}"}], "a bearer token")
