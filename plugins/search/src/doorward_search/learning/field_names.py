"""Which fields of results have names that the catalog has: any other name may be data."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from doorward.searching import split_words
from pydantic_core import to_json

if TYPE_CHECKING:
    from doorward.searching import Catalog

_KEY = re.compile(r'"(\w{1,80})"\s*:')


class FieldNames:
    """The fields that the documents of functions name, or that were observed in their results."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._documented = lru_cache(200)(self._names)

    def has(self, qualified: str, field: str, parameter: str) -> bool:
        """Whether the results of a function are known to have a field, or the name of a parameter has its words."""
        if not field.isidentifier():
            return False
        if set(split_words(field)) <= set(split_words(parameter)):
            return True
        server, _, name = qualified.partition(".")
        if field in self._documented(server, name, self._catalog.schema_hash(server, name)):
            return True
        function = self._catalog.function(server, name)
        seen = self._catalog.notes.result(function) if function is not None else None
        return seen is not None and field in _KEY.findall(to_json(seen.schema).decode())

    def _names(self, server: str, name: str, schema_hash: str) -> frozenset[str]:
        """The keys of a function's result schema and of all that it refers to; those of JSON Schema do no harm."""
        function = self._catalog.function(server, name)
        if function is None or function.returns is None:
            return frozenset()
        parts = [function.returns, self._catalog.reached(server, function.returns)]
        return frozenset(_KEY.findall(to_json(parts).decode()))
