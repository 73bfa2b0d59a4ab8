"""Static embeddings from files: a tokenizer and a matrix with a row for each of its tokens.

The forms of model2vec and of sentence-transformers' `StaticEmbedding` are read. The package model2vec would do it
too; but it brings joblib, which changes the environment of this process, and so that of its children.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MAX_TOKENS = 512
"""Tokens of a text that count, unless `config.json` says another number (`max_length`)."""

MAX_TEXT_CHARACTERS = 20_000

_NESTED = "0_StaticEmbedding"
"""The folder of the matrix within a model of sentence-transformers."""

Array = NDArray[Any]


class StaticModel:
    """A model. Tokens may share rows: `mapping` has the row of each token then, and `weights` how much it counts.

    Raises: ValueError, LookupError, OSError, and whatever the libraries raise, if the files are none of a model.
    """

    def __init__(self, folder: Path) -> None:
        files = folder / _NESTED if (folder / _NESTED).is_dir() else folder
        tensors = load_file(files / "model.safetensors")
        text = (files / "tokenizer.json").read_text(encoding="utf-8")
        self._tokenizer = Tokenizer.from_str(text)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_most_tokens(folder / "config.json"))
        self._unknown = _unknown(json.loads(text)["model"], self._tokenizer)
        self._rows: Array = tensors["embeddings" if "embeddings" in tensors else "embedding.weight"]
        self._mapping: Array | None = tensors.get("mapping")
        self._weights: Array | None = tensors.get("weights")
        tokens = self._tokenizer.get_vocab_size()
        by_token = [each for each in (self._mapping, self._weights) if each is not None]
        if self._rows.ndim != 2 or any(each.ndim != 1 or len(each) < tokens for each in by_token):
            raise ValueError("its tensors are of other shapes")
        if (len(self._rows) if self._mapping is None else len(self._mapping)) < tokens:
            raise ValueError(f"the tokenizer has {tokens} tokens, the matrix {len(self._rows)} rows")

    def embed(self, texts: Sequence[str]) -> Array:
        """A vector for each text; zeros for one of which no word is known."""
        found = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        for place, text in enumerate(texts):
            # One by one: the threads that the library has for many would outlive this, and warn of each fork.
            ids = self._tokenizer.encode(text[:MAX_TEXT_CHARACTERS], add_special_tokens=False).ids
            tokens = [token for token in ids if token != self._unknown]
            if tokens:
                found[place] = self._mean(np.array(tokens))
        return found

    def _mean(self, tokens: Array) -> Array:
        rows = self._rows[tokens if self._mapping is None else self._mapping[tokens]].astype(np.float32)
        if self._weights is not None:
            rows *= self._weights[tokens].astype(np.float32)[:, None]
        mean: Array = rows.mean(axis=0)
        return mean


def _most_tokens(config: Path) -> int:
    """What a model says of the longest text, if it says anything."""
    said = json.loads(config.read_text(encoding="utf-8")).get("max_length") if config.is_file() else None
    return said if isinstance(said, int) and 0 < said <= MAX_TOKENS else MAX_TOKENS


def _unknown(model: dict[str, Any], tokenizer: Tokenizer) -> int | None:
    """The token for what is in no vocabulary, which means nothing."""
    if isinstance(name := model.get("unk_token"), str):
        return tokenizer.token_to_id(name)
    return model.get("unk_id")
