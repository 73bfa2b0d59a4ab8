"""What it costs that a run can be resumed: programs of 1,000 calls with each `[runs] durable`, in two executors."""

from __future__ import annotations

from pathlib import Path

from governing import READS, WRITES, compared, head

KINDS = {
    "never": '[runs]\ndurable = "never"\n',
    "waits": "",
    "always": '[runs]\ndurable = "always"\n',
    "always, with vault_key": '[runs]\ndurable = "always"\n',
}
KEY = 'vault_key = "correct-horse-battery-staple"\n'


async def run(folder: Path, rounds: int = 7) -> None:
    for executor in ("monty", "nsjail"):
        sides = {kind: ((KEY if "vault" in kind else "") + head(executor), end) for kind, end in KINDS.items()}
        programs = {f"reads, {executor}": READS, f"writes, {executor}": WRITES}
        await compared(folder / f"durable-{executor}", sides, programs, rounds, "Durable runs of 1,000 calls")
