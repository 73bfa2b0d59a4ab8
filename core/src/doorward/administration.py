"""For what administers a gateway, such as the command line: the configuration as it is read and written, secrets in it,
installed packages, stored runs, and texts.

A name is loaded when it is first imported, so that `doorward --help` imports next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "arguments.binding": ("bind_arguments", "fits_parameter", "takes_text"),
    "arguments.documented_secrets": ("DocumentedSecrets",),
    "arguments.files": ("artefact_uri", "takes_file"),
    "catalog.catalog": ("Catalog",),
    "catalog.enhancements": ("read_enhancement", "stored_enhancement"),
    "catalog.function_codec": ("Report", "as_json"),
    "config.config": ("Loaded", "RESERVED_NAMES", "load_config", "read_config"),
    "config.distribution": ("Distribution", "config_layers", "find_distribution", "find_index", "title_of_active"),
    "config.environment": ("from_environment", "variables_of_server"),
    "config.manifest": ("Manifest",),
    "config.owned": ("model_for", "server_model_for"),
    "config.settings": ("EVERYONE", "ServerSettings"),
    "config.validation": ("explain",),
    "data.clean_text": ("visible",),
    "data.quoting": ("in_one_line", "indented"),
    "data.values": ("plain_value",),
    "data.wording": ("clean",),
    "describe.additions": ("example_call",),
    "describe.documentation": ("documentation",),
    "describe.signatures": ("response_type",),
    "host.files": ("beside", "refuse_link", "write_file"),
    "host.logs": ("Bounded", "log_stream"),
    "journal.journals": ("Journals", "state_in_words"),
    "journal.replay": ("StoredJournal",),
    "model.names": ("qualified", "some"),
    "model.outcomes": ("PlannedCalls",),
    "model.settings": ("expand",),
    "packages.index": ("canonical", "near_group"),
    "packages.install_hints": ("executors_of", "to_install"),
    "packages.pinned_files": ("BY_RECORD", "file_problems", "hash_of_files", "recorded_files"),
    "plugins.failures": ("contained",),
    "plugins.hook_answers": ("expected",),
    "policy.decisions": ("PolicyRules", "check_rules"),
    "access.effects": ("Effects",),
    "policy.explanation": ("fitting_functions", "idle_rules", "rule_steps"),
    "policy.known_functions": ("KnownFunctions",),
    "policy.rules": ("Rule",),
    "programs.languages": ("is_script", "language_named", "language_of_file"),
    "programs.program_text": ("telling_line",),
    "results.outcome_text": ("outcome_as_dict", "outcome_as_text", "planned_calls"),
    "secrets.detection": ("hide", "hide_arguments", "hide_whole", "is_named_secret", "mask_tokens"),
    "secrets.outgoing": ("without_drawn_tokens",),
    "secrets.references": ("Reference", "find", "is_credential", "is_plain", "joined", "to_variable", "unescaped"),
    "secrets.scrubber": ("MIN_SECRET_CHARACTERS", "is_guessable"),
    "servers.auths": ("check_auth", "url_of"),
    "undo.steps": ("Step", "Steps", "undone_calls"),
    "undo.undoing": ("Undoing", "Undone"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_NAMES_THERE = {
    "artefact_uri": "handle",
    "bind_arguments": "bind",
    "config_layers": "layers",
    "example_call": "call",
    "fits_parameter": "fits",
    "fitting_functions": "fitting",
    "idle_rules": "idle",
    "language_named": "named",
    "language_of_file": "of_file",
    "load_config": "load",
    "log_stream": "stderr",
    "outcome_as_dict": "as_dict",
    "outcome_as_text": "as_text",
    "plain_value": "plain",
    "read_config": "read",
    "read_enhancement": "read",
    "response_type": "response",
    "rule_steps": "steps",
    "stored_enhancement": "stored",
    "variables_of_server": "of_server",
    "write_file": "write",
}
"""Names in their own module, where they differ from the exported ones."""


__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), _NAMES_THERE.get(name, name))
    raise AttributeError(f"module 'doorward.administration' has no attribute {name!r}")
