"""For what reads, checks or manages the configuration: its models and layers, whose its tables are, the plugins that
are installed, and references to secrets in it.

A name is loaded when it is first imported, so that `doorward --help` imports next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "config.config": ("Loaded", "RESERVED_NAMES", "load_config", "module_name", "read_config"),
    "config.environment": ("from_environment", "variables_of_server"),
    "config.layers": ("Branding", "Managed", "Manager", "config_layers", "find_index", "find_managed", "managed_title"),
    "config.owned": ("key_owner", "keys_of_plugins", "model_for", "server_model_for", "tables_in", "tables_of"),
    "config.settings": ("Config", "EVERYONE", "ServerSettings", "TokenSettings"),
    "config.upstream_patterns": ("Pattern", "Upstream", "is_upstream"),
    "config.validation": ("explain", "known_keys", "validate"),
    "model.integrity": ("Integrity", "Key"),
    "model.names": ("Named",),
    "model.settings": ("expand",),
    "config.installed_plugins": ("Entry", "GROUPS", "Index", "canonical", "installed", "near_group"),
    "config.install_hints": ("executors_of", "to_install"),
    "secrets.references": (
        "Reference",
        "find",
        "has_references",
        "is_credential",
        "is_plain",
        "joined",
        "to_variable",
        "unescaped",
    ),
    "secrets.store": ("Secrets",),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_NAMES_THERE = {
    "config_layers": "layers",
    "key_owner": "owner",
    "keys_of_plugins": "with_keys",
    "load_config": "load",
    "read_config": "read",
    "variables_of_server": "of_server",
}
"""Names in their own module, where they differ from the exported ones."""


__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), _NAMES_THERE.get(name, name))
    raise AttributeError(f"module 'doorward.configuration' has no attribute {name!r}")
