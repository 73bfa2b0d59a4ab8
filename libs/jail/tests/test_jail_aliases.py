"""Other systems' names for servers and functions, in a program of full CPython."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from doorward_testing.box import BOX, Box
from doorward_testing.samples import CONFIG

_spec = importlib.util.spec_from_file_location("unshared_for_aliases", Path(__file__).parent / "unshared.py")
assert _spec is not None
assert _spec.loader is not None
unshared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(unshared)


@pytest.mark.slow
@pytest.mark.anyio
@unshared.needs_namespaces
async def test_in_full_cpython(doorward_host: Any) -> None:
    """The error of a tool, its text and type; original names of tools and of their parameters. CONTRACT: EXE-07,
    EXE-08."""
    pytest.importorskip("doorward_compat")
    doorward_host.install_real("compat")
    doorward_host.install_real("text", "program_helpers")
    doorward_host.install("source", "box", Box)
    doorward_host.install("executor", "unshared", unshared.UnsharedExecutor)
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '"unshared"') + BOX) as gate:
        code = """\
import doorward, tool_box
try:
    tool_box.jam()
except doorward.ToolError as e:
    caught = [str(e), isinstance(e, doorward.DoorwardError), isinstance(e, doorward.ApiError)]
result = [caught, mcp_tool_box.open_it(per_page=1), call_mcp_tool("mcp__tool-box__open-it", {"perPage": 2}),
    doorward.call("tool_box.open-it", {"perPage": 3}), sorted(mcp_servers), doorward.server("tool-box") is tool_box]"""
        outcome = await gate.execute(code)
        assert outcome.error is None, outcome.error
        assert outcome.value == [
            ["the box is jammed", True, False], *(["open-it", {"per_page": n}] for n in (1, 2, 3)),
            ["tool-box", "tool_box", "weather"], True,
        ]  # fmt: skip
        error = (await gate.execute("from mcp.servers.tool_box import jamNow\njamNow()")).error
        assert (error.kind, error.type, error.message, error.line) == ("server", "ToolError", "the box is jammed", 2)
        for code in ("from mcp.servers.tolbox import x", "mcp_tolbox.open_it()", "mcp_servers['tol-box']"):
            hint = (await gate.execute(code)).error.hint
            assert "is not available. Near: tool_box." in hint, code
