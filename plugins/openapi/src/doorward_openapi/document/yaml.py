"""YAML 1.2 as OpenAPI means it: text keys, merge keys applied, no dates, no NaN; bombs refused before they go off."""

from __future__ import annotations

import math
import re
import sys
import threading
from collections.abc import Iterable
from typing import Any

_NESTED = re.compile(r"^(?:[ ]|[-?:][ \t]){500}", re.MULTILINE)
"""A line that starts beyond column 500: yaml-rs recurses for each level and would overflow the stack."""

_INDENTED = re.compile(r"\n[-?: \t]{500}")
"""What every such line except the first looks like; ten times as fast to find."""

_WINDOW_CHARS = 20_000
"""A number may not fill such a window of the text, so that none is longer than two: the time to parse one grows with
the square of its length."""

_ALIAS = re.compile(r"(?<=[\s\[,{:-])\*[\w.-]+")
_TEXT = frozenset([str])
_PLAIN_TYPES = frozenset([str, int, bool, type(None)])
_MAX_COPIED_BYTES = 256 * 2**20
"""How much aliases may copy."""


def load(text: str) -> Any:
    """The value of a YAML text.

    Raises: ValueError, also for what would take too much memory.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if (_NESTED.match(text) or _INDENTED.search(text)) and _NESTED.search(text):
        raise ValueError("nested too deeply")
    windows = range(0, len(text) - _WINDOW_CHARS, _WINDOW_CHARS)
    if any(not text[at : at + _WINDOW_CHARS].strip("0123456789_") for at in windows):
        raise ValueError("a number is too long")
    return _plain(_parse(text), merges="<<" in text)


def _parse(text: str) -> Any:
    _import_safely()
    from yaml_rs import AliasLimits, DuplicateKeyPolicy, YAMLDecodeError, loads

    def parsed(text: str, copies: int) -> Any:
        limits = AliasLimits(max_total_replayed_events=copies)
        return loads(text, parse_datetime=False, alias_limits=limits, duplicate_key_policy=DuplicateKeyPolicy.LastWins)

    try:
        return parsed(text, 0)
    except YAMLDecodeError as error:
        if "alias replay limit" not in str(error):
            raise
    # Each alias copies its anchor's value. How many may do so follows from the longest string, found without aliases.
    try:
        longest = _longest(parsed(_ALIAS.sub("~", text), 0))
    except YAMLDecodeError:
        longest = len(text)
    return parsed(text, min(1_000_000, _MAX_COPIED_BYTES // max(longest, 64)))


def _import_safely() -> None:
    """Import yaml-rs in a thread that never ends.

    Its allocator (mimalloc, in yaml-rs 0.1.6) belongs to the thread that loads it: once that one has ended, the
    next thread that parses takes the process down. Worker threads of event loops do end.
    """
    if "yaml_rs" in sys.modules or threading.current_thread() is threading.main_thread():
        return
    done = threading.Event()

    def load_and_stay() -> None:
        try:
            __import__("yaml_rs")
        finally:
            done.set()
        threading.Event().wait()

    threading.Thread(target=load_and_stay, name="doorward-yaml", daemon=True).start()
    done.wait()


def _longest(root: Any) -> int:
    longest, todo = 0, [root]
    while todo:
        match todo.pop():
            case str(text):
                longest = max(longest, len(text))
            case dict(table):
                todo += [*table, *table.values()]
            case list(items) | tuple(items):
                todo += items
    return longest


def _plain(root: Any, *, merges: bool) -> Any:
    """Make keys text, merge maps and drop infinite numbers; in place, without recursion."""
    holder: list[Any] = [root]
    todo: list[dict[Any, Any] | list[Any]] = [holder]
    while todo:
        node = todo.pop()
        if type(node) is dict:
            if merges:
                _merge(node)
            if not _TEXT.issuperset(map(type, node)):
                table = {_key(key): value for key, value in node.items()}
                node.clear()
                node.update(table)
        pairs: Iterable[tuple[Any, Any]] = node.items() if type(node) is dict else enumerate(node)
        for key, value in pairs:
            if type(value) in _PLAIN_TYPES:
                continue
            if isinstance(value, (dict, list)):
                todo.append(value)
            else:
                node[key] = _scalar(value)
    return holder[0]


def _merge(node: dict[Any, Any]) -> None:
    """Apply `<<` of YAML 1.1: the node's own keys win."""
    for _ in range(20):
        merged = node.get("<<")
        sources = merged if isinstance(merged, list) else [merged]
        if not sources or not all(isinstance(source, dict) for source in sources):
            return
        del node["<<"]
        for source in sources:
            node.update({**source, **node} if isinstance(source, dict) else {})


def _key(key: Any) -> str:
    return {True: "true", False: "false", None: "null"}[key] if key is None or isinstance(key, bool) else str(key)


def _scalar(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
