"""Schemas of OpenAPI 2.0, 3.0, 3.1 and 3.2 → JSON Schema 2020-12 whose references are `#/$defs/NAME`.

A schema is never made stricter, and is loosened where documents are often wrong: `oneOf` becomes `anyOf` (alternatives
overlap), `additionalProperties: false` is dropped (it contradicts `allOf`), and read-only properties are not required.
The upstream checks its requests itself.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from doorward_openapi.document.refs import BadRef, Documents, Place
from doorward_openapi.document.servers import file_name
from doorward_openapi.document.text import line
from doorward_openapi.document.values import bounds, integral, matching, small
from doorward_openapi.schemas import binary
from doorward_openapi.schemas.types import is_open, nullable, type_of
from doorward_openapi.schemas.variants import Variant, Variants

MAX_DEPTH = 48
"""Levels of one schema between references; anything is allowed below."""

MAX_DESCRIPTION_CHARS = 1000
"""Length of a description that is stored; what an agent is shown is shorter."""
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_FLAGS = ("deprecated", "readOnly", "writeOnly")
_BOUNDS = frozenset(["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"])
_NUMBERS = _BOUNDS | {"default", "examples", "const", "enum"}
"""What is a number, or a list of numbers, in the schema of a number."""
_RARE = frozenset(["const", "pattern", "uniqueItems", *_COUNTS, *_FLAGS, *_BOUNDS])
_REFS = frozenset(["$ref", "$dynamicRef"])
_VALUED = _RARE.union(["enum", "x-extensible-enum", "default", "example"])
"""Keywords that hold values."""

_PARTS = frozenset(
    [
        "properties",
        "required",
        "items",
        "prefixItems",
        "additionalProperties",
        "unevaluatedProperties",
        "allOf",
        "anyOf",
        "oneOf",
    ]
)
"""Keywords that hold other schemas. Most schemas have none: a single check is cheaper than one for each."""


Mode = Literal["", "Patch", "Form"]
"""The purpose of a converted schema. In a merge patch, members may be left out, or be null, which deletes
them; a form can hold files."""


class Schemas:
    """Converts schemas, and collects the schemas that they refer to as definitions.

    `binaries` knows which schemas describe bytes. `unusable` names the definitions that refer outside the document,
    with the reason: no operation may use them.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.binaries = binary.Binaries(documents)
        self.definitions: dict[str, dict[str, Any]] = {}
        self.unusable: dict[str, str] = {}
        self.warnings: dict[str, None] = {}
        self._names: dict[tuple[str, str, Mode], str] = {}
        self._counts: dict[str, int] = {}
        self._queue: list[tuple[str, Place, Mode]] = []
        self._done: dict[tuple[int, str, Mode], tuple[Any, dict[str, Any]]] = {}
        self._mode: Mode = ""
        self._patterns: dict[str, bool] = {}
        self._variants = Variants(documents)
        self._meant: dict[str, dict[str, dict[str, None]]] = {}

    def convert(self, node: Any, file: str, mode: Mode = "") -> dict[str, Any]:
        """A schema that stands in `file`.

        Raises: BadRef if it refers outside of the document. A reference that leads nowhere allows anything.
        """
        key = (id(node), file, mode)
        if key not in self._done:
            self._mode = mode
            self._done[key] = (node, self._convert(node, file, 0))  # keeping the node prevents its id from being reused
        return self._done[key][1]

    def finish(self) -> None:
        """Convert all schemas that were referred to."""
        while self._queue:
            name, place, self._mode = self._queue.pop()
            try:
                self.definitions[name] = self._convert(place.node, place.file, 0, member=True)
            except BadRef as error:
                self.definitions[name] = {}
                self.unusable[name] = str(error)
        for name, properties in self._meant.items():
            self._tell_values(name, properties)

    def _tell_values(self, name: str, properties: Mapping[str, Mapping[str, None]]) -> None:
        """Show the discriminator values that select a definition, if the definition does not give them itself. They
        do not become an `enum`: documents are often wrong about them, and a variant of a variant has other values
        than the schema that it extends."""
        definition = self.definitions[name]
        own = definition.get("properties", {})
        for key, values in properties.items():
            if own.get(key, {}).keys().isdisjoint(("enum", "const", "$ref", "allOf", "anyOf")):
                own = {**own, key: {**own.get(key, {}), "x-values": list(values)}}
        self.definitions[name] = {**definition, "properties": own}

    def _mean(self, variants: Iterable[Variant]) -> None:
        """Remember which discriminator value selects which variant of a union."""
        for variant in variants:
            self._meant.setdefault(self._name(variant.place), {}).setdefault(variant.key, {})[variant.value] = None

    def _convert(self, node: Any, file: str, depth: int, *, member: bool = False) -> dict[str, Any]:
        """Convert one schema. `member`: it describes a value only as part of another schema, as a definition and
        whatever that is composed of do."""
        if node is False:
            return {"not": {}}
        if not isinstance(node, dict) or depth > MAX_DEPTH:
            return {}
        ref = None if node.keys().isdisjoint(_REFS) else node.get("$ref", node.get("$dynamicRef"))
        out: dict[str, Any] = self._reference(ref, file, member=member) if isinstance(ref, str) else {}
        if not out or len(node) > 1:
            self._values(node, out)
            if not node.keys().isdisjoint(_PARTS):
                self._parts(node, out, file, depth + 1, member=member)
                if "discriminator" in node and ("oneOf" in node or "anyOf" in node):
                    self._mean(self._variants.mapped(node, file))
            if node.get("nullable") is True or node.get("x-nullable") is True:
                out = nullable(out)
        return out

    def _reference(self, ref: str, file: str, *, member: bool) -> dict[str, Any]:
        try:
            place = self._documents.find(ref, file)
            for _ in range(30):  # a definition that is only another reference would be a needless hop, or a circle
                node = place.node
                if not isinstance(node, dict) or len(node) != 1 or not isinstance(node.get("$ref"), str):
                    break
                place = self._documents.find(node["$ref"], place.file)
            else:
                raise BadRef(f"{ref[:200]!r} leads in a circle")
        except BadRef as error:
            if error.outside:
                raise
            self.warnings[f"a schema is unknown: {error}"] = None
            return {}
        # Variants extend the schema: inside a variant it stands for itself only, or the two would contain each other.
        variants = [] if member else self._variants.of(place)
        return {"$ref": f"#/$defs/{self._any(place, variants) if variants else self._name(place)}"}

    def _any(self, place: Place, variants: Sequence[Variant]) -> str:
        """The one definition of everything that may stand for a schema, that is the schema and its variants."""
        key = (place.file, f"{place.pointer} and its variants", self._mode)
        if key not in self._names:
            self._mean(variants)
            self._names[key] = name = self._free(f"Any{self._name(place)}")
            self.definitions[name] = {
                "anyOf": [{"$ref": f"#/$defs/{self._name(each)}"} for each in (*(v.place for v in variants), place)]
            }
        return self._names[key]

    def _name(self, place: Place) -> str:
        key = (place.file, place.pointer, self._mode)
        if key not in self._names:
            last = place.pointer.rpartition("/")[2] or file_name(place.file).partition(".")[0]
            base = re.sub(r"[^A-Za-z0-9_.-]+", "_", last.replace("~1", "_").replace("~0", "_"))[:100] or "schema"
            self._names[key] = name = self._free(base if base.endswith(self._mode) else base + self._mode)
            self._queue.append((name, place, self._mode))
        return self._names[key]

    def _free(self, base: str) -> str:
        """Reserve a name that no definition has yet; the caller fills in the definition."""
        name = base
        while name in self.definitions:
            self._counts[base] = self._counts.get(base, 1) + 1
            name = f"{base}_{self._counts[base]}"
        self.definitions[name] = {}
        return name

    def _values(self, node: Mapping[str, Any], out: dict[str, Any]) -> None:
        """Copy the keywords that hold no other schema."""
        if kind := type_of(node, typed="$ref" not in out):
            out["type"] = kind
        if (form := self._form(node)) and len(form) <= 50:
            out["format"] = form
            if form == "binary" and "$ref" not in out and (not kind or node.get("format") == "file"):
                out["type"] = "string"
        if (text := node.get("description")) and (text := line(text, MAX_DESCRIPTION_CHARS)):
            out["description"] = text
        if node.keys().isdisjoint(_VALUED):
            return
        if isinstance(values := node.get("enum", node.get("x-extensible-enum")), list) and (
            values := matching(values, kind)
        ):
            if is_open(node):
                out["anyOf"] = [{"enum": values}, {"type": kind} if kind else {}]
            else:
                out["enum"] = values
        if node.get("default") is not None and small(node["default"]):
            out["default"] = node["default"]
        if isinstance(example := node.get("example"), (str, int, float)) and len(str(example)) <= 60:
            out["examples"] = [example]
        if not node.keys().isdisjoint(_RARE):
            self._rare(node, kind, out)
        if kind == "integer" or (isinstance(kind, list) and "integer" in kind and "number" not in kind):
            out.update({key: integral(value) for key, value in out.items() if key in _NUMBERS})

    def _form(self, node: Mapping[str, Any]) -> str | None:
        if node.keys().isdisjoint(binary.SAYING_FORM) and node.get("type") != "file":
            return None  # as most
        return binary.form(node, raw=self._mode == "Form")

    def _rare(self, node: Mapping[str, Any], kind: Any, out: dict[str, Any]) -> None:
        if "const" in node and small(node["const"]):
            out["const"] = node["const"]
        for key in _FLAGS:
            if node.get(key) is True:
                out[key] = True
        if kind == "array" and node.get("uniqueItems") is True:
            out["uniqueItems"] = True
        for key in _COUNTS:
            if type(count := node.get(key)) is int and count >= 0:
                out[key] = count
        if isinstance(text := node.get("pattern"), str) and self._sound(text):
            out["pattern"] = text
        if not node.keys().isdisjoint(_BOUNDS):
            bounds(node, out)

    def _parts(self, node: Mapping[str, Any], out: dict[str, Any], file: str, depth: int, *, member: bool) -> None:
        """Convert the keywords that hold other schemas."""

        def convert(part: Any, *, member: bool = False) -> dict[str, Any]:
            return self._convert(part, file, depth, member=member)

        def value(part: Any) -> dict[str, Any]:
            return nullable(convert(part)) if self._mode == "Patch" else convert(part)

        properties = node.get("properties")
        if isinstance(properties, dict) and properties:
            out["properties"] = {name: value(part) for name, part in properties.items()}
        if isinstance(required := node.get("required"), list) and self._mode != "Patch":
            told = {k for k, p in out.get("properties", {}).items() if p.get("readOnly")}
            names = [name for name in dict.fromkeys(n for n in required if isinstance(n, str)) if name not in told]
            if names:
                out["required"] = names
        items = node.get("items")
        if isinstance(items, dict):
            out["items"] = convert(items)
        if isinstance(tuple_items := items if isinstance(items, list) else node.get("prefixItems"), list):
            out["prefixItems"] = [convert(part) for part in tuple_items[:100]]
        if isinstance(extra := node.get("additionalProperties"), dict) and "patternProperties" not in node:
            out["additionalProperties"] = value(extra)
        elif isinstance(extra := node.get("unevaluatedProperties"), dict) and "patternProperties" not in node:
            several = "$ref" in out or not node.keys().isdisjoint(("allOf", "anyOf", "oneOf"))
            out["unevaluatedProperties" if several else "additionalProperties"] = value(extra)
        for key in ("allOf", "anyOf", "oneOf"):
            if isinstance(parts := node.get(key), list) and parts:
                converted = [convert(part, member=member) for part in parts[:500]]
                name = "anyOf" if key == "oneOf" else key
                if name in out:
                    out["allOf"] = [*out.get("allOf", ()), {name: converted}]
                else:
                    out[name] = converted

    def _sound(self, pattern: str) -> bool:
        """Whether a regular expression is short and valid, so that validators can use it."""
        if pattern not in self._patterns:
            try:
                with warnings.catch_warnings():  # about syntax that future versions of `re` will read differently
                    warnings.simplefilter("ignore")
                    self._patterns[pattern] = len(pattern) <= 200 and re.compile(pattern) is not None
            except (re.error, OverflowError, RecursionError):
                self._patterns[pattern] = False
        return self._patterns[pattern]
