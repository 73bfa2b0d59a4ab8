"""`$ref` resolution: JSON pointers (RFC 6901) within the document and the files next to it, never beyond them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from doorward import ConfigError

from doorward_openapi import document


class BadRef(Exception):
    """A reference that leads nowhere, or (`outside`) to where a document may not point."""

    def __init__(self, why: str, *, outside: bool = False) -> None:
        super().__init__(why)
        self.outside = outside


@dataclass(frozen=True, slots=True)
class Bundle:
    """A document and the files that it may refer to: bytes by URI, decompressed. `root` is the document's URI."""

    root: str
    files: Mapping[str, bytes]


class Place(NamedTuple):
    """A value, the URI of the file in which it stands, and the JSON pointer to it."""

    node: Any
    file: str
    pointer: str


class Documents:
    """The parsed files of a bundle, each parsed when first needed."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self._parsed: dict[str, Any] = {}
        self._found: dict[tuple[str, str], Place] = {}

    def parsed(self, file: str) -> Any:
        if file not in self._parsed:
            self._parsed[file] = document.parse(self.bundle.files[file], file.rpartition("/")[2])
        return self._parsed[file]

    def find(self, ref: str, file: str) -> Place:
        """What a `$ref` that stands in `file` names.

        Raises: BadRef.
        """
        key = (ref, file)
        if key not in self._found:
            self._found[key] = self._find(ref, file)
        return self._found[key]

    def _find(self, ref: str, file: str) -> Place:
        shown = repr(ref[:200])
        address, pointer = urldefrag(ref)
        if address:
            try:
                file = urljoin(file, address)
            except ValueError:
                raise BadRef(f"{shown} is no reference") from None
            if file not in self.bundle.files and self._is_self(file):
                file = self.bundle.root
            if file not in self.bundle.files:
                if not inside(file, self.bundle.root):
                    raise BadRef(f"{shown} points outside of the document's own folder", outside=True)
                raise BadRef(f"{shown} is not there")
        if pointer and not pointer.startswith("/"):
            raise BadRef(f"{shown} is no JSON pointer")
        try:
            node = self.parsed(file)
        except ConfigError as error:
            raise BadRef(str(error)) from None
        for token in pointer.split("/")[1:]:
            node = _step(node, token, shown)
        return Place(node, file, pointer)

    def _is_self(self, uri: str) -> bool:
        """Whether this is what the root document calls itself (3.2 `$self`)."""
        root = self.parsed(self.bundle.root)
        own = root.get("$self") if isinstance(root, dict) else None
        return isinstance(own, str) and uri == urljoin(self.bundle.root, own[:2000])

    def follow(self, node: Any, file: str) -> tuple[Any, str]:
        """`node`, or what it stands for if it is a reference, with the file in which that stands.

        Raises: BadRef, also for references in a circle.
        """
        for _ in range(30):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                return node, file
            node, file, _pointer = self.find(node["$ref"], file)
        raise BadRef("the reference leads in a circle")


def inside(file: str, root: str) -> bool:
    """Whether a URI is one that the document `root` may point to: below its folder, or of its origin."""
    scheme, _, rest = root.partition("://")
    if scheme == "file":
        return file.startswith(root.rpartition("/")[0] + "/")
    return file.startswith(f"{scheme}://{rest.partition('/')[0]}/")


def _step(node: Any, token: str, shown: str) -> Any:
    for name in (unquote(token).replace("~1", "/").replace("~0", "~"), token):
        if isinstance(node, dict) and name in node:
            return node[name]
    if isinstance(node, list) and token.isascii() and token.isdigit() and len(token) < 10 and int(token) < len(node):
        return node[int(token)]
    raise BadRef(f"{shown} leads nowhere")
