"""The plugin: functions, and mistakes about them, as text in the language of an agent's programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError, Function, Gateway, PluginContext, hookimpl
from doorward.texts import TEXTS, Answers, Definitions, FunctionTexts, Mistaken, Mistakes, is_script

if TYPE_CHECKING:
    from doorward import Failure, Program
    from doorward.texts import FailedRun, Observation

    from doorward_text.views import Views


class Text:
    """Writes functions for agents."""

    def __init__(self, context: PluginContext) -> None:
        pass

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        gateway.services.give(TEXTS, Written(gateway))


class Written(FunctionTexts):
    """The texts. What writes them is imported when it is first asked for."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @cached_property
    def _views(self) -> Views:
        from doorward_text.views import Views

        return Views(self._gateway)

    def imported(self, module: str, name: str, language: str = "python") -> str:
        from doorward_text.dialects import dialect_of

        return dialect_of(language).imported(module, name)

    def signature(
        self,
        function: Function,
        definitions: Definitions,
        language: str = "python",
        seen: Observation | None = None,
    ) -> str:
        from doorward_text.signatures import signature

        return signature(function, definitions, seen=seen, language=language)

    def card(
        self,
        function: Function,
        definitions: Definitions,
        language: str = "python",
        seen: Observation | None = None,
    ) -> str:
        from doorward_text.cards import describe

        return describe(function, definitions, module=function.server, seen=seen, language=language)

    def part(self, function: Function, name: str, language: str = "python") -> dict[str, str]:
        return self._views.part(function, name, language)

    async def beside(self, function: Function, asker: Program) -> str:
        return await self._views.beside(function, asker)

    def summary(self, function: Function) -> str:
        return self._views.summary(function)

    def gives(self, function: Function) -> str:
        return self._views.gives(function)

    def server(self, module: str, about: str, names: Sequence[str], asker: Program) -> str:
        return self._views.server(module, about, names, asker)

    def stub(
        self,
        functions: Mapping[str, Function],
        definitions: Definitions,
        language: str = "python",
        seen: Callable[[Function], Observation | None] = lambda function: None,
    ) -> str:
        from doorward_text.dialects import dialect_of
        from doorward_text.signatures import stub

        also, name_of = (
            "export {{ {1} as {0} }};\n" if is_script(language) else "{0} = {1}\n",
            dialect_of(language).name,
        )
        again = "".join(also.format(n, name_of(each)) for n, each in functions.items() if n != each.name)
        known = {each.name: each for each in functions.values()}.values()
        return stub(known, definitions, seen, language) + again

    def mistakes(self, wrong: Mistaken, definitions: Definitions, language: str = "python") -> Mistakes:
        from doorward_text.cards import fields_at
        from doorward_text.validation_messages import of_call

        return of_call(wrong, partial(fields_at, wrong.function, definitions), language)

    def advice(self, wrong: Mistaken) -> Sequence[str]:
        from doorward_text.operator_advice import advice

        return advice(wrong)

    def correct(
        self, function: Function, definitions: Definitions, places: Sequence[Sequence[Any]], language: str = "python"
    ) -> str:
        from doorward_text.correct_forms import correct_form

        return correct_form(function, definitions, places, language)

    def refused(
        self, function: Function, error: DoorwardError, definitions: Definitions, language: str = "python"
    ) -> str:
        from doorward_text.refusals import class_refused

        return class_refused(function, error, definitions, language)

    def unlike(self, function: Function, value: Any, definitions: Definitions) -> str:
        from doorward_text.type_mismatches import type_mismatch

        return type_mismatch(function, value, definitions)

    def hint(self, error: Failure, run: FailedRun) -> str | None:
        from doorward_text.hints import hint_for

        return hint_for(error, run, self._gateway)

    def no_executor(self, begun: str = "", *, session: bool = False, language: str = "python", module: str = "") -> str:
        from doorward_text.executor_hints import no_executor

        return no_executor(self._gateway, begun, session=session, language=language, module=module)

    def idle(self, patterns: Sequence[str], principal: str) -> Sequence[str]:
        from doorward_text.idle_patterns import idle

        return idle(patterns, principal, self._gateway)

    def near(self, likely: Sequence[str], name: str, server: str, compiled: float) -> str:
        from doorward_text.near_names import told_near

        return told_near(likely, name, server, compiled)

    def no_module(self, name: str, run: FailedRun) -> str:
        from doorward_text.hints import no_server

        return no_server(name, run)

    def answers(self) -> Answers:
        from doorward_text.last_answers import LastAnswers

        return LastAnswers()
