"""One call, from the sandbox to its source and back. Every call takes this path, whatever its source."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.access.policy import wanted
from doorward.arguments import binding, files
from doorward.calls.answer_checks import AnswerChecks
from doorward.calls.function_lookup import FunctionLookup
from doorward.calls.next_page import following
from doorward.calls.withholding import Withholding
from doorward.catalog.schema_inference import SchemaInference, is_open
from doorward.data.json_writing import dump, in_one_piece
from doorward.data.offload import done
from doorward.describe.signatures import signature
from doorward.model.calls import Call, CallRecord, File, Reply
from doorward.model.decisions import ALLOWED, Decision
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
from doorward.plugins.failures import contained
from doorward.results.type_mismatches import type_mismatch
from doorward.secrets.redaction import NO_SECRETS
from doorward.secrets.scrubber import answers_of, redact_error

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.approvals.approvals import Approvals
    from doorward.calls.call_context import CallContext
    from doorward.catalog.catalog import Catalog
    from doorward.learning.learning import Learning
    from doorward.model.programs import Program
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
    ) -> None:
        self._catalog = catalog
        self._servers = servers
        self._policy = policy
        self._plugins = plugins
        self._secrets = secrets
        self._approvals = approvals
        self.learning = learning
        self._reached: dict[str, set[str]] = {}
        self.functions = FunctionLookup(catalog, servers)
        self.withholding = Withholding()
        self._checks = AnswerChecks(catalog, servers, plugins, secrets, self.withholding)
        self.observed = SchemaInference(catalog)

    async def call(
        self,
        run: CallContext,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        large: bool,
        link: str = "",
        headers: bool = False,
    ) -> Reply:
        """Make one call for a run. `large`: its arguments are worked on in a thread.

        Returns: a plain JSON value, scrubbed and bounded in size; what the source says about the next page; and, if
        wanted, the `headers` of the answer.
        Raises: DoorwardError; an upstream's text in it is scrubbed.
        """
        function = self.functions.find(name, run.program.principal, near=run.failed < _MAX_EXPLAINED)
        with self._secrets.holds.of_call(function.server):
            return await self._call(run, function, args, kwargs, large, link, headers)

    async def _call(
        self,
        run: CallContext,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        large: bool,
        link: str,
        headers: bool,
    ) -> Reply:
        started = time.perf_counter()
        call: Call | None = None
        error: BaseException | None = None
        said: DoorwardError | None = None
        sent = received = 0
        try:
            if run.withheld:
                raise run.withheld
            self.withholding.admit(run.program.principal)
            self._check_unchanged(function, run)
            bind = partial(binding.bind, function, args, kwargs, self._catalog, run.program.language)
            bound = await done(bind, large=True) if large else bind()
            call = self._made(run, function, bound, link)
            sent = len(await done(dump, bound, large=True) if large else in_one_piece(bound))
            if sent > (most := run.program.limits.result_bytes):
                raise LimitExceeded(f"the arguments have {sent} bytes, more than {most}", hint="Send less at once.")
            decision = self._allow(run, call)
            call = self._opened(call, run)
            if decision.then == "confirm":
                await self._confirm(run, call, decision)
            self._reached.setdefault(call.principal, set()).add(function.server)
            scope = answers_of(function.server, call.principal)
            try:
                try:
                    result = await self._perform(call)
                except LoginRefused as refused:
                    await self._approvals.logins.came(run, call, refused)
                    result = await self._perform(call)
                reply = result if isinstance(result, Reply) else Reply(result)
                reply, size, received = await self._checks.reply(call, reply, run, scope, headers=headers)
            except SecretWithheld as withheld:
                run.withhold(said := withheld)
                raise
            except Exception as raised:
                said = await self._checks.error(call, raised, scope, run.program.language)
                raise said from None
            self._learn(run, function, bound, reply.value, size)
            return reply
        except BaseException as raised:
            error = (
                raised
                if isinstance(raised, DoorwardError) or not isinstance(raised, Exception)
                else self._checks.our_defect(function, raised)
            )
            if isinstance(error, DoorwardError) and error is not said:
                redact_error(error, NO_SECRETS)  # these are the program's own words: they are only cut
            raise error from None
        finally:
            ms = (time.perf_counter() - started) * 1000
            call = call or self._made(run, function, {}, link)
            run.count(function.qualified, ok=error is None, ms=ms)
            self._plugins.hook.call_finished(
                call=call,
                record=CallRecord(
                    *(error is None, round(ms, 3), sent, received, type(error).__name__ if error else ""),
                    call.details,
                ),
            )

    def _made(self, run: CallContext, function: Function, arguments: Mapping[str, Any], link: str) -> Call:
        program, server = run.program, function.server
        client = None
        if run.client:
            scope = answers_of(server, program.principal)
            client = run.client.of_call(server, lambda value: self._secrets.redactor(scope).value(value))
        allows = partial(self._allows, run, server)
        forbids = partial(self._policy.refusal_of_route, program, function)
        return Call(
            *(function, arguments, program.run, program.principal, program.deadline, client, run.clock),
            *(allows, link, forbids, run.usage_of(server)),
        )

    def _learn(self, run: CallContext, function: Function, bound: Mapping[str, Any], value: Any, size: int) -> None:
        """Remember what a call answered, for hints, notes and schemas."""
        if is_open(function) and not self._servers.per_principal(function.server):  # others must not learn it
            self.observed.learn(function, value)
        self._note_unlike(run, function, value)
        run.answered(function.qualified, value, size)
        if run.record is not None:
            run.record.called(function, bound, value, size)

    def _check_unchanged(self, function: Function, run: CallContext) -> None:
        """Refuse a function that has changed since the program called it first: the program was written for the old
        one.

        Raises: ServerError.
        """
        schema_hash = self._catalog.schema_hash(function.server, function.name)
        if run.same_schema(function.qualified, schema_hash) != schema_hash:
            definitions = partial(self._catalog.definition, function.server)
            text = signature(function, definitions, language=run.program.language)
            raise ServerError(
                f"{function.qualified} has changed since this program called it first",
                hint=f"Run the program anew. It is now:\n{text}",
            )

    def _allow(self, run: CallContext, call: Call) -> Decision:
        """Check the policy, the configuration of the server, the guards and the limits, in this order.

        Returns: whether a person must be asked as well. Raises: Refused, GuardRefused, LimitExceeded.
        """
        self.check_allowed(run.program, call.function)
        if (refusal := self._plugins.hook.guard_call(call=call)) is not None:
            raise GuardRefused(f"{call.function.qualified}: {refusal}")
        if run.made > run.program.limits.calls:
            raise LimitExceeded(
                f"a run may make {run.program.limits.calls} calls",
                hint="Ask for more at once (pages, filters), or split the work into several runs.",
            )
        if call.time_left <= 0:
            raise LimitExceeded("the run's time is over")
        return ALLOWED

    async def _confirm(self, run: CallContext, call: Call, decision: Decision) -> None:
        """Have a person approve of a call. It must be allowed afterwards, too: all may have changed meanwhile."""
        function = call.function
        schema_hash = self._catalog.schema_hash(function.server, function.name)
        await self._approvals.confirm(run, call, decision, schema_hash)
        self._check_unchanged(function, run)
        self.check_allowed(run.program, function)

    def check_allowed(self, program: Program, function: Function) -> None:
        """Check the policy and the configuration of the server. Raises: Refused; DoorwardError if it cannot be told."""
        if refusal := self._policy.refusal(program, function):
            raise Refused(refusal)
        if not self._is_included(function):
            raise Refused(
                f"{function.qualified} is left out by the configuration of {function.server}",
                hint="Do without it: `include`, `exclude` and `read_only` of a server are the operator's.",
            )

    def _allows(self, run: CallContext, server: str, id: str, route: str) -> bool:
        """Whether the run may also call the function with this original id and route."""
        function = self._catalog.function(server, id)
        if function is None or function.route != route or not self._is_included(function):
            return False
        return self._policy.refusal(run.program, function) is None

    def _is_included(self, function: Function) -> bool:
        """Whether the configuration still includes a function, which may have been compiled under an earlier one."""
        name = self._servers.modules.get(function.server)
        return name is None or wanted(function, self._servers.configured[name].settings)

    def _opened(self, call: Call, run: CallContext) -> Call:
        """The call with a file in the place of each handle.

        Raises: InvalidArguments, LimitExceeded.
        """
        size, most = 0, run.program.limits.result_bytes

        def open(uri: str) -> File:
            nonlocal size
            file = run.open(uri)
            size += len(file.content)
            if size > most:
                raise LimitExceeded(f"the files of a call have more than {most} bytes", hint="Send less at once.")
            return file

        opened = files.opened(call.function, call.arguments, open)
        return call if opened is call.arguments else replace(call, arguments=opened)

    async def _perform(self, call: Call) -> Any:
        with call.clock.until(call.deadline):
            async with self._servers.using(call.function.server, call.principal) as source:
                try:
                    with contained():
                        return await source.call(call)
                except DoorwardError as error:
                    raise self._checks.of_source(call, error) from None
        raise LimitExceeded(
            f"{call.function.qualified} did not answer before the run's time was over",
            hint="Ask it for less, or ask for a longer `timeout`.",
        )

    def _note_unlike(self, run: CallContext, function: Function, value: Any) -> None:
        """Note that a function answers another type than it declares, once: in a loop, each answer would give a
        slightly different note."""
        if run.noted(function.qualified):
            return
        if odd := type_mismatch(function, value, partial(self._catalog.definition, function.server)):
            run.note(odd, about=function.qualified)

    def following(
        self, name: str, principal: str, arguments: Mapping[str, Any], value: Any
    ) -> tuple[dict[str, Any] | None, str]:
        """See `next_page.following`. Raises: UnknownName."""
        return following(self.functions.find(name, principal), arguments, value, self._catalog)

    def reached(self, principal: str) -> frozenset[str]:
        """The servers that a principal's programs have called since the start."""
        return frozenset(self._reached.get(principal, ()))
