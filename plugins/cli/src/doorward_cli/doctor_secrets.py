"""What `doctor` finds about credentials: literal ones, files that others can read, and ways by which they may leak."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from doorward import ConfigError, Secret
from doorward.administration import MIN_SECRET_CHARACTERS, is_guessable, url_of
from doorward.values import is_loopback

from doorward_cli.hidden import hidden

if TYPE_CHECKING:
    from doorward import Gateway

Finding = tuple[str, bool, str]
"""What was found, whether Doorward works all the same, and what to do."""

_MOVE_TO_ENV = "Move it to .env, and write ${NAME} in its place."
_GET_RANDOM = "Get a random one, of 16 characters or more."
_MIN_KEY_CHARACTERS = 16


async def about_secrets(gate: Gateway, env_file: Path) -> AsyncIterator[Finding]:
    """All findings. They tell the place of a credential, and nothing of its value."""
    for finding in [*_dotenv(env_file), *_literal(gate)]:
        yield finding
    servers: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, server in gate.servers.configured.items():
        try:
            source, *auths = gate.servers.settings(name)
        except ConfigError:  # it is told with the server
            continue
        url = url_of(source)
        if auths and _is_open(url):
            yield (
                f"server {name}: its credentials go over plain http",
                True,
                "Others on the way can read them. Use https.",
            )
        if server.settings.per_principal:
            continue
        for secret in (value for settings in auths for _, value in settings if isinstance(value, Secret)):
            try:
                value = (await secret.get()).strip()
            except ConfigError:
                continue
            if 0 < len(value) < MIN_SECRET_CHARACTERS:
                yield f"server {name}: {_short('a credential')}", True, "Get a longer one."
                continue
            if value and is_guessable(value):
                what = f"server {name}: a credential can be guessed, so it is not looked for in what programs make"
                yield what, True, _GET_RANDOM
            if value and (host := _host(url)):
                servers[value].setdefault(host, name)
    for hosts in servers.values():
        if len(hosts) > 1:
            names = ", ".join(sorted(hosts.values()))
            yield f"servers {names}: one credential for different hosts", True, "Each can use it at the others."
    async for finding in _keys(gate):
        yield finding


def _dotenv(file: Path) -> Iterator[Finding]:
    if os.name == "posix" and file.is_file() and stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield f"{file} can be read by other users", True, f"chmod 600 {file}"


def _literal(gate: Gateway) -> Iterator[Finding]:
    for name, server in gate.servers.configured.items():
        found: dict[str, None] = {}

        def keep(what: str, secret: str, found: dict[str, None] = found) -> str:
            found[what] = None
            return ""

        core = server.settings.model_dump(include={"source", "auth", "local_auth"})
        hidden({**core, **server.options}, keep, gate.plugins)
        if found:
            yield (
                f"server {name}: a credential stands in the configuration file ({', '.join(found)})",
                True,
                _MOVE_TO_ENV,
            )
    for principal, settings in gate.config.principals.items():
        for key, secret in settings.secrets.items():
            if secret.literal:
                yield f"principal {principal}: the secret {key} stands in the configuration file", True, _MOVE_TO_ENV


async def _keys(gate: Gateway) -> AsyncIterator[Finding]:
    for name in ("vault_key", "vault_key_before"):
        if (key := getattr(gate.config, name)) is None:
            continue
        try:
            value = await key.get()
        except ConfigError as error:
            yield f"{name}: {error}", False, error.hint or ""
            continue
        if key.literal and name not in _of_environment(gate):
            yield f"{name}: it stands in the configuration file", True, _MOVE_TO_ENV
        if name == "vault_key" and len(value) < _MIN_KEY_CHARACTERS:
            yield (
                f"vault_key: it has fewer than {_MIN_KEY_CHARACTERS} characters",
                True,
                "Make one with `openssl rand -hex 32`.",
            )


def _of_environment(gate: Gateway) -> dict[str, Any]:
    """The settings that come from environment variables: a literal credential there is in no file."""
    from doorward.configuration import from_environment

    return from_environment(gate.secrets)


def _short(what: str) -> str:
    return f"{what} has fewer than {MIN_SECRET_CHARACTERS} characters, so it is not scrubbed from what the API answers"


def _is_open(url: str) -> bool:
    return url.startswith("http://") and not is_loopback(_host(url))


def _host(url: str) -> str:
    """The host of a URL; empty if there is none, or if the URL is invalid, which its source tells."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
