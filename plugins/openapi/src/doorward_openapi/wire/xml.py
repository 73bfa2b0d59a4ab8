"""XML bodies from objects, by the `xml` keywords of their schemas (OpenAPI 3.x section "XML Object")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from doorward import InvalidArguments

from doorward_openapi.document.refs import Documents
from doorward_openapi.wire import styles

_NAME = re.compile(r"[^\W\d][\w.-]{0,200}(:[^\W\d][\w.-]{0,200})?")
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_DEPTH = 6
_MAX_ALTERNATIVES = 20
_TYPES = ("integer", "number", "boolean")
_MAX_SCHEMAS = 300
"""Schemas that are read for one body."""


class Plans:
    """Makes the plan by which a value is written: `name`, `ns`, `prefix`, `attr`, `wrapped` and `text` if they differ
    from the usual, `props` and `items`; to read one (`reads`), also the `type` of what is no text, how `more`
    properties look, and the `plans` of schemas that are referred to, by the numbers that stand in their places (`ref`).
    """

    def __init__(self, documents: Documents, *, reads: bool = False) -> None:
        self._documents = documents
        self._reads = reads
        self._referred: dict[tuple[str, str], int] = {}
        self._fuel = _MAX_SCHEMAS

    def plan(self, node: Any, file: str) -> dict[str, Any] | None:
        """The plan for a body; `None` if its schema is neither an object nor a list.

        Raises: BadRef if it refers outside of the document.
        """
        ref = node.get("$ref") if isinstance(node, dict) else None
        made = self._own(node, file, 0)
        plans: list[dict[str, Any]] = []
        while len(plans) < len(self._referred):
            home, referred = [*self._referred][len(plans)]
            plans.append(self._own({"$ref": referred}, home, 0))
        if plans:
            made = {**made, "plans": plans}
        if not made.keys() & {"props", "items", "more"}:
            return None
        named = ref.rpartition("/")[2] if isinstance(ref, str) else ""
        if not _NAME.fullmatch(named):
            return made if self._reads else {"name": "root", **made}
        return {"name": named, **made}

    def _plan(self, node: Any, file: str, depth: int) -> dict[str, Any]:
        ref = node.get("$ref") if isinstance(node, dict) else None
        if not self._reads or not isinstance(ref, str) or len(node) > 1:
            return self._own(node, file, depth)
        return {"ref": self._referred.setdefault((file, ref), len(self._referred))}

    def _own(self, node: Any, file: str, depth: int) -> dict[str, Any]:
        self._fuel -= 1
        if self._fuel < 0 or depth > _MAX_DEPTH:
            return {}
        node, file = self._documents.object(node, file)
        out: dict[str, Any] = {}
        for part in _parts(node):
            inner = self._own(part, file, depth + 1)
            out = {**out, **inner, "props": {**out.get("props", {}), **inner.get("props", {})}}
        out.update(_about(node.get("xml")))
        if isinstance(properties := node.get("properties"), dict):
            own = {str(k): self._plan(v, file, depth + 1) for k, v in list(properties.items())[:200]}
            out["props"] = {**out.get("props", {}), **own}
        if isinstance(node.get("items"), dict):
            out["items"] = self._plan(node["items"], file, depth + 1)
        if self._reads:
            kinds = node.get("type")
            kinds = kinds if isinstance(kinds, list) else [kinds]
            if kind := next((each for each in _TYPES if each in kinds), ""):
                out["type"] = kind
            if isinstance(more := node.get("additionalProperties"), dict):
                out["more"] = self._plan(more, file, depth + 1)
        return out


def _parts(node: Mapping[str, Any]) -> list[Any]:
    """The parts of a schema that all hold: those of its `allOf`, and the only alternative of null."""
    parts = node["allOf"][:20] if isinstance(node.get("allOf"), list) else []
    for key in ("anyOf", "oneOf"):
        if isinstance(several := node.get(key), list) and len(several) <= _MAX_ALTERNATIVES:
            others = [each for each in several if not (isinstance(each, dict) and each.get("type") == "null")]
            parts = [*parts, *others] if len(others) == 1 else parts
    return parts


def _about(given: Any) -> dict[str, Any]:
    """What an `xml` keyword says; 3.2 expresses by `nodeType` what `attribute` and `wrapped` expressed before."""
    given = given if isinstance(given, dict) else {}
    out: dict[str, Any] = {}
    for key in ("name", "prefix"):
        if isinstance(text := given.get(key), str) and _NAME.fullmatch(text):
            out[key] = text
    if (
        isinstance(namespace := given.get("namespace"), str)
        and len(namespace) <= 500
        and not _FORBIDDEN.search(namespace)
    ):
        out["ns"] = namespace
    kind = given.get("nodeType")
    for short, told in (
        ("attr", given.get("attribute") is True or kind == "attribute"),
        ("wrapped", given.get("wrapped") is True or kind == "element"),
        ("text", kind in ("text", "cdata") or given.get("x-ms-text") is True),  # how it was said before 3.2
    ):
        if told:
            out[short] = True
    return out


def written(plan: Mapping[str, Any], value: Any) -> str:
    """An object or a list as an XML document.

    Raises: InvalidArguments for names and characters that XML cannot hold.
    """
    holder = ElementTree.Element("holder")
    _write(holder, "root", {**plan, "wrapped": True}, value, 0)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(holder[0], encoding="unicode")


def _write(parent: ElementTree.Element, key: str, plan: Mapping[str, Any], value: Any, depth: int) -> None:
    """Add a property to its parent: as an attribute, text, an element, or an element for each item."""
    if value is None:
        return
    if depth > 50:
        raise InvalidArguments(f"{key} is nested too deeply")
    if plan.get("attr"):
        parent.set(_tag(key, plan), _text(value))
    elif plan.get("text"):
        parent.text = (parent.text or "") + _text(value)
    elif isinstance(value, list):
        items = plan.get("items", {})
        wrapped = plan.get("wrapped")
        holder = _element(parent, key, plan) if wrapped else parent
        for item in value:
            _write(holder, str(plan.get("name", key)) if wrapped else key, items, item, depth + 1)
    else:
        element = _element(parent, key, plan)
        if isinstance(value, dict):
            for name, member in value.items():
                _write(element, str(name), plan.get("props", {}).get(str(name), {}), member, depth + 1)
        else:
            element.text = _text(value)


def _element(parent: ElementTree.Element, key: str, plan: Mapping[str, Any]) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, _tag(key, plan))
    if "ns" in plan:
        element.set(f"xmlns:{plan['prefix']}" if "prefix" in plan else "xmlns", plan["ns"])
    return element


def _tag(key: str, plan: Mapping[str, Any]) -> str:
    name = str(plan.get("name", key))
    name = f"{plan['prefix']}:{name}" if "prefix" in plan and ":" not in name else name
    if not _NAME.fullmatch(name):
        raise InvalidArguments(f"{key[:100]!r} cannot be the name of an XML element")
    return name


def _text(value: Any) -> str:
    text = styles.text(value)
    if _FORBIDDEN.search(text):
        raise InvalidArguments("a text holds a character that XML cannot hold")
    return text
