"""A search view: functions are found by what they mean, with a model in a folder or behind an endpoint.

`settings.py` says what can be configured, `folder.py` and `endpoint.py` are the two kinds of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doorward import PluginContext
from doorward.searching import SearchView

from doorward_search_embeddings.settings import EmbeddingSettings

if TYPE_CHECKING:
    from doorward_search_embeddings.endpoint import Endpoint
    from doorward_search_embeddings.folder import Folder


class Embeddings(SearchView):
    """Embeds with the model that the settings name. Nothing is read, and nobody asked, before it is first used."""

    Settings = EmbeddingSettings

    def __init__(self, context: PluginContext[EmbeddingSettings]) -> None:
        self._settings, self._base = context.settings, context.folder
        self._model: Folder | Endpoint | None = None

    async def fingerprint(self) -> str:
        settings = self._settings
        texts = [settings.question_prefix, settings.text_prefix, settings.max_characters]
        return repr([await self._used().fingerprint(), *texts])

    async def embed(self, texts: Sequence[str], *, question: bool) -> Any:
        prefix = self._settings.question_prefix if question else self._settings.text_prefix
        whole = (prefix + text[: self._settings.max_characters] for text in texts)
        return await self._used().embed(
            [text.encode(errors="replace").decode() for text in whole]
        )  # no half surrogates

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()

    def _used(self) -> Folder | Endpoint:
        if self._model is None:  # both are heavy to import
            if self._settings.folder is not None:
                from doorward_search_embeddings.folder import Folder

                self._model = Folder(self._base / self._settings.folder.expanduser())
            else:
                from doorward_search_embeddings.endpoint import Endpoint

                self._model = Endpoint(self._settings)
        return self._model
