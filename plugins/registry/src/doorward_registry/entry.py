"""What a document becomes: an entry of the configuration, with all that it would run and may do. Its author is a
stranger: what could make a runtime do anything else than start the package is refused, and told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from doorward import ConfigError
from doorward.values import escaped, is_loopback

from doorward_registry.document import Document, Input, Package, Transport

Ask = Callable[[str, Input], str | None]
"""Asks for a value: the name under which it is asked for, and what it is. `None`: there is none. The answer is text of
the configuration, in which a secret is a reference."""

_NPM = r"(@[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*"
_PLAIN = r"[A-Za-z0-9][\w.-]*"
_IMAGE = r"[a-z0-9][a-z0-9.:-]*(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][\w.-]*)?(@sha256:[0-9a-f]{64})?"
_VERSION = r"[0-9A-Za-z][\w.+-]*"
_FOLDER = re.compile(
    r"\{([^{}]+)\}:/[\w./-]*(:[a-zA-Z,]+)?"
    r"|(?:type=bind,)?(?:src|source)=\{([^{}]+)\}(?:,type=bind|,readonly|,ro|,(?:dst|target|destination)=/[\w./-]*)+"
)
"""A folder that a person chooses, whole and alone, as `-v` and `--mount` have it."""


@dataclass(frozen=True, slots=True)
class _Runtime:
    """How packages of one kind are started. `flags` are the arguments for the runtime that a document may give."""

    names: tuple[str, ...]
    identifier: str
    words: Callable[[str, str, list[str]], list[str]]
    flags: frozenset[str] = frozenset()
    version: str = _VERSION
    risk: str = "it runs as you: it can read and write what you can, and reach the network"


_RUNTIMES = {
    "npm": _Runtime(
        ("npx",), _NPM, lambda what, version, more: ["npx", "-y", f"{what}@{version}"], frozenset({"-y", "--yes"}),
        r"\d+\.\d+\.\d+([-+][\w.+-]*)?",  # npx takes less for a range, and a word for a tag
    ),
    "pypi": _Runtime(("uvx",), _PLAIN, lambda what, version, more: ["uvx", f"{what}@{version}"]),
    "nuget": _Runtime(
        ("dnx",), _PLAIN, lambda what, version, more: ["dnx", f"{what}@{version}", "--yes", "--"], frozenset({"--yes"})
    ),
    "oci": _Runtime(
        ("docker", "podman"), _IMAGE,
        lambda what, version, more: ["docker", "run", "-i", "--rm", *more, what],
        frozenset({"-i", "--interactive", "--rm", "--init", "-v", "--volume", "--mount", "-e", "--env"}),
        risk="it runs in a container: it can reach the network, and of your files the folders that are named here",
    ),
}  # fmt: skip
_REFUSED_VARIABLES = re.compile(
    r"PATH|HOME|SHELL|IFS|ENV|BASH_ENV|(LD|DYLD|NODE|NPM|PYTHON|UV|PIP|RUBY|PERL|JAVA|JDK|DOTNET|DOCKER|GIT|SSH)\w*"
    r"|\w+_proxy|SSL_CERT\w*|DOORWARD\w*|XDG\w*",
    re.IGNORECASE,
)
"""Variables by which a runtime is led elsewhere: no server needs a document to set them."""
_CURLY = re.compile(r"\{([^{}]+)\}")


@dataclass(slots=True)
class Plan:
    """An entry that would be written, and what people are told of it."""

    table: dict[str, Any]
    package: str = ""
    lines: list[tuple[str, str]] = field(default_factory=list)


def choices(document: Document) -> list[str]:
    """What of the document can be used, in words for `--package`: `npm`, `oci`, `remote` …"""
    return [package.registry_type for package in document.packages] + ["remote"] * len(document.remotes)


def plan(document: Document, number: int, ask: Ask) -> Plan:
    """The entry for one of the `choices`. Raises: ConfigError for what is refused."""
    if number < len(document.packages):
        return _started(document, document.packages[number], ask)
    return _reached(document.remotes[number - len(document.packages)], ask)


def _started(document: Document, package: Package, ask: Ask) -> Plan:
    kind = package.registry_type
    runtime = _RUNTIMES.get(kind)
    if runtime is None:
        there = ", ".join(_RUNTIMES)
        raise _refused(f"packages of the kind {kind!r} are not started by Doorward", f"There are: {there}.")
    if package.transport.type != "stdio":
        raise _refused(f"the package serves {package.transport.type!r}, which has to be started by hand")
    if package.runtime_hint and package.runtime_hint not in runtime.names:
        raise _refused(f"it wants to be run by {package.runtime_hint!r}, and not by {' or '.join(runtime.names)}")
    what, version = package.identifier, package.version
    if not re.fullmatch(runtime.identifier, what) or len(what) > 300:
        raise _refused(f"{what[:100]!r} is no name of a package of the kind {kind}")
    if kind == "oci":
        tag = re.search(r":([\w.-]+)(@|$)", what.rpartition("/")[2])
        if version and "@" not in what and tag is None:
            what, tag = f"{what}:{version}", re.match("(.*)", version)
        if "@" not in what and (tag is None or tag[1] == "latest"):
            raise _refused(f"{what!r} names no version of its image")
    elif not re.fullmatch(runtime.version, version) or version == "latest":
        raise _refused(f"{version[:50]!r} is no version of a package")
    given = _Values(ask)
    more, folders = _runtime_words(kind, runtime, package, given)
    env, told = {}, []
    for each in package.environment_variables:
        if not re.fullmatch(r"[A-Za-z_]\w{0,100}", each.name, re.ASCII) or _REFUSED_VARIABLES.fullmatch(each.name):
            raise _refused(f"it wants to set the variable {each.name[:50]!r}")
        if (value := given.of(each, each.name)) is not None:
            env[each.name] = value
            told.append(f"{each.name}{' (a secret)' if each.is_secret else f' = {value}'}")
            more += ["-e", each.name] if kind == "oci" else []
    arguments = given.words(package.package_arguments)
    if kind == "oci" and not folders:
        return _contained(what, arguments, dict(_variables(more)) | env, told)
    command = runtime.words(escaped(what), version, more) + arguments
    plan = Plan({"source": "mcp", "command": command} | ({"env": env} if env else {}), f"{kind} {what}")
    plan.lines = [("runs", " ".join(map(_shown, command))), ("may", runtime.risk)]
    plan.lines += [("folder", each) for each in folders] + [("gets", each) for each in told]
    if package.registry_base_url:
        where = f"the document says {package.registry_base_url[:200]}; {command[0]} asks where it is configured to"
        plan.lines.append(("package", where))
    if package.file_sha256:
        plan.lines.append(("hash", f"{package.file_sha256[:64]}: not compared, for {command[0]} loads it by itself"))
    if kind == "oci" and "@sha256:" not in what:
        plan.lines.append(_PINNED_BY_TAG)
    return plan


_PINNED_BY_TAG = ("note", "the image is pinned by its tag, which its registry can move: a digest cannot")


def _variables(words: list[str]) -> Iterator[tuple[str, str]]:
    """The variables that words for a runtime set: `-e NAME=VALUE`. Those without a value are of the package itself."""
    for flag, text in pairwise(words):
        if flag in ("-e", "--env") and "=" in text:
            name, _, value = text.partition("=")
            yield name, value


def _contained(image: str, arguments: list[str], env: dict[str, str], told: list[str]) -> Plan:
    """The entry for an image that wants none of this machine's folders."""
    table: dict[str, Any] = {"source": "mcp", "image": image, "pull": True}
    table |= {"args": arguments} if arguments else {}
    plan = Plan(table | ({"env": env} if env else {}), f"oci {image}")
    words = " ".join(map(_shown, [image, *arguments]))
    plan.lines = [
        ("runs", f"{words}, in a container"),
        ("may", "it can reach no file of yours, and of the network what --egress names"),
        *(("gets", each) for each in told),
    ]
    if "@sha256:" not in image:
        plan.lines.append(_PINNED_BY_TAG)
    return plan


def _runtime_words(kind: str, runtime: _Runtime, package: Package, given: _Values) -> tuple[list[str], list[str]]:
    """The words for the runtime, and the folders that it hands on. Raises: ConfigError for any that do more."""
    words, folders = [], []
    for each in package.runtime_arguments:
        flag = each.name if each.type == "named" else (each.value or "").partition("=")[0]
        if flag not in runtime.flags:
            raise _refused(f"it wants to give {package.runtime_hint or kind} {(flag or each.value_hint)[:60]!r}")
        if kind != "oci" or flag in ("-i", "--interactive", "--rm"):
            continue  # we say these ourselves
        if flag in ("-v", "--volume", "--mount"):
            value = given.of(each, flag)
            asked = {name for name, one in each.variables.items() if one.value is None and one.default is None}
            host = _FOLDER.fullmatch(each.value or "")
            if each.type != "named" or value is None or host is None or (host[1] or host[3]) not in asked:
                raise _refused(
                    f"it wants a folder of this machine that you do not choose: {(each.value or flag)[:80]!r}"
                )
            folders.append(value)
            words += [flag, value]
        elif flag == "--init":
            words.append(flag)
        else:
            name = (each.value or "").partition("=")[0] if each.type == "named" else ""
            if not re.fullmatch(r"[A-Za-z_]\w{0,100}", name, re.ASCII) or _REFUSED_VARIABLES.fullmatch(name):
                raise _refused(f"it wants to set the variable {name[:50]!r}")
            if (value := given.of(each, name)) is not None:
                words += [flag, value]
    return words, folders


def _reached(remote: Transport, ask: Ask) -> Plan:
    if remote.type not in ("streamable-http", "sse"):
        raise _refused(f"{remote.type[:50]!r} is no way to reach a server")
    given = _Values(ask)
    url = given.filled(remote.url, remote.variables)
    parts = urlsplit(url)
    if "{" in parts.netloc or "$" in parts.netloc:
        raise _refused(f"the host of {url[:200]!r} is not known")
    if not parts.hostname or "@" in parts.netloc or re.search(r"[\s\\]", url):
        raise _refused(f"{url[:200]!r} is no URL of a server")
    if parts.scheme != "https" and not is_loopback(parts.hostname):
        raise _refused(f"{url[:200]} is not reached by https")
    headers, told = {}, []
    for each in remote.headers:
        if (value := given.of(each, each.name)) is not None:
            headers[each.name] = value
            told.append(f"the header {each.name}{' (a secret)' if each.is_secret else f': {value}'}")
    table: dict[str, Any] = {"source": "mcp", "url": url}
    table |= {"transport": "sse"} if remote.type == "sse" else {}
    plan = Plan(table | ({"headers": headers} if headers else {}))
    plan.lines = [
        ("asks", url),
        ("may", "it runs elsewhere: it sees the arguments of calls, and nothing of this machine"),
    ]
    plan.lines += [("gets", each) for each in told]
    return plan


class _Values:
    """The values of inputs. All text of the document is literal: it can name no variable of this machine."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._asked: dict[str, str | None] = {}

    def of(self, given: Input, name: str) -> str | None:
        """The value of an input; `None` if it has none. Raises: ConfigError."""
        if given.value is not None:
            return self.filled(given.value, given.variables)
        if name not in self._asked:
            self._asked[name] = self._ask(name, given)
        return self._asked[name]

    def filled(self, text: str, variables: Mapping[str, Input]) -> str:
        """A text of the document with the values of its variables. Raises: ConfigError."""
        made = plain = ""
        for number, part in enumerate(_CURLY.split(text)):
            if number % 2 == 0:
                plain += part
            elif part not in variables:
                plain += f"{{{part}}}"
            else:
                value = self.of(variables[part], part) or ""
                if plain.endswith("$"):
                    raise _refused(f"{text[:80]!r} has a $ before a variable")
                made, plain = made + escaped(plain) + value, ""
        return made + escaped(plain)

    def words(self, arguments: list[Input]) -> list[str]:
        """The words of the package's own command line."""
        words = []
        for each in arguments:
            if each.type == "named":
                if not re.fullmatch(r"-{1,2}[A-Za-z0-9][\w.-]*", each.name):
                    raise _refused(f"{each.name[:60]!r} is no argument")
                value = self.of(each, each.name.lstrip("-"))
                if value is not None and value != "false":
                    words.append(each.name if value == "true" or not value else f"{each.name}={value}")
            elif each.type == "positional":
                if (value := self.of(each, each.value_hint or "argument")) is not None:
                    words.append(value)
            else:
                raise _refused(f"{each.type[:30]!r} is no kind of argument")
        return words


def _shown(word: str) -> str:
    return word if re.fullmatch(r"[\w./:@%+,=${}-]+", word) else repr(word)


def _refused(why: str, hint: str = "") -> ConfigError:
    return ConfigError(why, hint=hint or "Read what it does, then add it by hand: doorward add mcp NAME -- COMMAND")
