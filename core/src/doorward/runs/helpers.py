"""The helpers of `import doorward`: the public methods of `Helpers`, by their names. Each gets the run that calls it.

Agents read the signature and docstring of a helper (`helper_cards`). The docstring begins with a sentence that says
what the helper does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.calls.artefacts import PREFIX, content_of
from doorward.calls.files import handle
from doorward.data.offload import aside
from doorward.model.errors import InvalidArguments, LimitExceeded

if TYPE_CHECKING:
    from doorward.runs.discovery import Discovery
    from doorward.runs.helper_context import Helper, HelperContext


_HANDLE_HINT = 'It has an "artefact"; its URI begins with doorward://results/.'


class Helpers:
    """The helpers of a gateway: `all` by name."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self.all: Mapping[str, Helper] = {name: getattr(self, name) for name in HELPERS}

    async def servers(self, run: HelperContext) -> list[dict[str, Any]]:
        """All servers: the name of each, how many functions it has, and the first of them."""
        listed = await self._discovery.servers(run.program.principal, within=run.program.functions)
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
        return await self._discovery.search(
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
        cards = await self._discovery.describe(flat, asker.principal, asker.language, within=asker.functions)
        return "\n\n".join(card.get("text") or f"{card['function']}: {card['error']}" for card in cards)

    async def call(
        self, run: HelperContext, function: str, arguments: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> Any:
        """Call a function by its name: doorward.call("server.function", {"id": 1}). The arguments may be keywords,
        too."""
        run.helper_makes_calls()
        return await run.call(function, (), {**(arguments or {}), **kwargs})

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
        return self._discovery.module(name, run.program.principal)  # which the sandbox imports

    async def capabilities(self, run: HelperContext) -> str:
        """What can be done here, in a paragraph: servers, executors, limits."""
        return self._discovery.capabilities(run.program.principal, run.program.language)

    async def close_session(self, run: HelperContext) -> None:
        """End the session of this run, once its answer is there."""
        run.close_session()


RECORDED = ("servers", "search", "describe", "server", "capabilities")
"""Those whose answers depend on more than the calls of the run."""

HELPERS: Mapping[str, Helper] = {name: method for name, method in vars(Helpers).items() if not name.startswith("_")}
"""All helpers, as functions whose first argument is their `Helpers`."""


def _is_file(value: Any) -> bool:
    return handle(value) is not None or (isinstance(value, str) and value.startswith(PREFIX))


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
