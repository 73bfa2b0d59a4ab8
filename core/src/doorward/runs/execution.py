"""The runs of one gateway: programs, kept programs and single calls, from the caller's words to the outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doorward.config.install_hints import capability_brought, owner_brought
from doorward.host.logs import log
from doorward.model.errors import DoorwardError, GuardRefused, InvalidArguments, Refused, StateError
from doorward.model.kept_programs import KEPT_PROGRAMS
from doorward.model.names import some
from doorward.model.programs import Outcome
from doorward.model.recording import RECORDERS, WITHHOLDS
from doorward.model.suspension import Suspension
from doorward.runs.outcomes import failure
from doorward.runs.run_context import RunContext

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts
    from doorward.calls.broker import Broker
    from doorward.model.calls import Client
    from doorward.model.kept_programs import KeepsPrograms
    from doorward.model.layers import RunState
    from doorward.model.programs import Program
    from doorward.model.recording import Interceptor, Recorder
    from doorward.model.services import Services
    from doorward.plugins.layers import RunLayers
    from doorward.runs.admission import Admission
    from doorward.runs.program_modules import Modules
    from doorward.runs.runner import Runs
    from doorward.sandboxes.languages import Languages
    from doorward.sandboxes.sessions import Session, Sessions


class Execution:
    """Admits what shall run, has it run, and keeps the programs that succeeded. `ready` waits for the catalog."""

    def __init__(
        self,
        admission: Admission,
        runs: Runs,
        sessions: Sessions,
        broker: Broker,
        modules: Modules,
        artefacts: Artefacts,
        languages: Languages,
        ready: Callable[[], Awaitable[None]],
        services: Services,
    ) -> None:
        self._admission = admission
        self._runs = runs
        self._sessions = sessions
        self._broker = broker
        self._modules = modules
        self._artefacts = artefacts
        self._ready = ready
        self._languages = languages
        self._services = services
        self.under_way: set[RunContext] = set()

    @property
    def layers(self) -> RunLayers:
        """What stands around runs."""
        return self._runs.layers

    @property
    def _keeps(self) -> KeepsPrograms | None:
        return self._services.get(KEPT_PROGRAMS)

    async def execute(
        self,
        code: str,
        *,
        params: Mapping[str, Any] | None,
        functions: Sequence[str] | None,
        sampling: bool | None,
        description: str,
        session_id: str,
        timeout: float | None,
        show_bytes: int | None,
        principal: str,
        client: Client | None,
        language: str,
        mode: str,
        argv: Sequence[str] = (),
    ) -> Outcome:
        """See `Gateway.execute`."""
        try:
            await self._admission.admit(principal)
            await self._ready()
            code = _received(code, self._admission.limits(principal).code_bytes)
            language = self._languages.chosen(language, self._sessions.language(session_id, principal))
            program, known = await self._admission.prepared(
                code,
                principal,
                params,
                known=self._languages.parameters(code, language),
                description=description,
                functions=functions,
                sampling=sampling,
                timeout=timeout,
                show_bytes=show_bytes,
                language=language,
                session_id=session_id,
                plan=self._is_planned(mode, session_id),
                argv=argv,
            )
            session = await self._sessions.get(session_id, principal, language) if session_id else None
        except DoorwardError as error:
            return self._admission.refused(error, code, principal, language)
        return await self.run(program, known, session, client)

    def _is_planned(self, mode: str, session: str) -> bool:
        """Whether the writes of a program are withheld. Raises: DoorwardError if that cannot be."""
        if mode not in ("run", "plan"):
            raise InvalidArguments(f"there is no mode {mode[:40]!r}", hint='mode is "run" or "plan".')
        if mode == "run":
            return False
        if (withholds := self._services.get(WITHHOLDS)) is None:
            raise _not_in_use(f"the mode {mode!r}", "mode", mode)
        withholds.check(session)
        return True

    async def run_cached(
        self,
        cache_id: str,
        params: Mapping[str, Any] | None,
        *,
        timeout: float | None,
        show_bytes: int | None,
        principal: str,
        client: Client | None,
    ) -> Outcome:
        """See `Gateway.run_cached`."""
        try:
            await self._admission.admit(principal)
            await self._ready()
            if (programs := self._keeps) is None:
                raise _not_in_use("what keeps programs", "plugin", "kept_programs")
            kept = await programs.get(cache_id, principal)
            self._languages.checked(kept.language)
            program = await self._admission.cached(kept, principal, params, timeout=timeout, show_bytes=show_bytes)
        except DoorwardError as error:
            return self._admission.refused(error, "", principal)
        outcome = await self.run(program, None, None, client)
        return programs.repeated(outcome, cache_id, {**kept.params, **(params or {})})

    async def call(self, function: str, arguments: Mapping[str, Any], principal: str) -> Any:
        """See `Gateway.call`."""
        await self._ready()
        with self._recorded(self.of_call(principal)) as run:
            answer = await run.call(function, (), arguments)
            try:
                await run.store_files()
            except StateError as error:  # the call was made: nobody may take it for one that was not
                files = run.mark_unstored(answer, error.message)
                log.warning("files_not_stored", function=function, files=files, why=error.message)
            return answer

    async def answer(
        self,
        function: str,
        arguments: Mapping[str, Any],
        *,
        show_bytes: int | None,
        principal: str,
        client: Client | None,
    ) -> Outcome:
        """See `Gateway.answer`."""
        try:
            await self._admission.admit(principal)
            await self._ready()
            context = self.of_call(principal, client, show_bytes)
        except DoorwardError as error:
            return Outcome(False, error=failure(error))
        with self._recorded(context) as run:
            return await self._runs.answer(run, function, arguments)

    def context(
        self,
        program: Program,
        session: Session | None = None,
        client: Client | None = None,
        recorder: Recorder | None = None,
        interceptor: Interceptor | None = None,
        state: RunState | None = None,
    ) -> RunContext:
        """The record of a run that begins; `state` is that of another one of which it is a part."""
        if interceptor is None:
            interceptor = recorder.interceptor if recorder else None
            if program.plan:
                interceptor = self._services[WITHHOLDS].interceptor()
        if recorder is not None:
            suspension = recorder.suspension
        else:
            lacks = self._services.get(RECORDERS) is None
            suspension = Suspension(owner_brought("mode", "wait") if lacks else "")
        return RunContext(
            program, self._broker, self._modules, self._artefacts, suspension, session, client, recorder, interceptor,
            state,
        )  # fmt: skip

    def of_call(self, principal: str, client: Client | None = None, show_bytes: int | None = None) -> RunContext:
        """The record of a run that is one call, without a program. Raises: InvalidArguments."""
        program = self._admission.program(
            "", principal, language=self._languages.of_calls(principal), show_bytes=show_bytes
        )
        return self.context(program, client=client)

    async def around(self, run: RunContext, inside: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """See `Runs.around`."""
        return await self._runs.around(run, inside)

    def suspend(self, why: str) -> int:
        """Suspend the runs under way, once their calls in flight have ended: what they wait for is the next start.
        Returns: how many cannot be suspended."""
        return sum(not run.suspension.stop(why) for run in self.under_way)

    @contextlib.contextmanager
    def _recorded(self, run: RunContext) -> Iterator[RunContext]:
        """Count a run as under way."""
        self.under_way.add(run)
        self._admission.readiness.begun()
        try:
            yield run
        finally:
            self.under_way.discard(run)
            self._admission.readiness.ended()

    async def run(
        self,
        program: Program,
        known: Mapping[str, Any] | None,
        session: Session | None,
        client: Client | None,
        recorder: Recorder | None = None,
        *,
        whole: RunContext | None = None,
    ) -> Outcome:
        """Run an admitted program; `recorder` is that of a run which goes on. Keep it with its `known` parameters if it
        succeeds. It may be a part of a `whole`, around which layers stand already."""
        if recorder is None and session is None:
            recorders = self._services.get(RECORDERS)
            recorder = recorders.new(program) if recorders is not None else None
        state = whole.state if whole else None
        with self._recorded(self.context(program, session, client, recorder, state=state)) as run:
            if program.functions and (idle := run.texts.idle(program.functions, program.principal)):
                run.note(f"`functions`: nothing that can be called fits {some(idle)}")
            try:
                outcome = await self._runs.run(program, run, session, whole=whole)
                if recorder is not None:
                    outcome = await recorder.end(run, outcome)
            finally:
                if recorder is not None:
                    await recorder.close()
        if session is not None:
            await self._sessions.leave(session)
            outcome = replace(outcome, session_id="" if session.dead else session.id)
        elif outcome.ok and known is not None and not program.plan and not program.argv and self._keeps is not None:
            outcome = await self._keeps.keep(program, known, outcome)
        return outcome


def _not_in_use(what: str, kind: str, name: str) -> Refused:
    """The error for something that a plugin would do, with what to install; see `capability_brought`."""
    return Refused(f"{what} is not in use here", hint=capability_brought(kind, name))


def _received(code: str, most: int) -> str:
    """A program as it was sent, without a byte order mark and with plain line ends, so that its lines have the same
    numbers everywhere.

    Raises: GuardRefused if it has more than `most` bytes.
    """
    if (size := len(code.encode(errors="surrogatepass"))) > most:
        raise GuardRefused(
            f"the program has {size} bytes, more than {most}", hint="Send less code; pass data as params."
        )
    return code.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
