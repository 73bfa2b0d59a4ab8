"""Which fields of results have names that the catalog has: any other name may be data."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import to_json

from doorward.data.words import split_words
from doorward.describe.schemas import closure

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog


class FieldNames:
    """The fields that the documents of functions name, or that were observed in their results."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._texts = lru_cache(200)(self._text)

    def has(self, qualified: str, field: str, parameter: str) -> bool:
        """Whether the results of a function are known to have a field, or the name of a parameter has its words."""
        if not field.isidentifier():
            return False
        if set(split_words(field)) <= set(split_words(parameter)):
            return True
        server, _, name = qualified.partition(".")
        key = f'"{field}":'
        if key in self._texts(server, name, self._catalog.schema_hash(server, name)):
            return True
        seen = self._catalog.observation(server, name)
        return seen is not None and key in seen.shape.replace(" ", "")

    def _text(self, server: str, name: str, schema_hash: str) -> str:
        """What the result schema of a function says, with all that it refers to."""
        function = self._catalog.function(server, name)
        if function is None or function.returns is None:
            return ""
        parts = [function.returns, closure(function.returns, lambda each: self._catalog.definition(server, each))]
        return to_json(parts).decode()
