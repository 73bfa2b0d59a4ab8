"""Deliveries to two `doorward serve` of one project: each runs once, and one that needs a person's yes waits for it."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from .conftest import LIMITS, SHELF
from .product import Api, Project, until

pytestmark = pytest.mark.slow

KEY = "a-key-of-deliveries-0123456789"
RULE = (
    '[[policy.rules]]\nclass = "write"\nprincipal = "asker"\nthen = "confirm"\n'
    '[[policy.rules]]\nmatch = "*"\nthen = "allow"\n'
)
TRIGGER = """
[principals.{name}]
[triggers.{name}]
webhook = "{name}"
secret = "${{PAID}}"
script = "book.py"
principal = "{name}"
queue = 100
schema = {{ type = "object", required = ["name"], properties = {{ name = {{ type = "string" }} }} }}
"""


def send(url: str, path: str, id: str) -> int:
    """The status of a delivery."""
    body, sent = json.dumps({"name": id}).encode(), str(int(time.time()))
    mac = base64.b64encode(hmac.digest(KEY.encode(), f"{id}.{sent}.".encode() + body, "sha256")).decode()
    headers = {
        "content-type": "application/json", "webhook-id": id, "webhook-timestamp": sent,
        "webhook-signature": f"v1,{mac}",
    }  # fmt: skip
    try:
        with urlopen(Request(f"{url.removesuffix('/mcp')}/triggers/{path}", body, headers), timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def test_each_delivery_runs_once_whoever_takes_it_and_a_yes_is_waited_for(tmp_path: Path) -> None:
    """All are sent to both processes at once, and again; the runs are in the audit log under their principal."""
    with Api(created := tmp_path / "created") as api:
        triggers = "".join(TRIGGER.format(name=name) for name in ("booker", "asker"))
        project = Project(tmp_path / "project", LIMITS + RULE + SHELF.format(url=api.url) + triggers, {"PAID": KEY})
        (project.folder / "book.py").write_text("name = ''\nimport shelf\nresult = shelf.create_item(itemName=name)\n")

        def made() -> Counter[str]:
            lines = created.read_text().splitlines() if created.exists() else []
            return Counter(map(str, map(json.loads, lines)))

        def listed() -> dict[str, Any]:
            told = json.loads(project.run("triggers", "list", "--json").stdout)["triggers"]
            return {each["name"]: each for each in told}

        with project.http() as (first, _), project.http() as (second, _), ThreadPoolExecutor(8) as threads:
            ids = [f"order-{number}" for number in range(20)]
            sent = [threads.submit(send, url, "booker", id) for id in ids for url in (first, second, first)]
            assert Counter(each.result() for each in sent) == {202: 20, 200: 40}
            until(lambda: sum(made().values()) >= len(ids) and not listed()["booker"]["queue"])
            assert {*made().values()} == {1}
            assert len(made()) == len(ids)
            assert send(second, "asker", "asked") == 202
            until(lambda: listed()["asker"]["latest"])
            assert listed()["asker"]["latest"]["ended"] == "waits"
            run = listed()["asker"]["latest"]["about"]
            asked = json.loads(project.run("approvals", "list", "--json").stdout)["requests"]
            assert [each["principal"] for each in asked] == ["asker"]
            assert len(made()) == len(ids)
            project.run("approvals", "approve", asked[0]["id"], "--by", "ops")
            resumed = project.run("runs", "resume", run)
            assert resumed.returncode == 0, resumed.stdout + resumed.stderr
            assert len(made()) == len(ids) + 1
        assert {line["principal"] for line in project.audit() if line.get("principal")} == {"booker", "asker"}
