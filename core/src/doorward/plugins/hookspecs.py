"""Every hook, grouped by subject. A hook is synchronous and short; input and output belong in drivers. Only those in
`MAY_WAIT` may be `async def`.

A hook plugin is a module with functions (or a class whose instance has methods) marked `@doorward.hookimpl`,
found under its name in the entry-point group `doorward.plugins` and loaded in the order of the configuration's
`plugins`. What it answers is held against the declared type (see `hook_answers`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pluggy

from doorward.model.agent_tools import AgentTool
from doorward.model.calls import Call, CallRecord, CallTrace, Decider, Decision
from doorward.model.functions import Function
from doorward.model.layers import CallLayer, RunLayer
from doorward.model.programs import Finding, Outcome, Program
from doorward.plugins.mcp_additions import RawPage, RawPrompt, RawResource, RawSite, RawTool, VerifiesTokens

hookspec = pluggy.HookspecMarker("doorward")
hookimpl = pluggy.HookimplMarker("doorward")


class SourceHooks:
    @hookspec
    def source_compiled(self, server: str, functions: list[Function], definitions: dict[str, Any]) -> None:
        """Change the functions of a server in place, or the `definitions` to which their schemas refer, by name. Fires
        after the compile, before they are stored."""

    @hookspec
    def compile_warnings(self, server: str, functions: list[Function]) -> Sequence[str] | None:
        """What is wrong with the configuration of a server, a line each, as far as its functions tell that. Fires after
        the compile, with the functions that are served."""

    @hookspec
    def compile_ended(self, server: str) -> Sequence[str] | None:
        """Bring up to date what you keep for a server, and say what is wrong with it, a line each, for the warnings of
        its compile. Fires after each compile of a server, by its configured name, also where nothing has changed or the
        compile has failed; not in a dry run, which changes nothing. It may be an `async def`, which has 60 seconds."""

    @hookspec
    def refresh_due(self, config: Path, env_file: Path) -> None:
        """Bring the configuration up to date: what is written into its file `config`, with secrets in `env_file`, is
        served at once. Fires when `serve` has started, and every `refresh` seconds, in a thread of its own."""


class AuthHooks:
    @hookspec
    def auth_chosen(self, server: str, auth: str) -> None:
        """Learn which auth type a server uses. Fires once for each server, before its first request."""

    @hookspec(firstresult=True)
    def resolve_secret(self, scheme: str, name: str) -> str | None:
        """The value of `${scheme:name}`; `None` if the scheme is not yours. Fires when the value is first needed."""


class GuardHooks:
    @hookspec
    def guard_program(self, program: Program) -> Sequence[Finding] | None:
        """What is wrong with a program. Any finding with `refuse` stops it. Fires before a sandbox is opened. An `async
        def`, for a guard that asks another process, is awaited if no other guard refuses."""

    @hookspec(firstresult=True)
    def guard_call(self, call: Call) -> str | None:
        """Why a call may not be made. The first answer refuses it. Raise RefusedForNow if you let nothing through for
        now, whatever it is (your log cannot be written): a stored run stops before the call, and can be resumed. Fires
        after the policy, before credentials, and again once the call has waited for a person."""

    @hookspec
    def deciders(self) -> Sequence[Decider] | None:
        """What decides of calls, and of what a principal sees. Fires once, when a gateway opens."""

    @hookspec
    def decide(self, call: Call) -> Decision | None:
        """What you decide of a call: `Decision("deny", "the name of your rule", "why")`, or `"confirm"`, with which a
        person is asked. It may only tighten what others say; `None`: nothing. The short form of `deciders`, for who
        decides by single calls alone, and waits for nothing. Fires after the access lists, before `guard_call`."""

    @hookspec
    def change_result(self, call: Call, result: Any) -> Any | None:
        """What the program gets in place of a result: JSON, bytes or a `File`; for an error of the source, an error.
        `None`: it is not changed. Each implementation gets what the former made. Fires before `guard_result`."""

    @hookspec(firstresult=True)
    def guard_result(self, call: Call, result: Any) -> str | None:
        """Why a result may not enter the sandbox; an error of the source comes as a dictionary of what it says. The
        first answer refuses it. Fires before scrubbing."""


class CapabilityHooks:
    @hookspec
    def gateway_made(self, gateway: Any) -> None:
        """Keep the `doorward.Gateway`, and give it services. Fires once, before anything is opened."""

    @hookspec
    def call_layers(self) -> Sequence[CallLayer] | None:
        """What stands around calls. Fires once, when a gateway opens."""

    @hookspec
    def run_layers(self) -> Sequence[RunLayer] | None:
        """What stands around runs. Fires once, when a gateway opens."""

    @hookspec
    def results_observed(self, servers: Iterable[str]) -> None:
        """Learn that calls have shown more of what the functions of these servers return, by their modules: what was
        derived of them may be made anew, in `flush`, which follows. Fires from time to time."""


class CacheHooks:
    @hookspec(firstresult=True)
    def keep_program(self, program: Program, outcome: Outcome) -> bool | None:
        """False: do not keep this program. Fires after a run that succeeded."""


class ExecutorHooks:
    @hookspec
    def run_started(self, program: Program) -> None:
        """Learn that a program has passed the guards. Fires before its sandbox is opened."""

    @hookspec
    def run_finished(self, program: Program, outcome: Outcome) -> None:
        """Learn how a program ended. Fires once for each run, refused ones included."""

    @hookspec
    def sandboxes_known(self, read: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
        """Learn how to read, at any time and from any thread, how many sandboxes there are: by executor, those `in_use`
        and `ready`, and the runs that are `waiting` for one. Fires once, at the start."""


class ObserverHooks:
    @hookspec
    def call_finished(self, call: Call, record: CallRecord) -> None:
        """Learn how a call went. Fires once for each call of an existing function."""

    @hookspec(firstresult=True)
    def trace_call(self, call: Call) -> CallTrace | None:
        """Follow a call and its requests. Fires before the source gets it; `call_finished` follows."""


class ServerHooks:
    @hookspec
    def agent_tools(self) -> Sequence[AgentTool] | None:
        """More tools for agents: `doorward.AgentTool` objects. Fires once, when a front end starts."""

    @hookspec
    def mcp_tools(self) -> Sequence[RawTool] | None:
        """More MCP tools, where `agent_tools` does not do because they need MCP itself: `doorward.serving.RawTool`
        objects. Fires when a client lists or calls tools."""

    @hookspec
    def mcp_prompts(self) -> Sequence[RawPrompt] | None:
        """More MCP prompts: `doorward.serving.RawPrompt` objects. Fires when a client lists or gets prompts."""

    @hookspec
    def mcp_resources(self) -> Sequence[RawResource] | None:
        """More MCP resources and templates: `doorward.serving.RawResource` objects. Fires when a client lists or reads
        resources."""

    @hookspec(firstresult=True)
    def token_verifier(self) -> VerifiesTokens | None:
        """A verifier of tokens on the HTTP transport: an object with `async def verify_token(token) -> AccessToken |
        None` (the SDK's `mcp.server.auth.provider.AccessToken`, whose `subject` is the principal). Fires once, before
        the server listens."""

    @hookspec
    def http_pages(self) -> Sequence[RawPage | RawSite] | None:
        """More paths of the HTTP transport: `doorward.serving.RawPage` objects, and `RawSite` objects for a path with
        all below it. Fires once, before the server listens."""

    @hookspec
    def mcp_server(self, server: Any, changed: Callable[[Any], Awaitable[None]]) -> None:
        """Add handlers or middleware to the SDK's low-level `server`; `await changed(event)` tells clients that
        something has changed. Fires once, before it serves."""


class CommandHooks:
    @hookspec
    def doctor_checks(self) -> Sequence[tuple[str, bool, str]] | None:
        """More lines for `doorward doctor`: (what was checked, whether it is well, what to do). Fires when it runs, in
        a thread of its own."""


SPECS = (
    SourceHooks,
    AuthHooks,
    GuardHooks,
    CapabilityHooks,
    CacheHooks,
    ExecutorHooks,
    ObserverHooks,
    ServerHooks,
    CommandHooks,
)

OBSERVERS = {
    *("auth_chosen", "run_started", "run_finished", "call_finished", "trace_call"),
    *("sandboxes_known", "refresh_due", "results_observed"),
}
"""Hooks that only learn what has happened. Their failure changes nothing."""

ADDITIONS = {
    *("agent_tools", "mcp_tools", "mcp_prompts", "mcp_resources", "http_pages", "mcp_server", "doctor_checks"),
    *("compile_warnings", "compile_ended"),
}
"""Hooks that add something. Without it, everything else still works."""

MAY_WAIT = ("guard_program", "compile_ended")
"""Hooks that may be `async def`; a guard within the time of the run."""

WAIT_SECONDS = 60.0
"""Seconds that each implementation of another one of them may take."""

SECONDS = {"doctor_checks": 30.0, "refresh_due": 30.0}
"""Hooks that are called in a thread, and the seconds after which one has failed."""
