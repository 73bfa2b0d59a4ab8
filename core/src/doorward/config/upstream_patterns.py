"""Patterns of `[policy]` that name an upstream by its origin or command, whatever a user calls the server:
`https://api.example.com`, `command:npx @acme/files*`, `socket:/run/api.sock`, each perhaps with `#FUNCTION`."""

from __future__ import annotations

import os
import re
import shlex
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from ipaddress import IPv6Address
from pathlib import Path, PurePath
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from doorward.model.errors import ConfigError

_UPSTREAM = re.compile(r"(https?|\*)://|command:|socket:", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?|\*)://(\[[0-9a-f:.]+\]|[^\s/:@#\[\]]+)(?::([0-9*]+))?/?", re.IGNORECASE)
_PORTS = {"http": "80", "https": "443"}
_QUIET = {"-y", "--yes", "-q", "--quiet", "-s", "--silent", "--"}
"""Options that do not change what a command starts."""

_WRAPPERS = {
    *("env", "sh", "bash", "dash", "zsh", "ksh", "cmd", "start", "busybox", "nohup", "exec", "command", "time"),
    *("timeout", "nice", "ionice", "setsid", "stdbuf", "sudo", "xargs"),
}
"""Programs that start the command in their arguments, wherever it begins there."""

_MAX_WRAPPED = 100
"""Words of a wrapper in which a command is looked for."""

_HERE = {"localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"}  # noqa: S104 (compared, not bound)
"""Hosts that lead to this machine."""

_MEANT_AS_UPSTREAM = re.compile(r"\s|[^.]*//|(https?|wss?|command|socket|unix|\*):", re.IGNORECASE)
"""How a pattern begins that is meant as an upstream. Names of functions do not begin so."""

_NO_SERVER = re.compile(r"[^.*?\[]*[\s/]|.*\s$")
"""What no name of a function begins with, or ends with: `DELETE /users` names no server."""

_SUFFIX = re.compile(r"\.(exe|cmd|bat)$")
_VERSION = re.compile(r"^(.+?)(@|==|~=|>=)[^@/=]*$")


@dataclass(frozen=True)
class Upstream:
    """Where a call may go: as the configuration says it, and in forms that mean the same."""

    written: str
    alike: frozenset[str]
    path: str = ""
    """The path of the URL, to which those of functions are appended."""


class UpstreamPattern:
    """One pattern. `function` says which functions of the upstream are meant, in the words of `include`; "": all."""

    def __init__(self, text: str) -> None:
        where, _, self.function = text.partition("#")
        kind, colon, rest = where.partition(":")
        if "://" in where:
            self._where = _origin(where)
        elif kind.lower() == "command":
            self._where = _command(shlex.split(rest))
        else:
            self._where = f"{kind.lower()}{colon}{rest}"

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(translate(re.sub(r"(?<=://)\[", "[[]", self._where)))

    def covers(self, upstream: Upstream, *, exactly: bool) -> bool:
        """Whether the upstream is meant. `exactly`: only as it is written, because that is what is allowed; what is
        denied is denied in every form."""
        return any(map(self._expression.match, [upstream.written] if exactly else sorted(upstream.alike)))


def is_upstream(pattern: str) -> bool:
    """Whether a pattern names an upstream, and no function."""
    return _UPSTREAM.match(pattern) is not None


def upstreams(texts: Iterable[str], folder: Path = Path()) -> list[Upstream]:
    """The upstreams that a source tells: URLs, `command:` and a command line, or `socket:` and a path, which may start
    at `folder`. Raises: ConfigError."""
    try:
        return [_upstream(text, folder) for text in texts]
    except ValueError as error:  # it may be misread
        raise ConfigError(f"its upstream is no URL: {error}") from None


def _checked(pattern: str) -> str:
    """Refuse what is meant as an upstream, and would match none: it would guard nothing. Raises: ValueError."""
    where = pattern.partition("#")[0]
    if not is_upstream(pattern):
        if _MEANT_AS_UPSTREAM.match(pattern):
            raise ValueError(f"{where[:200]!r} names no upstream: write https://HOST, command:PROGRAM or socket:/PATH")
        if _NO_SERVER.match(pattern):
            raise ValueError(f"{pattern[:200]!r} names no function: write SERVER.FUNCTION, or ORIGIN#METHOD /PATH")
        return pattern
    if "://" in where and not _ORIGIN.fullmatch(where):
        raise ValueError(f"{where[:200]!r} is no origin: write scheme, host and perhaps a port, then #FUNCTION")
    UpstreamPattern(pattern)
    return pattern


Pattern = Annotated[str, AfterValidator(_checked)]
"""A pattern of `[policy]`."""


def _origin(text: str) -> str:
    """An origin in lower case without its default port, or a pattern of origins."""
    if (found := _ORIGIN.fullmatch(text)) is None:
        return text
    scheme, host, port = (part or "" for part in found.groups())
    scheme, host = scheme.lower(), _host(host)
    return f"{scheme}://{host}" + (f":{port}" if port and port != _PORTS.get(scheme) else "")


def _host(host: str) -> str:
    """A host, or a pattern of hosts, in the form that all ways to write it share. Raises: ValueError."""
    host = host.lower().rstrip(".")
    if not host.isascii():
        import httpx2  # imported late: few hosts need it, and it must be read as it will be called

        try:
            return httpx2.URL(f"https://{host}").raw_host.decode()
        except httpx2.InvalidURL as error:
            raise ValueError(str(error)) from None
    if ":" in host:
        address = IPv6Address(host.strip("[]"))
        return str(address.ipv4_mapped or f"[{address}]")
    try:
        return socket.inet_ntoa(socket.inet_aton(host))  # 127.1 and 0x7f000001 are 127.0.0.1
    except OSError:
        return host


def _upstream(text: str, folder: Path) -> Upstream:
    if text.startswith("command:"):
        words = shlex.split(text.removeprefix("command:"))
        return Upstream(_command(words), frozenset(map(_command, _commands(words))))
    if "://" not in text:
        path = folder / Path(text.removeprefix("socket:")).expanduser()
        places = (os.path.abspath(path), os.path.realpath(path))
        return Upstream(text, frozenset({text, *(f"socket:{place}" for place in places)}))
    parts = urlsplit(text)
    host = _host(parts.hostname or "")
    port = parts.port or _PORTS.get(parts.scheme, "")
    written = f"{parts.scheme}://{host}" + ("" if str(port) == _PORTS.get(parts.scheme) else f":{port}")
    schemes = [f"{scheme}://{each}" for scheme in _PORTS for each in (_HERE if host in _HERE else {host})]
    plain = schemes if str(port) in _PORTS.values() else []
    alike = {written, *plain, *(f"{origin}:{port}" for origin in schemes)}
    return Upstream(written, frozenset(alike), parts.path.rstrip("/"))


def _command(words: Iterable[str]) -> str:
    """A command line as one text, in which each word is as it stands, but for its blanks."""
    return "command:" + " ".join(re.sub(r"\s", "\\ ", word) for word in words)


def _commands(words: list[str]) -> Iterator[list[str]]:
    """Forms in which the same program may be started: without its path, quiet options, wrappers and versions."""
    yield words
    if not words:
        return
    yield from _plain(words)
    if _program(words[0]) in _WRAPPERS:
        wrapped = [part for word in words[1:] for part in _split(word)][:_MAX_WRAPPED]
        for start in range(len(wrapped)):
            yield from _plain(wrapped[start:])


def _plain(words: list[str]) -> Iterator[list[str]]:
    plain = [_program(words[0]), *(word for word in words[1:] if word not in _QUIET)]
    yield plain
    yield [plain[0], *(_VERSION.sub(r"\1", word) if not word.startswith("-") else word for word in plain[1:])]


def _program(word: str) -> str:
    return _SUFFIX.sub("", PurePath(word.replace("\\", "/")).name.lower())


def _split(word: str) -> list[str]:
    """The words in what may be a command line for a shell."""
    try:
        return shlex.split(word)
    except ValueError:
        return word.split()
