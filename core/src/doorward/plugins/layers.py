"""Puts the layers of plugins around calls and runs. A layer ends nothing but what it stands around."""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, cast

from doorward.config.installed_plugins import PluginId
from doorward.model.calls import Call, Reply
from doorward.model.errors import DoorwardError, LoginRefused, PluginError
from doorward.model.layers import CallLayer, Run, RunLayer, RunState
from doorward.model.programs import Artefact, Outcome, Wait
from doorward.plugins.failures import contained, passes_cancellation
from doorward.plugins.hook_answers import Answer as Answered
from doorward.plugins.hook_answers import Unfit, expected
from doorward.plugins.sealing import sealed

if TYPE_CHECKING:
    from doorward.model.functions import Function
    from doorward.model.programs import Program
    from doorward.plugins.manager import Plugins

L = TypeVar("L", bound=CallLayer | RunLayer)
Answer = TypeVar("Answer", Reply, Outcome)


class RunView:
    """A run as layers get it: what `Run` says, and nothing else of it."""

    __slots__ = ("_program", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._program: Program = sealed(run.program)

    @property
    def program(self) -> Program:
        return self._program

    @property
    def state(self) -> RunState:
        return self._run.state

    @property
    def goes_on(self) -> bool:
        return self._run.goes_on

    def is_out(self, call: Call) -> bool:
        return self._run.is_out(call)

    async def read_beside(self, call: Call, function: str, arguments: Mapping[str, Any]) -> Any:
        return await self._run.read_beside(call, function, arguments)

    def note(self, text: str, *, about: str = "") -> None:
        self._run.note(text, about=about)

    @property
    def session(self) -> str:
        return self._run.session

    @property
    def ask(self) -> Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]] | None:
        return self._run.ask

    def can_wait(self, until: float = 0.0) -> bool:
        return self._run.can_wait(until)

    async def wait(self, wait: Wait) -> NoReturn:
        await self._run.wait(expected(Wait, wait))

    def save_text(self, text: str) -> Artefact:
        return self._run.save_text(text)

    def consume(self, id: str) -> bool:
        return self._run.consume(id)


class ViewedRun(Run, Protocol):
    """A run that layers of others get a view of."""

    @property
    def view(self) -> Run: ...


Chosen = Sequence[tuple["PluginId", CallLayer]]


class Layers(Generic[L]):
    """The layers of one gateway that a hook gives, from the outermost to the innermost.

    Raises: PluginError for two of one name, and for a circle.
    """

    def __init__(self, plugins: Plugins, hook: str) -> None:
        self._failures = plugins.failures
        found: dict[str, tuple[PluginId, L]] = {}  # as their plugins are loaded
        for answer in getattr(plugins.hook, hook)():
            nobody = PluginId("plugin", "a hook wrapper", "a plugin")  # which is none of core's
            plugin = answer.plugin if isinstance(answer, Answered) else nobody
            for layer in answer:
                if not layer.name:
                    raise PluginError(f"{plugin} has a layer without a name", hint="Tell its author.")
                if layer.name in found:
                    raise PluginError(
                        f"two layers are called {layer.name!r}: of {found[layer.name][0]} and of {plugin}",
                        hint="Use one of the two plugins.",
                    )
                found[layer.name] = plugin, layer
        self.all: Sequence[tuple[PluginId, L]] = [found[name] for name in _in_order(found)]

    async def _through(
        self,
        layers: Sequence[tuple[PluginId, L]],
        around: Callable[[PluginId, L, Any], Awaitable[Answer]],
        inside: Callable[..., Awaitable[Answer]],
        own: Callable[[Any, Any], Awaitable[Answer]],
    ) -> Answer:
        """The answer of the outermost of these layers, or of what is inside of all. `own` makes an answer of what a
        layer gives in the place of what came from inside, if anything did."""
        if not layers:
            return await inside()
        (plugin, layer), *further = layers
        got: Any = None
        state = "new"

        async def proceed(*, confirmed: bool = False) -> Answer:
            nonlocal state, got
            again = state == "done" and isinstance(got, LoginRefused)  # nothing was made, and a person may have come
            if state != "new" and not again:
                raise Unfit(f"it proceeded {'twice' if state != 'over' else 'after it had answered'}")
            state = "under way"
            try:
                within = partial(inside, confirmed=True) if confirmed else inside
                got = await self._through(further, around, within, own)
            except BaseException as error:
                got = error
                raise
            finally:
                state = "done"
            return cast("Answer", got)

        try:
            with contained(), passes_cancellation():
                answer = await around(plugin, layer, proceed)
            if state == "under way":
                raise Unfit("it answered while what it stands around was under way")
            return answer if answer is got else await own(answer, got)
        except Exception as error:
            if error is got or _is_readable(error):
                raise
            odd = (
                Unfit(f"it raised {type(error).__name__} without a text") if isinstance(error, DoorwardError) else error
            )
            raise self._failures.told(plugin, f"the layer {layer.name!r}", odd) from None
        finally:
            state = "over"


class CallLayers(Layers[CallLayer]):
    """The layers around calls; those of a function are chosen when it is called first."""

    def __init__(self, plugins: Plugins) -> None:
        super().__init__(plugins, "call_layers")
        self._chosen: dict[str, tuple[Function, Chosen]] = {}

    @property
    def of_others(self) -> bool:
        """Whether any is of a plugin, and none of core's own."""
        return any(plugin.given_by for plugin, _ in self.all)

    async def around(
        self,
        layers: Chosen,
        run: ViewedRun,
        call: Call,
        inside: Callable[..., Awaitable[Reply]],
        own: Callable[[Reply], Awaitable[Reply]],
    ) -> Reply:
        """The reply to a call, with these layers around it. Core's own see the run and the call themselves. `own`
        checks a reply that a layer gives in the place of it."""

        def around(plugin: PluginId, layer: CallLayer, proceed: Any) -> Awaitable[Reply]:
            if not plugin.given_by:
                return layer.around(run, call, proceed)
            return layer.around(run.view, sealed(call), proceed)

        async def checked(reply: Any, got: Any) -> Reply:
            return await own(expected(Reply, reply))

        return await self._through(layers, around, inside, checked)

    def of(self, function: Function) -> Chosen:
        """The layers around calls of a function."""
        known = self._chosen.get(function.qualified)
        if known is None or known[0] is not function:
            chosen = [each for each in self.all if self._applies(*each, function)]
            known = self._chosen[function.qualified] = function, chosen
        return known[1]

    def _applies(self, plugin: PluginId, layer: CallLayer, function: Function) -> bool:
        with self._failures.blamed(plugin, f"`applies` of the layer {layer.name!r}"):
            return expected(bool, layer.applies(sealed(function)))


class RunLayers(Layers[RunLayer]):
    """The layers around runs."""

    def __init__(self, plugins: Plugins) -> None:
        super().__init__(plugins, "run_layers")

    async def around(
        self,
        run: Run,
        inside: Callable[[], Awaitable[Outcome]],
        own: Callable[[Outcome], Awaitable[Outcome]],
    ) -> Outcome:
        """The outcome of a run. `own` reads one with a value that a layer gives in the place of the run's."""

        async def checked(outcome: Any, got: Any) -> Outcome:
            same = isinstance(got, Outcome) and expected(Outcome, outcome).value is got.value
            return outcome if same else await own(expected(Outcome, outcome))

        return await self._through(self.all, lambda _, layer, proceed: layer.around(run, proceed), inside, checked)


def _is_readable(error: Exception) -> bool:
    """Whether it is an error of ours, with a text for whoever gets it."""
    try:
        return isinstance(error, DoorwardError) and all(
            isinstance(each, str) for each in (error.message, error.hint or "")
        )
    except AttributeError:  # it has not called our constructor
        return False


def _in_order(layers: Mapping[str, tuple[PluginId, L]]) -> list[str]:
    """The names of layers, from the outermost to the innermost; where nothing is said, as they stand.

    Raises: PluginError.
    """
    graph: dict[str, set[str]] = {name: set() for name in layers}
    for name, (_, layer) in layers.items():
        graph[name].update(outer for outer in layer.after if outer in graph)
        for inner in layer.before:
            if inner in graph:
                graph[inner].add(name)
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = [f"{name!r} of {layers[name][0].given_by}" for name in error.args[1]]
        why = f"layers that stand around each other: {' around '.join(circle)}"
        raise PluginError(why, hint="Leave one of their plugins out.") from None
    found, places, ready = list[str](), [*layers], list[int]()
    while sorter.is_active():  # one by one: what is made free comes in its place, too
        for name in sorter.get_ready():
            heapq.heappush(ready, places.index(name))
        found.append(places[heapq.heappop(ready)])
        sorter.done(found[-1])
    return found
