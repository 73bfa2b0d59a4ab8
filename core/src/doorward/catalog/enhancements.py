"""What models would add to the documentation of functions, as it is stored: with a hash of what was documented."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import cache

from pydantic_core import from_json

from doorward.catalog.function_codec import as_json, restored
from doorward.catalog.store import Row, StoredEnhancement
from doorward.data.json_writing import digest
from doorward.data.words import stems
from doorward.describe.schemas import Definitions, closure
from doorward.model.enhancement import Enhancement
from doorward.model.functions import Function

_MAX_WORDS = 80
"""Words by which a function is found besides those of its document."""


def documented(function: Function, definitions: Definitions) -> str:
    """A hash of all that is documented of a function: if it changes, what was added says nothing any more."""
    schemas = [function.parameters, function.returns]
    texts = [function.id, function.route, function.summary, function.description, function.read_only]
    return digest(texts, schemas, closure(schemas, definitions))


def stored(enhancement: Enhancement, documented: str, *, waits: bool, scrub: Callable[[str], str]) -> StoredEnhancement:
    """An enhancement as it is stored, without secrets."""
    record = scrub(as_json(asdict(enhancement)))
    found = read(record)
    words = " ".join(stems(" ".join([*found.questions, found.summary]), _MAX_WORDS))
    return StoredEnhancement(documented, record, words, waits)


def read(record: str) -> Enhancement:
    """The enhancement that a record was made from."""
    return Enhancement(**from_json(record))


def holds(rows: Iterable[Row], definitions: Iterable[tuple[str, str]]) -> Callable[[str, str], bool]:
    """A test whether what was added to a function, by its name and `documented`, still holds after a compile: the
    function is as it was, or is left out for now."""
    records, schemas = {row.name: row for row in rows}, dict(definitions)
    definition = cache(lambda name: from_json(schemas[name]) if name in schemas else None)
    return lambda name, then: name not in records or documented(restored(*records[name]), definition) == then
