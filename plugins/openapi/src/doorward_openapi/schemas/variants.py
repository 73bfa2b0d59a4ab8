"""The variants of a schema with a discriminator that does not list them itself: the schemas that its `mapping` names,
else those that extend it by `allOf` (OpenAPI 3.x section "Discriminator Object", Swagger 2.0 `discriminator`)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from doorward_openapi.document.refs import BadRef, Documents, Place

MAX_VARIANTS = 50
"""Variants of one schema; nobody could read a longer list."""

MAX_VARIANTS_OF_DOCUMENT = 20_000
"""Variants of all schemas of a document together: even a short chain of schemas can produce long lists."""

_MAX_NAME_CHARS = 100
_MAX_MAPPED_VALUES = 200


class Variant(NamedTuple):
    """A schema, and the property and the value by which it is selected."""

    place: Place
    key: str
    value: str


class Variants:
    """Finds the variants of the schemas of a document."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._found: dict[tuple[str, str], list[Variant]] = {}
        self._extending: dict[tuple[str, str], list[tuple[str, Place]]] | None = None
        self._left = MAX_VARIANTS_OF_DOCUMENT

    def of(self, place: Place) -> list[Variant]:
        """The variants of a schema, with the variants of those in turn; none if the schema lists them itself."""
        key = (place.file, place.pointer)
        if key not in self._found:
            self._found[key] = self._all(place)
        return self._found[key]

    def _all(self, place: Place) -> list[Variant]:
        found: dict[tuple[str, str], Variant] = {}
        todo = list(self._next(place)) if self._left else []
        while todo and len(found) <= MAX_VARIANTS:
            variant = todo.pop(0)
            key = (variant.place.file, variant.place.pointer)
            if key not in found and key != (place.file, place.pointer):
                found[key] = variant
                todo += self._next(variant.place)
        if len(found) > min(MAX_VARIANTS, self._left):
            return []
        self._left -= len(found)
        return list(found.values())

    def _next(self, place: Place) -> Iterator[Variant]:
        node = place.node
        if not isinstance(node, dict) or not node.keys().isdisjoint(("oneOf", "anyOf")):
            return
        if mapped := list(self.mapped(node, place.file)):
            yield from mapped
        elif key := _key(node):
            for name, child in self._extensions().get((place.file, place.pointer), ()):
                yield Variant(child, key, name)

    def mapped(self, node: Mapping[str, Any], file: str) -> Iterator[Variant]:
        """The variants in a discriminator's `mapping`."""
        key, found = _key(node), node.get("discriminator")
        mapping = found.get("mapping") if isinstance(found, dict) else None
        for value, target in list(mapping.items())[:_MAX_MAPPED_VALUES] if key and isinstance(mapping, dict) else ():
            if isinstance(target, str) and len(value) <= _MAX_NAME_CHARS:
                ref = target if re.search(r"[#/]|\.(json|ya?ml)$", target) else f"#/components/schemas/{target}"
                with contextlib.suppress(BadRef):
                    yield Variant(self._documents.find(ref, file), key, value)

    def _extensions(self) -> dict[tuple[str, str], list[tuple[str, Place]]]:
        """The document's named schemas by the schema that they extend, each with the value that selects it."""
        if self._extending is None:
            self._extending = {}
            for name, place in self._named():
                parts = place.node.get("allOf") if isinstance(place.node, dict) else None
                for part in parts[:20] if isinstance(parts, list) else ():
                    if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                        with contextlib.suppress(BadRef):
                            base = self._documents.find(part["$ref"], place.file)
                            self._extending.setdefault((base.file, base.pointer), []).append(
                                (_value(place.node, name), place)
                            )
        return self._extending

    def _named(self) -> Iterator[tuple[str, Place]]:
        root = self._documents.bundle.root
        for where in ("/components/schemas", "/definitions"):
            with contextlib.suppress(BadRef):
                listed = self._documents.find(f"#{where}", root).node
                for name in listed if isinstance(listed, dict) else ():
                    with contextlib.suppress(BadRef):
                        yield (
                            str(name),
                            self._documents.find(f"#{where}/{str(name).replace('~', '~0').replace('/', '~1')}", root),
                        )


def _key(node: Mapping[str, Any]) -> str:
    """The property that a discriminator names; in Swagger 2.0 the discriminator is just that name."""
    found = node.get("discriminator")
    key = found.get("propertyName") if isinstance(found, dict) else found
    return key if isinstance(key, str) and 0 < len(key) <= _MAX_NAME_CHARS else ""


def _value(node: Mapping[str, Any], name: str) -> str:
    """The value that selects a schema: its name, unless Azure's own keyword gives another."""
    own = node.get("x-ms-discriminator-value")
    return own if isinstance(own, str) and len(own) <= _MAX_NAME_CHARS else name[:_MAX_NAME_CHARS]
