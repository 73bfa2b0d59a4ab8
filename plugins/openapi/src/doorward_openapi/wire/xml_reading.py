"""XML answers as objects, by the plans of `xml.py`: what a body is written from, it is read as."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

_MAX_DEPTH = 100
_MAX_ELEMENTS = 250_000
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
"""The namespace of `nil`."""


class NoData(Exception):
    """It is no XML that can be read, or none that the plan is about."""


Name = tuple[str, str]
"""A namespace, and the local part."""


@dataclass(slots=True, eq=False)
class _Element:
    """`attributes` by their names; `parts` are the elements in it, `texts` what stands between these."""

    name: Name
    attributes: dict[Name, str]
    parts: list[_Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def is_null(self) -> bool:
        return self.attributes.get((_INSTANCE, "nil"), "").strip() in ("true", "1")


def value_of(plan: Mapping[str, Any], content: str | bytes) -> Any:
    """The object or list that an XML document says. What the plan does not know is there as well, by its own names.

    Raises: NoData.
    """
    root, reading = _parsed(content), _Reading(plan.get("plans", ()))
    is_named = root.name[1] == _local(str(plan.get("name", root.name[1])))
    if not is_named and (root.parts or "items" not in plan) and not any(reading.known(plan, root)):
        raise NoData
    return reading.value(root, plan)


class _Reading:
    """Reads elements by their plans; `plans` has those that others refer to."""

    def __init__(self, plans: Sequence[Mapping[str, Any]]) -> None:
        self._plans = plans

    def _whole(self, plan: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._plans[plan["ref"]] if "ref" in plan else plan

    def _props(self, plan: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        return ((key, self._whole(part)) for key, part in plan.get("props", {}).items())

    def known(self, plan: Mapping[str, Any], root: _Element) -> Iterator[bool]:
        """For what is in an element of another name: whether the plan knows that."""
        there = {name for _, name in (*root.attributes, *(part.name for part in root.parts))}
        for key, part in self._props(plan):
            yield not there.isdisjoint(_names(key, part) | _names(key, self._whole(part.get("items", {}))))
        if "items" in plan:
            yield not there.isdisjoint(_names("", self._whole(plan["items"])))

    def value(self, element: _Element, plan: Mapping[str, Any]) -> Any:
        """What an element says."""
        plan = self._whole(plan)
        if element.is_null:
            return None
        if "items" in plan:
            return [self.value(part, plan["items"]) for part in element.parts]
        if not plan.keys() & {"props", "more"}:
            return _scalar(element.text, plan) if _is_plain(element) else self._whatever(element)
        found: dict[str, Any] = {}
        left, attributes = element.parts, dict(element.attributes)
        for key, part in self._props(plan):
            if part.get("attr"):
                if (attribute := _first(key, part, attributes)) is not None:
                    found[key] = _scalar(attributes.pop(attribute), part)
            elif part.get("text"):
                found[key] = _scalar(element.text, part)
            elif "items" in part and not part.get("wrapped"):
                names = _names(key, part) | _names(key, self._whole(part["items"]))
                found[key] = [self.value(each, part["items"]) for each in left if each.name[1] in names]
                left = [each for each in left if each.name[1] not in names]
            elif (name := _first(key, part, [each.name for each in left])) is not None:
                chosen = next(each for each in left if each.name == name)
                found[key] = self.value(chosen, part)
                left = [each for each in left if each is not chosen]
        for (space, unknown), text in attributes.items():
            if space != _INSTANCE:
                found.setdefault(unknown, text)
        if element.text.strip() and not any(part.get("text") for _, part in self._props(plan)):
            found.setdefault("text", element.text)
        return found | self._others(left, plan.get("more", {}), found)

    def _others(self, parts: list[_Element], plan: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
        """Elements that no property is about, by their names; several of one name as a list."""
        found: dict[str, list[Any]] = {}
        for part in parts:
            found.setdefault(part.name[1], []).append(self.value(part, plan))
        return {
            name: several[0] if len(several) == 1 else several for name, several in found.items() if name not in known
        }

    def _whatever(self, element: _Element) -> dict[str, Any]:
        """What is in an element of which nothing is known."""
        found = self._others(element.parts, {}, {})
        found |= {name: text for (space, name), text in element.attributes.items() if space != _INSTANCE}
        return found | ({"text": element.text} if element.text.strip() else {})


def _is_plain(element: _Element) -> bool:
    return not element.parts and all(space == _INSTANCE for space, _ in element.attributes)


def _names(key: str, plan: Mapping[str, Any]) -> set[str]:
    """The local names that an element or an attribute of a property may have."""
    return {_local(key), _local(str(plan.get("name", key)))}


def _first(key: str, plan: Mapping[str, Any], names: Iterable[Name]) -> Name | None:
    """The name that is this property's: that of its namespace, if there are several."""
    local = _local(str(plan.get("name", key)))
    fitting = [name for name in names if name[1] == local] or [name for name in names if name[1] == _local(key)]
    return next((name for name in fitting if name[0] == plan.get("ns")), fitting[0] if fitting else None)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _scalar(text: str, plan: Mapping[str, Any]) -> Any:
    """A text as what its schema says; the text itself where it is none of that."""
    said = text.strip()
    try:
        match plan.get("type"):
            case "boolean" if said in ("true", "1", "false", "0"):
                return said in ("true", "1")
            case "integer":
                return int(said) if said else None
            case "number":
                number = float(said) if said else None
                return number if number is None or math.isfinite(number) else text
    except ValueError:
        pass
    return text


def _parsed(content: str | bytes) -> _Element:
    """The root of a document without a document type: entities could make it grow without end. Raises: NoData."""
    holder = _Element(("", ""), {})
    open, count = [holder], 0

    def begun(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(open) > _MAX_DEPTH or count > _MAX_ELEMENTS:
            raise NoData
        element = _Element(_split(name), {_split(each): text for each, text in attributes.items()})
        open[-1].parts.append(element)
        open.append(element)

    def ended(_: str) -> None:
        open.pop()

    def refused(*_: Any) -> None:
        raise NoData

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = begun, ended
    parser.CharacterDataHandler = lambda text: open[-1].texts.append(text)
    parser.StartDoctypeDeclHandler = refused
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError):
        raise NoData from None
    return holder.parts[0]


def _split(name: str) -> Name:
    space, _, local = name.rpartition(" ")
    return space, local
