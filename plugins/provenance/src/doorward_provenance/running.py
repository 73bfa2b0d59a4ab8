"""What is remembered of principals, and which of their runs are under way."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from doorward import Call, Program, Reply

from doorward_provenance.labels import Labelled
from doorward_provenance.memory import Memory

_MOST_PRINCIPALS = 200


@dataclass
class Running:
    """A run: the `number`th of its principal, whether its program is the user's `own`, and what it was answered."""

    memory: Memory
    number: int
    own: bool
    untrusted: bool = False
    private: bool = False


class Runs:
    """All runs under way, with what is remembered of their principals."""

    def __init__(self, labels: Labelled, is_tainted: Callable[[str], bool], seconds: float) -> None:
        self._labels, self._is_tainted, self._seconds = labels, is_tainted, seconds
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._under_way: dict[str, Running] = {}

    @contextmanager
    def begun(self, program: Program) -> Iterator[Callable[[Call, Reply], None]]:
        """A block for a run; gives what is to be called with each of its answers. Whatever comes of the run may quote
        what it was answered, so that its author has been shown it from then on."""
        memory = self._memory(program.principal)
        memory.programs += 1
        running = Running(memory, memory.programs, self._is_own(program.principal, memory, program.began))
        if running.own:
            for text in (program.code, json.dumps(program.params, ensure_ascii=False, default=str), *program.argv):
                memory.say(text)
        self._under_way[program.run] = running

        def answered(call: Call, reply: Reply) -> None:
            labels = self._labels.of(call.function)
            running.untrusted |= labels.untrusted
            running.private |= labels.private
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

    def _is_own(self, principal: str, memory: Memory, began: float) -> bool:
        """Whether a program is the user's: its author had been shown nothing that strangers may have written."""
        return (began or time.time()) <= memory.shown and not self._is_tainted(principal)

    def _memory(self, principal: str) -> Memory:
        memory = self._memories.get(principal)
        if memory is None:
            memory = self._memories[principal] = Memory(self._seconds)
            if len(self._memories) > _MOST_PRINCIPALS:
                self._memories.popitem(last=False)
        self._memories.move_to_end(principal)
        return memory
