"""Runs programs in the executor and prints how each went, one line of JSON each: what the tests start as somebody else, or somewhere else.

Arguments: one JSON object with `settings`, `codes`, and `limits`. The state folder is a new one.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from doorward import DoorwardError, Limits, PluginContext, Program
from doorward.testing.conformance import _Door
from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings


async def main(asked: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as state:
        executor = NsjailExecutor(PluginContext("nsjail", NsjailSettings(**asked.get("settings", {})), Path(state)))
        for code in asked["codes"]:
            said: dict[str, Any] = {}
            program, door = Program(code, limits=Limits(**asked.get("limits", {})), deadline=time.monotonic() + 30), _Door()
            try:
                sandbox = await executor.open(program)
                try:
                    ended = await sandbox.run(program, door)
                    said = {"value": ended.value, "error": ended.error and ended.error.type}
                finally:
                    await sandbox.close()
            except DoorwardError as error:
                said = {"raised": type(error).__name__, "message": str(error), "hint": error.hint or ""}
            print(json.dumps(said | {"printed": door.printed}), flush=True)
        try:
            print(json.dumps({"check": await executor.check(), "limits": dict(executor.capabilities().limits)}), flush=True)
        except DoorwardError as error:
            print(json.dumps({"check": str(error)}), flush=True)
        await executor.close()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
