"""`$ref` resolution: JSON pointers (RFC 6901) within the document and the files that belong to it, never beyond."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from doorward import ConfigError

from doorward_openapi.document import document, servers
from doorward_openapi.document.discovery import converted, is_discovery


class BadRef(Exception):
    """A reference that leads nowhere, or (`outside`) to a place to which a document may not refer."""

    def __init__(self, why: str, *, outside: bool = False) -> None:
        super().__init__(why)
        self.outside = outside


@dataclass(frozen=True, slots=True)
class Bundle:
    """A document and the files that it may refer to: decompressed bytes by URI. `root` is the document's URI,
    `moved` maps URLs to where they were redirected, and `origins` are the places besides its own folder or
    origin to which it may refer."""

    root: str
    files: dict[str, bytes]
    moved: dict[str, str] = field(default_factory=dict)
    origins: Sequence[str] = ()


class Place(NamedTuple):
    """A value, the URI of the file in which it stands, and the JSON pointer to it."""

    node: Any
    file: str
    pointer: str


class Documents:
    """The files of a bundle, each parsed when first needed."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self._parsed: dict[str, Any] = {}
        self._found: dict[tuple[str, str], Place] = {}
        self._names: dict[str, dict[str, Place]] = {}

    def parsed(self, file: str) -> Any:
        if file not in self._parsed:
            parsed = document.parse(self.bundle.files[file], servers.file_name(file))
            self._parsed[file] = converted(parsed) if is_discovery(parsed) else parsed
        return self._parsed[file]

    def find(self, ref: str, file: str) -> Place:
        """The value to which a `$ref` in `file` refers.

        Raises: BadRef.
        """
        key = (ref, file)
        if key not in self._found:
            self._found[key] = self._find(ref, file)
        return self._found[key]

    def _find(self, ref: str, file: str) -> Place:
        shown = repr(ref[:200])
        address, pointer = ("", ref[1:]) if ref.startswith("#") else urldefrag(ref)
        if address:
            try:
                whole = urljoin(file, address)
            except ValueError:
                raise BadRef(f"{shown} is no reference") from None
            there = self.bundle.moved.get(whole, whole)
            if there not in self.bundle.files and self._is_self(whole):
                there = self.bundle.root
            if there not in self.bundle.files:
                return self._known_by_id(whole, address, pointer, file, shown)
            file = there
        if pointer and not pointer.startswith("/"):
            return self._anchor(file, pointer, shown)
        return self._at(self._parsed_or_bad(file), pointer, file, "", shown)

    def _parsed_or_bad(self, file: str) -> Any:
        try:
            return self.parsed(file)
        except ConfigError as error:
            raise BadRef(str(error)) from None

    def _at(self, node: Any, pointer: str, file: str, start: str, shown: str) -> Place:
        for token in pointer.split("/")[1:]:
            node = _step(node, token, shown)
        return Place(node, file, start + pointer)

    def _anchor(self, file: str, name: str, shown: str) -> Place:
        found = self._named(file).get(f"#{unquote(name)}")
        if found is None:
            raise BadRef(f"{shown} is no JSON pointer, and no $anchor has that name")
        return found

    def _known_by_id(self, whole: str, address: str, pointer: str, file: str, shown: str) -> Place:
        """The schema in the same file whose `$id` a reference names.

        Raises: BadRef that says why the file itself is not available.
        """
        named = self._named(file)
        if found := named.get(whole) or named.get(address):
            if pointer and not pointer.startswith("/"):
                return self._anchor(file, pointer, shown)
            return self._at(found.node, pointer, file, found.pointer, shown)
        if not inside(whole, self.bundle.root, self.bundle.origins):
            raise BadRef(
                f"{shown} points outside of the document's own folder or origin, and of `origins`", outside=True
            )
        raise BadRef(f"{shown} is not there")

    def _named(self, file: str) -> dict[str, Place]:
        """The schemas of a file by their `$id` (as written, and resolved) and by their `$anchor` or `$dynamicAnchor`
        (after #). The file is searched only when a reference needs it."""
        if file not in self._names:
            names: dict[str, Place] = {}
            todo = [self._parsed_or_bad(file)]
            while todo:
                node = todo.pop()
                if isinstance(node, dict):
                    for name, place in _names_of(node, file):
                        names.setdefault(name, place)
                    todo += [v for v in node.values() if isinstance(v, (dict, list))]
                elif isinstance(node, list):
                    todo += [v for v in node if isinstance(v, (dict, list))]
            self._names[file] = names
        return self._names[file]

    def _is_self(self, uri: str) -> bool:
        """Whether this is the URI that the root document gives itself (3.2 `$self`)."""
        root = self.parsed(self.bundle.root)
        own = root.get("$self") if isinstance(root, dict) else None
        return isinstance(own, str) and uri == urljoin(self.bundle.root, own[:2000])

    def follow(self, node: Any, file: str) -> tuple[Any, str]:
        """`node`, or the value that it refers to if it is a reference, with the file in which that value stands.

        Raises: BadRef, also for references in a circle.
        """
        if not isinstance(node, dict) or "$ref" not in node:
            return node, file
        for _ in range(30):
            if not isinstance(node, dict) or not isinstance(ref := node.get("$ref"), str):
                return node, file
            node, file, _pointer = self._found.get((ref, file)) or self.find(ref, file)
        raise BadRef("the reference leads in a circle")

    def object(self, node: Any, file: str) -> tuple[dict[str, Any], str]:
        """The same for a value that should be an object; empty if it is not one, or if the reference leads nowhere.

        Raises: BadRef if it leads outside of the document.
        """
        try:
            node, file = self.follow(node, file)
        except BadRef as error:
            if error.outside:
                raise
            return {}, file
        return node if isinstance(node, dict) else {}, file


def inside(file: str, root: str, origins: Sequence[str] = ()) -> bool:
    """Whether the document `root` may refer to a URI: one below its folder, of its own
    origin, or of one of `origins`."""
    scheme, _, rest = root.partition("://")
    own = root.rpartition("/")[0] if scheme == "file" else f"{scheme}://{rest.partition('/')[0]}"
    return file.startswith(tuple(f"{place}/" for place in (own, *origins)))


def _names_of(node: dict[str, Any], file: str) -> Iterator[tuple[str, Place]]:
    for key in ("$anchor", "$dynamicAnchor"):
        if isinstance(name := node.get(key), str):
            yield f"#{name}", Place(node, file, f"#/{name}")
    if isinstance(name := node.get("$id"), str) and name:
        place = Place(node, file, name)
        yield name, place
        with contextlib.suppress(ValueError):
            yield urljoin(file, name), place


def _step(node: Any, token: str, shown: str) -> Any:
    for name in (unquote(token).replace("~1", "/").replace("~0", "~"), token):
        if isinstance(node, dict) and name in node:
            return node[name]
    if isinstance(node, list) and token.isascii() and token.isdigit() and len(token) < 10 and int(token) < len(node):
        return node[int(token)]
    raise BadRef(f"{shown} leads nowhere")
