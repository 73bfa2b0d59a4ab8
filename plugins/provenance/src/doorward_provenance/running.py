"""What is remembered of principals, and which of their runs are under way."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from doorward import Call, Function, Program
from doorward.serving import person_of

from doorward_provenance.declassifying import Kind, is_bounded, split
from doorward_provenance.flow import ANY, Flow, Resolve
from doorward_provenance.labels import Labelled, Labels
from doorward_provenance.memory import Memory
from doorward_provenance.sharing import Sharing
from doorward_provenance.words import Hashes, leaves, parameter_of

_MOST_PRINCIPALS = 200
_EARLIER = "an earlier part of the run"
_ASKS_A_MODEL = "llm"
"""The tag of functions that ask a language model."""


@dataclass
class Running:
    """A run: the `number`th of its principal, whether its program is the user's `own`, and the labels of the functions
    that answered it, by their qualified names. Of one that `goes_on` nobody knows what answered it before. `planned`:
    its writes are withheld; `None` of a call by itself."""

    memory: Memory
    number: int
    own: bool
    flow: Callable[[], Flow] | None = None
    declassify: frozenset[Kind] = frozenset()
    goes_on: bool = False
    planned: bool | None = None
    answered: dict[str, Labels] = field(default_factory=dict)

    @property
    def untrusted(self) -> bool:
        return any(labels.untrusted for labels in self.answered.values())

    @property
    def has_strangers(self) -> bool:
        """Whether it may know what strangers have written: it was answered that, or reads what was kept of that."""
        return self.untrusted or self.memory.shown != float("inf")

    def may_be_shown(self, text: str, code: str) -> bool:
        """Whether its author may be shown a text: the author wrote it, or nobody else writes what it came from."""
        if text.strip() in code or self.memory.was_said(text):
            return True
        origins = list(self.memory.origins(text))
        return bool(origins) and not any(origin.answer.labels.untrusted for origin in origins)

    def is_field(self, text: str) -> bool:
        """Whether a text is a whole field of an answer."""
        return self.memory.has_field(text)

    def is_part(self, text: str) -> bool:
        """Whether a text stands in a longer one that strangers may have written, and is a field of no answer."""
        return not self.is_field(text) and any(each.answer.labels.untrusted for each in self.memory.origins(text))

    @property
    def private(self) -> bool:
        return any(labels.private for labels in self.answered.values())

    def answer(self, call: Call, labels: Labels, value: Any) -> None:
        """Remember an answer. What a model says may be what it was made to say by what its prompt holds: that has the
        labels of all that the prompt may hold."""
        function, given = call.function, call.as_given
        if _ASKS_A_MODEL in function.tags:
            untrusted = labels.untrusted or self.untrusted or not self.own
            private = labels.private or self.private
            if self.own and self.declassify and given.get("schema"):
                free, value = split(value, given["schema"], self.declassify)
                self._remember(function, Labels(private=private), free, given)
                if not value:
                    return
            labels = replace(labels, untrusted=untrusted, private=private)
            self.show()  # to a model, which may be the client's own
        self._remember(function, labels, value, given)

    def _remember(self, function: Function, labels: Labels, value: Any, given: Mapping[str, Any]) -> None:
        before = self.answered.get(function.qualified, Labels())
        self.answered[function.qualified] = replace(
            labels, untrusted=labels.untrusted or before.untrusted, private=labels.private or before.private
        )
        echoes = [] if labels.untrusted else [each for _, each in leaves(given)]
        self.memory.answered(function.qualified, function.server, labels, self.number, value, echoes=echoes)

    def show(self) -> None:
        """Its author is shown what it was answered."""
        self.memory.show(untrusted=self.untrusted, private=self.private)

    def sources(self, function: Function, path: str) -> dict[str, Labels]:
        """The functions whose answers may be in an argument, as far as they answered this run: by the text of its
        program, or all of them."""
        found = frozenset({ANY}) if self.flow is None else self.flow().sources(function.qualified, parameter_of(path))
        known = {name: labels for name, labels in self.answered.items() if ANY in found or name in found}
        if self.goes_on:
            earlier = Labels(untrusted=True, private=True)
            known |= {_EARLIER if name == ANY else name: earlier for name in found - known.keys()}
        return known


class Runs:
    """All runs under way, with what is remembered of their principals."""

    def __init__(
        self,
        labels: Labelled,
        is_tainted: Callable[[str], bool],
        seconds: float,
        resolve: Resolve,
        now: Callable[[], float] = time.time,
        declassify: Iterable[Kind] = (),
        sharing: Sharing | None = None,
    ) -> None:
        self._declassify = frozenset(declassify)
        self._sharing = sharing
        self._hashes: Hashes | None = None
        self._labels, self._is_tainted, self._seconds, self._resolve = labels, is_tainted, seconds, resolve
        self._now = now
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._under_way: dict[str, Running] = {}
        self._models: set[str] = set()
        """Functions that ask a model, by their qualified names, as far as any has answered."""

    async def load(self, principal: str) -> None:
        """Learn what other processes know of a principal, and this one did before it was restarted. Raises:
        StateError."""
        if self._sharing is None:
            return
        if self._hashes is None and (key := await self._sharing.key()) and self._hashes is None:
            self._hashes = Hashes(key)
            before, self._memories = self._memories, OrderedDict()
            for name, memory in before.items():  # single calls, with hashes that nobody else can read
                self._memory(name).learn_state(memory.state())
        await self._sharing.load(person_of(principal), self._memory(principal))

    async def save(self, principal: str) -> None:
        """Have other processes know what this one has learned of a principal."""
        if self._sharing is not None:
            await self._sharing.save(person_of(principal), self._memory(principal))

    @contextmanager
    def begun(self, program: Program, *, goes_on: bool = False) -> Iterator[Running]:
        """A block for a run. What comes of it may quote what it was answered: its author has been shown that."""
        memory = self._memory(program.principal)
        memory.programs += 1
        own = self._is_own(program.principal, memory, program.began)
        flow = self._flow(program, own=own)
        running = Running(memory, memory.programs, own, flow, self._declassify, goes_on, program.plan)
        if own:
            memory.say(program.code, json.dumps(program.params, ensure_ascii=False, default=str), *program.argv)
        self._under_way[program.run] = running
        try:
            yield running
        finally:
            self._under_way.pop(program.run, None)
            running.show()

    def answered(self, call: Call, value: Any) -> None:
        """Remember what a call was answered. One that no run makes is shown to its principal at once."""
        running = self.of(call)
        if _ASKS_A_MODEL in call.function.tags:
            self._models.add(call.function.qualified)
        running.answer(call, self._labels.of(call.function), value)
        if call.run not in self._under_way:
            running.memory.programs += 1
            running.show()

    def of(self, call: Call) -> Running:
        """The run of a call. A call by itself is its own program."""
        if (running := self._under_way.get(call.run)) is not None:
            return running
        memory = self._memory(call.principal)
        return Running(memory, memory.programs + 1, self._is_own(call.principal, memory, 0.0))

    def _flow(self, program: Program, *, own: bool) -> Callable[[], Flow] | None:
        """What reads the flow through a program when it is first asked for."""
        if program.language != "python":
            return None

        def bounds(function: str, schema: Any) -> bool:
            return own and function in self._models and is_bounded(schema, self._declassify)

        given = "params", *program.params
        return cache(lambda: Flow(program.code, self._resolve, given=given, continues=program.continues, bounds=bounds))

    def _is_own(self, principal: str, memory: Memory, began: float) -> bool:
        """Whether a program is the user's: its author had been shown nothing that strangers may have written."""
        return (began or self._now()) <= memory.shown and not self._is_tainted(principal)

    def _memory(self, principal: str) -> Memory:
        """What a person was shown, by whatever endpoint they came."""
        principal = person_of(principal)
        memory = self._memories.get(principal)
        if memory is None:
            memory = self._memories[principal] = Memory(self._seconds, self._now, self._hashes)
            memory.news = None if self._hashes is None else []
            if len(self._memories) > _MOST_PRINCIPALS:
                self._memories.popitem(last=False)
        self._memories.move_to_end(principal)
        memory.forget()
        return memory
