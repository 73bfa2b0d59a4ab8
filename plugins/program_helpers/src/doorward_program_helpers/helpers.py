"""The helpers of this distribution: the public methods of `Helpers`, by their names. Each gets the run that calls it.

Agents read the signature and docstring of a helper.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward import InvalidArguments, LimitExceeded, UnknownName
from doorward.helping import call, handle
from doorward.sandboxing import ARTEFACT_URI
from doorward.values import aside
from doorward_text import capabilities, declared_list

from doorward_program_helpers.contents import content_of
from doorward_program_helpers.known_replies import known
from doorward_program_helpers.pagination import MAX_PAGES, items, pages

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.helping import HelperContext

IN_CALLS = {
    "items": "({ function: string; arguments?: object; most?: integer }): any[]  // what is in all pages of a function",
    "pages": "({ function: string; arguments?: object; most?: integer }): any[]  // the answers of all pages of one",
    "reply": "({ function: string; arguments?: object }): { value, status, headers }  // a whole HTTP answer",
    "list_resources": "({ server: string }): any[]  // the resources of an MCP server",
    "read_resource": "({ server: string; uri: string }): any",
    "list_prompts": "({ server: string }): any[]  // the prompts of an MCP server",
    "get_prompt": "({ server: string; name: string; arguments?: object }): any",
}
"""How each is called without a program: as a function is, by its name and JSON arguments."""

RECORDED = ("servers", "search", "describe", "server", "capabilities")
"""Helpers whose answers are recorded with a run: they depend on more than its calls."""

EXAMPLE = (
    'call_function({"function": "doorward.items", "arguments": '
    '{"function": "server.list_things", "arguments": {"state": "open"}, "most": 200}})'
)


_HANDLE_HINT = 'It has an "artefact"; its URI begins with doorward://results/.'


class Helpers:
    """The helpers of a gateway: `all` by name."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        names = (name for name in vars(Helpers) if not name.startswith("_"))
        self.all: Mapping[str, Callable[..., Awaitable[Any]]] = {name: getattr(self, name) for name in names}

    async def servers(self, run: HelperContext) -> list[dict[str, Any]]:
        """All servers: the name of each, how many functions it has, and the first of them."""
        listed = await self._gateway.discovery.servers(run.program.principal, within=run.program.functions)
        return [*listed["servers"]]

    async def search(
        self,
        run: HelperContext,
        query: str = "",
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        cursor: str | None = None,
        queries: list[str] | None = None,
        explain: bool = False,
    ) -> dict[str, Any]:
        """Find functions by what they do. {"functions": [{"function", "summary"}], "total", "cursor"}, best first.
        Several `queries` are answered at once; `explain` says what `matched`."""
        return await self._gateway.discovery.search(
            str(query),
            principal=run.program.principal,
            queries=[queries] if isinstance(queries, str) else queries or (),
            server=server,
            read_only=read_only,
            limit=int(limit),
            cursor=cursor,
            explain=bool(explain),
            within=run.program.functions,
        )

    async def describe(self, run: HelperContext, *names: str) -> str:
        """What get_functions shows: of one to five functions ("server.function"), servers, or helpers
        ("doorward.pages")."""
        flat = [n for name in names for n in ([name] if isinstance(name, str) else name)]
        asker = run.program
        cards = await self._gateway.discovery.describe(flat, asker.principal, asker.language, within=asker.functions)
        return "\n\n".join(card.get("text") or f"{card['function']}: {card['error']}" for card in cards)

    call = staticmethod(call)

    async def read(self, run: HelperContext, file: Any) -> Any:
        """What is in a file, or all of a result that was cut. JSON as its value, text as str, anything else as bytes.

        `file` is a handle, {"artefact": "doorward://results/…"}, or such a URI. What already is text or JSON comes back
        as it is.

        rows = doorward.read("doorward://results/…")
        result = [row["id"] for row in rows if row["open"]]
        """
        if not _is_file(file) or await run.is_foreign(handle(file) or file):
            return _already_read(run, file)
        opened = await run.open(handle(file) or file)
        if (size := len(opened.content)) > (most := run.program.limits.result_bytes):
            raise LimitExceeded(f"the file has {size} bytes, more than {most}", hint="Pass its handle on instead.")
        return await aside(partial(content_of, opened), size)

    async def path(self, run: HelperContext, file: Any) -> str:
        """Fetch a file into ./in and get its path, where the sandbox has files. For libraries that open files
        themselves:

        image = PIL.Image.open(doorward.path(pets.get_photo(id=7)))

        `file` is a handle, {"artefact": "doorward://results/…"}, or such a URI. The path, handed to a function, is that
        file, with its name and type. What a program writes into ./out becomes a file of its answer. doorward.read needs
        no files.
        """
        raise InvalidArguments(
            f"doorward.path: {_uri(file)} has no path here, for this sandbox has no files",
            hint="doorward.read(file) is what it holds.",
        )

    async def server(self, run: HelperContext, name: str) -> Any:
        """The module of a server, by its configured name: doorward.server("my-server").some_function()."""
        return self._gateway.discovery.module(name, run.program.principal)  # which the sandbox imports

    async def capabilities(self, run: HelperContext) -> str:
        """What can be done here, in a paragraph: servers, executors, limits."""
        return capabilities(self._gateway, run.program.principal, run.program.language)

    async def close_session(self, run: HelperContext) -> None:
        """End the session of this run, once its answer is there."""
        run.close_session()

    async def pages(
        self,
        run: HelperContext,
        function: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        most: int = MAX_PAGES,
        **kwargs: Any,
    ) -> list[Any]:
        """Call a function once for each page. A list of whole answers, each as the function itself answers:

        [item for page in doorward.pages(server.list_items, state="open") for item in page["items"]]

        `function` is the function or "server.function"; its arguments are keywords, or a dictionary. At most `most`
        pages are asked for; a note beside the value says if there are more. To stop earlier, call the function
        yourself.
        """
        return await pages(self._gateway, run, function, {**(arguments or {}), **kwargs}, int(most))

    async def items(
        self,
        run: HelperContext,
        function: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        most: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Call a function once for each page. A list of what is in all pages:

        names = [item["name"] for item in doorward.items(server.list_items, state="open")]

        Arguments are given as to doorward.pages. At most `most` items are got. If the answers have several lists, or
        are one thing, the error says so.
        """
        declared, route = self._list_in(function, run.program.principal) if isinstance(function, str) else ((), "")
        enough = None if most is None else int(most)
        return await items(self._gateway, run, function, {**(arguments or {}), **kwargs}, enough, declared, route)

    async def reply(
        self, run: HelperContext, function: str, arguments: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> Any:
        """Call a function, and get its value with the status and headers of the answer:

        made = doorward.reply(server.create_item, name="a")
        made.value, made.status, made.headers.get("location")

        Names of headers are in small letters; credentials are left out. A function that is not of an HTTP API has no
        headers, and None for its status.
        """
        run.helper_makes_calls()
        reply = known(await run.reply(function, (), {**(arguments or {}), **kwargs}, headers=True), "reply")
        return {"value": reply.value, "status": reply.status, "headers": dict(reply.headers)}

    async def list_resources(self, run: HelperContext, server: str) -> Any:
        """The resources of an MCP server."""
        return await self._offered(run, server, "resources/list", {})

    async def read_resource(self, run: HelperContext, server: str, uri: str = "") -> Any:
        """A resource of an MCP server, by its URI. (Files and cut results are for doorward.read.)"""
        if not uri and _is_file(server):
            return await self.read(run, server)
        if not uri:
            raise InvalidArguments(
                "doorward.read_resource needs a server and the URI of one of its resources",
                hint="doorward.read(file) takes the handle of a file or result.",
            )
        return await self._offered(run, server, "resources/read", {"uri": uri})

    async def list_prompts(self, run: HelperContext, server: str) -> Any:
        """The prompts of an MCP server."""
        return await self._offered(run, server, "prompts/list", {})

    async def get_prompt(
        self, run: HelperContext, server: str, name: str, arguments: Mapping[str, Any] | None = None
    ) -> Any:
        """A prompt of an MCP server, filled in."""
        return await self._offered(run, server, "prompts/get", {"name": name, "arguments": dict(arguments or {})})

    def _list_in(self, name: str, principal: str) -> tuple[tuple[str, ...], str]:
        """The key of the only list in a function's result schema, empty if there are none or several; and its route.

        Raises: UnknownName.
        """
        function = self._gateway.broker.functions.find(name, principal)
        definitions = self._gateway.discovery.definitions(function.server)
        return declared_list(function, definitions) if function.returns else (), function.route

    async def _offered(self, run: HelperContext, server: str, id: str, arguments: Mapping[str, Any]) -> Any:
        """Call something that a server's source offers besides functions. Raises: UnknownName if it does not offer
        that."""
        module = self._gateway.discovery.module(server, run.program.principal)
        if self._gateway.servers.offered(module, id) is None:
            hint = "MCP servers have them, where `include`, `exclude` and `read_only` of the configuration leave them."
            raise UnknownName(f"the server {module!r} has no {id.partition('/')[0]}", hint=hint)
        run.helper_makes_calls()
        return await run.call(f"{module}.{id}", (), arguments)


def _is_file(value: Any) -> bool:
    return handle(value) is not None or (isinstance(value, str) and value.startswith(ARTEFACT_URI))


def _uri(file: Any) -> str:
    """The URI in a handle, or the URI itself. Raises: InvalidArguments."""
    if not _is_file(file):
        raise InvalidArguments(f"a handle of a file is wanted, not {type(file).__name__}", hint=_HANDLE_HINT)
    return handle(file) or str(file)


def _already_read(run: HelperContext, value: Any) -> Any:
    """What needs no reading. Raises: InvalidArguments for None, which an answer without content is."""
    if value is None:
        raise InvalidArguments("doorward.read: a handle of a file is wanted, not None", hint=_HANDLE_HINT)
    if isinstance(value, str) and "\n" not in value:  # perhaps a path
        run.note("doorward.read was given a text, no handle of a file; it is what was read.")
    return value
