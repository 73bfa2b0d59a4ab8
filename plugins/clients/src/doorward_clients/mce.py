"""`swaggers.yaml` of MCE, another gateway: its servers are OpenAPI documents, which become sources here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from doorward import ConfigError
from doorward.commands import beside, escaped, hide, is_plain, unescaped

TITLE = "MCE"
_MAX_FILE_BYTES = 2**18
"""Largest file: parsing YAML takes long."""
_RENAMED_KEYS = {"swagger_url": "spec", "base_url": "base_url", "skills_url": "skills", "top_level_functions": "expose"}
"""Keys that have another name here, and the same meaning."""


class Swagger(dict[str, Any]):
    """An entry of such a file."""


def read(file: Path) -> Iterator[tuple[str, Swagger]]:
    """The servers of a file, each with its name. Raises: ConfigError."""
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
        raise ConfigError(f"cannot be read: {error}", place=str(file), hint="Mend the YAML.") from None
    servers = data.get("servers") if isinstance(data, dict) else None
    if not isinstance(servers, list):
        raise ConfigError("holds no list `servers`", place=str(file))
    for number, server in enumerate(servers, 1):
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
