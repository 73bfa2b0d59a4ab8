"""A schema of a tool as a document: where its references lead, and which definitions equal those of other documents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

Pointer = tuple[str, ...]

_MAX_REACHED = 200
"""A definition that refers to more than this many others is not compared with those of other tools."""

MAX_COMPARED_CHARACTERS = 2 * 10**6
"""Characters of one schema that are read to compare definitions."""


class UnresolvedReference(Exception):
    """Why a reference leads nowhere in its document."""


def digest(value: Any) -> str:
    """The hash of a JSON value, equal for equal values: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


class Document:
    """A schema with everything below it. `fuel` is how many of its parts may still be looked at, `unread` how many of
    its characters may still be compared."""

    def __init__(self, root: Any, fuel: int, unread: int = MAX_COMPARED_CHARACTERS) -> None:
        self.root = root
        self.fuel = fuel
        self._home = (
            root["$id"].partition("#")[0] if isinstance(root, Mapping) and isinstance(root.get("$id"), str) else ""
        )
        self._anchors: dict[str, Pointer] | None = None
        self._read: dict[Pointer, tuple[str, list[Pointer]]] = {}
        self._keys: dict[Pointer, str | None] = {}
        self.unread = unread

    def burn(self) -> bool:
        """Pay for a look at one part. Returns: whether there was fuel left."""
        self.fuel -= 1
        return self.fuel >= 0

    def find(self, ref: str) -> tuple[Pointer, Any]:
        """The place to which a `$ref` leads, by a JSON Pointer (RFC 6901) or a plain name.

        Raises: UnresolvedReference if it leads out of the document, or nowhere. Nothing is ever fetched.
        """
        place, _, fragment = ref[:2000].partition("#")
        if place and place != self._home:
            raise UnresolvedReference(f"{ref[:200]!r} leads out of the schema; nothing is fetched")
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            pointer = self._named(fragment)
        else:
            pointer = tuple(part.replace("~1", "/").replace("~0", "~") for part in fragment.split("/")[1:])
        node = self.root
        try:
            for part in pointer:
                node = node[int(part)] if isinstance(node, list) else node[part]
        except (KeyError, IndexError, TypeError, ValueError):
            raise UnresolvedReference(f"{ref[:200]!r} leads nowhere") from None
        return pointer, node

    def key(self, pointer: Pointer) -> str | None:
        """A key that is equal for equal definitions of the same name, in any document; everything that they refer to
        must be equal, too. `None` if that is too much to compare."""
        if pointer not in self._keys:
            self._keys[pointer] = self._key(pointer)
        return self._keys[pointer]

    def _key(self, pointer: Pointer) -> str | None:
        reached: dict[Pointer, str] = {}
        todo = [pointer]
        while todo:
            at = todo.pop()
            if self.unread < 0 or len(reached) > _MAX_REACHED:
                return None
            if at not in reached:
                try:
                    reached[at], further = self._compared(at)
                except RecursionError:
                    return None
                todo += [each for each in further if each not in reached]
        return digest([pointer, sorted(reached.items())])

    def _compared(self, pointer: Pointer) -> tuple[str, list[Pointer]]:
        if pointer not in self._read:
            node = self.root
            for part in pointer:
                node = node[int(part)] if isinstance(node, list) else node[part]
            text = json.dumps(node, sort_keys=True, separators=(",", ":"))
            self.unread -= len(text)
            further = []
            for schema in _parts(node):
                if isinstance(ref := schema.get("$ref", schema.get("$dynamicRef")), str):
                    try:
                        further.append(self.find(ref)[0])
                    except UnresolvedReference:
                        continue
            self._read[pointer] = digest(text), list(dict.fromkeys(further))
        return self._read[pointer]

    def _named(self, name: str) -> Pointer:
        if self._anchors is None:
            self._anchors = {}
            todo: list[tuple[Pointer, Any]] = [((), self.root)]
            while todo and self.burn():
                pointer, node = todo.pop()
                if isinstance(node, Mapping):
                    for key in ("$anchor", "$dynamicAnchor"):
                        if isinstance(anchor := node.get(key), str):
                            self._anchors.setdefault(anchor, pointer)
                    todo += [((*pointer, str(k)), v) for k, v in node.items()]
                elif isinstance(node, list):
                    todo += [((*pointer, str(i)), v) for i, v in enumerate(node)]
        if name not in self._anchors:
            raise UnresolvedReference(f"{f'#{name}'[:200]!r} leads nowhere")
        return self._anchors[name]


def _parts(node: Any) -> Iterator[Mapping[str, Any]]:
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, Mapping):
            yield one
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
