"""Calls of tools whose runs ask the client something, or take long.

Clients of the newer era (2026-07-28) get no requests. The call of a tool is answered with what the run asks, the run is
suspended, and the client repeats the call with its answers (basic/patterns/mrtr). A call that takes long becomes a task
(`tasks`), if the client takes such.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
import mcp_types as t
from doorward import Busy, DoorwardError, ServerError, UnknownName
from doorward.engines import Store
from doorward.serving import Process, may_take, principal_of, told
from mcp import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from doorward_mcp_server import elicitation, tasks
from doorward_mcp_server.other_machines import OtherMachines
from doorward_mcp_server.other_processes import OtherProcesses
from doorward_mcp_server.progress import Progress

MAX_WAITING_RUNS = 32
"""Runs of all principals that may wait for answers at one time. Principals share these places as they share sandboxes:
each waiting run holds one."""

GRACE_SECONDS = 60.0
"""Seconds for which a run that got no answer in time is kept, so that its client can learn how it ended."""

STORED_RUN = "doorward.run"
"""The key of the scope of an HTTP request with the list that gets the id of its run, once that is stored."""

GATHER_SECONDS = 0.02
"""Seconds for which a question waits for others, to be sent together with them."""


class SuspendableCall(Progress):
    """One call of a tool, which may take several requests. It is the `doorward.Client` of its run."""

    def __init__(self, ctx: Any, admit: Callable[[str], None], resuming: str = "") -> None:
        super().__init__(ctx)
        self.principal = principal_of(ctx)
        self.run = ""
        self.message = ""
        self.open: dict[str, tuple[Any, asyncio.Future[Mapping[str, Any]]]] = {}
        self.task: asyncio.Task[Any]
        self.timer: asyncio.TimerHandle
        self._admit, self._resuming = admit, resuming
        self._asked = 0
        self._halt = asyncio.Event()

    @property
    def suspends(self) -> bool:
        """Whether questions are sent as the answer to the call, not as requests."""
        client = self.ctx.session.client_capabilities or t.ClientCapabilities()
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and bool(client.elicitation or client.sampling)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `doorward.Client.ask`."""
        asked = elicitation.question(self.ctx, method, params)
        if not self.suspends:
            return await elicitation.send(self.ctx, asked)
        if not self.open:
            self._admit(self.principal)
        self._asked += 1
        key = str(self._asked)
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self.open[key] = asked, future
        self._halt.set()
        try:
            return await future
        finally:
            self.open.pop(key, None)

    async def run_stored(self, run: str) -> None:
        """See `doorward.LearnsRun`."""
        self.run = run
        self._beats += 1
        if (named := getattr(self.ctx.request, "scope", {}).get(STORED_RUN)) is not None:
            named.append(run)
        if self._resuming:
            await self._tell(f'run {run} is stored: {self._resuming}("{run}") if its answer is lost')

    async def _tell(self, message: str) -> None:
        self.message = message or self.message
        await super()._tell(message)

    def begin(self, work: Awaitable[Any]) -> None:
        """Start the work in a task of its own, which outlives the request."""
        self.task = asyncio.ensure_future(work)
        self.task.add_done_callback(lambda _: self._halt.set())

    async def halted(self) -> None:
        """Wait until the work is over, or asks something."""
        while not self.task.done() and not self.open:
            self._halt.clear()
            await self._halt.wait()
            if self.open:
                await asyncio.sleep(GATHER_SECONDS)

    def answered(self, given: Mapping[str, Any]) -> None:
        """Go on with the answers of the next request. Questions that it leaves open are asked again."""
        for key in [key for key in self.open if key in given]:
            asked, future = self.open.pop(key)
            if future.done():  # the run does not wait for it any more
                continue
            try:
                future.set_result(elicitation.answer(asked, given[key]))
            except ServerError as error:
                future.set_exception(error)

    async def end(self) -> None:
        """End the work, and wait until all of it is gone."""
        self.task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([self.task])


class SuspendedCalls:
    """The calls of a server that can be suspended. A suspended call has a token, which is valid for one request, and
    names its process and its run: another process that gets it hands the answer on, or lets the run go on if that is
    stored, and its process is gone. `resuming` is the name of the tool that does that; empty if there is none. With a
    `key` there are tasks."""

    def __init__(
        self, patience: float, process: Process | None = None, resuming: str = "", key: bytes | None = None
    ) -> None:
        self.lasting, self.resuming = patience + GRACE_SECONDS, resuming
        self._others = None if process is None else OtherProcesses(process, self._answer_for)
        self._machines: OtherMachines | None = None
        self._tasks = tasks.Tasks(process, key, resuming) if process is not None and key is not None else None
        self._runs: set[SuspendableCall] = set()
        self._suspended: dict[str, SuspendableCall] = {}

    def share(self, store: Store, key: bytes) -> None:
        """Hand answers on to processes on other machines, too, which have the same store and key."""
        if (others := self._others) is not None:
            self._machines = OtherMachines(store, key, lambda: others.process.id, self._answer_for)

    async def call(
        self,
        ctx: Any,
        token: str | None,
        work: Callable[[SuspendableCall], Awaitable[Any]],
        resume: Callable[[str, SuspendableCall], Awaitable[Any]] | None = None,
    ) -> Any:
        """The result of the work, or what it asks. With a token, a suspended call goes on; `resume` lets the stored run
        of one go on whose process is gone. If the request is cancelled, or its client is gone, the work ends.

        Raises: UnknownName for a token that is not valid; whatever the work raises.
        """
        given = (ctx.params or {}).get("inputResponses") or {}
        as_task = self._tasks is not None and tasks.declared(ctx)
        if token is not None and token not in self._suspended and self._others is not None:
            process, run_id, _ = token.split(".")
            answers = {"token": token, "principal": principal_of(ctx), "given": given}
            if process != self._others.process.id:
                if (result := await self._hand_on(process, **answers)) is not None:
                    return _result(result)
                if resume is not None and run_id:
                    token, work = None, partial(resume, run_id)
        if token is None:
            run = SuspendableCall(ctx, self._admit, self.resuming)
            if not run.suspends and not as_task:
                async with run.told():
                    return await work(run)
            self._begin(run, work)
        else:
            run = self._resumed(token, principal_of(ctx))
            run.ctx = ctx
            run.answered(given)
        async with run.told():
            return await self._halted(run, as_task=as_task)

    async def about_task(self, ctx: Any, params: tasks.TaskParams) -> dict[str, Any]:
        """The answer to a request about a task. Raises: MCPError if its principal has none of that id."""
        id, given = params.task_id, params.input_responses or {}
        tasks.check(ctx, id)
        assert self._tasks is not None
        assert self._others is not None
        principal = principal_of(ctx)
        process, run = self._tasks.owner(id, principal)
        if process == self._others.process.id:
            return await self._tasks.answer(id, ctx.method, given)
        found = await self._hand_on(process, token=id, principal=principal, given=given, method=ctx.method)
        if found is None:
            return self._tasks.lost(id, run, ctx.method)
        if "refused" in found:
            raise MCPError(**found["refused"])
        return dict(found)

    async def _hand_on(self, process: str, **answers: Any) -> Mapping[str, Any] | None:
        """What another process answers; `None` if there is no such process."""
        assert self._others is not None
        result = await self._others.hand_on(process, **answers)
        if result is None and self._machines is not None:
            result = await self._machines.hand_on(process, **answers)
        return result

    async def _halted(self, run: SuspendableCall, *, as_task: bool = False) -> Any:
        """The result of the work, what it asks, or the task that it has become."""
        try:
            with anyio.move_on_after(tasks.AFTER_SECONDS if as_task else None):
                await run.halted()
            if as_task and not run.task.done() and not run.open:
                await self._listen()
                if self._tasks is not None and self._tasks.room(run.principal):
                    return self._tasks.create(run)
                await run.halted()
        except asyncio.CancelledError:
            await run.end()
            raise
        return run.task.result() if run.task.done() else await self._suspend(run)

    async def _answer_for(self, token: str, principal: str, given: Mapping[str, Any], method: str = "") -> bytes:
        """The result, as JSON, of a call whose client has sent its answers to another process; or of a request about a
        task."""
        result: t.Result
        if method and self._tasks is not None:
            try:
                self._tasks.owner(token, principal)
                return to_json(await self._tasks.answer(token, method, given))
            except MCPError as error:
                return to_json({"refused": {"code": error.error.code, "message": error.error.message}})
        try:
            run = self._resumed(token, principal)
            run.answered(given)
            result = await self._halted(run)
        except DoorwardError as error:
            result = t.CallToolResult(content=[t.TextContent(text=told(error))], is_error=True)
        return result.model_dump_json(by_alias=True, exclude_none=True).encode()

    async def close(self) -> None:
        """End all runs."""
        for run in self._suspended.values():
            run.timer.cancel()
        self._suspended.clear()
        if self._tasks is not None:
            self._tasks.close()
        for run in list(self._runs):
            await run.end()
        if self._others is not None:
            await self._others.close()
        if self._machines is not None:
            await self._machines.close()

    def _begin(self, run: SuspendableCall, work: Callable[[SuspendableCall], Awaitable[Any]]) -> None:
        def over(task: asyncio.Task[Any]) -> None:
            self._runs.discard(run)
            if not task.cancelled():
                task.exception()  # looked at here, as nobody else may do it

        self._runs.add(run)
        run.begin(work(run))
        run.task.add_done_callback(over)

    def _admit(self, principal: str) -> None:
        """Raises: Busy if no more runs of this principal may wait for answers."""
        waiting = Counter(run.principal for run in self._runs if run.open)
        if not may_take(principal, waiting, MAX_WAITING_RUNS):
            message = (
                f"{waiting.total()} runs wait for answers already, {waiting[principal]} of them yours; no more may"
            )
            raise Busy(message, hint="Answer one of yours, or try again later.")

    async def _listen(self) -> None:
        if self._others is not None:
            await self._others.listen()
        if self._machines is not None:
            await self._machines.listen()

    async def _suspend(self, run: SuspendableCall) -> t.InputRequiredResult:
        token = secrets.token_urlsafe(24)
        if self._others is not None:
            await self._listen()
            token = f"{self._others.process.id}.{run.run}.{token}"
        self._suspended[token] = run
        run.timer = asyncio.get_running_loop().call_later(self.lasting, self._forget, token)
        return t.InputRequiredResult(
            input_requests={key: asked for key, (asked, _) in run.open.items()}, request_state=token
        )

    def _resumed(self, token: str, principal: str) -> SuspendableCall:
        run = self._suspended.get(token)
        if run is None and self._others is not None and self._others.process.knows(token):
            raise UnknownName(
                "the run that asked belongs to another process that shares this state folder, and cannot be reached",
                hint="Send the answer to that process.",
            )
        if run is None or run.principal != principal:
            raise UnknownName(
                "the run that asked is over, or has been answered already",
                hint="Call the tool anew, without requestState.",
            )
        del self._suspended[token]
        run.timer.cancel()
        return run

    def _forget(self, token: str) -> None:
        self._suspended.pop(token).task.cancel()


def _result(said: Mapping[str, Any]) -> t.Result:
    """A result that another process has given."""
    kind = t.InputRequiredResult if said.get("resultType") == "input_required" else t.CallToolResult
    return kind.model_validate(said, by_name=False)
