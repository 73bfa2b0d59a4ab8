"""For what administers a gateway, such as the command line: secrets, stored runs, plugins at work, and texts.

A name is loaded when it is first imported, so that `doorward --help` imports next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "access.effects": ("Effects",),
    "access.policy": ("Policy", "Reached"),
    "access.rules": ("Rules", "selected"),
    "arguments.binding": ("bind_arguments", "fits_parameter", "takes_text"),
    "arguments.files": ("artefact_uri", "files_in_words", "takes_file"),
    "calls.client_requests": ("RunClient",),
    "calls.permissions": ("nobody_asks",),
    "catalog.catalog": ("Catalog",),
    "catalog.function_codec": ("Report", "as_json"),
    "catalog.notes": ("FunctionNotes",),
    "catalog.schema_inference": ("SchemaInference",),
    "data.clean_text": ("clean_text", "shown_schema", "visible"),
    "data.json_writing": ("dump_json", "exceeds", "json_digest"),
    "data.near_names": ("in_place_of", "nearest"),
    "data.offload": ("is_large", "maybe_in_thread", "run_in_thread", "thread_to_its_end"),
    "data.planned": ("planned", "planned_in"),
    "data.quoting": ("in_one_line", "indented"),
    "data.values": ("cut_value", "plain_value"),
    "data.words": ("stems",),
    "data.wording": ("clean",),
    "describe.schemas": ("BYTES_SCHEMAS", "SchemaReader", "schema_kinds", "schema_table", "schema_variants"),
    "host.cached_file": ("CachedFile", "stamp"),
    "host.files": ("beside", "refuse_link", "sync_names", "write_file"),
    "host.logs": ("Bounded", "log_stream"),
    "host.self_reference": ("starts_doorward",),
    "model.clock": ("Clock",),
    "model.decisions": ("ALLOWED", "may_repeat", "stricter"),
    "model.interaction": ("LoginPrompt",),
    "model.names": ("qualified", "some"),
    "model.outcomes": ("OutcomePart", "Waiting"),
    "model.recording": (
        "InterceptedRun",
        "Interceptor",
        "RECORDERS",
        "RecordedRun",
        "Recorder",
        "Recorders",
        "Suspends",
        "WITHHOLDS",
        "Withholds",
    ),
    "model.waits": ("resumed_at",),
    "plugins.failures": ("contained",),
    "plugins.hook_answers": ("expected",),
    "plugins.manager": ("Plugins",),
    "programs.languages": ("is_script", "language_named", "language_of_file"),
    "runs.outcomes": ("outcome_failure", "waiting_run"),
    "runs.run_context": ("RunContext",),
    "secrets.detection": ("hide", "hide_arguments", "hide_whole", "is_named_secret", "mask_tokens"),
    "secrets.outgoing": ("Outgoing", "without_drawn_tokens"),
    "secrets.redaction": ("REDACTED",),
    "secrets.scrubber": ("answers_of", "MIN_SECRET_CHARACTERS", "is_guessable"),
    "servers.auths": ("check_auth", "url_of"),
    "storage.chosen": ("open_store",),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_NAMES_THERE = {
    "SchemaReader": "Reader",
    "artefact_uri": "handle",
    "bind_arguments": "bind",
    "cut_value": "cut",
    "dump_json": "dump",
    "files_in_words": "in_words",
    "fits_parameter": "fits",
    "json_digest": "digest",
    "language_named": "named",
    "language_of_file": "of_file",
    "log_stream": "stderr",
    "maybe_in_thread": "done",
    "outcome_failure": "failure",
    "plain_value": "plain",
    "run_in_thread": "off_loop",
    "schema_kinds": "kinds",
    "schema_table": "table",
    "schema_variants": "variants",
    "waiting_run": "waiting",
    "write_file": "write",
}
"""Names in their own module, where they differ from the exported ones."""


__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), _NAMES_THERE.get(name, name))
    raise AttributeError(f"module 'doorward.administration' has no attribute {name!r}")
