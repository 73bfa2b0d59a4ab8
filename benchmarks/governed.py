"""What it costs to decide, to count and to watch: programs of 1,000 calls with one thing more each."""

from __future__ import annotations

from pathlib import Path

from governing import READS, compared, head

_OTHERS = "".join(f'[[policy.rules]]\nmatch = "other{n}.*"\nthen = "deny"\n' for n in range(40))
_CONDITIONS = "".join(
    f'[[policy.rules]]\nmatch = "loop.*"\nwhen = "args.n < -{n + 1} || calls > 100000"\nthen = "deny"\n'
    for n in range(10)
)
_BUDGETS = "[[budgets]]\ncalls = 1000000000\n[[budgets]]\nserver = 'loop'\nper = 'hour'\nbytes = '1TiB'\n"
_AUDIT = '["ast", "audit_jsonl"]'
_TELEMETRY = '["ast", "telemetry"]'

SIDES = {
    "nothing more": (head(), ""),
    "40 rules for other servers": (head(), _OTHERS),
    "these and 10 rules with a condition, all asked": (head(), _OTHERS + _CONDITIONS),
    "two budgets": (head(), _BUDGETS),
    "provenance, all answers untrusted": (head(), '[provenance]\nuntrusted = ["loop.*"]\n'),
    "audit log": (head(plugins=_AUDIT), ""),
    'audit log, fail = "closed"': (head(plugins=_AUDIT), '[hooks.audit_jsonl]\nfail = "closed"\n'),
    "telemetry: metrics": (head(plugins=_TELEMETRY), '[hooks.telemetry]\nmetrics_token = "m"\n'),
    "telemetry: spans of a tenth of the runs": (
        head(plugins=_TELEMETRY),
        '[hooks.telemetry]\nendpoint = "{url}"\nsample = 0.1\nmetrics = false\n',
    ),
    "telemetry: spans and metrics": (head(plugins=_TELEMETRY), '[hooks.telemetry]\nendpoint = "{url}"\n'),
}


async def run(folder: Path, rounds: int = 7) -> None:
    await compared(folder / "governed", SIDES, {"reads, monty": READS}, rounds, "Governed runs of 1,000 calls")
