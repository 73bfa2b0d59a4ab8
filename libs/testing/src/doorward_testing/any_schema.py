"""Whatever a document may say where a JSON Schema should be, for tests with hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from doorward_testing.hostile import HOSTILE


def check(text: str) -> str:
    """The text itself, once Python and UTF-8 have accepted it."""
    compile(text, "text", "exec")
    text.encode()
    return text


TEXT = st.one_of(
    st.sampled_from(["a", "b", "class", "a-b", "__x", "__debug__", "str", "ｘ", *HOSTILE[:10]]), st.text(max_size=10)
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=5,
)
NAMED = st.sampled_from(["#/$defs/A", "#/$defs/B", "#/$defs/none", "#/$defs/\ud800"])
TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "null", "array", "object", ["string", "null"], ["object", "array"]]
)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.one_of(st.lists(inner, max_size=3), JSON)
    keys = {
        "type": st.one_of(TYPES, JSON),
        "properties": st.one_of(st.dictionaries(TEXT, inner, max_size=4), JSON),
        "required": st.one_of(st.lists(TEXT), JSON),
        "items": inner,
        "prefixItems": some,
        "enum": some,
        "const": JSON,
        "oneOf": some,
        "anyOf": some,
        "allOf": some,
        "$ref": st.one_of(NAMED, JSON),
        "default": JSON,
        "format": JSON,
        "description": JSON,
        "nullable": JSON,
        "additionalProperties": inner,
        "deprecated": JSON,
        "example": JSON,
        "examples": JSON,
        "minimum": JSON,
        "readOnly": JSON,
    }
    pairs = st.one_of(*(st.tuples(st.just(key), value) for key, value in keys.items()))
    return st.one_of(st.booleans(), JSON, st.lists(pairs, max_size=8).map(dict))  # each key is drawn only where it is


ANY = st.recursive(schemas(JSON), schemas, max_leaves=6)
