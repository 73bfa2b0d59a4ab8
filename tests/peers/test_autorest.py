"""AutoRest's test server: which of its scenarios Doorward's calls meet."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from .autorest import documents, made, module, planned, test_server
from .autorest_calls import CALLS

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


async def test_scenarios_are_met(tmp_path: Path) -> None:
    """All scenarios are met but for those of the list."""
    import time, json
    t=time.monotonic()
    with test_server(tmp_path) as server:
        print("started", time.monotonic()-t)
        async with documents([*CALLS], server, tmp_path) as gate:
            print("compiled", time.monotonic()-t)
            got = {}
            for name, table in CALLS.items():
                functions = list(gate.catalog.functions(module(name)))
                plan = planned(functions, table)
                t1=time.monotonic()
                answers = await made(gate, functions, plan)
                if time.monotonic()-t1>0.3: print(name, len(plan), time.monotonic()-t1)
                got[name] = (plan, answers)
        print("called", time.monotonic()-t)
        report = server.report()
        print(len(report), sum(1 for n in report.values() if n), "unmet", [n for n, c in report.items() if not c])
        for name, (plan, answers) in got.items():
            for f, a in plan:
                v = answers[f]
                if isinstance(v, dict) and ("error" in v or "status" in v) and name!="httpInfrastructure":
                    print(f, str(a)[:200], "->", str(v)[:400])
