"""What agents teach the search lasts: it is shared by the processes of a configuration, and gone when it is cleared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import SHELF
from .forked import Forked
from .product import Api

pytestmark = pytest.mark.anyio

TOGETHER = "import shelf\nitem = shelf.get_item(id=shelf.list_items(page=1)['items'][0]['id'])\nresult = 1"
QUESTION = "items of the shelf, for Erika Mustermann's secret birthday"
BESIDE = "# often with: shelf.list_items"


async def test_what_one_process_learned_another_tells(api: Api, tmp_path: Path) -> None:
    """Two clients over stdio have a server each: what the first did is on the cards of the second, until an operator
    clears it while that serves. No word of a question that is none of the API's is written."""
    project = Forked(tmp_path, SHELF.format(url=api.url))
    async with project.stdio() as first:
        for _ in range(3):
            await first.call("search_functions", query=QUESTION)
            assert (await first.run(TOGETHER))["ok"]
    async with project.stdio() as second:

        async def card() -> str:
            (function,) = (await second.call("get_functions", functions=["shelf.get_item"]))["functions"]
            return str(function["text"])

        assert BESIDE in await card()
        known = json.loads(project.run("learned", "export").stdout)["principals"]["local"]
        assert ("item", "shelf.list_items") in {(each["word"], each["function"]) for each in known["words"]}
        assert "forgotten" in project.run("learned", "clear").stdout
        assert BESIDE not in await card()
    written = b"".join(file.read_bytes() for file in project.state.glob("store.db*")).lower()
    assert written
    for word in (b"erika", b"mustermann", b"birthday"):
        assert word not in written
