"""One call, from the sandbox to its source and back. Every call takes this path, whatever its source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.arguments import binding
from doorward.calls.answer_checks import AnswerChecks, to_reply
from doorward.calls.files_of_calls import with_files
from doorward.calls.function_lookup import FunctionLookup
from doorward.calls.next_page import following
from doorward.calls.performing import Performing
from doorward.calls.permissions import Permissions
from doorward.calls.withholding import Withholding
from doorward.catalog.schema_inference import SchemaInference, is_open
from doorward.data.json_writing import dump, in_one_piece
from doorward.data.offload import done
from doorward.describe.signatures import signature
from doorward.model.calls import Call, CallRecord, Reply, if_repeated
from doorward.model.decisions import ALLOWED, Decision, may_repeat
from doorward.model.errors import DoorwardError, GuardRefused, LimitExceeded, Refused, SecretWithheld, ServerError
from doorward.model.functions import Function
from doorward.plans.answers import Answers
from doorward.plugins.sealing import sealed
from doorward.results.type_mismatches import type_mismatch
from doorward.secrets.redaction import NO_SECRETS
from doorward.secrets.scrubber import answers_of, redact_error

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.approvals.approvals import Approvals
    from doorward.budgets.budgets import Budgets
    from doorward.calls.call_context import CallContext
    from doorward.calls.inverses import Undoable
    from doorward.catalog.catalog import Catalog
    from doorward.learning.learning import Learning
    from doorward.plugins.manager import Plugins
    from doorward.secrets.store import Secrets
    from doorward.servers.registry import Servers

_MAX_EXPLAINED = 20
"""Failed calls of a run after which unknown names are no longer explained."""


class Broker:
    """The host side of the door. It trusts nothing that comes out of a sandbox."""

    def __init__(
        self,
        catalog: Catalog,
        servers: Servers,
        policy: Policy,
        plugins: Plugins,
        secrets: Secrets,
        learning: Learning,
        approvals: Approvals,
        budgets: Budgets,
    ) -> None:
        self._catalog, self._servers = catalog, servers
        self.permissions = Permissions(catalog, servers, policy)
        self._plugins, self._secrets = plugins, secrets
        self.learning, self.budgets = learning, budgets
        self._approvals = approvals
        self._reached: dict[str, set[str]] = {}
        self.functions = FunctionLookup(catalog, servers, policy)
        self.withholding = Withholding(budgets.file)
        self._checks = AnswerChecks(catalog, servers, plugins, secrets, self.withholding)
        self._performing = Performing(servers, plugins, self._checks, approvals.logins, budgets)
        self._hooked = plugins.manager.looks_at_calls()
        self.observed = SchemaInference(catalog)
        self.lacks = Answers(catalog, self.observed).lacks

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
        started = time.perf_counter()
        program, repeated = run.program, run.repeated
        call: Call | None = None
        made: Call | None = None
        error: BaseException | None = None
        said: DoorwardError | None = None
        sent, received, decision, planned, out = 0, 0, ALLOWED, None, False
        try:
            if run.withheld:
                raise run.withheld
            self.withholding.admit(program.principal)
            self._check_unchanged(function, run)
            bind = partial(binding.bind, function, args, kwargs, self._catalog, program.language, plan=program.plan)
            bound = await done(bind, large=True) if large else bind()
            call = self._made(run, function, bound, link, place)
            written = await done(dump, bound, large=True) if large else in_one_piece(bound)
            if (sent := len(written)) > (most := program.limits.result_bytes):
                raise LimitExceeded(f"the arguments have {sent} bytes, more than {most}", hint="Send less at once.")
            asked, count = call, run.made

            def allow() -> Decision:
                nonlocal decision
                try:
                    return self._allow(run, asked, sent, count)
                except (Refused, GuardRefused) as refused:
                    decision = Decision("deny", (isinstance(refused, Refused) and refused.rule) or refused.kind)
                    raise

            def allow_again() -> None:
                """After a person was waited for: all may have changed meanwhile."""
                self._check_unchanged(function, run)
                check_decided(asked, dump(asked.arguments), written)
                allow()

            decision = allow()
            sends = with_files(call, run)
            if (plan := run.changes) and (planned := await plan.meet(run, call, sends, decision)) is not None:
                return Reply(planned)
            repeated.check(call)
            made, call = call, sends
            repeats = function.read_only or may_repeat(function)
            if not repeats or run.resumed:  # when it went out, it may have been another function
                await run.settle(call, partial(self._servers.repeats_by, function.server, call.principal))
            if decision.then == "confirm" and not (plan and plan.covers(made, decision)):
                await self._confirm(run, call, made, decision)
                allow_again()
            if self._hooked:
                check_decided(made, await done(dump, made.arguments, large=large), written)
                sealed(call)
            if self.budgets.any:
                await self.budgets.call(made, sent)
            self.reaches(call.principal, function.server)
            scope = answers_of(function.server, call.principal)
            undo = await self._undoable(run, made) if self._servers.inverses else None
            if not function.read_only:
                run.sending(call, repeats=repeats)
            try:
                out = True
                result = await self._performing.perform(run, call, sent, allow_again)
                reply, size, received = await self._checks.reply(call, to_reply(result), run, scope, headers=headers)
            except SecretWithheld as withheld:
                run.withhold(said := withheld)
                raise
            except Exception as raised:
                said = await self._checks.error(call, raised, scope, program.language)
                raise said from None
            repeated.succeeded(made)
            if undo:
                undo.answered(reply.value)
            self._learn(run, function, bound, reply.value, size)
            return reply
        except BaseException as raised:
            error = (
                raised
                if isinstance(raised, DoorwardError) or not isinstance(raised, Exception)
                else self._checks.our_defect(function, raised)
            )
            if made is not None and isinstance(error, DoorwardError):
                repeated.failed(made, error)
            if isinstance(error, DoorwardError) and error is not said:
                redact_error(error, NO_SECRETS)  # these are the program's own words: they are only cut
            raise error from None
        finally:
            ends = isinstance(error, asyncio.CancelledError) and run.suspension.awaited
            ms = (time.perf_counter() - started) * 1000
            call = call or self._made(run, function, {}, link, place)
            waits = ends and not (out and run.is_out(call))  # it was not made
            if not waits and planned is None:
                self._ended(run, call, made, error, (ms, sent, received), decision)

    def _ended(
        self,
        run: CallContext,
        call: Call,
        made: Call | None,
        error: BaseException | None,
        measured: tuple[float, int, int],
        decision: Decision,
    ) -> None:
        """Count a call, and tell observers of it."""
        ms, sent, received = measured
        run.count(call.function.qualified, ok=error is None, ms=ms)
        if made is not None and self.budgets.any:
            self.budgets.answered(made, received)
        what = type(error).__name__ if error else ""
        record = CallRecord(error is None, round(ms, 3), sent, received, what, call.details, decision)
        self._plugins.hook.call_finished(call=call, record=record)

    def _made(self, run: CallContext, function: Function, arguments: Mapping[str, Any], link: str, place: int) -> Call:
        program, server = run.program, function.server
        client = None
        if run.client:
            client = run.client.of_call(server, partial(self.scrubbed, server, program.principal))
        allows = partial(self.permissions.lets, program, server)
        forbids = partial(self.permissions.policy.refusal_of_route, program, function)
        refuses_further = partial(self.permissions.refusal_of_further, program, function)
        return Call(
            *(function, arguments, program.run, program.principal, program.deadline, client, run.clock),
            *(allows, link, forbids, refuses_further, run.usage_of(server)),
            place=place,
            wants_text=run.wants_text,
        )

    def _learn(self, run: CallContext, function: Function, bound: Mapping[str, Any], value: Any, size: int) -> None:
        """Remember what a call answered, for hints, notes and schemas."""
        if run.wants_text is if_repeated:  # else it may not be what our own style gives
            if is_open(function) and not self._servers.per_principal(function.server):  # others must not learn it
                self.observed.learn(function, value)
            self._note_unlike(run, function, value)
        run.answered(function.qualified, value, size)
        if run.record is not None:
            run.record.called(function, bound, value, size)

    def _check_unchanged(self, function: Function, run: CallContext) -> None:
        """Refuse a function that has changed since the program, written for the old one, called it first.

        Raises: ServerError.
        """
        schema_hash = self._catalog.schema_hash(function.server, function.name)
        if run.same_schema(function.qualified, schema_hash) != schema_hash:
            definitions = partial(self._catalog.definition, function.server)
            text = signature(function, definitions, language=run.program.language)
            raise ServerError(
                f"{function.qualified} has changed since this program called it first",
                hint=f"The calls before it stay made, see `calls`. It is now:\n{text}",
            )

    def _allow(self, run: CallContext, call: Call, size: int, made: int) -> Decision:
        """Check the policy, the configuration of the server, the guards and the limits, in this order. Returns: what
        was decided of the call, perhaps that a person is to be asked. `size`: the bytes of its arguments; `made`: which
        call of its run it is.

        Raises: Refused, GuardRefused, LimitExceeded.
        """
        program = run.program
        decision = self.permissions.decide(program, call, made - 1, size)
        if (refusal := self._plugins.hook.guard_call(call=call)) is not None:
            raise GuardRefused(f"{call.function.qualified}: {refusal.signed}")
        if made > program.limits.calls:
            raise LimitExceeded(
                f"a run may make {program.limits.calls} calls",
                hint="Ask for more at once (pages, filters), or split the work into several runs.",
            )
        if call.time_left <= 0:
            raise LimitExceeded("the run's time is over", hint=self._plugins.watch.late_hint(program))
        return decision

    async def _confirm(self, run: CallContext, call: Call, made: Call, decision: Decision) -> None:
        """Have a person approve of a call. `made` is the call with handles in the place of its files, as rules know
        it."""
        schema_hash = self._catalog.schema_hash(call.function.server, call.function.name)
        await self._approvals.confirm(run, call, decision, schema_hash)
        if run.changes is not None:
            run.changes.approved(made, decision)

    async def _undoable(self, run: CallContext, call: Call) -> Undoable | None:
        from doorward.calls.inverses import undoable  # for those who declare inverses

        return await undoable(self, self._servers.inverses, run, call)

    def _note_unlike(self, run: CallContext, function: Function, value: Any) -> None:
        """Note that a function answers another type than it declares, once: in a loop, each answer would give a
        slightly different note."""
        definitions = partial(self._catalog.definition, function.server)
        if not run.noted(function.qualified) and (odd := type_mismatch(function, value, definitions)):
            run.note(odd, about=function.qualified)

    def following(
        self, name: str, principal: str, arguments: Mapping[str, Any], value: Any
    ) -> tuple[dict[str, Any] | None, str]:
        """See `next_page.following`. Raises: UnknownName."""
        return following(self.functions.find(name, principal), arguments, value, self._catalog)

    def scrubbed(self, server: str, principal: str, value: Any) -> Any:
        """A value without the credentials with which a server is called for a principal."""
        return self._secrets.redactor(answers_of(server, principal)).value(value)

    async def close(self) -> None:
        """Give back what was taken of budgets and not spent."""
        await self.budgets.close()

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
