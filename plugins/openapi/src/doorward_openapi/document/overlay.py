"""OpenAPI Overlay 1.0 documents: the operator's corrections to somebody else's document.

Each action has a `target` (JSONPath, RFC 9535) and either `remove: true` or an `update`, which is merged into the
objects that the target selects and appended to the lists.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from doorward import ConfigError

from doorward_openapi.document import document
from doorward_openapi.document.document import MAX_DOCUMENT_BYTES
from doorward_openapi.document.refs import Bundle
from doorward_openapi.document.servers import file_name
from doorward_openapi.document.text import kind

_MAX_SECONDS = 60.0
"""How long all actions together may take."""

_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_SLOW = re.compile(r"\?.*\.\.|\b(?:count|match|search)\s*\(", re.DOTALL)
"""Parts of a JSONPath whose running time grows with the square of the document, or that hold somebody
else's regular expression."""

MAX_ACTIONS = 10_000
MAX_TARGETS = 100_000
"""How many places one action may change."""


def applied(bundle: Bundle, overlays: Mapping[str, bytes]) -> tuple[Bundle, list[str]]:
    """The bundle with the overlays (bytes by URI) applied to its root document, and warnings
    about actions without effect.

    Raises: ConfigError that names the overlay and the action that is wrong.
    """
    import msgspec

    root = document.parse(bundle.files[bundle.root], file_name(bundle.root))
    root = msgspec.json.decode(msgspec.json.encode(root))  # from here on, YAML aliases are separate values
    warnings: list[str] = []
    added, until = 0, time.monotonic() + _MAX_SECONDS
    for uri, raw in overlays.items():
        name = file_name(uri)
        for place, action in _actions(document.parse(raw, name), name):
            found = _select(root, action["target"], place)
            added += len(found) * len(msgspec.json.encode(action.get("update")))
            if added > MAX_DOCUMENT_BYTES or time.monotonic() > until:
                raise ConfigError(
                    "makes the document too large, or takes too long", place=place, hint="Select fewer places."
                )
            if told := _apply(root, action, found, place):
                warnings.append(f"overlay {place}: {told}")
    return Bundle(bundle.root, {**bundle.files, bundle.root: msgspec.json.encode(root)}), warnings


def _actions(overlay: Any, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The actions of an overlay, each with its place."""
    if not isinstance(overlay, dict) or not isinstance(version := overlay.get("overlay"), (str, float)):
        raise ConfigError("is no OpenAPI Overlay document: it has no `overlay`", place=name)
    if not str(version).startswith("1."):
        raise ConfigError(f"is of Overlay {str(version)[:20]}, which is not known", place=name, hint="Overlay 1.0 is.")
    actions = overlay.get("actions")
    if not isinstance(actions, list) or not 0 < len(actions) <= MAX_ACTIONS:
        raise ConfigError(f"has no list of one to {MAX_ACTIONS} `actions`", place=name)
    for index, action in enumerate(actions):
        place = f"{name} actions[{index}]"
        if not isinstance(action, dict):
            raise ConfigError(f"is {kind(action)}, not an object", place=place)
        if not isinstance(action.get("target"), str):
            raise ConfigError("has no `target`", place=place, hint="A JSONPath, for example $.paths['/users'].get")
        if action.get("remove") is not True and "update" not in action:
            raise ConfigError("has neither `update` nor `remove: true`", place=place)
        yield place, action


def _apply(root: Any, action: Mapping[str, Any], found: list[tuple[Any, ...]], place: str) -> str:
    """Apply an action at the places that it selects. Returns: why it had no effect, or ""."""
    if not found:
        return f"{action['target'][:200]} is nowhere in the document"
    if action.get("remove") is True:
        for parts in sorted(found, key=_order, reverse=True):  # the last items of a list first
            if not parts:
                raise ConfigError("would remove the whole document", place=place)
            holder = _at(root, parts[:-1])
            del holder[parts[-1]]
        return ""
    for parts in found:
        _update(_at(root, parts), action["update"], place)
    return ""


def _select(root: Any, target: str, place: str) -> list[tuple[Any, ...]]:
    """The places that a JSONPath selects, each as the keys and indexes from the root."""
    from jsonpath import JSONPathEnvironment
    from jsonpath.exceptions import JSONPathError

    steps = _QUOTED.sub("''", target)
    if steps.count("..") > 2 or _SLOW.search(steps):
        slow = "more than two `..`, one in or behind a filter, or a function that searches"
        why = f"the target {target[:200]!r} could take for ever: {slow}"
        raise ConfigError(why, place=place, hint="Name the places, with `*` and plain filters.")
    try:
        matches = JSONPathEnvironment(strict=True).compile(target[:2000]).finditer(root)
        found = [match.parts for match in islice(matches, MAX_TARGETS + 1)]
    except (JSONPathError, RecursionError) as error:
        why = str(error).partition("\n")[0][:200]
        raise ConfigError(f"the target {target[:200]!r} is no JSONPath of RFC 9535: {why}", place=place) from None
    if len(found) > MAX_TARGETS:
        raise ConfigError(f"the target {target[:200]!r} selects more than {MAX_TARGETS} places", place=place)
    return list(dict.fromkeys(found))


def _order(parts: tuple[Any, ...]) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (-1, part) for part in parts]


def _at(root: Any, parts: tuple[Any, ...]) -> Any:
    for part in parts:
        root = root[part]
    return root


def _update(node: Any, update: Any, place: str) -> None:
    if isinstance(node, list):
        node.extend(copy.deepcopy(update) if isinstance(update, list) else [copy.deepcopy(update)])
    elif isinstance(node, dict) and isinstance(update, dict):
        _merge(node, update)
    elif isinstance(node, dict):
        raise ConfigError(f"its update is {kind(update)}, but the target is an object", place=place)
    else:
        raise ConfigError(f"its target is {kind(node)}", place=place, hint="Select the object that holds it.")


def _merge(node: dict[str, Any], update: Mapping[str, Any]) -> None:
    """Objects recursively; lists grow; anything else is replaced."""
    for key, value in update.items():
        own = node.get(key)
        if isinstance(own, dict) and isinstance(value, dict):
            _merge(own, value)
        elif isinstance(own, list) and isinstance(value, list):
            own.extend(copy.deepcopy(value))
        else:
            node[key] = copy.deepcopy(value)
