"""What a program can import: servers as modules, whose functions are made when they are named, and `doorward`."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from importlib.machinery import ModuleSpec
from typing import Any

from doorward_jail.inside.channel import Channel
from doorward_jail.inside.protocol import Message
from doorward_jail.inside.results import outgoing
from doorward_jail.inside.unknown import Unknown

LATER = "__doorward_later__"
"""A name that wraps the functions of awaited calls in a program's text."""


_ACCOUNT = "_account"
"""The argument that names the account which a call uses, of a server that has several."""

_CHOSEN: ContextVar[Mapping[str, str]] = ContextVar("accounts", default=types.MappingProxyType({}))
"""The accounts that calls use now, by server."""

_CALLS_OTHERS = ("call", "items", "pages", "reply")
"""Helpers that call the function which their first argument names."""


@contextlib.contextmanager
def account(**accounts: str) -> Iterator[None]:
    """Have the calls in a block, and in tasks that it starts, use these accounts: account(github="work")."""
    before = _CHOSEN.set({**_CHOSEN.get(), **accounts})
    try:
        yield
    finally:
        _CHOSEN.reset(before)


class DoorwardError(RuntimeError):
    """A call was refused or failed; the message says why."""


class ApiError(DoorwardError):
    """An API answered with an error: its HTTP `status`, the decoded `body`, and the seconds to wait (`retry_after`)."""

    def __init__(self, message: str = "", status: int = 0, body: Any = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.body, self.retry_after = status, body, retry_after


class ToolError(DoorwardError):
    """A tool of an MCP server says that it failed; the message is its text."""


class InvalidArguments(DoorwardError, TypeError):
    """The arguments do not fit the function."""


_ERRORS = {error.__name__: error for error in (DoorwardError, InvalidArguments, ToolError)}


class Answer(dict):  # type: ignore[type-arg]
    """A JSON object: `value["name"]` or `value.name`. It can be awaited too, by a program that already has it."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"the answer has no field {name!r}; it has: {', '.join(map(str, list(self)[:30]))}"
            ) from None

    def __await__(self) -> Any:
        return self
        yield

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class Several(list):  # type: ignore[type-arg]
    """The result of `doorward.pages` and `doorward.items`: a list that works with `async for` too."""

    async def __aiter__(self) -> Any:
        for one in self:
            yield one

    def __reduce__(self) -> Any:
        return list, (list(self),)


class Given(str):
    """The path of a fetched file in ./in. As an argument of a function it stands for the file, not for a text."""

    uri = ""


class Function:
    """A function of the catalog, or one that the sandbox performs itself (`does`). A call that the program's text
    awaits goes to `later`."""

    def __init__(self, catalog: Catalog, server: str, name: str, does: Callable[..., Any] | None = None) -> None:
        self._catalog, self._does = catalog, does
        self.__module__, self.__name__, self.__qualname__ = server, name, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._does is not None:
            return self._does(*args, **kwargs)
        return self._answered(self._catalog.channel.ask(self._question(args, kwargs), outgoing))

    async def later(self, *args: Any, **kwargs: Any) -> Any:
        if self._does is not None:
            return self._does(*args, **kwargs)
        return self._answered(await self._catalog.channel.ask_later(self._question(args, kwargs), outgoing))

    def _answered(self, answer: Message) -> Any:
        value = self._catalog.answered(answer)
        return (
            Several(value) if str(self) in ("doorward.pages", "doorward.items") and isinstance(value, list) else value
        )

    def _question(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if chosen := _CHOSEN.get():
            of_other = self.__module__ == "doorward" and self.__name__ in _CALLS_OTHERS and args
            server = str(args[0] if of_other else self).partition(".")[0]
            kwargs = {_ACCOUNT: chosen[server], **kwargs} if server in chosen else kwargs
        if self._catalog.has_given:
            args, kwargs = _handed([args, kwargs])
        return {"call": str(self), "args": args, "kwargs": kwargs}

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return str(self._catalog.function("doorward", "describe")(str(self)))

    def __str__(self) -> str:
        return f"{self.__module__}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<function {self}>"


def later(function: Any) -> Any:
    """What an awaited call calls in place of `function`."""
    return function.later if isinstance(function, Function) else function


class Server(types.ModuleType):
    """A server as a module, by its own name or an alias. For a name that the program's text does not mention, it asks
    the host."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        super().__init__(name)
        self.__dict__.update(_of=catalog, _server=catalog.aliases.get(name, name))

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return str(self.__dict__["_of"].function("doorward", "describe")(self.__dict__["_server"]))

    def __getattr__(self, name: str) -> Any:
        catalog: Catalog = self.__dict__["_of"]
        server: str = self.__dict__["_server"]
        if name == "__all__":
            return catalog.members(server)
        if name.startswith("__"):
            raise AttributeError(name)
        if f"{self.__name__}.{name}" in catalog.aliases:
            return importlib.import_module(f"{self.__name__}.{name}")
        if name not in catalog.mentioned.get(server, ()) and name not in catalog.members(server):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__dict__[name] = function = catalog.function(server, name)
        return function

    def __dir__(self) -> list[str]:
        return self.__dict__["_of"].members(self.__dict__["_server"])  # type: ignore[no-any-return]


class Catalog:
    """Finds the servers that a program imports, before any other module of the same name. If no module is found, it
    asks the host."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.has_given = False
        self.mentioned: Mapping[str, Sequence[str]] = {}
        self.aliases: Mapping[str, str] = {}
        self._members: dict[str, list[str] | None] = {}
        self._parts: dict[tuple[Any, ...], str] = {}
        sys.meta_path.insert(0, self)
        sys.meta_path.append(_Last(self))

    def begin(self, mentioned: Mapping[str, Sequence[str]], aliases: Mapping[str, str]) -> None:
        """Begin a run: the servers and functions that its program mentions, and the aliases under which it imports
        servers."""
        self.mentioned = {**self.mentioned, **mentioned}
        self.aliases = {**self.aliases, **aliases}
        self._members.clear()
        self._parts.clear()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return self.spec(name) if name in self.mentioned or name == "doorward" else None

    def spec(self, name: str) -> ModuleSpec:
        """The module's specification: it is a package, since an alias may be in it."""
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = Server(self, spec.name)
        if spec.name == "doorward":
            own = {
                name: Function(self, spec.name, name, does)
                for name, does in (("path", self.path), ("server", self.server), ("account", account))
            }
            module.__dict__.update(_ERRORS, ApiError=ApiError, **own)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: functions are made when a program names them."""

    def members(self, server: str) -> list[str]:
        return (self.known(server) or []) if server else []

    def server(self, name: str) -> types.ModuleType:
        """The module of a server, also by the server's configured name."""
        return importlib.import_module(self.function("doorward", "server")(name))

    def known(self, server: str) -> list[str] | None:
        """The names of a server's functions; `None` if there is no such server."""
        if server not in self._members:
            answer, _ = self.channel.ask({"members": server})
            self._members[server] = answer.get("value")
        return self._members[server]

    def function(self, server: str, name: str) -> Function:
        return Function(self, server, name)

    def path(self, file: Any) -> str:
        """Fetch the file of a handle into ./in. Returns: its path."""
        uri = file.get("artefact", "") if isinstance(file, Mapping) else getattr(file, "uri", file)
        if not str(uri).startswith("doorward://"):
            raise InvalidArguments(
                "doorward.path takes the handle of a file, a dictionary with `artefact`; "
                "what is a text already needs no file (io.StringIO reads it as one)"
            )
        message, content = self.channel.ask({"file": str(uri)})
        self.answered((message, b""))
        return self.given(put(str(message["name"]), content), str(uri))

    def given(self, path: str, uri: str) -> Given:
        """A path that stands for a fetched file."""
        self.has_given = True
        found = Given(path)
        found.uri = uri
        return found

    def answered(self, answer: Message) -> Any:
        """The value of an answer, or its bytes. Raises: its error."""
        message, content = answer
        if "error" not in message:
            if "planned" in message:
                return Unknown(message["planned"], self._lacks)
            return incoming(message["value"]) if "value" in message else content
        error = message["error"]
        if error["type"] == "ApiError":
            raise ApiError(error["message"], error["status"], incoming(error["body"]), error["retry_after"])
        raise _ERRORS[error["type"]](error["message"])

    def _lacks(self, place: list[Any]) -> str:
        """See `unknown.Lacks`."""
        if (key := tuple(place)) not in self._parts:
            self._parts[key] = self.channel.ask({"part": place})[0]["value"]
        return self._parts[key]


class _Last:
    """Asks the host for a module that was not found: a program may build the name of a server when it runs."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in self._catalog.aliases or (name.isidentifier() and self._catalog.known(name) is not None):
            return self._catalog.spec(name)
        return None


def told(value: Any = None) -> None:
    """The builtin `help`: prints what an object does. The host describes servers and their functions."""
    if value is None:
        value = importlib.import_module("doorward")
    if isinstance(value, (Function, Server)) or (isinstance(value, type) and issubclass(value, DoorwardError)):
        text = str(value.__doc__)
    else:
        import pydoc

        text = pydoc.plain(pydoc.render_doc(value))
    sys.stdout.write(f"{text}\n")


def _handed(value: Any) -> Any:
    """Arguments with handles in place of fetched files."""
    if isinstance(value, Given):
        return {"artefact": value.uri}
    if isinstance(value, dict):
        return {key: _handed(part) for key, part in value.items()}
    return [_handed(part) for part in value] if isinstance(value, (list, tuple)) else value


def incoming(value: Any) -> Any:
    """A JSON value whose objects allow attribute access."""
    if isinstance(value, dict):
        return Answer({key: incoming(part) for key, part in value.items()})
    return [incoming(part) for part in value] if isinstance(value, list) else value


def put(name: str, content: bytes) -> str:
    """Write a file into ./in. Returns: its path."""
    os.makedirs("in", exist_ok=True)
    path = os.path.join("in", os.path.basename(name) or "file")
    with open(path, "wb") as file:
        file.write(content)
    return path
