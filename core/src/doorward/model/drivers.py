"""The protocols that drivers implement: Source, Auth, Cache, Observer and SearchView (Executor is in `executors.py`);
and each ability that a driver may have besides, which Doorward looks for.

A driver is what the configuration *names*, and exactly one answers: `source = "openapi"` is the entry point
`openapi` in the group `doorward.source`. Each driver class carries `Settings`, a `doorward.Settings` model with
which core validates the driver's part of the configuration. A constructor does nothing that can fail or wait:
files, sockets and processes are opened by the first method that needs them, and closed by `close`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from doorward.model.calls import Call
from doorward.model.functions import Compiled
from doorward.model.programs import CachedProgram

if TYPE_CHECKING:
    import httpx2
    from numpy.typing import NDArray

    from doorward.model.calls import LoginPrompt
    from doorward.model.contexts import PluginContext, ServerContext
    from doorward.model.functions import Function
    from doorward.model.programs import Failure
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

    It may have the abilities `SupportsLogin`, `SupportsLogout`, `SupportsLoginCheck`, `TellsLogin`,
    `SupportsFilledParameters` and `SupportsClose` as well.
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


@runtime_checkable
class HasSettings(Protocol):
    """A driver class or a hook plugin with a model by which core validates its part of the configuration."""

    Settings: type[Settings]


@runtime_checkable
class HasHookspecs(Protocol):
    """A hook plugin that declares hooks of its own: each class says as `observers` which of them only learn something,
    and as `additions` which add something."""

    hookspecs: Sequence[type]


# Of sources.


@runtime_checkable
class TellsChanges(Protocol):
    """A source that calls `ServerContext.changed` itself. If `tells_changes` is true, a server that has been compiled
    is not asked for its fingerprint when a gateway starts."""

    tells_changes: bool


@runtime_checkable
class OffersFunctions(Protocol):
    """A source class that gives each of its servers these functions as well as those that `compile` finds (`server` is
    filled in). They are called like any other, but neither listed nor found by a search."""

    offers: Sequence[Function]


@runtime_checkable
class TellsUpstreams(Protocol):
    """A source class that says where calls of a function may go, or of any (`None`): URLs, `command:` and a command
    line, `socket:` and a path. Policies know upstreams by it. Without it they know the URLs in the settings."""

    @staticmethod
    def upstreams(settings: Any, function: Function | None) -> Sequence[str]: ...


@runtime_checkable
class TellsApps(Protocol):
    """A source class that says with which interface (an MCP App) clients may show the answers of a function: its `ui://`
    URI at the server, "" if there is none. Its `offers` have a function `apps/read` for such a URI, whose value is
    `{"html", "csp", "border"?}`."""

    @staticmethod
    def app(settings: Any, function: Function) -> str: ...


@runtime_checkable
class TellsLayout(Protocol):
    """A store that says of which version its tables are (0: there are none), and which version it makes of them at its
    first use, and changes nothing for that. Raises: StateError if it cannot use them."""

    async def layout(self) -> tuple[int, int]: ...


@runtime_checkable
class TellsRequests(Protocol):
    """A source class that says which HTTP request a call is: its method, its path with the query below the base URL,
    and its body. Of an MCP server: `tools/call`, the name of the tool, and its arguments as JSON. What stands in for a
    server knows its calls by that. Raises: InvalidArguments."""

    @staticmethod
    def sent(function: Function, arguments: Mapping[str, Any]) -> tuple[str, str, bytes | None]: ...


@runtime_checkable
class SupportsServerCheck(Protocol):
    """A source that can say whether calls of its functions reach anything, for `doorward add` and `doorward doctor`:
    what was found, whether it is well, and advice. It changes nothing, and may ask only places that the operator named.
    Raises: ServerError, ConfigError."""

    async def check(self, functions: Sequence[Function]) -> Sequence[tuple[str, bool, str]]: ...


# Of the settings of sources.


@runtime_checkable
class HasUrl(Protocol):
    """Settings that say where the server is. An auth sends its credentials there and nowhere else."""

    url: str | None


@runtime_checkable
class HasIdempotencyKey(Protocol):
    """Settings of a source that sends a key with each call, by which the server knows a call that is made again:
    `Call.key` in the header `idempotency_key`, if that is not empty. Such calls may be made again."""

    idempotency_key: str


@runtime_checkable
class HasBaseUrl(Protocol):
    """The same for an API whose paths stand in a document."""

    base_url: str | None


@runtime_checkable
class HasOrigins(Protocol):
    """Settings that name further URLs which belong to the server."""

    origins: Sequence[str]


@runtime_checkable
class HasWorkingFolder(Protocol):
    """Settings that may name the working folder of the server's process."""

    cwd: str | None


# Of auths. Each method returns a sentence about the state it leaves or finds. Raises: ConfigError, ServerError.


@runtime_checkable
class SupportsLogin(Protocol):
    """An auth that a person logs in to, with `doorward login SERVER`."""

    async def login(self, person: LoginPrompt) -> str: ...


@runtime_checkable
class SupportsLogout(Protocol):
    """An auth that can forget a login, for `doorward login SERVER --remove`."""

    async def logout(self) -> str: ...


@runtime_checkable
class SupportsLoginCheck(Protocol):
    """An auth that can say which credentials it has, for `doorward doctor`."""

    async def check(self) -> str: ...


@runtime_checkable
class TellsLogin(Protocol):
    """An auth that can say until when a person's login holds, in seconds since the epoch: 0 if nobody is logged in,
    infinity if it is renewed by itself or the end is unknown, `None` if no person logs in. It asks no server."""

    async def login_ends(self) -> float | None: ...


@runtime_checkable
class SupportsFilledParameters(Protocol):
    """An auth that can say which parameters it sends with each request, as their places (`header`, `query`, `cookie`)
    and names. A source leaves them out of its functions: no program knows their values."""

    def filled_parameters(self) -> Collection[tuple[str, str]]: ...


@runtime_checkable
class SupportsClose(Protocol):
    """An auth that can close what `create_auth` has opened; or a hook plugin that closes what it has opened, after
    everything else is closed. Called once."""

    async def close(self) -> None: ...


# Of hook plugins: instances of classes whose methods are `async def`.


@runtime_checkable
class SupportsOpen(Protocol):
    """A hook plugin that opens something before Doorward compiles or serves anything, in at most 30 seconds. If it
    raises, nothing starts. Called once."""

    async def open(self) -> None: ...


@runtime_checkable
class SupportsFlush(Protocol):
    """A hook plugin that writes out what waits in it: about twice a minute while Doorward serves, and before it is
    closed."""

    async def flush(self) -> None: ...


# Of executors.


@runtime_checkable
class HasSlots(Protocol):
    """An executor that says how many sandboxes it can have at once. Core shares them between principals."""

    slots: int


@runtime_checkable
class HasReady(Protocol):
    """An executor that says how many sandboxes wait for a program now, for those who watch."""

    @property
    def ready(self) -> int: ...


@runtime_checkable
class HasWait(Protocol):
    """An executor that says how many seconds a run waits for a sandbox at most."""

    wait: float


@runtime_checkable
class SupportsBuild(Protocol):
    """An executor for which something must be built once (an image, an environment), by `doorward sandbox build`. It
    reports its steps with `tell`, and returns a sentence that says what was built."""

    async def build(self, tell: Callable[[str], None]) -> str: ...


@runtime_checkable
class SupportsMachineCheck(Protocol):
    """An executor that can say in sentences what it uses on this machine: for `doorward doctor` and
    `doorward sandbox probe`."""

    async def check(self) -> Sequence[str]: ...


@runtime_checkable
class ReadsPrograms(Protocol):
    """An executor that reads programs of its languages: parameters with their defaults, which are JSON; whether
    a program ends with a value or sets `result`; and a hint for an error of one."""

    def parameters_of(self, code: str) -> Mapping[str, Any]: ...

    def has_value(self, code: str) -> bool: ...

    def hint_for(self, error: Failure, code: str, names: KnownNames) -> str | None: ...


class KnownNames(Protocol):
    """What a hint for an error of a program can say of names."""

    def members(self, module: str) -> Collection[str] | None:
        """The names in a module that the program can import; `None` if it cannot."""
        ...

    def near(self, module: str, name: str) -> str | None:
        """A hint for a name that a module does not have."""
        ...

    def no_module(self, name: str) -> str:
        """A hint for a module that does not exist."""
        ...

    def unknown(self, name: str) -> str:
        """A hint for a name that nothing has defined; "" if there is none."""
        ...

    def answered(self) -> str | None:
        """What an answer really was, if the error is about its parts."""
        ...


# Of the settings of executors.


@runtime_checkable
class HasPackages(Protocol):
    """Settings by which the operator adds packages to a sandbox."""

    packages: Sequence[str]


@runtime_checkable
class HasPaths(Protocol):
    """Settings by which the operator shows files of the machine to a sandbox."""

    paths: Sequence[str]
