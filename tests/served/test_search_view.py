"""A search view, as an agent meets it: a served gateway with a model in a folder."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .forked import project, shelf
from .product import Agent, Project

__all__ = ["project", "shelf"]

pytestmark = pytest.mark.anyio

WORDS = ["[UNK]", "items", "list", "merchandise", "shelf"]
VECTORS = [[0, 0], [1, 0], [0, 1], [1, 0.1], [0.1, 0.1]]


def save_model(folder: Path) -> None:
    """A static model that knows these words; it has seen that merchandise is items."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    folder.mkdir()
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file({"embeddings": np.array(VECTORS, np.float32)}, folder / "model.safetensors")
    (folder / "config.json").write_text("{}")


@pytest.fixture
def viewed(project: Project) -> Project:
    save_model(project.folder / "model")
    settings = f'[search_views.embeddings]\nfolder = "{project.folder / "model"}"\n'
    project.change(first='search_view = ["embeddings"]\n', last=settings)
    return project


async def found(agent: Agent, **asked: Any) -> list[dict[str, Any]]:
    """The hits, once there are any: functions are embedded in the background."""
    async with asyncio.timeout(60):
        while not (hits := (await agent.call("search_functions", **asked))["functions"]):
            await asyncio.sleep(0.1)
    return hits


async def test_a_word_that_no_function_has_finds_by_meaning(viewed: Project) -> None:
    """Over MCP and in a program, with the reason; a second gateway has it at once; `doctor` and `search` know it."""
    async with viewed.stdio() as agent:
        hits = await found(agent, query="merchandise", explain=True)
        assert hits[0]["function"] == "shelf.list_items"
        assert hits[0]["matched"] == ["like: embeddings"]
        assert "like: embeddings" in agent.text
        program = "import doorward\nresult = doorward.search('merchandise')['functions'][0]['function']"
        assert await agent.value(program) == "shelf.list_items"
    ended = viewed.run("search", "merchandise", "--json")
    assert "shelf.list_items" in ended.stdout, ended.stderr
    assert "search view embeddings: " in viewed.run("doctor").stdout


async def test_without_a_view_nothing_is_found(stdio: Agent) -> None:
    """By a word that no function has."""
    assert (await stdio.call("search_functions", query="merchandise"))["functions"] == []


async def test_a_model_that_is_gone_is_told(viewed: Project) -> None:
    """Agents search with words; the operator reads what is wrong, and where."""
    (viewed.folder / "model/model.safetensors").unlink()
    async with viewed.stdio() as agent:
        assert (await found(agent, query="list items"))[0]["function"] == "shelf.list_items"
    ended = viewed.run("doctor")
    assert ended.returncode == 1
    assert f"{viewed.folder / 'model'}: no static model can be read here" in ended.stdout


async def test_compiling_embeds(viewed: Project) -> None:
    """`doorward compile` leaves nothing to do for who serves."""
    assert viewed.run("compile").returncode == 0
    ended = viewed.run("search", "merchandise", "--json", "--explain")
    assert "like: embeddings" in ended.stdout, ended.stderr
    assert "vectors of functions" in viewed.run("clean").stdout
    assert "vectors of functions" not in viewed.run("clean").stdout
