"""Functions that are tools of their own: which they are, for whom, and what they say."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from doorward import Compiled, Function
from doorward.values import clean_text
from doorward_mcp_server.exposed import ExposedFunctions
from doorward_mcp_server.function_tool import function_tool
from doorward_testing.many_servers import Rows, configured
from doorward_testing.samples import Weather

pytestmark = pytest.mark.anyio

UNSEEN = "\u202e\u200b\U000e0041\u3164\x1b[31m\x07\x00\ufeff\ue000"


@pytest.mark.slow
async def test_tools_of_servers_that_have_not_changed_are_not_read_again(doorward_host: Any) -> None:
    """A compile of one server costs a read of that one, and its new functions are tools at once. A principal has those
    of its servers alone."""
    doorward_host.install("source", "rows", Rows)
    text = configured(30).replace('source = "rows"', 'source = "rows"\nexpose = ["get_issue_0"]')
    async with doorward_host.gateway(text, compile=False) as gate:
        await gate.compile()
        exposed = ExposedFunctions(gate)
        read: list[str] = []
        functions = gate.catalog.functions
        gate.catalog.functions = lambda server: read.append(server) or functions(server)
        assert len(exposed.tools("local")) == len(read) == 30
        assert len(exposed.tools("p0")) == 15
        assert {tool.server for tool in exposed.tools("p0").values()} <= {*gate.servers.names("p0")}
        before = exposed.tools("local")["rows_3_get_issue_0"]
        await gate.compiler.compile(["rows-5"], force=True)
        assert len(exposed.tools("local")) == 30
        assert read[30:] == ["rows_5"]
        assert exposed.tools("local")["rows_3_get_issue_0"] is before


async def test_nothing_that_cannot_be_seen_is_in_a_tool(doorward_host: Any) -> None:
    """Neither in its texts nor in its schemas, names of fields and values aside."""
    schema = {"type": "object", "description": f"x{UNSEEN}", "properties": {"a": {"description": f"b{UNSEEN}"}}}

    class Odd(Weather):
        async def compile(self) -> Compiled:
            function = Function(
                server="w", name="odd", id=f"odd{UNSEEN}", summary=f"sum{UNSEEN}med", description=f"said{UNSEEN}",
                parameters=schema, returns={"$ref": "#/$defs/D"},
            )  # fmt: skip
            return Compiled([function], {"D": {"description": f"x{UNSEEN}", "type": "object"}})

    doorward_host.install("source", "odd", Odd)
    async with doorward_host.gateway('[servers.w]\nsource = "odd"\nexpose = ["odd"]\n') as gate:
        await gate.ready()
        (found,) = ExposedFunctions(gate).tools("local").values()
        tool = function_tool(found, partial(gate.catalog.definition, "w"))
        text = json.dumps(asdict(tool), ensure_ascii=False)
        assert "summed" in text
        assert clean_text(text) == text
