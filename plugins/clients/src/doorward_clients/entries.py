"""The entry of a client for one server → an `Entry`, the same for all clients. The texts are untrusted: they are only
looked at, never run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from doorward.administration import is_named_secret

_REMOTE_TYPES = {"http", "streamablehttp", "httpstream", "remote", "sse"}
_LOCAL_TYPES = {"stdio", "local"}
_READ_KEYS = {
    *("type", "transport", "transportType", "source", "disabled", "enabled"),
    *("timeout", "tool_timeout_sec", "startup_timeout_sec"),
    *("includeTools", "enabled_tools", "tools", "excludeTools", "disabled_tools", "disabledTools"),
}
_REMOTE_KEYS = {
    *("url", "httpUrl", "serverUrl"),
    *("headers", "http_headers", "env_http_headers", "bearer_token_env_var"),
}
_LOCAL_KEYS = {"command", "path", "args", "cwd", "env", "env_vars", "environment"}
MAX_ENTRY_CHARACTERS = 2**16
"""Characters of all texts of an entry."""
_MIN_MILLISECONDS = 1000
"""A `timeout` of at least this is in milliseconds (Claude Code, Gemini CLI, opencode);
a lower one is in seconds (Cline)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A server as a client starts or reaches it. Texts still hold the client's own `${…}`."""

    command: tuple[str, ...] = ()
    url: str = ""
    sse: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    timeout: float | None = None
    start_timeout: float | None = None
    disabled: bool = False
    left_out: tuple[str, ...] = ()
    """Keys that were not read: they mean something to the client, or nothing to a server of this kind."""


def parse(raw: Any) -> Entry:
    """Read an entry. Raises: ValueError, which says what is wrong with it."""
    if not isinstance(raw, Mapping):
        raise ValueError("is not a table")
    _check(raw)
    if isinstance(nested := raw.get("transport"), Mapping):  # Cline
        raw = {**raw, **nested, "transport": None}
    if isinstance(nested := raw.get("command"), Mapping):  # older versions of Zed
        raw = {**raw, **nested, "command": nested.get("path")}
    kind = re.sub(r"[^a-z]", "", str(raw.get("type") or raw.get("transport") or raw.get("transportType") or "").lower())
    url = next((raw[key] for key in ("url", "httpUrl", "serverUrl") if raw.get(key)), "")
    command = raw.get("command") or ()
    if kind and kind not in _REMOTE_TYPES | _LOCAL_TYPES:
        raise ValueError(f"has the transport {kind!r}, which is unknown here")
    if url and (kind in _REMOTE_TYPES or not command):
        return Entry(url=_url(url), sse=kind == "sse", headers=_headers(raw), **_common(raw, _REMOTE_KEYS))
    if command and kind not in _REMOTE_TYPES:
        words = [command] if isinstance(command, str) else _list(raw, "command")
        return Entry(
            command=_texts([*words, *_list(raw, "args")], "args"),
            env=_env(raw),
            cwd=_text(raw.get("cwd") or "", "cwd"),
            **_common(raw, _LOCAL_KEYS),
        )
    raise ValueError("has neither a command nor a URL")


def _common(raw: Mapping[str, Any], read: Collection[str]) -> dict[str, Any]:
    timeout = _number(raw.get("timeout"))
    if timeout is not None and timeout >= _MIN_MILLISECONDS:
        timeout /= 1000
    return {
        "include": tuple(tool for tool in _tools(raw, "includeTools", "enabled_tools", "tools") if tool != "*"),
        "exclude": _tools(raw, "excludeTools", "disabled_tools", "disabledTools"),
        "timeout": _number(raw.get("tool_timeout_sec")) or timeout,
        "start_timeout": _number(raw.get("startup_timeout_sec")),
        "disabled": raw.get("disabled") is True or raw.get("enabled") is False,
        "left_out": tuple(key for key, value in raw.items() if value and key not in _READ_KEYS and key not in read),
    }


def _env(raw: Mapping[str, Any]) -> dict[str, str]:
    env = {}
    for each in _list(raw, "env_vars"):  # Codex: a name, or {"name": …}
        name = each.get("name") if isinstance(each, Mapping) else each
        # Only secrets must be set: most variables may be missing.
        env[_text(name, "env_vars")] = f"${{{name}}}" if is_named_secret(str(name)) else f"${{{name}:-}}"
    env |= _table(raw, "environment") | _table(raw, "env")
    if any(not name or "=" in name for name in env):
        raise ValueError("env holds a name that is not allowed for a variable")
    return env


def _headers(raw: Mapping[str, Any]) -> dict[str, str]:
    headers = {name: f"${{{variable}}}" for name, variable in _table(raw, "env_http_headers").items()}
    if variable := raw.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{_text(variable, 'bearer_token_env_var')}}}"
    headers |= _table(raw, "http_headers") | _table(raw, "headers")
    if not all(re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", name, re.ASCII) for name in headers):
        raise ValueError("headers holds a name that is not allowed for a header")
    return headers


def _table(raw: Mapping[str, Any], key: str) -> dict[str, str]:
    given = raw.get(key)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"{key} is not a table")
    return {name: _text(value, key) for name, value in given.items() if value is not None}


def _list(raw: Mapping[str, Any], key: str) -> list[Any]:
    given = raw.get(key) or []
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"{key} is not a list")
    return list(given)


def _tools(raw: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    given = next((raw[key] for key in keys if raw.get(key)), ())
    return _texts(given, keys[0]) if isinstance(given, (list, tuple)) else ()


def _texts(values: Any, key: str) -> tuple[str, ...]:
    return tuple(_text(value, key) for value in values)


def _text(value: Any, key: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{key} holds something that is not text")
    return str(value)


def _number(value: Any) -> float | None:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 10**9
    return float(value) if is_one else None


def _url(value: Any) -> str:
    url = _text(value, "url")
    if not re.fullmatch(r"https?://[^\s\\]+|[^\s\\]*[$]?\{[^\s\\]+", url, re.IGNORECASE):
        raise ValueError("has a URL that is not http or https")
    urlsplit(url)  # it may raise ValueError, too
    return url


def _check(value: Any) -> None:
    """Raises: ValueError if there is too much text, or text that cannot be written to a file or given to a process."""
    todo, room = [value], MAX_ENTRY_CHARACTERS
    while todo:
        match todo.pop():
            case str() as text:
                room -= len(text)
                if room < 0:
                    raise ValueError(f"has more than {MAX_ENTRY_CHARACTERS} characters")
                if "\0" in text or re.search(r"[\ud800-\udfff]", text):
                    raise ValueError("holds text that is not valid (a null character, or half of a surrogate pair)")
            case Mapping() as table:
                todo += [*table.keys(), *table.values()]
            case list() | tuple() as values:
                todo += values
