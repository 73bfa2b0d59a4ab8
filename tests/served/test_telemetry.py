"""Telemetry of a server that serves: a scrape of its metrics, and the context that an MCP server gets."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx2
import pytest

from .product import Project, connected

pytestmark = pytest.mark.anyio

TOKEN = "scr4pe-token-of-the-operator"
TELEMETRY = f'\n[hooks.telemetry]\nmetrics_token = "{TOKEN}"\n'

ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}
        }
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "meta", "description": "", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": json.dumps(asked["params"].get("_meta", {}))}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""


def watched(project: Project, more: str = TELEMETRY) -> Project:
    project.change('"audit_jsonl"]', '"audit_jsonl", "telemetry"]', last=more)
    return project


async def test_a_scrape_is_for_who_has_the_token(project: Project) -> None:
    """`/metrics` is Prometheus text with what has happened, by whatever name the server is called; without the token,
    or with another one, nothing is told. CONTRACT: OBS-04."""
    with watched(project).http() as (url, _):
        async with connected(url) as agent:
            await agent.call("execute_code", code="import shelf\nresult = shelf.slow(ms=1)")
            await agent.call("execute_code", code="1 / 0")
        page = url.replace("/mcp", "/metrics")
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            refused = httpx2.get(page, headers=headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert "doorward_" not in refused.text
        right = {"Authorization": f"Bearer {TOKEN}", "Host": "10.0.0.7"}
        scraped = httpx2.get(page, headers=right)
        assert httpx2.post(page, headers=right).status_code == 405
    assert scraped.status_code == 200
    assert scraped.headers["content-type"].startswith("text/plain")
    from prometheus_client.parser import text_string_to_metric_families

    samples = [each for family in text_string_to_metric_families(scraped.text) for each in family.samples]
    runs = {each.labels["outcome"]: each.value for each in samples if each.name == "doorward_runs_total"}
    assert runs == {"ok": 1, "program": 1}
    (calls,) = [each for each in samples if each.name == "doorward_calls_total"]
    assert (calls.labels["server"], calls.labels["decision"], calls.value) == ("shelf", "allow", 1)
    assert any(each.name == "doorward_call_duration_seconds_bucket" for each in samples)


async def test_without_the_plugin_there_is_no_such_page(project: Project) -> None:
    """Off by default: the path is one like any other."""
    with project.http() as (url, _):
        assert httpx2.get(url.replace("/mcp", "/metrics")).status_code == 404


def test_whoever_is_not_to_be_told_anything_is_told_so(project: Project) -> None:
    """The plugin alone, without an endpoint or a token, stops the start and says what to do."""
    refused = watched(project, "").run("list")
    assert refused.returncode == 2
    assert "telemetry has nobody to tell" in refused.stderr
    assert "metrics_token" in refused.stderr


async def test_an_mcp_server_gets_the_context(project: Project, tmp_path: Path) -> None:
    """A call of an MCP server has `traceparent` in `_meta`; that of the next call is another one."""
    echo = tmp_path / "echo.py"
    echo.write_text(ECHO)
    server = f'\n[servers.echo]\nsource = "mcp"\ncommand = ["{sys.executable}", "{echo}"]\n'
    endpoint = '\n[hooks.telemetry]\nendpoint = "http://127.0.0.1:1"\nmetrics = false\n'
    async with watched(project, endpoint + server).stdio() as agent:
        code = "import echo\nresult = [echo.meta(), echo.meta()]"
        answer = await agent.call("execute_code", code=code)
        assert answer["ok"], answer
        found = [str(each) for each in answer["value"]]
    assert all("traceparent" in each for each in found)
    assert found[0] != found[1]
