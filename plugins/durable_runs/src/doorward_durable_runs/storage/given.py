"""What a run was given: enough to run its program again."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from doorward import Limits, Program

_SAYS_NOTHING = re.compile(r"(import|from)\b|try\s*:|(async )?def main\(|\W*$")
_TELLING_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Given:
    """The head of a journal. Times are seconds since the epoch; `seed` is hexadecimal, and what random numbers that the
    program sees are made of. `at_once`: all of it is stored when it first waits, and nothing before. `inline` and
    `cut` are how much of a value is shown, in bytes."""

    run: str
    principal: str
    code: str
    language: str = "python"
    params: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[str, ...] | None = None
    description: str = ""
    timeout: float = 0.0
    created: float = 0.0
    expires: float = 0.0
    seed: str = ""
    began: float = 0.0
    plan: bool = False
    at_once: bool = False
    argv: Sequence[str] = ()
    inline: int = 0
    cut: int = 0

    @classmethod
    def of(cls, program: Program, keep: float) -> Given:
        """What a program was given, to be kept for some seconds."""
        now = time.time()
        return cls(
            *(program.run, program.principal, program.code, program.language, program.params, program.functions),
            *(program.description, program.limits.timeout, now, now + keep, program.seed.hex(), program.began),
            program.plan,
            argv=program.argv,
            inline=program.limits.inline_bytes,
            cut=program.limits.cut_bytes,
        )

    def program(self, limits: Limits) -> Program:
        """The program once more, whose time begins now."""
        limits = replace(
            limits,
            timeout=min(self.timeout or limits.timeout, limits.max_timeout),
            inline_bytes=min(self.inline or limits.inline_bytes, limits.output_bytes),
            cut_bytes=min(self.cut or limits.cut_bytes, limits.output_bytes),
        )
        return Program(
            code=self.code, params=self.params, description=self.description, functions=self.functions,
            principal=self.principal, limits=limits, run=self.run, deadline=time.monotonic() + limits.timeout,
            language=self.language, seed=bytes.fromhex(self.seed), began=self.began,
            plan=self.plan, argv=tuple(self.argv),
        )  # fmt: skip

    @property
    def about(self) -> str:
        """What the program is about: its description, else its first line that tells what it does: no import, and a
        comment or docstring without its marks."""
        if self.description:
            return self.description
        lines = (line.strip().lstrip("#/*\"' ").rstrip("\"' ") for line in self.code.splitlines())
        found = next((line for line in lines if not _SAYS_NOTHING.match(line)), self.code.strip().partition("\n")[0])
        return found[:_TELLING_CHARACTERS]

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Given:
        """What a frame says, without what a newer version said there."""
        known = {name: said[name] for name in cls.__dataclass_fields__ if name in said}
        if known.get("functions") is not None:
            known["functions"] = tuple(known["functions"])
        return cls(**known)
