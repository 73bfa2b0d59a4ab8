"""The protocols that drivers implement: Source, Auth, Cache, Observer and SearchView. Executor is in `executors.py`.

A driver is what the configuration *names*, and exactly one answers: `source = "openapi"` is the entry point
`openapi` in the group `doorward.source`. Each driver class carries `Settings`, a `doorward.Settings` model with
which core validates the driver's part of the configuration. A constructor does nothing that can fail or wait:
files, sockets and processes are opened by the first method that needs them, and closed by `close`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from doorward.model.calls import Call
from doorward.model.functions import Compiled
from doorward.model.programs import CachedProgram

if TYPE_CHECKING:
    import httpx2
    from numpy.typing import NDArray

    from doorward.model.contexts import PluginContext, ServerContext
    from doorward.model.settings import Settings


class Source(Protocol):
    """Turns a server's configuration into functions, and performs their calls.

    It may have the abilities `TellsChanges` and `OffersFunctions` as well.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, server: ServerContext) -> None: ...

    async def fingerprint(self) -> str:
        """A string that changes whenever the input of `compile` has changed: a hash of the document, for example.
        Called before `compile` on the same instance, which may keep what it has read.

        Raises: ServerError or ConfigError if the document or the upstream cannot be reached.
        """
        ...

    async def compile(self) -> Compiled:
        """All functions of the server. A bad operation is listed in `skipped`; the others are not lost with it.

        Raises: ConfigError if the document or the upstream is of no use at all.
        """
        ...

    async def call(self, call: Call) -> Any:
        """Perform one call, whose arguments fit the function's schema, within `call.time_left` seconds.

        Returns: a plain JSON value or `bytes`, or a `Reply` that holds either and says more about it. Bytes within
        lists and objects become artefacts too; each is a `File` where its media type or name is known.
        Raises: ApiError or ServerError; InvalidArguments for rules that the schema cannot express. Anything else counts
        as a defect of the source.
        """
        ...

    async def close(self) -> None:
        """Give back what was opened. Called once."""
        ...


class Auth(Protocol):
    """Adds credentials to outgoing requests. Lives on the host; nothing of it ever enters a sandbox.

    It may have the abilities `SupportsLogin`, `SupportsLogout`, `SupportsLoginCheck`, `SupportsFilledParameters` and
    `SupportsClose` as well.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    def create_auth(self) -> httpx2.Auth:
        """The object that HTTP clients of this server use. Called once for each server, before its first request.
        Secrets are revealed when a request is made (`await secret.get()`), not here.

        Raises: ConfigError if the settings contradict each other.
        """
        ...


class Cache(Protocol):
    """Keeps programs for `run_cached_code`. A program belongs to its principal; no other can name it."""

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    async def put(self, program: CachedProgram) -> str:
        """Keep a program.

        Returns: the id under which it is kept. If an equal program (same principal and digest) is there already, that
        is its id, and its lifetime starts anew; else it is `program.cache_id`.
        """
        ...

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        """The program, or `None` if that principal has none with this id (any more)."""
        ...

    async def close(self) -> None:
        """Give back what was opened. Called once."""
        ...


class Observer(Protocol):
    """Tells others what happened: a tracing backend, a SIEM. No run and no call ever waits for it."""

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    async def observe(self, batch: Sequence[Any]) -> None:
        """Take a batch of events, in the order in which they happened; never called again before it returns. If it
        raises, or takes more than 30 seconds, the batch is dropped, and the next one comes after a pause.
        """
        ...

    async def close(self) -> None:
        """Give back what was opened, after the last batch. Called once."""
        ...


class SearchView(Protocol):
    """Embeds texts: those of functions that mean alike get vectors that point alike. Searches find by them what shares
    no word with a question.

    Core does everything else: it says what the text of a function is, clears it of credentials, keeps the vectors,
    compares them, and asks again for what has changed alone. So a view never learns who asks, nor what they may find.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    async def fingerprint(self) -> str:
        """A string that changes whenever the same text would get another vector: the name of a model, a hash of its
        files. What was embedded under another one is embedded anew.

        Raises: ServerError or ConfigError if the model cannot be had.
        """
        ...

    async def embed(self, texts: Sequence[str], *, question: bool) -> Sequence[Sequence[float]] | NDArray[Any]:
        """A vector for each text, in their order, all of the same length; zeros for a text of which nothing is known.
        Up to 64 texts of functions, which may take a minute; or (`question`) those of one search, which waits for 0.3
        seconds. Never blocks the event loop.

        Raises: ServerError; ConfigError if to try again is useless.
        """
        ...

    async def close(self) -> None:
        """Give back what was opened. Called once."""
        ...
