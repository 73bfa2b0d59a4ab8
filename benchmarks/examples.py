"""What APIs say that they answer: the examples of responses in OpenAPI documents of others."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml_rs
from doorward_http import zstd_module as zstd


def examples(folder: Path) -> Iterator[tuple[str, Any]]:
    """The objects and lists among the examples of successful responses, each once, with the name of its document."""
    seen = set()
    for name, text in _documents(folder):
        try:
            document = json.loads(text) if text.lstrip()[:1] == "{" else yaml_rs.loads(text)
        except ValueError:  # what a test of the document's own project wants to be wrong
            continue
        for value in _below(document, document):
            if isinstance(value, (dict, list)) and value:
                value = json.loads(json.dumps(value, default=str))
                if (key := json.dumps([name, value])) not in seen:
                    seen.add(key)
                    yield name, value


def _documents(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        if file.suffix == ".zst":
            data = zstd().decompress(data)
        if file.name.endswith(".tar.zst"):
            with tarfile.open(fileobj=io.BytesIO(data)) as packed:
                for member in packed:
                    if member.name.endswith((".json", ".yaml", ".yml")) and (opened := packed.extractfile(member)):
                        yield file.name, opened.read().decode()
        elif file.suffix != ".md":
            yield file.name, data.decode()


def _below(document: Any, node: Any) -> Iterator[Any]:
    """The examples in all `responses` of a document."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key == "responses" and isinstance(value, dict):
            for status, response in value.items():
                if str(status).startswith("2"):
                    yield from _of(document, _target(document, response))
        else:
            yield from _below(document, value)


def _of(document: Any, response: Any) -> Iterator[Any]:
    """The examples of one response, by any version of OpenAPI."""
    yield from map(_value, _table(_table(response).get("examples")).values())
    for media in map(_table, _table(_table(response).get("content")).values()):
        yield _value(media.get("example"))
        for each in _table(media.get("examples")).values():
            yield _value(_table(_target(document, each)).get("value"))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _value(example: Any) -> Any:
    """An example, which some documents have as the text of its JSON."""
    try:
        return json.loads(example) if isinstance(example, str) else example
    except ValueError:
        return example


def _target(document: Any, node: Any) -> Any:
    """What a reference within the document leads to."""
    path = _table(node).get("$ref")
    if not isinstance(path, str) or not path.startswith("#/"):
        return node
    for part in path[2:].split("/"):
        node = _table(document).get(part.replace("~1", "/").replace("~0", "~"))
        document = node
    return node
