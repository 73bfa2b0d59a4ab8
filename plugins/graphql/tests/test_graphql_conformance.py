"""What every source promises, and the driver inside a real Doorward."""

from __future__ import annotations

import json

import pytest
from doorward import ApiError, InvalidArguments, Refused, UnknownName
from doorward_graphql import GraphQL
from doorward_testing import SourceConformance, check_driver, check_light_import
from doorward_testing.samples import InProcess


@pytest.mark.slow
class TestGraphQLConformance(SourceConformance):
    driver = GraphQL

    @pytest.fixture(autouse=True)
    def _upstream(self, shop):
        self.url = shop

    def settings(self, host):
        return {"url": self.url}

    def example(self, host):
        return "book", {"id": "1"}

    def refused(self, host):
        return "half", {}

    def broken(self, host):
        return {"url": self.url, "schema": "none.graphql"}


@pytest.mark.slow
def test_graphql_is_installed():
    """The entry point leads to the driver, and importing it imports nothing heavy."""
    assert check_driver("source", "graphql") is GraphQL
    check_light_import("doorward_graphql")
    check_light_import("doorward_graphql", forbidden=("graphql", "httpx2"))


@pytest.mark.slow
@pytest.mark.anyio
async def test_graphql_behind_the_broker(host, shop):
    """CONTRACT: SRC-01 A call through a gateway: arguments are checked, the request is made, the value comes back."""
    host.install_real("graphql")
    async with host.gateway(f'[servers.shop]\nsource = "graphql"\nurl = "{shop}"') as gate:
        book = await gate.call("shop.book", {"id": "1"})
        assert book == {
            "id": "1",
            "title": "Book 1",
            "published": "2026-01-01T00:00:00Z",
            "author": {"id": "a1", "name": "Ada"},
        }
        assert await gate.call("shop.book", {"id": 2, "select": "t: title"}) == {"t": "Book 2"}
        with pytest.raises(InvalidArguments, match=r"sort.*TITLE"):
            await gate.call("shop.books", {"sort": "COLOUR"})
        with pytest.raises(InvalidArguments, match=r"'titel'.*'title'") as caught:
            await gate.call("shop.book", {"id": "1", "select": "titel"})
        assert 'shop.graphql_type("NAME")' in caught.value.hint
        with pytest.raises(ApiError, match=r"half.broken: it is broken"):
            await gate.call("shop.half")
        assert "title: String!" in await gate.call("shop.graphql_type", {"name": "Book"})


@pytest.mark.slow
@pytest.mark.anyio
async def test_graphql_policy_names_kinds(host, shop):
    """Policy may deny all mutations, whatever their names, and `read_only` leaves them out."""
    host.install_real("graphql")
    server = f'[servers.shop]\nsource = "graphql"\nurl = "{shop}"\n'
    async with host.gateway(f'{server}\n[policy]\ndeny = ["shop.mutation.*"]') as gate:
        with pytest.raises(Refused):
            await gate.call("shop.delete_book", {"id": "1"})
        assert await gate.call("shop.today")
        assert (await gate.call("shop.book", {"id": "1"}))["title"]
    async with host.gateway(f"{server}read_only = true") as gate:
        with pytest.raises(UnknownName):
            await gate.call("shop.delete_book", {"id": "1"})


@pytest.mark.slow
@pytest.mark.anyio
async def test_graphql_programs_turn_pages(host, shop):
    """A program gets the items of all pages of a connection, forwards and backwards, whatever it selects of them."""
    host.install_real("graphql")
    host.install("executor", "here", InProcess)
    config = f'executor = "here"\n[servers.other]\nsource = "graphql"\nurl = "{shop}"'
    code = """
titles = await doorward.items("other.books", first=2)
ids = await doorward.items("other.books", last=3, select="edges { node { id } }")
result = [[each["node"]["title"] for each in titles], [each["node"]["id"] for each in ids]]
"""
    async with host.gateway(config) as gate:
        outcome = await gate.execute(code)
        assert outcome.error is None
        assert outcome.value == [[f"Book {n}" for n in range(1, 6)], ["3", "4", "5", "1", "2"]]
        assert outcome.notes == ()


@pytest.mark.slow
def test_graphql_on_the_command_line(cli, doorward_host, shop):
    """`doorward add graphql NAME URL` writes the server and compiles it; `show` and `call` know its functions. One that
    cannot be compiled is not there afterwards."""
    doorward_host.install_real("graphql")
    doorward_host.write("")
    added = cli("add", "graphql", "shop", shop, "--depth", "1", "--select", "book=title")
    assert added.code == 0, added.err
    assert "depth = 1" in (doorward_host.folder / "doorward.toml").read_text()
    shown = cli("show", "shop.add_review")
    assert "    book_id: str | int,\n    input: ReviewInput,\n" in shown.out
    assert "destructive" in cli("show", "shop.delete_book").out
    assert json.loads(cli("call", "shop.book", "id=1").out) == {"title": "Book 1"}
    failed = cli("add", "graphql", "other", shop, "--schema", "schema.graphql")
    assert failed.code != 0
    assert "schema.graphql" in failed.err + failed.out
    assert "servers.other" not in (doorward_host.folder / "doorward.toml").read_text()
