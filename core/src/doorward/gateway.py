"""The façade: list, search, get, execute, run cached, call. The MCP server, the CLI and library users call this.

async with Gateway.open("doorward.toml") as gate:
    outcome = await gate.execute("import weather\\nresult = weather.get_forecast(city='Oslo')")
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from doorward.access.policy import Policy
from doorward.access.principals import Principals
from doorward.calls.artefacts import Artefacts, Page
from doorward.calls.broker import Broker
from doorward.catalog.catalog import Catalog
from doorward.catalog.function_codec import Report
from doorward.compat.aliases import RUNTIME
from doorward.compat.runtime import Runtime
from doorward.config import config
from doorward.config.config import Loaded
from doorward.config.distribution import find_index
from doorward.config.index import Index
from doorward.host import files
from doorward.model.errors import ConfigError, DoorwardError
from doorward.model.interaction import Client
from doorward.model.types import LOCAL, File, Limits, Outcome, Program
from doorward.plugins.manager import Plugins
from doorward.program_api.discovery import Discovery
from doorward.program_api.helper_cards import MODULE, HelperCards
from doorward.program_api.helpers import HELPERS, Helpers
from doorward.program_api.modules import Modules
from doorward.runs import program_text
from doorward.runs.admission import Admission
from doorward.runs.executors import Executors
from doorward.runs.program_cache import ProgramCache, again
from doorward.runs.run_context import RunContext
from doorward.runs.runner import Runs, failure
from doorward.runs.sessions import Session, Sessions
from doorward.secrets import needles
from doorward.servers.background_refresh import BackgroundRefresh, recover, steadily
from doorward.servers.compiler import Compiler
from doorward.servers.direct_tools import DirectTools
from doorward.servers.reconfiguration import Reconfiguration
from doorward.servers.registry import Servers
from doorward.servers.skills import Skills
from doorward.stores import Stores

PATIENCE = 10.0
"""Seconds that a caller waits for servers that have never been compiled."""


class Gateway:
    """One configuration at work. Made by `Gateway.open`; safe for concurrent use in one event loop."""

    def __init__(self, loaded: Loaded, plugins: Plugins, stores: Stores | None = None) -> None:
        self.loaded = loaded
        self.config = loaded.config
        self.plugins = plugins
        self.secrets = loaded.secrets
        self.state = loaded.state_folder()
        try:
            files.own_folder(self.state)
        except OSError as error:
            why = f"cannot be made the state folder: {error.strerror}"
            raise ConfigError(why, place=str(self.state), hint="Set DOORWARD_STATE_DIR.") from None
        self.limits: Limits = self.config.limits.of_run()
        self.secrets.resolve = plugins.resolve_secret
        plugins.load_configured(loaded, self.state)
        stores = stores or Stores.in_folder(self.state)
        self.catalog = Catalog(stores.catalog)
        self.principals = Principals(loaded)
        self.skills = Skills(loaded, self.principals, self.state)
        self.servers = Servers(loaded, plugins, self.catalog, self.principals, self.state)
        self.compiler = Compiler(self.servers, self.catalog, self.skills, plugins, self.secrets)
        self.executors = Executors(loaded, plugins, self.state)
        self.broker = Broker(
            self.catalog, self.servers, Policy(self.config.policy, self.principals), plugins, self.secrets
        )
        cards = HelperCards(HELPERS)
        self.discovery = Discovery(self.catalog, self.servers, self.broker, cards, self.executors.told, self.limits)
        ours = Helpers(self.discovery, self.servers, self.skills)
        others = Runtime(self.discovery, self.catalog, self.servers, self.broker)
        self.modules = Modules(self.catalog, self.servers, self.discovery, {MODULE: ours.all, RUNTIME: others.all})
        self.exposed = DirectTools(self.servers, self.catalog)
        self._artefacts = Artefacts(
            stores.artefacts, most=self.config.limits.kept, seconds=self.config.limits.kept_seconds
        )
        self._sessions = Sessions(most=self.config.limits.sessions, idle=self.config.limits.session_idle)
        self._runs = Runs(self.executors, plugins, self.secrets)
        self._admission = Admission(self.limits, self.broker.withholding, plugins)
        self._kept = ProgramCache(loaded, plugins, self.catalog, self.state)
        self._compiled = anyio.Event()

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

        Servers whose configuration or document has changed are compiled in the background (`compile`): whoever asks for
        functions waits for those that have none yet. `environ` stands for this process's variables, `index` for what is
        installed, `stores` for where things are kept.

        Raises: ConfigError, PluginError. A broken server does not raise; `servers()` tells.
        """
        loaded = path if isinstance(path, Loaded) else config.load(path, env_file=env_file, environ=environ)
        gate = cls(loaded, Plugins(index or find_index()), stores)
        failed: Exception | None = None
        try:
            async with anyio.create_task_group() as background:
                if compile:
                    changes = Reconfiguration(loaded, gate.servers, gate.principals, gate.skills)
                    background.start_soon(
                        BackgroundRefresh(gate.servers, gate.compiler, gate.catalog, gate.config.refresh, changes).run,
                        gate._compiled.set,
                    )
                    background.start_soon(steadily, gate._sweep)
                    background.start_soon(anyio.to_thread.run_sync, gate.principals.warn)
                else:
                    gate._compiled.set()
                try:
                    yield gate
                except Exception as error:  # raised below: the task group would wrap the caller's own error
                    failed = error
                background.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await gate._close()
        if failed is not None:
            raise failed

    async def _close(self) -> None:
        await self._sessions.close()
        await self.executors.close()
        await self.servers.close()
        await self._kept.close()
        await anyio.to_thread.run_sync(lambda: self.broker.observed.flush(everything=True))
        self.catalog.close()

    # Discovery

    async def list_servers(
        self, *, limit: int | None = None, cursor: str | None = None, principal: str = LOCAL
    ) -> dict[str, Any]:
        """The servers with their functions (some names, the count) or what is wrong with them, all or a page; and the
        executors."""
        await self.ready()
        return self.discovery.servers(principal, limit=limit, cursor=cursor) | {"executors": self.executors.describe()}

    async def search_functions(
        self,
        query: str,
        *,
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        cursor: str | None = None,
        principal: str = LOCAL,
    ) -> dict[str, Any]:
        """Functions that fit the words, best first. Raises: UnknownName, InvalidArguments."""
        await self.ready()
        return self.discovery.search(
            query, principal=principal, server=server, read_only=read_only, limit=limit, cursor=cursor
        )

    async def get_functions(self, names: Sequence[str], *, principal: str = LOCAL) -> list[dict[str, Any]]:
        """One to five functions in full. Raises: InvalidArguments."""
        await self.ready()
        return self.discovery.describe(names, principal)

    def capabilities(self, principal: str = LOCAL) -> str:
        """What a principal can do here, in a paragraph."""
        return self.discovery.capabilities(principal)

    async def compile(
        self, *, force: bool = False, dry_run: bool = False, tell: Callable[[str], None] = lambda name: None
    ) -> dict[str, Report]:
        """Compile what has changed; see `Compiler.compile`."""
        return await self.compiler.compile(force=force, dry_run=dry_run, tell=tell)

    # Running

    async def execute(
        self,
        code: str,
        *,
        description: str = "",
        params: Mapping[str, Any] | None = None,
        functions: Sequence[str] | None = None,
        session_id: str = "",
        timeout: float | None = None,
        principal: str = LOCAL,
        client: Client | None = None,
    ) -> Outcome:
        """Run a program. `params` are values for its parameters, files by their handles; `functions` narrows what it
        may call; `session_id` is that of an open session, or `"new"`; `client` can be told of progress and asked by
        what the program calls. What goes wrong is in the outcome, never raised.
        """
        try:
            self._admission.admit(principal)
            await self.ready()
            code = program_text.received(code, self.limits.code_bytes)
            known = program_text.parameters_if_readable(code)
            values = self._artefacts.in_params(params or {}, principal)
            program_text.check({k: v for k, v in values.items() if k in known}, known)
            program_text.check_names(values)
            program = self._admission.program(
                code, principal, params=values, description=description, functions=functions, timeout=timeout
            )
            session = await self._sessions.get(session_id, principal) if session_id else None
        except DoorwardError as error:
            return self._admission.refused(error, code, principal)
        return await self._run(program, {**known, **program.params}, session, client)

    async def run_cached(
        self,
        cache_id: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        principal: str = LOCAL,
        client: Client | None = None,
    ) -> Outcome:
        """Run a kept program again with other values for its parameters. Refused if a function that it uses has
        changed since."""
        try:
            self._admission.admit(principal)
            await self.ready()
            kept = await self._kept.get(cache_id, principal)
            values = self._artefacts.in_params(params or {}, principal)
            program_text.check(values, kept.params)
            values = {**kept.params, **values}
            program = self._admission.program(
                kept.code,
                principal,
                params=values,
                description=kept.description,
                functions=kept.functions,
                timeout=timeout,
            )
        except DoorwardError as error:
            return self._admission.refused(error, "", principal)
        outcome = await self._run(program, None, None, client)
        return (
            replace(outcome, cache_id=cache_id, next=again(cache_id, {**kept.params, **(params or {})}))
            if outcome.ok
            else outcome
        )

    async def call(self, function: str, arguments: Mapping[str, Any] | None = None, *, principal: str = LOCAL) -> Any:
        """Make one call through the door, without a sandbox. Raises: DoorwardError."""
        await self.ready()
        return await self._door(self._admission.program("", principal)).call(function, (), dict(arguments or {}))

    async def answer(
        self,
        function: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        principal: str = LOCAL,
        client: Client | None = None,
    ) -> Outcome:
        """One call as a run: it counts as one, its value is cut if it is large, and what goes wrong is in the
        outcome."""
        try:
            self._admission.admit(principal)
            await self.ready()
        except DoorwardError as error:
            return Outcome(False, error=failure(error))
        door = self._door(self._admission.program("", principal), client=client)
        return await self._runs.answer(door, function, dict(arguments or {}))

    def result(self, uri: str, *, principal: str = LOCAL) -> Page:
        """A page of an artefact. Raises: UnknownName."""
        return self._artefacts.page(uri, principal)

    def file(self, uri: str, *, principal: str = LOCAL) -> File:
        """The whole of an artefact. Raises: UnknownName."""
        return self._artefacts.open(uri, principal)

    async def close_session(self, session_id: str, *, principal: str = LOCAL) -> None:
        """End a session, and a program that runs in it. Raises: UnknownName."""
        await self._sessions.end(self._sessions.find(session_id, principal))

    def _door(self, program: Program, session: Session | None = None, client: Client | None = None) -> RunContext:
        return RunContext(program, self.broker, self.modules, self._artefacts, session, client)

    async def _run(
        self, program: Program, known: Mapping[str, Any] | None, session: Session | None, client: Client | None
    ) -> Outcome:
        outcome = await self._runs.run(program, self._door(program, session, client), session)
        if session is not None:
            await self._sessions.leave(session)
            outcome = replace(outcome, session_id="" if session.dead else session.id)
        elif outcome.ok and known is not None:
            outcome = await self._kept.keep(program, known, outcome)
        return outcome

    # The background

    async def ready(self) -> None:
        """Wait until every server has been compiled once under the present configuration, but not for long: one that
        does not answer must not keep the others."""
        if not self._compiled.is_set():
            with anyio.move_on_after(PATIENCE):
                await self._compiled.wait()
        self.catalog.refresh()
        recover(self.servers, self.catalog)

    async def _sweep(self) -> None:
        await self._compiled.wait()
        await anyio.to_thread.run_sync(needles.warm_up)
        await self._sessions.sweep()
        await self.servers.sweep()
        await anyio.to_thread.run_sync(self.broker.observed.flush)
