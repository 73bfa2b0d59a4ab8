"""The limit of a sandbox's memory where no control group counts it: private memory that it may write to.

Address space says nothing here: the engine reserves gigabytes of it. Source: setrlimit(2), RLIMIT_DATA; proc(5).
"""

from __future__ import annotations

import resource
from pathlib import Path

from doorward import ExecutorError


class PrivateMemory:
    """Bounds the private memory of a parked process, which has its engine loaded: it may get so many bytes more."""

    def __init__(self, pid: int, more: int) -> None:
        try:
            fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            most = int(fields["VmData"].split()[0]) * 1024 + more
            resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
        except (OSError, LookupError, ValueError) as error:
            raise ExecutorError(
                f"a sandbox could not be limited in its memory: {error}", hint="`doorward doctor` shows what is used."
            ) from None

    async def reached(self) -> list[str]:
        """None: the kernel tells the process alone, whose engine then says so and ends."""
        return []

    async def close(self) -> None:
        """Do nothing: the limit ends with the process."""
