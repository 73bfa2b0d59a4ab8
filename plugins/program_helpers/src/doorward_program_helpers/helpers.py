"""The helpers of this distribution: the public methods of `Helpers`, by their names. Each gets the run that calls it.

Agents read the signature and docstring of a helper.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from doorward import InvalidArguments, UnknownName
from doorward.helping import handle
from doorward.sandboxing import ARTEFACT_URI

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

EXAMPLE = (
    'call_function({"function": "doorward.items", "arguments": '
    '{"function": "server.list_things", "arguments": {"state": "open"}, "most": 200}})'
)


class Helpers:
    """The helpers of a gateway: `all` by name."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        names = (name for name in vars(Helpers) if not name.startswith("_"))
        self.all: Mapping[str, Callable[..., Awaitable[Any]]] = {name: getattr(self, name) for name in names}

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
        return await pages(run, function, {**(arguments or {}), **kwargs}, int(most))

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
        whose = run.program.principal
        declared, route = self._gateway.discovery.list_in(function, whose) if isinstance(function, str) else ((), "")
        enough = None if most is None else int(most)
        return await items(run, function, {**(arguments or {}), **kwargs}, enough, declared, route)

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
            return await self._gateway.modules.helpers["doorward"]["read"](run, server)
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
