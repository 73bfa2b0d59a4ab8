"""`doorward schema`: the JSON Schema of the whole configuration file, for what is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from doorward_cli.shared import Project, common, print_json, say

if TYPE_CHECKING:
    from doorward.administration import Plugins


_AUTHS = "_auths"
"""The definition of a table with credentials, of any installed type. No model is called so."""


_REFERENCE = {"type": "string", "pattern": r"\$\{.+\}"}
"""A value that stands elsewhere, for keys that take no other text."""


@click.command()
@common
def schema(project: Project) -> None:
    """Print the JSON Schema of doorward.toml, with the settings of every installed plugin.

    Editors read doorward.schema.json, which `doorward init` writes; after plugins were installed, write it anew:
    doorward schema > doorward.schema.json
    """
    from doorward.administration import Plugins
    from doorward.configuration import find_index

    print_json(whole(Plugins(find_index())))


def whole(plugins: Plugins) -> dict[str, Any]:
    """The schema. A plugin that cannot be imported is left out, with a notice."""
    from doorward.configuration import model_for, server_model_for
    from pydantic.json_schema import models_json_schema

    Config = model_for(owned(plugins, "table"), plugins.index)
    ServerSettings = server_model_for(owned(plugins, "server_key"), plugins.index)
    kinds = ("source", "auth", "executor", "store", "cache", "observer", "search_view", "plugin")
    found = {kind: _settings(plugins, kind) for kind in kinds}
    models = [Config, ServerSettings, *(model for by_name in found.values() for model in by_name.values())]
    refs, generated = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(models)], ref_template="#/$defs/{model}"
    )
    definitions = generated["$defs"]

    def of(model: Any) -> dict[str, Any]:
        own: dict[str, Any] = definitions[refs[model, "validation"]["$ref"].removeprefix("#/$defs/")]
        return own

    def named(kind: str) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: refs[model, "validation"] for name, model in found[kind].items()},
            "additionalProperties": {"type": "object"},
        }

    auth = [_joined(of(model), {"type": _chosen("auth", name)}) for name, model in found["auth"].items()]
    if auth:
        definitions[_AUTHS] = {"anyOf": auth}
    about_auth = {key: _auth(of(ServerSettings)["properties"][key]) for key in ("auth", "local_auth") if auth}
    servers = [
        _joined(of(ServerSettings), {"source": _chosen("source", name)} | about_auth, of(model))
        for name, model in found["source"].items()
    ]
    composed = {
        "servers": {
            "type": "object",
            "additionalProperties": {"anyOf": servers} if servers else refs[ServerSettings, "validation"],
        },
        "executors": named("executor"),
        "stores": named("store"),
        "caches": named("cache"),
        "observers": named("observer"),
        "search_views": named("search_view"),
        "hooks": named("plugin"),
    }
    config = of(Config)
    keys = config["properties"]
    for key, part in composed.items():
        if key not in keys:  # nothing that is installed has such a table
            continue
        about = {name: keys[key][name] for name in ("title", "description") if name in keys[key]}
        keys[key] = {**about, "default": {}, **part}
    document: dict[str, Any] = _or_reference({**config, "$defs": definitions})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


def owned(plugins: Plugins, kind: str) -> list[str]:
    """The tables, or the keys of servers, whose owners can be used."""
    from doorward import ConfigError
    from doorward.configuration import model_for, server_model_for

    found = []
    for name in dict.fromkeys(entry.name for entry in plugins.index.of(kind)):
        try:
            (model_for if kind == "table" else server_model_for)([name], plugins.index)
            found.append(name)
        except ConfigError as error:
            say(f"left out: {error}", err=True)
    return found


def _settings(plugins: Plugins, kind: str) -> dict[str, Any]:
    """The `Settings` of each installed plugin of a kind, by name."""
    from doorward import PluginError, Settings
    from doorward.abilities import HasSettings

    found = {}
    for name in dict.fromkeys(entry.name for entry in plugins.index.of(kind)):
        try:
            driver = plugins.driver(kind, name)
            found[name] = driver.Settings if isinstance(driver, HasSettings) else Settings
        except PluginError as error:
            say(f"left out: {error}", err=True)
    return found


def _or_reference(part: Any, names: bool = False) -> Any:
    """A schema that takes a reference (`${PORT}`) wherever it takes a number, true or false, or one of a few words.

    With `names`, the keys of `part` are names of other schemas.
    """
    if isinstance(part, list):
        return [_or_reference(each) for each in part]
    if not isinstance(part, dict):
        return part
    if not names and (part.get("type") in ("integer", "number", "boolean") or "enum" in part):
        about = {key: value for key, value in part.items() if key in ("title", "description", "default")}
        return {**about, "anyOf": [{key: value for key, value in part.items() if key not in about}, _REFERENCE]}
    return {
        key: value
        if key == "default" and not names
        else _or_reference(value, not names and key in ("properties", "$defs"))
        for key, value in part.items()
    }


def _chosen(kind: str, name: str) -> dict[str, Any]:
    """The schema of the key that chooses a plugin, in the table that has its settings."""
    return {"const": name, "description": f"The {kind} '{name}', which the other keys of this table are for"}


def _auth(key: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key for credentials: a table, several, or none."""
    table = {"$ref": f"#/$defs/{_AUTHS}"}
    return {**key, "anyOf": [table, {"type": "array", "items": table}, {"type": "null"}]}


def _joined(table: dict[str, Any], exact: dict[str, Any], more: dict[str, Any] | None = None) -> dict[str, Any]:
    """The schema of a table with the keys of two others; `exact` replaces the schemas of some keys."""
    more = more or {}
    required = [*exact.keys() - {"auth", "local_auth"}, *table.get("required", ()), *more.get("required", ())]
    return {
        "type": "object",
        "properties": {**table.get("properties", {}), **more.get("properties", {}), **exact},
        "required": list(dict.fromkeys(required)),
        "additionalProperties": False,
    }
