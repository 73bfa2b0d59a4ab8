"""How the host speaks with the interpreter of a sandbox: what it is told of a program, and how its death is read."""

from __future__ import annotations

from typing import Any

from doorward import Door, Program

from doorward_jail.program_message import program_message


class Speech:
    """For CPython and the runner of `inside/`. Derive from it for another interpreter (`zygote_config`, `program`)."""

    async def program(self, program: Program, door: Door) -> tuple[dict[str, Any], bytes]:
        """The message that hands a program over, and the bytes after it. Raises: Unsupported, InvalidProgram."""
        return await program_message(program, door)

    def died_of_memory(self, code: int, last: bytes) -> bool:
        """Whether an interpreter that ended so, and printed this at last, had no memory left. Asked where no account
        knows it."""
        return False
