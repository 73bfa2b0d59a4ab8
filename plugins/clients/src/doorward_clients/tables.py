"""An `Entry` → what stands under `[servers.NAME]`: references translated, secrets hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from doorward.commands import Variables, hide, hide_arguments

from doorward_clients.entries import Entry
from doorward_clients.references import translate

_CONNECTION = ("source", "command", "url", "transport", "env", "headers", "auth", "cwd", "spec", "base_url")
"""The keys that say which server it is. Two servers that agree in these are one."""


class Tables:
    """Makes tables of entries. `wanted` then has the variables that somebody must set: name → what the client had."""

    def __init__(self, variables: Variables, home: Path) -> None:
        self.variables = variables
        self.wanted: dict[str, str] = {}
        self._home = home

    def of(self, name: str, entry: Entry, folder: Path, *, elsewhere: bool, starts_there: bool) -> dict[str, Any]:
        """The table of the server `name`. `folder` is that of the client's project, or of its file; `elsewhere`: it is not the
        configuration's; `starts_there`: the client starts servers in it.
        """

        def read(text: str) -> str:
            return translate(text, self._home, folder, self.want)

        def keep(what: str, secret: str) -> str:
            return self.variables.keep(secret, f"{name}_{what}")

        def keep_named(what: str, secret: str) -> str:
            return self.variables.keep(secret, what, f"{name}_{what}")

        table: dict[str, Any] = {"source": "mcp"}
        headers = {header: read(value) for header, value in entry.headers.items()}
        if entry.command:
            table["command"] = list(hide_arguments([read(word) for word in entry.command], keep))
            if cwd := read(entry.cwd) or ("." if starts_there and elsewhere else ""):
                table["cwd"] = (
                    str(folder / re.sub(r"^~(?=[/\\]|$)", lambda _: str(self._home), cwd)) if elsewhere and "${" not in cwd else cwd
                )
        else:
            url, auth = _userinfo(read(entry.url), keep)
            table["url"] = hide(url, keep)
            table["transport"] = "sse" if entry.sse else None
            table["auth"] = _authorization(headers, keep) or auth
        table["env"] = {key: hide(read(value), keep_named, name=key) for key, value in entry.env.items()}
        table["headers"] = {key: hide(value, keep, name=key) for key, value in headers.items()}
        table["include"], table["exclude"] = list(entry.include), list(entry.exclude)
        table["timeout"], table["start_timeout"], table["disabled"] = entry.timeout, entry.start_timeout, entry.disabled
        return {key: value for key, value in table.items() if value}

    def want(self, variable: str, was: str) -> None:
        """Somebody refers to a variable; `was` says how, where it had another name."""
        if not self.variables.has(variable):
            self.wanted[variable] = self.wanted.get(variable) or was


def same_connection(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two tables are of one server."""
    return all(one.get(key) == other.get(key) for key in _CONNECTION)


def _authorization(headers: dict[str, str], keep: Any) -> dict[str, str] | None:
    """The header `Authorization` as `auth`, which keeps to the server's origin; it is taken out of the headers."""
    name = next((name for name in headers if name.lower() == "authorization"), None)
    if name is None:
        return None
    value = headers.pop(name)
    if bearer := re.fullmatch(r"(?i)bearer\s+(\S.*)", value):
        return {"type": "jwt", "token": hide(bearer[1], keep, name="token")}
    return {"type": "static", "value": hide(value, keep, name="authorization")}


def _userinfo(url: str, keep: Any) -> tuple[str, dict[str, str] | None]:
    """The URL without user and password, and these as `auth`."""
    parts = urlsplit(url)
    info, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    username, _, password = info.partition(":")
    if "${" not in password:
        password = keep("password", unquote(password)) if password else ""
    auth = {"type": "basic", "username": username if "${" in username else unquote(username), "password": password}
    return urlunsplit(parts._replace(netloc=host)), auth
