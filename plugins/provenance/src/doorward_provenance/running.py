"""What is remembered of principals, and which of their runs are under way."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from doorward import Call, Function, Program, Reply

from doorward_provenance.flow import ANY, Flow, Resolve
from doorward_provenance.labels import Labelled, Labels
from doorward_provenance.memory import Memory
from doorward_provenance.words import parameter_of

_MOST_PRINCIPALS = 200


@dataclass
class Running:
    """A run: the `number`th of its principal, whether its program is the user's `own`, and the labels of the functions
    that answered it, by their qualified names."""

    memory: Memory
    number: int
    own: bool
    flow: Callable[[], Flow] | None = None
    answered: dict[str, Labels] = field(default_factory=dict)

    @property
    def untrusted(self) -> bool:
        return any(labels.untrusted for labels in self.answered.values())

    @property
    def private(self) -> bool:
        return any(labels.private for labels in self.answered.values())

    def sources(self, function: Function, path: str) -> dict[str, Labels]:
        """The functions whose answers may be in an argument, as far as they answered this run: by the text of its
        program, or all of them."""
        found = {ANY} if self.flow is None else self.flow().sources(function.qualified, parameter_of(path))
        return {name: labels for name, labels in self.answered.items() if ANY in found or name in found}


class Runs:
    """All runs under way, with what is remembered of their principals."""

    def __init__(
        self,
        labels: Labelled,
        is_tainted: Callable[[str], bool],
        seconds: float,
        resolve: Resolve,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._labels, self._is_tainted, self._seconds, self._resolve = labels, is_tainted, seconds, resolve
        self._now = now
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._under_way: dict[str, Running] = {}

    @contextmanager
    def begun(self, program: Program) -> Iterator[Callable[[Call, Reply], None]]:
        """A block for a run; gives what is to be called with each of its answers. Whatever comes of the run may quote
        what it was answered, so that its author has been shown it from then on."""
        memory = self._memory(program.principal)
        memory.programs += 1
        own = self._is_own(program.principal, memory, program.began)
        running = Running(memory, memory.programs, own, self._flow(program))
        if own:
            memory.say(program.code, json.dumps(program.params, ensure_ascii=False, default=str), *program.argv)
        self._under_way[program.run] = running

        def answered(call: Call, reply: Reply) -> None:
            labels = self._labels.of(call.function)
            running.answered[call.function.qualified] = labels
            memory.answered(call.function.qualified, call.function.server, labels, running.number, reply.value)

        try:
            yield answered
        finally:
            self._under_way.pop(program.run, None)
            memory.show(untrusted=running.untrusted, private=running.private)

    def of(self, call: Call) -> Running:
        """The run of a call. A call by itself is its own program."""
        if (running := self._under_way.get(call.run)) is not None:
            return running
        memory = self._memory(call.principal)
        return Running(memory, memory.programs + 1, self._is_own(call.principal, memory, 0.0))

    def _flow(self, program: Program) -> Callable[[], Flow] | None:
        """What reads the flow through a program when it is first asked for."""
        if program.language != "python":
            return None
        return cache(
            lambda: Flow(program.code, self._resolve, given=("params", *program.params), continues=program.continues)
        )

    def _is_own(self, principal: str, memory: Memory, began: float) -> bool:
        """Whether a program is the user's: its author had been shown nothing that strangers may have written."""
        return (began or self._now()) <= memory.shown and not self._is_tainted(principal)

    def _memory(self, principal: str) -> Memory:
        memory = self._memories.get(principal)
        if memory is None:
            memory = self._memories[principal] = Memory(self._seconds, self._now)
            if len(self._memories) > _MOST_PRINCIPALS:
                self._memories.popitem(last=False)
        self._memories.move_to_end(principal)
        return memory
