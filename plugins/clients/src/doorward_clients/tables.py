"""An `Entry` → the table `[servers.NAME]`, with references translated and secrets hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from doorward import MissingSecret
from doorward.administration import hide, hide_arguments
from doorward.configuration import find, is_plain, unescaped
from doorward.values import escaped
from doorward_cli import Variables

from doorward_clients.entries import Entry
from doorward_clients.references import translate

_CONNECTION_KEYS = ("source", "command", "url", "transport", "env", "headers", "auth", "cwd", "spec", "base_url")
"""The keys that identify a server. Two tables that agree in these are of the same server."""


class Tables:
    """Makes tables of entries. `wanted` collects the variables that the user must set, with what the client had there;
    `own` collects those that hold secrets of the entries."""

    def __init__(self, variables: Variables, home: Path) -> None:
        self.variables = variables
        self.wanted: dict[str, str] = {}
        self.own: set[str] = set()
        self._home = home

    def of(self, name: str, entry: Entry, folder: Path, *, elsewhere: bool, starts_there: bool) -> dict[str, Any]:
        """The table of the server `name`.

        `folder` is the folder of the client's project, or of its file. `elsewhere`: it is not the folder of the
        configuration. `starts_there`: the client starts servers in it. Raises: ValueError if it cannot be written.
        """

        def read(text: str) -> str:
            return self.read(text, folder)

        def keep(what: str, secret: str) -> str:
            return self.keep(secret, f"{name}_{what}")

        def keep_named(what: str, secret: str) -> str:
            return self.keep(secret, what, f"{name}_{what}")

        table: dict[str, Any] = {"source": "mcp"}
        headers = {header: read(value) for header, value in entry.headers.items()}
        if entry.command:
            table["command"] = list(hide_arguments([read(word) for word in entry.command], keep))
            if cwd := read(entry.cwd) or ("." if starts_there and elsewhere else ""):
                table["cwd"] = self._folder(folder, cwd) if elsewhere and is_plain(cwd) else cwd
        else:
            url, auth = _userinfo(read(entry.url), keep)
            table["url"] = hide(url, keep)
            table["transport"] = "sse" if entry.sse else None
            table["auth"] = _authorization(headers, keep) or auth
        table["env"] = {key: hide(read(value), keep_named, name=key) for key, value in entry.env.items()}
        table["headers"] = {key: hide(value, keep, name=key) for key, value in headers.items()}
        table["include"], table["exclude"] = [*map(escaped, entry.include)], [*map(escaped, entry.exclude)]
        table["timeout"], table["start_timeout"], table["disabled"] = entry.timeout, entry.start_timeout, entry.disabled
        return {key: value for key, value in table.items() if value}

    def read(self, text: str, folder: Path) -> str:
        """A text of a client, translated. Raises: ValueError if it cannot be written."""
        return translate(text, self._home, folder, self._want)

    def keep(self, secret: str, *names: str) -> str:
        """Store a secret of an entry under one of these names. Returns: the reference to it."""
        reference = self.variables.keep(secret, *names)
        self.own |= {each.name for each in find(reference)}
        return reference

    def _want(self, variable: str, was: str) -> None:
        """Note that an entry refers to a variable. `was` is the client's text, where that is not a variable."""
        if not self.variables.has(variable):
            self.wanted[variable] = self.wanted.get(variable) or was

    def _folder(self, folder: Path, cwd: str) -> str:
        return escaped(str(folder / re.sub(r"^~(?=[/\\]|$)", lambda _: str(self._home), unescaped(cwd))))


def used(table: Mapping[str, Any]) -> dict[str, str]:
    """The variables that a table refers to, and their places. Raises: ValueError if it refers to anything else."""
    found: dict[str, str] = {}
    for place, text in _texts("", table):
        try:
            for reference in find(text):
                if reference.scheme:
                    raise ValueError(f"refers to {reference.text}, which no configuration of a client can")
                found[reference.name] = f"{found[reference.name]}, {place}" if reference.name in found else place
        except MissingSecret:
            raise ValueError("holds a ${ that cannot be written") from None
    return found


def _texts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield place, value
        case Mapping():
            for key, each in value.items():
                yield from _texts(f"{place} {key}".strip(), each)
        case list():
            for each in value:
                yield from _texts(place, each)


def same_connection(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two tables are of the same server."""
    return all(one.get(key) == other.get(key) for key in _CONNECTION_KEYS)


def _authorization(headers: dict[str, str], keep: Any) -> dict[str, str] | None:
    """The header `Authorization` as `auth`, which is sent only to the server's origin. Removes it from the headers."""
    name = next((name for name in headers if name.lower() == "authorization"), None)
    if name is None:
        return None
    value = headers.pop(name)
    if bearer := re.fullmatch(r"(?i)bearer\s+(\S.*)", value):
        return {"type": "jwt", "token": hide(bearer[1], keep, name="token")}
    return {"type": "static", "value": hide(value, keep, name="authorization")}


def _userinfo(url: str, keep: Any) -> tuple[str, dict[str, str] | None]:
    """The URL without user name and password, and those as `auth`."""
    parts = urlsplit(url)
    info, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    username, _, password = info.partition(":")
    if is_plain(password):
        password = keep("password", unquote(unescaped(password))) if password else ""
    username = escaped(unquote(unescaped(username))) if is_plain(username) else username
    auth = {"type": "basic", "username": username, "password": password}
    return urlunsplit(parts._replace(netloc=host)), auth
