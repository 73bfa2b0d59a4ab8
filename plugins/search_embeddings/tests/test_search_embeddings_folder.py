"""A model in a folder: made by the test, read by the library."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doorward import ConfigError
from doorward_search_embeddings import Embeddings
from doorward_testing import Host, check_driver, check_light_import

from .conftest import VECTORS, names, opened, save_model

pytestmark = pytest.mark.anyio


async def test_a_question_without_a_shared_word(doorward_host: Host, model: Path) -> None:
    """It finds what means alike, and says why."""
    async with opened(doorward_host, f'folder = "{model}"') as gate:
        found = await gate.search_functions("umbrella", explain=True)
        assert names(found)[0] == "weather.get_forecast"
        assert found["functions"][0]["matched"] == ["like: embeddings"]
        assert names(await gate.search_functions("outpost"))[0] == "weather.add_station"
        assert names(await gate.search_functions("zebra")) == [], "the model does not know the word"
        ((what, ok, _),) = [check async for check in gate.search_engine().checks()]
        assert ok
        assert what.startswith("search view embeddings: 8 functions in 3 dimensions")


async def test_policy_holds(doorward_host: Host, model: Path) -> None:
    """What is denied is not found by meaning."""
    alice = '[principals.alice]\nservers = ["*"]\ndeny = ["weather.get_forecast"]\n'
    async with opened(doorward_host, f'folder = "{model}"', alice) as gate:
        assert "get_forecast" not in str(await gate.search_functions("umbrella", principal="alice"))


async def test_another_model_in_the_folder_is_another_model(doorward_host: Host, model: Path) -> None:
    """Its fingerprint is that of its files, and of what is put before texts."""

    def view() -> Embeddings:
        return Embeddings(doorward_host.context(Embeddings.Settings, {"folder": str(model)}))

    first = await view().fingerprint()
    assert await view().fingerprint() == first
    save_model(model, [vector[::-1] for vector in VECTORS])
    assert await view().fingerprint() != first
    prefixed = doorward_host.context(Embeddings.Settings, {"folder": str(model), "text_prefix": "passage: "})
    assert await Embeddings(prefixed).fingerprint() != await view().fingerprint()


async def test_a_model_of_sentence_transformers(host: Host, model: Path) -> None:
    """`StaticEmbedding` saves its matrix under another name, in a folder of its own or in this one."""
    from safetensors.numpy import load_file, save_file

    matrix = load_file(model / "model.safetensors")["embeddings"]
    part = model / "0_StaticEmbedding"
    part.mkdir()
    save_file({"embedding.weight": matrix}, part / "model.safetensors")
    (model / "tokenizer.json").rename(part / "tokenizer.json")
    (model / "model.safetensors").unlink()
    (model / "config.json").rename(model / "config_sentence_transformers.json")
    modules = [
        {"idx": 0, "name": "0", "path": "0_StaticEmbedding", "type": "sentence_transformers.models.StaticEmbedding"}
    ]
    (model / "modules.json").write_text(json.dumps(modules))
    view = Embeddings(host.context(Embeddings.Settings, {"folder": str(model)}))
    assert await view.fingerprint()
    (vector,) = await view.embed(["umbrella"], question=True)
    assert vector.tolist() == pytest.approx([1, 0, 0.1])


async def test_rows_that_tokens_share(host: Host, model: Path) -> None:
    """A model with fewer rows than tokens says which row each has, and how much it counts; half-precise numbers do."""
    from safetensors.numpy import save_file

    tensors = {
        "embeddings": np.array([[0, 0], [1, 0], [0, 1]], np.float16),
        "mapping": np.array([0, 1, 1, 2, 2, 0, 0], np.int32),
        "weights": np.array([1, 1, 2, 4, 1, 1, 1], np.float32),
    }
    save_file(tensors, model / "model.safetensors")
    view = Embeddings(host.context(Embeddings.Settings, {"folder": str(model)}))
    found = await view.embed(["umbrella", "forecast station", "zebra"], question=False)
    assert found.tolist() == [[2, 0], [0.5, 2], [0, 0]]


async def test_only_the_beginning_of_a_text_counts(host: Host, model: Path) -> None:
    """As many tokens as the model says."""
    (model / "config.json").write_text('{"max_length": 2}')
    view = Embeddings(host.context(Embeddings.Settings, {"folder": str(model)}))
    long, short = await view.embed(["umbrella umbrella station", "umbrella umbrella"], question=False)
    assert long.tolist() == short.tolist()


@pytest.mark.parametrize("texts", [[""], ["\ud800 umbrella"], ["umbrella " * 10_000], ["\0"], ["zebra"] * 64])
async def test_any_text_is_embedded(host: Host, model: Path, texts: list[str]) -> None:
    """Empty, long, odd, unknown."""
    view = Embeddings(host.context(Embeddings.Settings, {"folder": str(model)}))
    assert (await view.embed(texts, question=False)).shape == (len(texts), 3)
    await view.close()
    await view.close()


def _missing(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def _no_tensors(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)


def _no_tokens(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


def _other_tensors(folder: Path) -> None:
    save_model(folder, mapping=np.zeros((2, 2), np.int32))


def _a_pipe(folder: Path) -> None:
    """To read it would never end."""
    os.mkfifo(folder / "more.json")


def _too_few_vectors(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    matrix = load_file(folder / "model.safetensors")["embeddings"]
    save_file({"embeddings": matrix[:3]}, folder / "model.safetensors")


@pytest.mark.parametrize("spoil", [_missing, _no_tensors, _no_tokens, _other_tensors, _too_few_vectors, _a_pipe])
async def test_a_folder_without_a_good_model(doorward_host: Host, model: Path, spoil: Any) -> None:
    """Words alone are searched, and `doctor` says what is wrong with which folder. Nothing is looked for elsewhere."""
    spoil(model)
    async with opened(doorward_host, f'folder = "{model}"') as gate:
        assert names(await gate.search_functions("forecast")) == ["weather.get_forecast"]
        ((what, ok, advice),) = [check async for check in gate.search_engine().checks()]
        assert not ok
        assert str(model) in what
        assert "model2vec" in advice


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "name one model"),
        ({"folder": "x", "url": "http://x/v1", "model": "m"}, "name one model"),
        ({"url": "http://x/v1"}, "needs a `model`"),
        ({"folder": "x", "key": "k"}, "key: for `url` only"),
        ({"url": "ftp://x", "model": "m"}, "http or https"),
        ({"url": "http://u:p@x/v1", "model": "m"}, "use `key`"),
    ],
)
def test_settings_that_name_no_model(host: Host, settings: dict[str, Any], why: str) -> None:
    """Or two, or one that cannot be had."""
    with pytest.raises(ConfigError, match=why):
        host.validated(Embeddings.Settings, settings)


@pytest.mark.slow
def test_it_is_installed() -> None:
    """Its entry point works, and importing it imports nothing heavy."""
    assert check_driver("search_view", "embeddings") is Embeddings
    check_light_import("doorward_search_embeddings")
