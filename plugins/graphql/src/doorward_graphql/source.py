"""The source driver `graphql`: the fields of a schema's root types as functions, and their calls as POST requests."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import anyio
from doorward import (
    ApiError,
    Call,
    Compiled,
    File,
    Function,
    InvalidArguments,
    Reply,
    ServerContext,
    ServerError,
    Settings,
    UnknownName,
)
from doorward.values import aside, write_json
from doorward_json import decoded

from doorward_graphql.settings import GraphQLSettings, is_url

if TYPE_CHECKING:
    from graphql import GraphQLSchema

    from doorward_graphql.client import Client

_Result = TypeVar("_Result")

_HELD_SECONDS = 1.0
"""Seconds for which a schema that was read for its fingerprint waits to be compiled: most have not changed."""

_TYPE = Function(
    "",
    "graphql_type",
    "graphql/type",
    "A type of the schema as SDL: its fields and their arguments, or its values",
    parameters={
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
    returns={"type": "string"},
    read_only=True,
    idempotent=True,
)


class GraphQL:
    """Functions from the schema of a GraphQL API."""

    Settings: ClassVar[type[Settings]] = GraphQLSettings
    offers: Sequence[Function] = (_TYPE,)

    def __init__(self, server: ServerContext[GraphQLSettings]) -> None:
        self._server = server
        self._settings = server.settings
        self._read: bytes | None = None
        self._opened: Client | None = None

    async def fingerprint(self) -> str:
        """The hash of the schema. Raises: ConfigError, ServerError."""
        from doorward_graphql.documents import digest
        from doorward_graphql.fetching import fetch

        self._read = body = await fetch(self._server, self._client)
        found = await anyio.to_thread.run_sync(digest, body)
        asyncio.get_running_loop().call_later(_HELD_SECONDS, self._let_go, body)
        return found

    def _let_go(self, body: bytes) -> None:
        """Hold a schema no longer: nobody has compiled it, for it had not changed. One that was read since stays:
        another one must not be compiled under its fingerprint."""
        if self._read is body:
            self._read = None

    async def compile(self) -> Compiled:
        """All functions of the schema, as it was read for the fingerprint, if it was. Raises: ConfigError,
        ServerError."""
        from doorward_graphql.fetching import fetch

        body, self._read = self._read, None
        return await anyio.to_thread.run_sync(self._compiled, body or await fetch(self._server, self._client))

    def _compiled(self, body: bytes) -> Compiled:
        from doorward_graphql.functions import compile_schema

        text = decoded(body).removeprefix("\ufeff")
        return compile_schema(self._server.name, text, self._settings.depth, self._settings.select)

    async def call(self, call: Call) -> Any:
        """Ask for a field.

        Raises: ApiError for an answer with errors, ServerError, InvalidArguments for a selection that does not fit.
        """
        if call.function.id == _TYPE.id:
            return await self._described(str(call.arguments["name"]))
        from doorward_graphql import answers, connections, requests
        from doorward_graphql.fetching import HEADERS

        function, data = call.function, call.function.data
        arguments = dict(call.arguments)
        wanted = arguments.pop(data.get("select_argument", ""), None)
        given = {function.names.get(name, name): _plain(value) for name, value in arguments.items()}
        selected = data.get("select", "")
        if wanted is not None:
            selected = await self._selection(function, list(given), wanted)
        text = requests.document(data, list(given), selected)
        what = f"{function.qualified} ({function.route})"
        answer = await self._client().send(
            what,
            "POST",
            self._settings.url,
            HEADERS,
            await write_json({"query": text, "variables": given}),
            timeout=min(self._settings.timeout, call.time_left),
            left=call.time_left,
            safe=function.idempotent,
            call=call,
        )
        read = partial(answers.data_of, what, answer, self._server.suggest, changes=not function.idempotent)
        try:
            value = (await aside(read, len(answer.body))).get(data["field"])
        except ApiError as error:
            if wanted is None and answers.has_changed(error):
                self._server.changed()
            raise
        reply = Reply(value)
        if pages := data.get("pages"):
            reply = connections.paged(pages, call.arguments, reply)
        return replace(reply, status=answer.status, headers=answer.headers)

    async def _selection(self, function: Function, given: list[str], wanted: str) -> str:
        """What a program selects, if it fits the schema. Raises: InvalidArguments, Refused."""
        from doorward_graphql.requests import BadSelection, checked

        schema = await self._known()
        try:
            return await _in_thread(partial(checked, schema, function.data, given, wanted))
        except BadSelection as error:
            hint = f'{function.server}.graphql_type("NAME") shows the fields of a type. The default is: '
            told = f"{function.qualified}: select: {error}"
            raise InvalidArguments(told, hint=hint + function.data["select"][:500]) from None

    async def _described(self, name: str) -> str:
        """Raises: UnknownName."""
        from graphql import print_type

        types = (await self._known()).type_map
        if found := types.get(name):
            return await _in_thread(partial(print_type, found))
        near = difflib.get_close_matches(name[:200], types, n=1)
        raise UnknownName(
            f"the schema of {self._server.name} has no type {name[:200]!r}"
            + (f"; did you mean {near[0]!r}?" if near else "")
        )

    async def _known(self) -> GraphQLSchema:
        """The schema of the last compile. Raises: ServerError if there is none."""
        from doorward_graphql.documents import kept_schema
        from doorward_graphql.functions import SCHEMA

        kept = self._server.definition(SCHEMA)
        if kept is None:
            raise ServerError(f"{self._server.name} is not compiled yet", hint="Try again in a moment.")
        return await _in_thread(partial(kept_schema, str(kept["text"])))

    async def close(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    def _client(self) -> Client:
        if self._opened is None:
            from doorward_graphql.client import Client

            settings = self._settings
            urls = [settings.url, *([settings.schema_] if settings.schema_ and is_url(settings.schema_) else [])]
            self._opened = Client(self._server.name, self._server.auth, settings.headers, urls, settings.retries)
        return self._opened


async def _in_thread(work: Callable[[], _Result]) -> _Result:
    """The result of work that takes long, whatever its size. A caller whose time is over goes at once."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def _plain(value: Any) -> Any:
    """A value without files. Raises: InvalidArguments if one is no text."""
    match value:
        case File() | bytes():
            content = value.content if isinstance(value, File) else value
            try:
                return content.decode()
            except UnicodeDecodeError:
                raise InvalidArguments("GraphQL takes no files as arguments", hint="Give text.") from None
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
    return value
