"""A model in a folder: static embeddings, whose vector of a text is the mean of those of its words. Nothing leaves this
machine, and a text takes less than a millisecond."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from doorward import ConfigError

if TYPE_CHECKING:
    from doorward_search_embeddings.static_model import StaticModel

T = TypeVar("T")

MAX_INLINE_TEXTS = 2
"""So many texts are embedded on the event loop: to wait for a thread takes longer."""

_HINT = "Give it a static model as model2vec saves one: model.safetensors, tokenizer.json, config.json."


class Folder:
    """A model, which is loaded by the first who needs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        self._model: StaticModel | None = None
        self._loading = anyio.Lock()

    async def fingerprint(self) -> str:
        """A hash of the model's files. Raises: ConfigError."""
        return await self._tried(self._hashed)

    async def embed(self, texts: Sequence[str]) -> Any:
        """Raises: ConfigError."""
        async with self._loading:
            if self._model is None:
                self._model = await self._tried(self._loaded)
        if len(texts) <= MAX_INLINE_TEXTS:
            return self._model.embed(texts)
        return await anyio.to_thread.run_sync(self._model.embed, texts)

    async def close(self) -> None:
        self._model = None

    async def _tried(self, work: Callable[[], T]) -> T:
        try:
            return await anyio.to_thread.run_sync(work)
        except Exception as error:  # the libraries raise many, and a folder may hold anything
            what = f"no static model can be read here: {type(error).__name__}: {error}"
            raise ConfigError(what[:500], place=str(self._folder), hint=_HINT) from None

    def _hashed(self) -> str:
        found = hashlib.sha256()
        for file in sorted(file for kind in ("*.safetensors", "*.json") for file in self._folder.rglob(kind)):
            if not file.is_file():  # to read a pipe would never end
                raise ValueError(f"{file.name} is no file")
            found.update(f"{file.relative_to(self._folder)}\0{file.stat().st_size}\0".encode(errors="surrogatepass"))
            with file.open("rb") as content:
                while part := content.read(2**20):
                    found.update(part)
        return found.hexdigest()

    def _loaded(self) -> StaticModel:
        from doorward_search_embeddings.static_model import StaticModel  # its libraries take a while

        return StaticModel(self._folder)
