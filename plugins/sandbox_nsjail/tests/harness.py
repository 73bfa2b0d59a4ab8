"""Runs programs in the executor and prints how each went, one line of JSON each: what the tests start as somebody else,
or somewhere else.

Arguments: one JSON object with `settings`, `codes`, and `limits`. The state folder is a new one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from doorward import DoorwardError, Limits, PluginContext, Program
from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings
from doorward_testing import Door


async def main(asked: dict[str, Any]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with tempfile.TemporaryDirectory() as state:
        executor = NsjailExecutor(PluginContext("nsjail", NsjailSettings(**asked.get("settings", {})), Path(state)))
        for code in asked["codes"]:
            said: dict[str, Any] = {}
            program, door = (
                Program(code, limits=Limits(**asked.get("limits", {})), deadline=time.monotonic() + 30),
                Door(),
            )
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
        last: dict[str, Any] = {"limits": dict(executor.capabilities().limits)}
        try:
            last["check"] = await executor.check()
        except DoorwardError as error:
            last["check"] = str(error)
        await executor.close()
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        print(
            json.dumps(last | {"opened": len(os.listdir("/proc/self/fd")) - before, "children": children}), flush=True
        )


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
