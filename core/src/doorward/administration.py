"""For what administers a gateway, such as the command line: secrets, stored runs, plugins at work, and texts.

A name is loaded when it is first imported, so that `doorward --help` imports next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "access.rules": ("selected",),
    "calls.binding": ("bind_arguments", "fits_parameter", "takes_text"),
    "calls.files": ("artefact_uri", "takes_file"),
    "catalog.catalog": ("Catalog",),
    "catalog.function_codec": ("Report", "as_json"),
    "catalog.notes": ("FunctionNotes",),
    "data.clean_text": ("shown_schema", "visible"),
    "data.json_writing": ("dump_json", "exceeds", "json_digest"),
    "data.near_names": ("in_place_of", "nearest"),
    "data.offload": ("is_large", "maybe_in_thread", "run_in_thread", "thread_to_its_end"),
    "data.values": ("cut_value", "plain_value"),
    "data.words": ("stems",),
    "data.wording": ("clean",),
    "catalog.schemas": ("BYTES_SCHEMAS", "SchemaReader", "schema_kinds", "schema_table", "schema_variants"),
    "host.logs": ("Bounded", "log_stream"),
    "host.self_reference": ("starts_doorward",),
    "model.interaction": ("LoginPrompt",),
    "model.names": ("qualified", "some"),
    "config.installed_plugins": ("PluginId",),
    "plugins.failures": ("Failures", "contained", "limited"),
    "plugins.hook_answers": ("Unfit", "expected"),
    "plugins.manager": ("Plugins",),
    "data.languages": ("is_script", "language_named", "language_of_file"),
    "secrets.detection": ("hide", "hide_arguments", "hide_whole", "is_named_secret", "mask_tokens"),
    "secrets.outgoing": ("Outgoing", "without_drawn_tokens"),
    "secrets.redaction": ("REDACTED",),
    "secrets.scrubber": ("answers_of", "MIN_SECRET_CHARACTERS", "is_guessable"),
    "servers.auths": ("check_auth", "url_of"),
    "stores": ("open_store",),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_NAMES_THERE = {
    "SchemaReader": "Reader",
    "artefact_uri": "handle",
    "bind_arguments": "bind",
    "cut_value": "cut",
    "dump_json": "dump",
    "fits_parameter": "fits",
    "json_digest": "digest",
    "language_named": "named",
    "language_of_file": "of_file",
    "log_stream": "stderr",
    "maybe_in_thread": "done",
    "plain_value": "plain",
    "run_in_thread": "off_loop",
    "schema_kinds": "kinds",
    "schema_table": "table",
    "schema_variants": "variants",
}
"""Names in their own module, where they differ from the exported ones."""


__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), _NAMES_THERE.get(name, name))
    raise AttributeError(f"module 'doorward.administration' has no attribute {name!r}")
