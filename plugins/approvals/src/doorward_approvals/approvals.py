"""Asks people about calls, and lets through what they have approved."""

from __future__ import annotations

import secrets
import time
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from doorward import (
    CallLayer,
    ConfigError,
    DoorwardError,
    LimitExceeded,
    Refused,
    StateKey,
    Wait,
    hookimpl,
    log,
)
from doorward.values import effect, frozen

from doorward_approvals.request import APPROVAL_SCOPES, ApprovalHooks, ApprovalKind, ApprovalRequest, ApprovalScope
from doorward_approvals.requests import REQUESTS, Requests
from doorward_approvals.settings import ApprovalSettings

if TYPE_CHECKING:
    import anyio
    from doorward import Call, Decision, Gateway, PluginContext, Proceed, Reply, Run
    from doorward_durable_runs import DocumentedSecrets

    from doorward_approvals.binding import Binding
    from doorward_approvals.stored_approvals import StoredApprovals
    from doorward_approvals.turns import Turns

_LOOK_ANYWAY_SECONDS = 2.0
"""Seconds after which a look is taken even if nothing seems to have changed."""

_ONE_YES = "one answer is enough if the person says `doorward approvals approve --run {} --for run`"


def _new_turns() -> Turns:
    import anyio

    from doorward_approvals.turns import Turns  # most runs ask nobody

    return Turns(anyio.Lock(), anyio.Lock())


_TURNS = StateKey("approvals", _new_turns)


class Approvals:
    """The approvals of one gateway."""

    hookspecs = (ApprovalHooks,)

    def __init__(self, context: PluginContext) -> None:
        self._settings: ApprovalSettings = context.tables.get("approvals") or ApprovalSettings()
        self._context = context
        self._now = time.time
        self._waited: set[str] = set()

    @cached_property
    def _store(self) -> StoredApprovals:
        """Raises: ConfigError without a store: no other process would see a request, and a no would be forgotten."""
        from doorward_approvals.stored_approvals import StoredApprovals

        context = self._context
        if context.store is None:
            hint = '`pip install doorward-store-sqlite` brings one; store = "memory" asks in this process alone.'
            raise ConfigError("approvals need a store", place="[approvals]", hint=hint)
        keys = context.vault_key, context.vault_key_before
        return StoredApprovals(context.store, context.state, keys[0], lambda: self._now(), before=keys[1])

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """Keep what requests are made of, and ask people for whoever else has to."""
        self._hook, self._catalog = gateway.plugins.hook, gateway.catalog
        self._without_known = cache(gateway.servers.without_known)
        self._servers, self._decides = gateway.servers, gateway.decides
        from doorward_durable_runs import APPROVALS

        gateway.services.give(APPROVALS, self)
        gateway.services.give(REQUESTS, Requests(lambda: self._store, gateway))

    @hookimpl
    def call_layers(self) -> list[CallLayer]:
        """Most configurations let no single call wait: then nothing stands around calls."""
        layers = []
        if self._decides:
            layers.append(CallLayer("approvals", self._around, before=("budgets", "undo"), waits=True))
        if self._settings.login:
            from doorward_approvals.logins import Logins

            logins = Logins(self._settings, self._servers)
            layers.append(CallLayer("logins", logins.around, after=("approvals", "budgets", "undo"), waits=True))
        return layers

    async def _around(self, run: Run, call: Call, proceed: Proceed) -> Reply:
        """Have a person approve of a call, if it wants that."""
        if call.decision.then != "confirm":
            return await proceed()
        schema_hash = self._catalog.schema_hash(call.function.server, call.function.name)
        await self.confirm(run, call, call.decision, schema_hash)
        return await proceed(confirmed=True)

    async def confirm(
        self, run: Run, call: Call, decision: Decision, schema_hash: str, *, kind: ApprovalKind = "call"
    ) -> None:
        """Return once a person has approved of the call, or of the plan that it commits; else the run is suspended.

        Raises: Refused if a person denied it, or if nobody can be asked, or answered a run that cannot be suspended;
        StateError.
        """
        from doorward_approvals.binding import bound

        resumable = run.can_wait()
        binding = bound(call, decision, schema_hash, run.session, resumable=resumable)
        turns = run.state[_TURNS]
        with turns.one(), call.clock.still():
            with turns.comes():
                found = await self._settled(binding)
                if found is None:
                    async with turns.opening:  # the same call at the same time has a request of its own
                        request = await self._opened(run, call, decision, binding, kind)
                        self._waited.add(request.id)
            if found is None:
                try:
                    found = await self._awaited(run, call, request, binding, turns, resumable=resumable)
                finally:
                    self._waited.discard(request.id)
        if found is not None:
            log.info("approval_answered", id=found.id, function=found.function, state=found.state, by=found.by)
        if found is None:
            await _unanswered(run, request, resumable=resumable)
        elif found.state == "approved" and found.scope == "once" and not run.consume(found.id):
            raise Refused(
                f"the yes to {call.function.qualified} has been used in this run: the store is an older copy",
                hint="Tell the operator. A call that is made again is asked about anew.",
            )
        elif found.state != "approved":
            why = f": {found.said}" if found.said else ""
            raise Refused(
                f"{call.function.qualified} was denied by {found.by}{why}",
                hint="Do without this call, or ask the person what to do instead.",
            )

    async def _opened(
        self, run: Run, call: Call, decision: Decision, binding: Binding, kind: ApprovalKind
    ) -> ApprovalRequest:
        """The request for this call: a new one, unless it waits already since the run was suspended."""
        from doorward.administration import without_drawn_tokens

        from doorward_approvals.answering import Answering  # for those who have somebody asked
        from doorward_approvals.narrow_rules import narrow_rule
        from doorward_approvals.shown import arguments_shown, lines_naming

        now, most = self._now(), self._settings.open
        without_known, documented = self._without_known(call.function.server), self._documented(call.function.server)
        arguments = documented.without(call.function, call.arguments)

        def scrub(text: str) -> str:
            return without_drawn_tokens(without_known(documented.out_of(text)))

        new = ApprovalRequest(
            secrets.token_hex(8),
            call.function.qualified,
            effect(call.function),
            arguments_shown(arguments, without_known, indent=2 if kind == "call" else None),
            call.principal,
            call.run,
            decision.rule,
            decision.reason,
            lines_naming(run.program.code, call.function.qualified, scrub),
            _scopes(run, kind),
            always=frozen(narrow_rule(call, decision.rule, scrub)) if kind == "call" else {},
            kind=kind,
            created=now,
            expires=now + self._settings.keep * 3600,
        )
        request = await self._store.opened(new, binding, besides={*self._waited}, most=most)
        if request is None:
            raise LimitExceeded(
                f"{call.function.qualified} needs a person's approval, and {most} requests of yours wait already",
                hint="Wait until they are answered. [approvals] open says how many may wait.",
            )
        if request is new:
            about = {"function": request.function, "run": request.run, "principal": request.principal}
            log.info("approval_wanted", id=request.id, **about, **({"rule": request.rule} if request.rule else {}))
            answering = Answering(self._store, request.id)
            self._hook.approval_wanted(request=request, answer=answering)
            await answering.stored()
        return request

    def _documented(self, server: str) -> DocumentedSecrets:
        """What takes the secrets out of arguments that the document of a server marks as such."""
        from doorward_durable_runs import DocumentedSecrets

        return DocumentedSecrets(partial(self._catalog.definition, server))

    async def _settled(self, binding: Binding, id: str = "") -> ApprovalRequest | None:
        return await self._store.settled(binding, id=id, besides={*self._waited})

    async def _awaited(
        self,
        run: Run,
        call: Call,
        request: ApprovalRequest,
        binding: Binding,
        turns: Turns,
        *,
        resumable: bool,
    ) -> ApprovalRequest | None:
        """The answer to a request, whoever gives it; `None` if nobody does in time."""
        import anyio

        limits = run.program.limits
        others = min(limits.asking - call.clock.stood, limits.timeout)
        most = self._settings.wait - turns.in_vain if resumable else others
        asked, found, error, since = anyio.Event(), None, None, time.monotonic()
        async with anyio.create_task_group() as group:
            group.start_soon(self._ask, run, request, binding.alike, turns, asked)
            try:
                found = await self._answered(request, binding, asked, most)
            except DoorwardError as raised:  # the group would wrap it
                error = raised
            group.cancel_scope.cancel()
        if found is None:
            turns.nobody_answered(since)
        if error is not None:
            raise error
        if found is not None and found.id != request.id:
            await self._store.withdrawn(request)
        return found

    async def _answered(
        self, request: ApprovalRequest, binding: Binding, asked: anyio.Event, most: float
    ) -> ApprovalRequest | None:
        """Look for an answer until the client's person has been asked, and for `most` seconds at least."""
        end = time.monotonic() + most
        while True:
            over, seen = asked.is_set() and time.monotonic() >= end, await self._store.changes()
            if (found := await self._settled(binding, request.id)) is not None or over:
                return found
            await self._changed(seen, asked, end)

    async def _changed(self, seen: int, asked: anyio.Event, end: float) -> None:
        """Return once a request may have been answered, the client's person has been asked, or it is time to look."""
        import anyio

        waits = not asked.is_set()
        seconds = _LOOK_ANYWAY_SECONDS if waits else min(_LOOK_ANYWAY_SECONDS, max(0.0, end - time.monotonic()))
        async with anyio.create_task_group() as group:

            async def until_asked() -> None:
                await asked.wait()
                group.cancel_scope.cancel()

            if waits:
                group.start_soon(until_asked)
            await self._store.changes(seen, seconds)
            group.cancel_scope.cancel()

    async def _ask(self, run: Run, request: ApprovalRequest, alike: str, turns: Turns, asked: anyio.Event) -> None:
        """Ask the person at the client, if there is one, and store the answer. Sets `asked` when that is over."""
        try:
            if run.ask is not None and self._settings.client:
                from doorward_approvals.at_client import AtClient  # for those who have somebody asked

                await AtClient(run.ask, self._store, self._settings.patience).ask(turns, request, alike)
        finally:
            asked.set()


def _scopes(run: Run, kind: ApprovalKind) -> tuple[ApprovalScope, ...]:
    """How far a yes may reach."""
    if run.session:
        return APPROVAL_SCOPES
    return APPROVAL_SCOPES[:2] if run.program.code and kind == "call" else APPROVAL_SCOPES[:1]


async def _unanswered(run: Run, request: ApprovalRequest, *, resumable: bool) -> None:
    """Suspend the run, or refuse the call of one that cannot be suspended. Raises: Refused."""
    why = "".join(f" ({part})" for part in (request.reason or request.rule,) if part)
    what = f"{request.function} waits for a person's approval{why}"
    how = f"doorward approvals approve {request.id}"
    if resumable:
        id = run.program.run
        run.note(f"a loop waits anew at each call that needs a yes; {_ONE_YES.format(id)}", about="approvals")
        together = f"For all of them: `doorward approvals approve --run {id}`"
        await run.wait(Wait("approval", f"{what}. Only a person decides, by `{how}`", together=together))
    raise Refused(
        f"{what}, and nobody has answered in time",
        hint=f"Ask a person to run `{how}`. Then make the same call again, with the same arguments.",
    )
