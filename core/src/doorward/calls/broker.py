"""One call, from the sandbox to its source and back. Every call takes this path, whatever its source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from doorward.calls import binding
from doorward.calls.answer_checks import AnswerChecks, to_reply
from doorward.calls.files import with_files
from doorward.calls.performing import Performing
from doorward.calls.permissions import Permissions, nobody_asks
from doorward.calls.withholding import Withholding
from doorward.data.json_writing import dump, in_one_piece
from doorward.data.languages import is_script
from doorward.data.offload import done, off_loop
from doorward.host.logs import log
from doorward.model.calls import ACCOUNT, ALLOWED, Call, CallRecord, Decision, Reply, if_repeated, may_repeat
from doorward.model.errors import (
    DoorwardError,
    GuardRefused,
    LimitExceeded,
    LoginRefused,
    Refused,
    SecretWithheld,
    ServerError,
)
from doorward.model.functions import Function
from doorward.plugins.layers import CallLayers
from doorward.plugins.sealing import sealed
from doorward.secrets.redaction import NO_SECRETS
from doorward.secrets.scrubber import answers_of, redact_error

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.calls.call_context import CallContext
    from doorward.calls.function_lookup import FunctionLookup
    from doorward.catalog.catalog import Catalog
    from doorward.catalog.texts import FunctionTexts
    from doorward.config.installed_plugins import PluginId
    from doorward.model.layers import CallLayer
    from doorward.plugins.manager import Plugins
    from doorward.secrets.store import Secrets
    from doorward.servers.registry import Servers

_MAX_EXPLAINED = 20
"""Failed calls of a run after which unknown names are no longer explained."""


class _Way:
    """One call on its way: what is known of it so far. `call` is what goes out, with files in the place of their
    handles; `made` what was decided of, once it was: its arguments were `written` then, as JSON. `count`: which call of
    its run it is. `in_place`: what stands for its answer, where it is not made. `layers` stand around it."""

    __slots__ = (
        "call", "count", "decision", "error", "function", "in_place", "lacked_login", "layers", "link", "made", "out",
        "place", "program", "received", "repeated", "repeats", "run", "said", "started", "written",
    )  # fmt: skip

    def __init__(self, run: CallContext, function: Function, link: str, place: int) -> None:
        self.started = time.perf_counter()
        self.run, self.function, self.link, self.place = run, function, link, place
        self.program = run.program
        self.repeated = run.repeated
        self.call: Any = None
        self.made: Call | None = None
        self.in_place: Any = None
        self.layers: Sequence[tuple[PluginId, CallLayer]] = ()
        self.decision = ALLOWED
        self.error: BaseException | None = None
        self.said: DoorwardError | None = None
        self.written = b""
        self.count = self.received = 0
        self.lacked_login = self.out = self.repeats = False


class Broker:
    """The host side of the door. It trusts nothing that comes out of a sandbox."""

    def __init__(
        self,
        catalog: Catalog,
        servers: Servers,
        policy: Policy,
        plugins: Plugins,
        secrets: Secrets,
        functions: FunctionLookup,
        withholding: Withholding,
    ) -> None:
        self._catalog, self._servers = catalog, servers
        self.permissions = Permissions(catalog, servers, policy)
        self._plugins, self._secrets = plugins, secrets
        self._reached: dict[str, set[str]] = {}
        self.functions = functions
        self.withholding = withholding
        self._checks = AnswerChecks(catalog, servers, plugins, secrets, self.withholding)
        self._performing = Performing(servers, plugins, self._checks)
        self._watched = plugins.manager.looks_at_calls()
        self.listeners: list[Callable[[Call, Reply], None]] = []

    @property
    def texts(self) -> FunctionTexts:
        """What writes functions as text."""
        return self._catalog.texts

    @cached_property
    def layers(self) -> CallLayers:
        """What stands around calls. Raises: PluginError for layers that cannot be put in order."""
        return CallLayers(self._plugins)

    async def call(
        self,
        run: CallContext,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        place: int = 0,
        *,
        large: bool,
        link: str = "",
        headers: bool = False,
    ) -> Reply:
        """Make one call for a run, the one with this `place`. `large`: its arguments are worked on in a thread.

        Returns: a plain JSON value, scrubbed and bounded in size; what the source says about the next page; and, if
        wanted, the `headers` of the answer.
        Raises: DoorwardError; an upstream's text in it is scrubbed.
        """
        function = self.functions.find(name, run.program.principal, near=run.failed < _MAX_EXPLAINED)
        with self._secrets.holds.of_call(function.server):
            return await self._call(run, function, args, kwargs, place, large, link, headers)

    async def _call(
        self,
        run: CallContext,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        place: int,
        large: bool,
        link: str,
        headers: bool,
    ) -> Reply:
        way = _Way(run, function, link, place)
        try:
            await self._decide(way, args, kwargs, large)
            if way.in_place is not None:
                return Reply(way.in_place)
            if way.layers:
                inside, own = partial(self._send, way, headers), partial(self._of_layer, way, headers)
                reply = await self.layers.around(way.layers, run, way.call, inside, own)
            else:
                reply = await self._send(way, headers)
            way.repeated.succeeded(way.made or way.call)
            return reply
        except BaseException as raised:
            raise self._error(way, raised) from None
        finally:
            self._end(way)

    async def _decide(self, way: _Way, args: Sequence[Any], kwargs: Mapping[str, Any], large: bool) -> None:
        """Bind the arguments of a call, and decide of it.

        Raises: InvalidArguments, Refused, GuardRefused, LimitExceeded, ServerError.
        """
        run, function, program = way.run, way.function, way.program
        if run.withheld:
            raise run.withheld
        self.withholding.admit(program.principal)
        self._check_unchanged(function, run)
        meets = run.interceptor
        accounts = self._servers.accounts.get(function.server)
        args, kwargs, asked = _without_account(args, kwargs, program.language) if accounts else (args, kwargs, None)
        given = function, args, kwargs, self._catalog, program.language, meets.unknown if meets else None
        bound = await off_loop(binding.bind, *given) if large else binding.bind(*given)
        if accounts:
            bound = {**bound, ACCOUNT: accounts.choose(asked, bound, program.principal)}
        written = await off_loop(dump, bound) if large else in_one_piece(bound)
        way.written, way.count = written, run.made
        call = way.call = self._made(way, bound, len(written))
        if call.size > (most := program.limits.result_bytes):
            raise LimitExceeded(f"the arguments have {call.size} bytes, more than {most}", hint="Send less at once.")
        decision = await self._allow(way)
        sends = await with_files(call, run)
        if meets is not None:
            way.in_place = await meets.meet(run, call, sends, decision)
            if way.in_place is not None:
                return
        way.repeated.check(call)
        made, way.made, way.call = call, call, sends
        way.repeats = function.read_only or may_repeat(function)
        recorder = run.recorder
        if recorder and (not way.repeats or recorder.resumed):  # when it went out, it may have been another function
            known_by = partial(self._servers.repeats_by, function.server, call.principal)
            await recorder.settle(sends, run, known_by)
        if decision.then == "confirm" and not (meets is not None and meets.covers(made, decision)):
            way.call = replace(sends, decision=decision)
        way.layers = self.layers.of(function)
        if self._watched or (way.layers and self.layers.of_others):
            check_decided(made, await done(dump, made.arguments, large=large), written)
            sealed(way.call)

    async def _send(self, way: _Way, headers: bool, *, confirmed: bool = False) -> Reply:
        """Have the source make a call that was decided; if a person has to approve of it, only once one has
        (`confirmed`). Returns: what it answered, as a program may see it.

        Raises: DoorwardError.
        """
        run, function, call, made = way.run, way.function, way.call, way.made
        assert made is not None
        if call.decision.then == "confirm":
            await self._require_yes(way, confirmed)
        elif way.lacked_login:
            await self._allow_again(way)
        if way.out:
            raise Refused(f"{function.qualified} has been sent already")
        if function.server not in self._reached.get(call.principal, ()):
            self.reaches(call.principal, function.server)
        if way.lacked_login:
            run.set_parked(call, parked=False)
        elif not function.read_only and run.recorder is not None:
            await run.recorder.sending(call, repeats=way.repeats)
        way.out = True
        try:
            reply = await self._checked(way, self._performing.perform(run, call), headers)
        except LoginRefused:  # it was not made, and may be once a person has logged in
            way.out, way.lacked_login = False, True
            raise
        self._note_answer(way, reply)
        if call.account and reply.next is not None:  # the next page is of the same account
            reply = replace(reply, next={**reply.next, ACCOUNT: call.account})
        return reply

    async def _of_layer(self, way: _Way, headers: bool, reply: Reply) -> Reply:
        """A reply that a layer gives in the place of the source's, checked as that is."""

        async def given() -> Reply:
            return reply

        return await self._checked(way, given(), headers)

    async def _checked(self, way: _Way, result: Awaitable[Any], headers: bool) -> Reply:
        """A result, or an error, as a program may see it. Raises: DoorwardError."""
        run, call = way.run, way.call
        scope = answers_of(call.function.server, call.principal)
        try:
            made = to_reply(await result)
            reply, way.received = await self._checks.reply(call, made, run, scope, headers=headers)
        except SecretWithheld as withheld:
            way.said = withheld
            run.withhold(withheld)
            raise
        except Exception as raised:
            way.said = await self._checks.error(call, raised, scope, run.program.language)
            raise way.said from None
        return reply

    def _error(self, way: _Way, raised: BaseException) -> BaseException:
        """What the program gets for what was raised on the way."""
        error = (
            raised
            if isinstance(raised, DoorwardError) or not isinstance(raised, Exception)
            else self._checks.our_defect(way.function, raised)
        )
        if isinstance(error, DoorwardError):
            if way.made is not None:
                way.repeated.failed(way.made, error)
            if error is not way.said:
                redact_error(error, NO_SECRETS)  # these are the program's own words: they are only cut
        way.error = error
        return error

    def _end(self, way: _Way) -> None:
        """Count a call, and tell observers of it; but not of one that waits with its run, or is not made now."""
        run, error = way.run, way.error
        ms = (time.perf_counter() - way.started) * 1000
        call = way.call or self._made(way, {})
        ends = isinstance(error, asyncio.CancelledError) and run.suspended
        waits = ends and not (way.out and run.is_out(call))  # it was not made
        if waits or way.in_place is not None:
            return
        run.count(call.function.qualified, ok=error is None, ms=ms)
        what = type(error).__name__ if error else ""
        record = CallRecord(error is None, round(ms, 3), call.size, way.received, what, call.details, way.decision)
        self._plugins.hook.call_finished(call=call, record=record)

    def _made(self, way: _Way, arguments: Mapping[str, Any], size: int = 0) -> Call:
        run, function, program, server = way.run, way.function, way.program, way.function.server
        client = None
        if run.client:
            client = run.client.of_call(server, partial(self.scrubbed, server, program.principal))
        permissions = self.permissions
        call = Call(
            *(function, arguments, program.run, program.principal, program.deadline, client, run.clock),
            lambda id, route: permissions.lets(program, server, id, route),
            way.link,
            lambda route: permissions.policy.refusal_of_route(program, function, route),
            lambda request, functions: permissions.refusal_of_further(program, function, request, functions),
            run.usage_of(server),
            place=way.place,
            size=size,
            earlier=way.count and way.count - 1,
            wants_text=run.wants_text,
        )
        if call.account:
            call.details["account"] = call.account
        return call

    def _note_answer(self, way: _Way, reply: Reply) -> None:
        """Remember what a call answered, for hints and notes; and tell who listens."""
        run, function, value = way.run, way.function, reply.value
        if way.call.wants_text is if_repeated:  # else it may not be what our own style gives
            self._note_unlike(run, function, value)
        run.answered(function.qualified, value, reply.size)
        for listener in (*self.listeners, *run.state.listeners):
            try:
                listener(way.made or way.call, reply)
            except Exception as error:  # a defect of a plugin must not take the answer
                log.error("listener_failed", listener=listener.__qualname__, why=f"{type(error).__name__}: {error}")

    def _check_unchanged(self, function: Function, run: CallContext) -> None:
        """Refuse a function that has changed since the program, written for the old one, called it first.

        Raises: ServerError.
        """
        schema_hash = self._catalog.schema_hash(function.server, function.name)
        if run.same_schema(function.qualified, schema_hash) != schema_hash:
            definitions = partial(self._catalog.definition, function.server)
            text = self.texts.signature(function, definitions, run.program.language)
            raise ServerError(
                f"{function.qualified} has changed since this program called it first",
                hint=f"The calls before it stay made, see `calls`. It is now:\n{text}",
            )

    async def _allow(self, way: _Way) -> Decision:
        """Check the policy, the configuration of the server, the guards and the limits, in this order. Returns: what
        was decided of the call, perhaps that a person is to be asked.

        Raises: Refused, GuardRefused, LimitExceeded.
        """
        call, program = way.made or way.call, way.program
        try:
            way.decision = await self.permissions.decide(program, call)
            if (refusal := self._plugins.hook.guard_call(call=call)) is not None:
                raise GuardRefused(f"{call.function.qualified}: {refusal.signed}")
        except (Refused, GuardRefused) as refused:
            way.decision = Decision("deny", (isinstance(refused, Refused) and refused.rule) or refused.kind)
            raise
        if way.count > program.limits.calls:
            raise LimitExceeded(
                f"a run may make {program.limits.calls} calls",
                hint="Ask for more at once (pages, filters), or split the work into several runs.",
            )
        if call.time_left <= 0:
            raise LimitExceeded("the run's time is over", hint=self._plugins.watch.late_hint(program))
        return way.decision

    async def _allow_again(self, way: _Way) -> None:
        """Check a call once more, after a person was waited for: all may have changed meanwhile."""
        assert way.made is not None
        self._check_unchanged(way.function, way.run)
        check_decided(way.made, dump(way.made.arguments), way.written)
        await self._allow(way)

    async def _require_yes(self, way: _Way, confirmed: bool) -> None:
        """Let a call go out that a person has approved of: all may have changed meanwhile. Raises: Refused if nobody
        has; what `_allow_again` raises."""
        made = way.made
        if not confirmed or made is None:
            raise nobody_asks(way.function.qualified, way.call.decision)
        made.details["asked_ms"] = round((time.perf_counter() - way.started) * 1000, 1)
        if way.run.interceptor is not None:
            way.run.interceptor.approved(made, way.call.decision)
        await self._allow_again(way)

    def _note_unlike(self, run: CallContext, function: Function, value: Any) -> None:
        """Note that a function answers another type than it declares, once: in a loop, each answer would give a
        slightly different note."""
        definitions = partial(self._catalog.definition, function.server)
        if not run.noted(function.qualified) and (odd := self.texts.unlike(function, value, definitions)):
            run.note(odd, about=function.qualified)

    def scrubbed(self, server: str, principal: str, value: Any) -> Any:
        """A value without the credentials with which a server is called for a principal."""
        return self._secrets.redactor(answers_of(server, principal)).value(value)

    def reached(self, principal: str) -> frozenset[str]:
        """The servers that a principal's programs have called since the start."""
        return frozenset(self._reached.get(principal, ()))

    def reaches(self, principal: str, server: str) -> None:
        """A program of a principal has called a server, perhaps before the start."""
        self._reached.setdefault(principal, set()).add(server)


def check_decided(call: Call, now: bytes, decided: bytes) -> None:
    """Refuse a call whose arguments are not those any more that were decided. Both come as JSON. Raises: Refused."""
    if now != decided:
        raise Refused(
            f"{call.function.qualified}: its arguments have been changed since they were allowed",
            hint="Tell the operator: a plugin changes the arguments of calls.",
        )


def _without_account(
    args: Sequence[Any], kwargs: Mapping[str, Any], language: str
) -> tuple[Sequence[Any], Mapping[str, Any], Any]:
    """The arguments of a call without the account that it names, and this account."""
    if ACCOUNT in kwargs:
        return args, {name: value for name, value in kwargs.items() if name != ACCOUNT}, kwargs[ACCOUNT]
    if is_script(language) and args and isinstance(args[-1], Mapping) and ACCOUNT in args[-1]:
        rest, last = args[:-1], args[-1]
        return [*rest, {name: value for name, value in last.items() if name != ACCOUNT}], kwargs, last[ACCOUNT]
    return args, kwargs, None
