"""The console of several workers: whichever of them answers knows who is signed in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .conftest import LIMITS
from .product import Project, until

pytestmark = pytest.mark.slow

KEY = 'vault_key = "a key that is long enough to be one"\n'


def test_workers_share_who_is_signed_in(tmp_path: Path) -> None:
    """One link is printed, and works once at all of them; a form of one is good at another, and a sign-out ends the
    session at all. Without a key by which they could share that, they do not start, and say so."""
    project = Project(tmp_path, KEY + LIMITS)
    with project.http("--console", "--workers", "2") as (url, _):
        until(lambda: "works once" in project.said())
        found = re.findall(r"works once: \S+link=(\S+)", project.said())
        assert len(found) == 1
        root = url.removesuffix("/mcp")

        def asks(method: str, path: str, data: Any = None, cookies: Any = None) -> httpx2.Response:
            """A request by a connection of its own, so that any worker may take it."""
            with httpx2.Client(base_url=root, headers={"Origin": root}, cookies=cookies, timeout=30) as person:
                return person.request(method, path, data=data)

        entered = asks("POST", "/console/enter", data={"link": found[0]})
        assert entered.status_code == 303
        cookies = {"doorward_console": entered.cookies["doorward_console"]}
        pages = [asks("GET", "/console/runs", cookies=cookies) for _ in range(12)]
        assert [page.status_code for page in pages] == [200] * 12
        assert [asks("POST", "/console/enter", data={"link": found[0]}).status_code for _ in range(6)] == [403] * 6
        forgery = re.search(r'name="forgery" value="([^"]+)"', pages[0].text)
        assert forgery is not None
        assert asks("POST", "/console/sign-out", cookies=cookies, data={"forgery": forgery[1]}).status_code == 303
        gone = [asks("GET", "/console/runs", cookies=cookies).headers["location"] for _ in range(6)]
        assert gone == ["/console/sign-in?next=/console/runs"] * 6
    without = Project(tmp_path / "without", LIMITS)
    ran = without.run("serve", "--console", "--workers", "2", "--port", "0")
    assert ran.returncode != 0
    assert "Set a vault_key" in ran.stderr
