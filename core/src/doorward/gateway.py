"""The façade: list, search, get, execute, run cached, call. The MCP server, the CLI and library users call this.

async with Gateway.open("doorward.toml") as gate:
    outcome = await gate.execute("import weather\\nresult = weather.get_forecast(city='Oslo')")
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from doorward.access.policy import Policy
from doorward.access.principals import Principals, members_of
from doorward.access.rate_limit import RateLimit
from doorward.access.readiness import Readiness
from doorward.calls.artefacts import Artefacts, Page
from doorward.calls.broker import Broker
from doorward.calls.function_lookup import FunctionLookup
from doorward.calls.withholding import Withholding
from doorward.catalog.catalog import Catalog
from doorward.catalog.function_codec import Report
from doorward.catalog.plain_search import PlainSearch
from doorward.catalog.texts import TEXTS
from doorward.config import config
from doorward.config.config import Loaded
from doorward.config.installed_plugins import Index
from doorward.config.layers import find_index
from doorward.config.settings import Surface
from doorward.host.background_tasks import background_tasks
from doorward.host.memory_store import MemoryStore
from doorward.host.processes import Process
from doorward.model.calls import Call, Client, File, Reply
from doorward.model.kept_programs import KEPT_PROGRAMS
from doorward.model.principals import LOCAL
from doorward.model.programs import Limits, Outcome
from doorward.model.recording import WITHHOLDS
from doorward.model.search import SEARCH, SearchEngine
from doorward.model.services import Services
from doorward.plugins.deciders import Deciders
from doorward.plugins.log_lines import LEVELS, LogLines
from doorward.plugins.manager import Plugins
from doorward.runs.admission import Admission
from doorward.runs.discovery import Discovery
from doorward.runs.execution import Execution
from doorward.runs.program_modules import Modules
from doorward.runs.runner import Runs
from doorward.sandboxes.executors import Executors
from doorward.sandboxes.languages import Languages
from doorward.sandboxes.sessions import Sessions
from doorward.secrets import needles
from doorward.servers.background_refresh import BackgroundRefresh, Reconfiguration, after_the_start, recover
from doorward.servers.compiler import Compiler
from doorward.servers.registry import Servers
from doorward.stores import MEMORY, Stores, chosen_store

COMPILE_WAIT_SECONDS = 10.0
"""Seconds that a caller waits for servers that have not been compiled yet, while none of them gets done."""

FORGET_SECONDS = 300.0
"""Seconds between two commits of nothing, by which the store removes what has expired: a result may be the last thing
that was stored."""


class Gateway:
    """One configuration at work. Made by `Gateway.open`; safe for concurrent use in one event loop."""

    def __init__(self, loaded: Loaded, plugins: Plugins, stores: Stores | None = None, *, shared: bool = True) -> None:
        self.loaded, self.plugins = loaded, plugins
        self.config, self.secrets = loaded.config, loaded.secrets
        self.state = loaded.make_state_folder()
        limits = self.config.limits
        self.limits: Limits = limits.of_run()
        self.services = Services()
        self.outcome_parts: dict[str, type] = {}
        """What plugins add to the outcomes of runs, by keys in JSON, each with its type."""
        self.secrets.resolve = plugins.resolve_secret
        store = chosen_store(loaded, plugins, self.state)
        self.store = store or MemoryStore()
        plugins.load_configured(
            loaded, self.state, server_key=self._server_key, members=members_of(self.config.groups), store=store
        )
        if self.config.log_level in LEVELS:
            plugins.manager.register(LogLines(), "doorward.log_lines")
        self.compiles, self.stores = shared, stores
        shared = shared and stores is None  # whoever brings their own stores has no files of ours
        stores = stores or Stores.in_folder(self.state, plugins)
        vouching = loaded.managed.integrity if loaded.managed is not None else None
        self.catalog = Catalog(stores.catalog, vouching and vouching())
        self._plain_search = PlainSearch(self.catalog)
        self.principals = Principals(loaded)
        self.servers = Servers(loaded, plugins, self.catalog, self.principals, self.state, store)
        self.compiler = Compiler(self.servers, self.catalog, plugins, self.secrets)
        self.executors = Executors(loaded, plugins, self.state)
        self.languages = Languages(self.executors, lambda principal: self.surface(principal) == "calls")
        policy = Policy(loaded, self.principals, self.servers.upstreams)
        policy.use(Deciders(plugins))
        functions = FunctionLookup(self.catalog, self.servers, policy, self.search_engine)
        lasting = self.store if self.store.lasts else None
        withholding = Withholding(lasting, self.state / "usage.db")
        self.broker = Broker(self.catalog, self.servers, policy, plugins, self.secrets, functions, withholding)
        self.discovery = Discovery(self.catalog, self.servers, self.broker, self.services, policy, self.search_engine)
        self.modules = Modules(self.catalog, self.servers, self.discovery, self.services)
        self.process = Process(self.state / "processes")
        self.artefacts = Artefacts(self.store, most=limits.kept, seconds=limits.kept_seconds)
        self._sessions = Sessions(most=limits.sessions, idle=limits.session_idle, process=self.process)
        self._forgets = 0.0
        self.readiness = Readiness()
        rate = RateLimit(self.limits.rate, lasting if shared else None)
        self.admission = Admission(
            self.limits, self.artefacts, self.broker.withholding, plugins, self.readiness, rate, self.principals
        )
        self.execution = Execution(
            self.admission, Runs(self.executors, plugins, self.secrets, self.services), self._sessions,
            self.broker, self.modules, self.artefacts, self.languages, self.ready, self.services,
        )  # fmt: skip
        plugins.hook.gateway_made(gateway=self)
        self.catalog.texts = self.services.get(TEXTS) or self.catalog.texts
        self.chain()  # layers that cannot be put in order stop the start

    def surface(self, principal: str = LOCAL) -> Surface:
        """Which tools a principal has."""
        return self.principals.surface(principal, self.config.surface)

    @property
    def modes(self) -> Mapping[str, str]:
        """The other ways to run a program than "run", by their names, with what an agent is told of each."""
        withholds = self.services.get(WITHHOLDS)
        return {"plan": withholds.about} if withholds is not None and withholds.about else {}

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls,
        path: Path | str | Loaded | None = None,
        *,
        env_file: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        compile: bool = True,
        index: Index | None = None,
        stores: Stores | None = None,
    ) -> AsyncIterator[Gateway]:
        """Open a configuration (default `doorward.toml`), and close everything at the end.

        Servers whose configuration or document has changed are compiled in the background (`compile`); a caller that
        asks for functions waits for servers that have none yet. A gateway without `compile` is one for a single
        question: its runs do not count towards the rate of the others that share its state folder. `environ` replaces
        the variables of this process, `index` the installed plugins, `stores` the places where data is kept.

        Raises: ConfigError, PluginError. A broken server does not raise; `servers()` tells.
        """
        loaded = (
            path if isinstance(path, Loaded) else config.load(path, env_file=env_file, environ=environ, index=index)
        )
        gate = cls(loaded, Plugins(index or find_index()), stores, shared=compile)
        try:
            gate.plugins.watch.start()
            await gate.plugins.lifetimes.open()
            async with background_tasks() as background:
                if compile:
                    changes = Reconfiguration(loaded, gate.servers, gate.principals)
                    due = partial(gate.plugins.hook.refresh_due, config=loaded.path, env_file=loaded.secrets.env_file)
                    refresh = BackgroundRefresh(
                        gate.servers, gate.compiler, gate.catalog, gate.config.refresh, changes, due
                    )
                    background.start_soon(refresh.run, gate.readiness.progressed, gate.readiness.compiled.set)
                    background.start_soon(after_the_start, gate.principals.warn, gate._sweep)
                else:
                    gate.readiness.compiled.set()
                yield gate
        finally:
            with anyio.CancelScope(shield=True):
                await gate._close()
            gate.plugins.watch.stop()

    def _server_key(self, server: str, key: str) -> Any:
        """See `PluginContext.server_key`."""
        return self.servers.key_of(server, key)

    async def _close(self) -> None:
        for part in (self._sessions, self.executors, self.servers):
            await part.close()
        await self.plugins.lifetimes.close()
        self.catalog.close()
        self.process.close()
        await self.plugins.failures.closed(self.plugins.id("store", self.config.store or MEMORY), self.store)

    def search_engine(self) -> SearchEngine:
        """What finds functions: the engine of a plugin, or exact names and plain words."""
        return self.services.get(SEARCH) or self._plain_search

    async def list_servers(
        self, *, limit: int | None = None, cursor: str | None = None, principal: str = LOCAL
    ) -> dict[str, Any]:
        """`{"servers": [{"name", "functions", "first", …}], "executors": […]}`: the servers, all or a page of them. A
        server has the count and some names of its functions, or its error (`broken`)."""
        await self.ready()
        listed = await self.discovery.servers(principal, limit=limit, cursor=cursor)
        return listed | {"executors": self.executors.describe()}

    async def search_functions(
        self,
        query: str = "",
        *,
        queries: Sequence[str] = (),
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        cursor: str | None = None,
        explain: bool = False,
        principal: str = LOCAL,
    ) -> dict[str, Any]:
        """`{"functions": [{"function", "summary", …}], "total", "well", "cursor"?, "near"?, "programs"?,
        "compiling"?}`: what matches the words, best first, of what policy allows; how many do, and how many of them
        well. A hit has what the function `needs` and `gives`; with several `queries`, which of them it `answers`; and
        why it was found (`matched`), if `explain`. `programs` are those with a name, for `run_cached`. `compiling`
        counts the servers that have no functions yet.

        Raises: UnknownName, InvalidArguments.
        """
        await self.ready()
        found = await self.discovery.search(
            query, principal=principal, queries=queries, server=server, read_only=read_only, limit=limit,
            cursor=cursor, explain=explain,
        )  # fmt: skip
        programs = self.services.get(KEPT_PROGRAMS) if cursor is None and server is None else None
        if programs is not None and (named := await programs.find([query, *queries], principal)):
            found["programs"] = [*named]
        if not self.readiness.compiled.is_set() and (missing := self._being_compiled(principal)):
            found["compiling"] = missing
        return found

    def _being_compiled(self, principal: str) -> int:
        """How many servers of a principal nobody has compiled yet."""
        modules = {name: module for module, name in self.servers.modules.items()}
        theirs = {*self.servers.names(principal)}
        return sum(modules[name] in theirs for name in self.compiler.stale())

    async def get_functions(
        self, names: Sequence[str | Mapping[str, Any]], *, principal: str = LOCAL, language: str = ""
    ) -> list[dict[str, Any]]:
        """One to five functions in full, as programs of a language declare them (see `execute`), or calls without code
        (`"json"`): `{"function", "import", "signature", "text"}`, or `{"function", "error"}`. A name may be
        `{"server_name": …, "function_name": …}`, too.

        Raises: InvalidArguments; Unsupported if no executor runs this language.
        """
        await self.ready()
        return await self.discovery.describe(
            self.modules.names.functions(names), principal, self.languages.of_texts(principal, language)
        )

    @property
    def keeps_programs(self) -> bool:
        """Whether anything may keep programs, to run them again."""
        return self.services.get(KEPT_PROGRAMS) is not None

    @property
    def decides(self) -> bool:
        """Whether single calls are decided, so that a person may have to approve of one."""
        return self.broker.permissions.policy.decides

    def chain(self) -> list[dict[str, str]]:
        """The layers around runs and around calls, outermost first: `[{"around", "layer", "plugin", "distribution"}]`;
        core's own are of no distribution."""
        return [
            {"around": around, "layer": layer.name, "plugin": plugin.name, "distribution": plugin.given_by}
            for around, layers in (("runs", self.execution.layers), ("calls", self.broker.layers))
            for plugin, layer in layers.all
        ]

    async def compile(
        self, *, force: bool = False, dry_run: bool = False, tell: Callable[[str], None] = lambda name: None
    ) -> dict[str, Report]:
        """Compile what has changed; see `Compiler.compile`."""
        return await self.compiler.compile(force=force, dry_run=dry_run, tell=tell)

    async def execute(
        self,
        code: str,
        *,
        description: str = "",
        params: Mapping[str, Any] | None = None,
        functions: Sequence[str] | None = None,
        session_id: str = "",
        timeout: float | None = None,
        show_bytes: int | None = None,
        principal: str = LOCAL,
        client: Client | None = None,
        language: str = "",
        mode: str = "run",
        sampling: bool | None = None,
        argv: Sequence[str] = (),
    ) -> Outcome:
        """Run a program. An error is in the outcome, never raised.

        `params` are values for its parameters, files by their handles; `functions` limits what it may call (a `!`
        before a pattern leaves out), `sampling` whether it may ask a language model;
        `session_id` is the id of an open session, or `"new"`; `client` gets progress and requests from its calls;
        `show_bytes` is how much is shown of a value or of printed text, in place of `[limits] inline` and `cut`;
        `language` is that of the program: Python if it is empty, where any executor runs Python. In the `mode` "plan"
        its writes are withheld, for whoever keeps plans to make them later. `argv` are the words that a script finds in
        `sys.argv` behind its name.
        """
        return await self.execution.execute(
            code, params=params, functions=functions, description=description, session_id=session_id, timeout=timeout,
            show_bytes=show_bytes, principal=principal, client=client, language=language, mode=mode, sampling=sampling,
            argv=argv,
        )  # fmt: skip

    async def run_cached(
        self,
        cache_id: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        show_bytes: int | None = None,
        principal: str = LOCAL,
        client: Client | None = None,
    ) -> Outcome:
        """Run a kept program with other values for its parameters, unless a function that it uses has changed."""
        return await self.execution.run_cached(
            cache_id, params, timeout=timeout, show_bytes=show_bytes, principal=principal, client=client
        )

    async def call(self, function: str, arguments: Mapping[str, Any] | None = None, *, principal: str = LOCAL) -> Any:
        """Make one call through the door, without a sandbox. The handle of a file that could not be stored says why, as
        `not_stored`. Raises: DoorwardError."""
        return await self.execution.call(function, dict(arguments or {}), principal)

    async def answer(
        self,
        function: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        show_bytes: int | None = None,
        principal: str = LOCAL,
        client: Client | None = None,
    ) -> Outcome:
        """Make one call as a run: it counts as one, a large value is cut, and an error is in the outcome."""
        return await self.execution.answer(
            function, dict(arguments or {}), show_bytes=show_bytes, principal=principal, client=client
        )

    def on_answer(self, listener: Callable[[Call, Reply], None]) -> None:
        """Have this called with each call that succeeds, whatever run makes it; see `RunState.on_answer`."""
        self.broker.listeners.append(listener)

    def suspend_runs(self, why: str) -> int:
        """Suspend the runs under way, once their calls in flight have ended. Returns: how many cannot be suspended."""
        return self.execution.suspend(why)

    async def result(self, uri: str, *, principal: str = LOCAL) -> Page:
        """A page of an artefact. Raises: UnknownName, StateError."""
        return await self.artefacts.page(uri, principal)

    async def file(self, uri: str, *, principal: str = LOCAL) -> File:
        """The whole of an artefact. Raises: UnknownName, StateError."""
        return await self.artefacts.open(uri, principal)

    async def close_session(self, session_id: str, *, principal: str = LOCAL) -> None:
        """End a session, and a program that runs in it. Raises: UnknownName."""
        await self._sessions.end(self._sessions.find(session_id, principal))

    async def ready(self) -> None:
        """Wait for the first compilation of all servers, while there is progress: one may not answer at all."""
        await self.readiness.wait_compiled(COMPILE_WAIT_SECONDS)
        if self.servers.configured:
            self.catalog.refresh()
            recover(self.servers, self.catalog)

    async def _sweep(self) -> None:
        await self.readiness.compiled.wait()
        if self.servers.configured:  # whose functions will be searched, and whose credentials looked for
            await anyio.to_thread.run_sync(needles.warm_up)
        await self._sessions.sweep()
        await self.servers.sweep()
        await self.plugins.lifetimes.flush()
        if self._forgets <= (now := time.monotonic()):
            self._forgets = now + FORGET_SECONDS
            await self.store.commit()
