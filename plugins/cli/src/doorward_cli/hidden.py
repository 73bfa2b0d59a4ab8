"""Credentials written literally into the table of a server: how they are found, and moved to `.env`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from doorward import PluginError
from doorward.administration import hide, hide_arguments, hide_whole, is_named_secret

from doorward_cli.shared import Project, note

if TYPE_CHECKING:
    from doorward.administration import Plugins

Keep = Callable[[str, str], str]
"""Keeps a secret under a name like the proposed one, and returns the reference to it."""


def moved(project: Project, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of the server `name` with references in place of credentials, which are moved to `.env` with a notice.

    Raises: ConfigError if `.env` cannot be read or written.
    """
    from doorward.administration import Plugins
    from doorward.configuration import find_index

    from doorward_cli.variables import Variables, write_env

    variables = Variables(project.env_file or project.config.parent / ".env")
    changed = hidden(table, lambda what, secret: variables.keep(secret, f"{name}_{what}"), Plugins(find_index()))
    if variables.new:
        write_env(variables.file, variables.new)
        note(f"Moved to {variables.file}: {', '.join(variables.new)}")
    return changed


def hidden(table: Mapping[str, Any], keep: Keep, plugins: Plugins) -> dict[str, Any]:
    """The table of a server, with the answers of `keep` in place of credentials. They are found in auths, headers,
    variables of an environment, command lines and URLs."""
    secret = set(_secret_keys(plugins, "source", table.get("source")))
    return {
        key: _auths(value, keep, plugins) if key in ("auth", "local_auth") else _of_source(key, value, keep, secret)
        for key, value in table.items()
    }


def _of_source(key: str, value: Any, keep: Keep, secret: set[str]) -> Any:
    match value:
        case str() if key in secret or (is_named_secret(key) and "://" not in value):
            return hide_whole(value, keep, name=key)
        case str() if "://" in value:
            return hide(value, keep, guess=False)
        case list() if key == "command" and all(isinstance(word, str) for word in value):
            return list(hide_arguments(value, keep))
        case dict() if key in ("headers", "env"):
            return {
                name: hide(text, keep, name=name) if isinstance(text, str) else text for name, text in value.items()
            }
        case _:
            return value


def _auths(value: Any, keep: Keep, plugins: Plugins) -> Any:
    if isinstance(value, list):
        return [_auths(each, keep, plugins) for each in value]
    if not isinstance(value, Mapping):
        return value
    secret = set(_secret_keys(plugins, "auth", value.get("type")))
    return {
        key: hide_whole(text, keep, name=key) if key in secret and isinstance(text, str) else text
        for key, text in value.items()
    }


def _secret_keys(plugins: Plugins, kind: str, name: Any) -> Iterator[str]:
    """The keys of a driver's settings that hold credentials; none if the driver is not installed."""
    from doorward import Secret

    try:
        fields = plugins.driver(kind, name).Settings.model_fields if isinstance(name, str) else {}
    except PluginError:
        return
    for key, field in fields.items():
        if any(part is Secret for part in (field.annotation, *get_args(field.annotation))):
            yield field.alias or key
