"""`swaggers.yaml` of MCE, another gateway: its servers are OpenAPI documents, which become sources here. Its settings
are variables (`MCE_…`), which are not taken over; an import says what does the same here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from doorward import ConfigError
from doorward.administration import hide
from doorward.configuration import is_plain, unescaped
from doorward.values import escaped
from doorward_cli import Variables, beside

from doorward_clients.left_out import LeftOut, allowed_upstreams

TITLE = "MCE"
_MAX_FILE_BYTES = 2**18
"""Largest file: parsing YAML takes long."""
_RENAMED_KEYS = {"swagger_url": "spec", "base_url": "base_url", "skills_url": "skills", "top_level_functions": "expose"}
"""Keys that have another name here, and the same meaning."""
_READ_KEYS = {*_RENAMED_KEYS, "name", "is_read_only", "extra_headers", "auth", "auth_header"}
_SETTINGS = {
    "ENABLE_ADDITIONAL_TOOLS": "they are there when a server has `skills`",
    "LINT_ENABLED": 'plugins = ["ast", "ruff", "audit_jsonl"]',
    "LOG_LEVEL": "log_level",
    "DEBUG": "DOORWARD_DEBUG=1",
    "HOST": "[http] host",
    "PORT": "[http] port",
    "COMPILE_ON_STARTUP": "`serve` always does",
    "COMPILED_OUTPUT_DIR": "state",
    "CACHE_DB_PATH": "[caches.sqlite] path",
    "SWAGGER_CONFIG_FILE": "doorward.toml, or --config",
    "LLM_ENHANCE": "`doorward compile --enhance`",
    "LLM_MODEL": 'model of a server with source = "llm"',
    "LLM_API_KEY": 'api_key of a server with source = "llm"',
    "DOCKER_IMAGE": "[executors.docker] image",
    "DOCKER_HOST": "[executors.docker] host",
    "NETWORK_MODE": "[executors.docker] network",
    "SANDBOX_MODE": "[executors.docker] mode",
    "WARM_POOL_SIZE": "[executors.docker] pool",
    "EXECUTION_TIMEOUT_SECONDS": "[limits] timeout",
    "MAX_OUTPUT_SIZE_BYTES": "[limits] output",
    "MAX_CODE_SIZE_BYTES": "[limits] code",
    "CACHE_ENABLED": 'cache = "none" turns it off',
    "CACHE_TTL_SECONDS": "[caches.sqlite] ttl",
    "CACHE_MAX_ENTRIES": "[caches.sqlite] max_entries",
}
"""What does here what `MCE_…` does there."""
_SERVER_SETTINGS = {
    "BASE_URL": "base_url of the server",
    "AUTH": "auth of the server",
    "COOKIE": "auth of the server",
    "EXTRA_HEADERS": "headers of the server",
}
"""The same for variables of one server, by the ends of their names (`MCE_NAME_AUTH`)."""


class Swagger(dict[str, Any]):
    """An entry of such a file."""


def settings(file: Path, environ: Mapping[str, str]) -> Iterator[LeftOut]:
    """The settings of MCE beside such a file, in the environment and in the `.env` of the folders from which MCE may be
    started."""
    found = {name: ("the environment", value) for name, value in environ.items()}
    for folder in (Path.cwd(), file.parent, file.parent.parent):
        with suppress(ConfigError):
            there = Variables(folder / ".env", {}).there
            found |= {name: (str(folder / ".env"), value) for name, value in there.items() if name not in found}
    for name, (place, value) in found.items():
        if value and (known := setting(name, value, place)):
            yield known


def setting(name: str, value: str, place: str) -> LeftOut | None:
    """A setting of MCE by the name of its variable; `None` if it is none."""
    if not name.startswith("MCE_"):
        return None
    if name == "MCE_ALLOWED_DOMAINS":
        return LeftOut(place, name, allowed_upstreams(str(value).split(",")), guards=True)
    of_server = next((ours for end, ours in _SERVER_SETTINGS.items() if name.endswith(f"_{end}")), "")
    return LeftOut(place, name, _SETTINGS.get(name.removeprefix("MCE_"), of_server))


def left_out(entry: Swagger) -> list[str]:
    """The keys of an entry that have no like here."""
    return [str(key) for key, value in entry.items() if value and key not in _READ_KEYS]


def read(file: Path) -> dict[str, Any]:
    """What a file holds, its list `servers` among it. Raises: ConfigError."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """A loader that refuses aliases: with them, a small file can become a very large one."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(parent, index)

    try:
        if not file.is_file() or file.stat().st_size > _MAX_FILE_BYTES:
            raise ConfigError(f"is not a file, or has more than {_MAX_FILE_BYTES >> 10} KiB", place=str(file))
        data = yaml.load(file.read_bytes(), Loader)  # noqa: S506 - it is a SafeLoader
    except (yaml.YAMLError, OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot be read: {error}", place=str(file), hint="Fix the YAML.") from None
    if not isinstance(data, dict) or not isinstance(data.get("servers"), list):
        raise ConfigError("holds no list `servers`", place=str(file))
    return data


def entries(data: Mapping[str, Any]) -> Iterator[tuple[str, Swagger]]:
    """The servers of such a file, each with its name."""
    for number, server in enumerate(data["servers"], 1):
        name = server.get("name") if isinstance(server, dict) else None
        yield (str(name) if name else f"server {number}", Swagger(server if isinstance(server, dict) else {}))


def table(
    entry: Swagger, file: Path, config: Path, keep: Callable[[str, str], str], read: Callable[[str], str]
) -> dict[str, Any]:
    """The table `[servers.NAME]` of an entry. `read` translates references, `keep` stores secrets.

    Raises: ValueError.
    """
    if not entry.get("swagger_url"):
        raise ValueError("has no swagger_url")
    made: dict[str, Any] = {"source": "openapi"}
    for key, ours in _RENAMED_KEYS.items():
        if value := entry.get(key):
            made[ours] = [read(str(each)) for each in value] if isinstance(value, list) else read(str(value))
    for key in ("spec", "skills"):
        if key in made:
            made[key] = _place(made[key], file, config)
    if entry.get("is_read_only") is True:
        made["read_only"] = True
    if isinstance(headers := entry.get("extra_headers"), Mapping) and headers:
        made["headers"] = {str(key): hide(read(str(value)), keep, name=str(key)) for key, value in headers.items()}
    if auth := _auth(entry):
        made["auth"] = {key: _read(value, key, keep, read) for key, value in auth.items()}
    return made


def _read(value: Any, key: str, keep: Callable[[str, str], str], read: Callable[[str], str]) -> Any:
    """A value of `auth`, translated, with its secrets stored."""
    match value:
        case str():
            return read(value) if key == "type" else hide(read(value), keep, name=_secret(key))
        case list():
            return [_read(each, key, keep, read) for each in value]
        case Mapping():
            return {str(name): _read(each, str(name), keep, read) for name, each in value.items()}
    return value


def _auth(entry: Swagger) -> dict[str, Any]:
    """The `auth` of an entry, which has the same types and keys as ours, or its older form, `auth_header`."""
    auth = entry.get("auth")
    if isinstance(auth, Mapping) and auth.get("type") not in (None, "none"):
        flow = {"flow": "client_credentials"} if auth["type"] == "oauth2" else {}
        return {**{str(key): value for key, value in auth.items() if value is not None}, **flow}
    header = entry.get("auth_header")
    return {"type": "static", "value": str(header)} if header else {}


def _secret(key: str) -> str:
    """The name by which a key of `auth` is judged to be a secret: there, a `value` is one."""
    return "token" if key == "value" else key


def _place(text: str, file: Path, config: Path) -> str:
    """A path, relative to our configuration and not to the folder in which MCE is started; a URL is itself.

    Raises: ValueError for a path that leads out of that folder: the file would be read, and shown to agents.
    """
    if re.match("https?://", text):
        return text
    if not is_plain(text) or text.startswith("~") or Path(text).is_absolute() or ".." in Path(text).parts:
        raise ValueError("names a file that is not below its folder")
    text = unescaped(text)
    there = next(
        (base / text for base in (Path.cwd(), file.parent, file.parent.parent) if (base / text).exists()), Path(text)
    )
    return escaped(str(beside(config, str(there))))
