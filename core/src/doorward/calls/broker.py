"""One call, from the sandbox to its source and back. Every call takes this road, whatever its source."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.access.policy import wanted
from doorward.calls import answers, arguments
from doorward.calls.artefacts import handle_to
from doorward.calls.next_page import following
from doorward.calls.refusals import class_refused
from doorward.calls.withholding import Withholding
from doorward.catalog.near_functions import names_near, told_near
from doorward.catalog.schema_inference import SchemaInference, is_open
from doorward.config.config import module_name
from doorward.data.headers import shown_headers
from doorward.data.json_writing import dump
from doorward.data.offload import done, is_large
from doorward.describe.results.type_mismatches import type_mismatch
from doorward.describe.signatures import signature
from doorward.host.logs import log
from doorward.model.errors import (
    DoorwardError,
    GuardRefused,
    LimitExceeded,
    Refused,
    SecretWithheld,
    ServerError,
    UnknownName,
)
from doorward.model.names import qualified
from doorward.model.types import Call, CallRecord, File, Function, Reply
from doorward.secrets.redaction import NO_SECRETS, Redactor
from doorward.secrets.scrubber import MOST_OF_MESSAGE, Scope, answers_of, redact_error

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.calls.call_context import CallContext
    from doorward.catalog.catalog import Catalog
    from doorward.plugins.manager import Plugins
    from doorward.secrets.store import Secrets
    from doorward.servers.registry import Servers

_HELPED = 20
"""Failed calls of a run after which unknown names are not explained any more."""


class Broker:
    """The host side of the door. It trusts nothing that comes out of a sandbox."""

    def __init__(self, catalog: Catalog, servers: Servers, policy: Policy, plugins: Plugins, secrets: Secrets) -> None:
        self._catalog = catalog
        self._servers = servers
        self._policy = policy
        self._plugins = plugins
        self._secrets = secrets
        self._reached: dict[str, set[str]] = {}
        self.withholding = Withholding()
        self.observed = SchemaInference(catalog)

    def find(self, name: str, principal: str, *, near: bool = True) -> Function:
        """The function that a name means to a principal: `server.name`, `server.original-id`, `mcp__server__name`.

        Raises: UnknownName, with near names if they are wanted: to find them can take a second.
        """
        text = qualified(str(name)[:2200])  # an id may be a route
        server, _, bare = text.partition(".")
        function = None
        # No tool takes the place of what a server offers: `resources/read` is a method, not a tool's name.
        if self._servers.usable(server, principal):
            offered = self._servers.offered(server, bare) if "/" in bare else None
            function = offered or self._catalog.function(server, bare) or self._servers.offered(server, bare)
        if function is None:
            if broken := next(
                (e for name, e in self._servers.wrong(principal).items() if module_name(name) == server), None
            ):
                raise UnknownName(f"the server {server!r} is broken: {broken}", hint=broken.hint)
            likely = self._likely(text, principal) if near else []
            meant = f"; did you mean {likely[0]!r}?" if likely else ""  # a program that catches the error sees no hint
            hint = self._hint(text, principal, likely) if near else ""
            raise UnknownName(
                f"there is no function {text[:300]!r}{meant}", hint=hint or "Use search_functions to find one."
            )
        return function

    def near(self, name: str, principal: str) -> str:
        """The hint with the names of functions that look like an unknown one, `server.name`; "" if none does."""
        return self._hint(name, principal, self._likely(name, principal))

    def _likely(self, name: str, principal: str) -> list[str]:
        return names_near(self._catalog, name, self._servers.names(principal))

    def _hint(self, name: str, principal: str, likely: Sequence[str]) -> str:
        server, _, bare = name.partition(".")
        report = self._catalog.report(server) if server in self._servers.names(principal) else None
        return told_near(likely, bare, self._servers.modules.get(server, server), report.compiled if report else 0)

    async def call(
        self,
        run: CallContext,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        link: str = "",
        headers: bool = False,
    ) -> Reply:
        """Make one call for a run.

        Returns: a plain JSON value, scrubbed, bounded in size; what the source says of a next page; and, if they are
        wanted, `headers`.
        Raises: DoorwardError; what an upstream says in it is scrubbed.
        """
        function = self.find(name, run.program.principal, near=run.failed < _HELPED)
        started = time.perf_counter()
        scope = answers_of(function.server, run.program.principal)
        client = (
            run.client.of_call(function.server, lambda value: self._secrets.redactor(scope).value(value))
            if run.client
            else None
        )
        allows = partial(self._allows, run, function.server)
        call = Call(
            function, {}, run.program.run, run.program.principal, run.program.deadline, client, run.clock, allows, link
        )
        error: BaseException | None = None
        said: DoorwardError | None = None
        sent = received = 0
        try:
            if run.withheld:
                raise run.withheld
            self.withholding.admit(call.principal)
            self._same(function, run)
            bound = await done(arguments.bind, function, args, kwargs, self._catalog, large=is_large(args, kwargs))
            call = replace(call, arguments=bound)
            sent = len(await done(dump, bound, large=is_large(bound)))
            if sent > (most := run.program.limits.result_bytes):
                raise LimitExceeded(f"the arguments have {sent} bytes, more than {most}", hint="Send less at once.")
            self._allow(run, call)
            call = self._opened(call, run)
            self._reached.setdefault(call.principal, set()).add(function.server)
            try:
                result = await self._perform(call)
                reply = result if isinstance(result, Reply) else Reply(result)
                value, received = await self._checked(call, reply, run, scope)
                told, more = (
                    await self._checked(call, Reply(shown_headers(reply.headers)), run, scope) if headers else ({}, 0)
                )
                left = (await self._checked(call, Reply(reply.left), run, scope))[0] if reply.left else ""
                following = await self._following(call, reply.next, scope)
            except SecretWithheld as withheld:
                run.withhold(said := withheld)
                raise
            except Exception as raised:
                said = await self._told(call, raised, scope)
                raise said from None
            if is_open(function) and not self._servers.per_principal(function.server):  # what one sees is nobody else's
                self.observed.learn(function, value)
            self._note_unlike(run, function, value)
            run.answered(function.qualified, value, received)
            received += more
            return replace(reply, value=value, headers=told, left=left, next=following)
        except BaseException as raised:
            error = (
                raised
                if isinstance(raised, DoorwardError) or not isinstance(raised, Exception)
                else self._defect(function, raised)
            )
            if isinstance(error, DoorwardError) and error is not said:
                redact_error(error, NO_SECRETS)  # it is the program's own words, to be cut
            raise error from None
        finally:
            ms = (time.perf_counter() - started) * 1000
            run.count(function.qualified, ok=error is None, ms=ms)
            self._plugins.hook.call_finished(
                call=call,
                record=CallRecord(error is None, round(ms, 3), sent, received, type(error).__name__ if error else ""),
            )

    def _same(self, function: Function, run: CallContext) -> None:
        """What a program has called once stays as it was until the program ends: it was written for that.

        Raises: ServerError.
        """
        schema_hash = self._catalog.schema_hash(function.server, function.name)
        if run.same_schema(function.qualified, schema_hash) != schema_hash:
            text = signature(function, partial(self._catalog.definition, function.server))
            raise ServerError(
                f"{function.qualified} has changed since this program called it first",
                hint=f"Run the program anew. It is now:\n{text}",
            )

    def _allow(self, run: CallContext, call: Call) -> None:
        """Policy, what servers leave, guards and limits, in this order.

        Raises: Refused, GuardRefused, LimitExceeded.
        """
        if refusal := self._policy.refusal(run.program, call.function):
            raise Refused(refusal)
        if not self._left(call.function):
            raise Refused(f"{call.function.qualified} is left out by the configuration of {call.function.server}")
        if refusal := self._plugins.hook.guard_call(call=call):
            raise GuardRefused(f"{call.function.qualified}: {refusal}")
        if run.made > run.program.limits.calls:
            raise LimitExceeded(
                f"a run may make {run.program.limits.calls} calls",
                hint="Ask for more at once (pages, filters), or split the work into several runs.",
            )
        if call.time_left <= 0:
            raise LimitExceeded("the run's time is over")

    def _allows(self, run: CallContext, server: str, id: str, route: str) -> bool:
        """Whether the run may call a function, of an original id and a route, as well."""
        function = self._catalog.function(server, id)
        if function is None or function.route != route or not self._left(function):
            return False
        return self._policy.refusal(run.program, function) is None

    def _left(self, function: Function) -> bool:
        """Whether the configuration of its server leaves a function, which may have been compiled under an earlier
        one."""
        name = self._servers.modules.get(function.server)
        return name is None or wanted(function, self._servers.configured[name].settings)

    def _opened(self, call: Call, run: CallContext) -> Call:
        """The call with the files that its handles mean.

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

        return replace(call, arguments=arguments.opened(call, open))

    async def _perform(self, call: Call) -> Any:
        with call.clock.until(call.deadline):
            async with self._servers.using(call.function.server, call.principal) as source:
                return await source.call(call)
        raise LimitExceeded(f"{call.function.qualified} did not answer before the run's time was over")

    async def _checked(self, call: Call, reply: Reply, run: CallContext, scope: Scope) -> tuple[Any, int]:
        """The value as the sandbox may see it, and its size in bytes."""
        result = reply.value
        if refusal := self._plugins.hook.guard_result(call=call, result=result):
            raise GuardRefused(f"{call.function.qualified}: {refusal}")
        if isinstance(result, bytes):
            result = File(result, reply.type, reply.name)
        large = is_large(result)
        redactor = self._secrets.redactor(scope)
        answer = await done(
            answers.read, result, call.function.qualified, run.program.limits.result_bytes, redactor, large=large
        )
        await self._withhold_guess(call, answer.secrets, redactor)
        for place, file in answer.files:
            artefact = run.hold(file.content, file.type, file.name)
            place.update(handle_to(artefact))
        return answer.value, answer.size

    def _note_unlike(self, run: CallContext, function: Function, value: Any) -> None:
        """Tell once of each function that it answers another type than it declares: a loop gets each answer in other
        words."""
        if run.noted(function.qualified):
            return
        if odd := type_mismatch(function, value, partial(self._catalog.definition, function.server)):
            run.note(odd, about=function.qualified)

    async def _following(
        self, call: Call, arguments: Mapping[str, Any] | None, scope: Scope
    ) -> Mapping[str, Any] | None:
        """The arguments of the next page without credentials: a program would read in an error what it did not give
        itself."""
        new = {
            name: value
            for name, value in (arguments or {}).items()
            if name not in call.arguments or call.arguments[name] != value
        }
        if not new:
            return arguments
        redactor = self._secrets.redactor(scope)
        await self._withhold_guess(call, answers.secrets_in(new, redactor), redactor)
        return {**(arguments or {}), **redactor.value(new)}

    async def _told(self, call: Call, raised: Exception, scope: Scope) -> DoorwardError:
        """What a program is told of an error of the source."""
        error = raised if isinstance(raised, DoorwardError) else self._defect(call.function, raised)
        redactor = self._secrets.redactor(scope)
        said = [error.message, error.hint, getattr(error, "body", None)]
        large = is_large(said)
        await self._withhold_guess(call, await done(answers.secrets_in, said, redactor, large=large), redactor)
        await done(redact_error, error, redactor, large=large)
        if not error.hint:
            error.hint = (
                class_refused(call.function, error, lambda name: self._catalog.definition(call.function.server, name))
                or None
            )
        return error

    async def _withhold_guess(self, call: Call, found: set[int], redactor: Redactor) -> None:
        """An answer that would show a program whether it has guessed a credential is none of its.

        Raises: SecretWithheld.
        """
        found = found & redactor.credentials
        if found and found & await done(answers.secrets_in, call.arguments, redactor, large=is_large(call.arguments)):
            raise self.withholding.withheld(
                call.principal, f"the answer of {call.function.qualified}", call.function.server
            )

    def following(
        self, name: str, principal: str, arguments: Mapping[str, Any], value: Any
    ) -> tuple[dict[str, Any] | None, str]:
        """See `doorward.following`. Raises: UnknownName."""
        return following(self.find(name, principal), arguments, value, self._catalog)

    def reached(self, principal: str) -> frozenset[str]:
        """The servers that a principal's programs have called since the start."""
        return frozenset(self._reached.get(principal, ()))

    def _defect(self, function: Function, error: Exception) -> ServerError:
        """A source raised what it should not: the call fails, nothing else does."""
        log.error(
            "source_defect", function=function.qualified, error=self._secrets.scrub(repr(error))[:MOST_OF_MESSAGE]
        )
        return ServerError(
            f"{function.qualified} failed inside Doorward: {type(error).__name__}",
            hint="Tell the operator: the log has the details.",
        )
