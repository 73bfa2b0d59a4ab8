"""`doorward learned`: an operator sees what was learned, takes it along, and has it forgotten."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from doorward_testing import Cli
from doorward_testing.shop import CONFIG, Shop

pytestmark = pytest.mark.slow

RUN = """
orders = await doorward.call("other.list_orders")
await doorward.call("other.ship", order_key=orders[1]["number"], state="open")
"""


@pytest.fixture
def shop(cli: Cli, doorward_host: Any) -> Cli:
    doorward_host.install("source", "shop", Shop)
    doorward_host.write(CONFIG)
    (doorward_host.folder / "job.py").write_text(RUN)
    for _ in range(3):
        assert cli("run", "job.py").code == 0
    return cli


def test_what_was_learned_is_shown_and_exported(shop: Cli) -> None:
    """The same for people and as JSON. Commands learn, too."""
    found = shop("learned", "export").json
    assert found == shop("learned", "show", "--json").json
    local = found["principals"]["local"]
    (together,), (passed,) = local["together"], local["passed"]
    assert together["functions"] == ["other.list_orders", "other.ship"]
    assert (together["times"], passed["times"], local["words"]) == (3, 3, [])
    assert {key: passed[key] for key in ("producer", "field", "function", "parameter")} == {
        "producer": "other.list_orders",
        "field": "number",
        "function": "other.ship",
        "parameter": "order_key",
    }
    rows = shop("learned", "show", "--principal", "local").out
    assert "other.list_orders with other.ship\t3" in rows
    assert "other.list_orders number → other.ship order_key\t3" in rows
    assert shop("learned", "export", "--principal", "alice").json == {"principals": {}}


def test_words_are_shown(shop: Cli, doorward_host: Any) -> None:
    """With the function that they led to, and how much is left of them."""
    import time

    from doorward_search.learning.lessons import WORD, Amount, Lesson
    from doorward_search.learning.stored_lessons import StoredLessons

    async def add() -> None:
        async with doorward_host.gateway(CONFIG, compile=False) as gate:
            new = {Lesson(WORD, "order", "other.ship"): Amount(2.0, time.time() - 30 * 86400)}
            await StoredLessons(gate.store).add("alice", new, time.time())

    anyio.run(add)
    (word,) = shop("learned", "export", "--principal", "alice").json["principals"]["alice"]["words"]
    assert (word["word"], word["function"]) == ("order", "other.ship")
    assert word["times"] == pytest.approx(1, rel=0.01)
    assert "alice\torder → other.ship\t1.00" in shop("learned", "show").out


def test_the_graph_marks_what_was_learned(shop: Cli) -> None:
    """So nobody takes it for what documents say."""
    (edge,) = shop("show", "--graph", "other", "--json").json["graph"]
    assert (edge["function"], edge["producer"], edge["learned"]) == ("other.ship", "other.list_orders", 3)
    assert "learned from 3 runs" in shop("show", "--graph", "other.ship").out


def test_what_was_learned_is_forgotten(shop: Cli) -> None:
    """Nothing is asked, and it is said how much was removed."""
    assert shop("learned", "clear", "--principal", "alice").out == "forgotten: 0 lessons of alice\n"
    assert shop("learned", "clear", "--json").json == {"removed": 2}
    assert "nothing has been learned" in shop("learned", "show").err
    assert shop("learned", "export").json == {"principals": {}}
    assert shop("show", "--graph", "other", "--json").json == {"graph": []}


def test_it_reads_its_env_file(project: Cli, doorward_host: Any) -> None:
    """As other commands do: a value of the configuration comes from the file that `--env-file` names, and that it is not
    there is an error."""
    (doorward_host.folder / "bad.env").write_text("DOORWARD_LIMITS__TIMEOUT=soon\n")
    ended = project("learned", "show", "--env-file", "bad.env")
    assert "DOORWARD_LIMITS__TIMEOUT: limits.timeout" in ended.out + ended.err
    ended = project("learned", "show", "--env-file", "nope.env")
    assert (ended.code > 0, "nope.env" in ended.out + ended.err) == (True, True)
