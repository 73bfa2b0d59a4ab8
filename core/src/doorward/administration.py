"""For what administers a gateway, such as the command line: the configuration as it is read and written, secrets in it,
installed packages, stored runs and requests, and texts.

A name is loaded when it is first imported, so that `doorward --help` imports next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "approvals.answering": ("answer_in_words", "answer_request", "answer_together"),
    "approvals.shown": ("request_as_text",),
    "arguments.binding": ("bind_arguments", "fits_parameter", "takes_text"),
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
    "data.quoting": ("indented",),
    "data.values": ("plain_value",),
    "data.wording": ("clean",),
    "describe.additions": ("example_call",),
    "describe.documentation": ("documentation",),
    "describe.signatures": ("response_type",),
    "host.files": ("beside", "refuse_link", "write_file"),
    "host.logs": ("Bounded", "log_stream"),
    "journal.journals": ("Journals", "state_in_words"),
    "journal.replay": ("StoredJournal",),
    "model.approvals": ("APPROVAL_SCOPES",),
    "model.names": ("qualified", "some"),
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
    "results.outcome_text": ("outcome_as_dict", "outcome_as_text"),
    "secrets.detection": ("hide", "hide_arguments", "hide_whole", "is_named_secret", "mask_tokens"),
    "secrets.references": ("Reference", "find", "is_credential", "is_plain", "joined", "to_variable", "unescaped"),
    "secrets.scrubber": ("MIN_SECRET_CHARACTERS", "is_guessable"),
    "servers.auths": ("check_auth", "url_of"),
    "undo.steps": ("Step", "Steps", "undone_calls"),
    "undo.undoing": ("Undoing", "Undone"),
    "views.vector_file": ("VectorFile",),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_NAMES_THERE = {
    "answer_request": "answer",
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
    "request_as_text": "as_text",
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


if TYPE_CHECKING:
    from doorward.access.effects import Effects as Effects
    from doorward.approvals.answering import answer as _answer_request
    from doorward.approvals.answering import answer_in_words as answer_in_words
    from doorward.approvals.answering import answer_together as answer_together
    from doorward.approvals.shown import as_text as _request_as_text
    from doorward.arguments.binding import bind as _bind_arguments
    from doorward.arguments.binding import fits as _fits_parameter
    from doorward.arguments.binding import takes_text as takes_text
    from doorward.arguments.files import handle as _artefact_uri
    from doorward.arguments.files import takes_file as takes_file
    from doorward.catalog.catalog import Catalog as Catalog
    from doorward.catalog.enhancements import read as _read_enhancement
    from doorward.catalog.enhancements import stored as _stored_enhancement
    from doorward.catalog.function_codec import Report as Report
    from doorward.catalog.function_codec import as_json as as_json
    from doorward.config.config import RESERVED_NAMES as RESERVED_NAMES
    from doorward.config.config import Loaded as Loaded
    from doorward.config.config import load as _load_config
    from doorward.config.config import read as _read_config
    from doorward.config.distribution import Distribution as Distribution
    from doorward.config.distribution import find_distribution as find_distribution
    from doorward.config.distribution import find_index as find_index
    from doorward.config.distribution import layers as _config_layers
    from doorward.config.distribution import title_of_active as title_of_active
    from doorward.config.environment import from_environment as from_environment
    from doorward.config.environment import of_server as _variables_of_server
    from doorward.config.manifest import Manifest as Manifest
    from doorward.config.owned import model_for as model_for
    from doorward.config.owned import server_model_for as server_model_for
    from doorward.config.settings import EVERYONE as EVERYONE
    from doorward.config.settings import ServerSettings as ServerSettings
    from doorward.config.validation import explain as explain
    from doorward.data.clean_text import visible as visible
    from doorward.data.quoting import indented as indented
    from doorward.data.values import plain as _plain_value
    from doorward.data.wording import clean as clean
    from doorward.describe.additions import call as _example_call
    from doorward.describe.documentation import documentation as documentation
    from doorward.describe.signatures import response as _response_type
    from doorward.host.files import beside as beside
    from doorward.host.files import refuse_link as refuse_link
    from doorward.host.files import write as _write_file
    from doorward.host.logs import Bounded as Bounded
    from doorward.host.logs import stderr as _log_stream
    from doorward.journal.journals import Journals as Journals
    from doorward.journal.journals import state_in_words as state_in_words
    from doorward.journal.replay import StoredJournal as StoredJournal
    from doorward.model.approvals import APPROVAL_SCOPES as APPROVAL_SCOPES
    from doorward.model.names import qualified as qualified
    from doorward.model.names import some as some
    from doorward.model.settings import expand as expand
    from doorward.packages.index import canonical as canonical
    from doorward.packages.index import near_group as near_group
    from doorward.packages.install_hints import executors_of as executors_of
    from doorward.packages.install_hints import to_install as to_install
    from doorward.packages.pinned_files import BY_RECORD as BY_RECORD
    from doorward.packages.pinned_files import file_problems as file_problems
    from doorward.packages.pinned_files import hash_of_files as hash_of_files
    from doorward.packages.pinned_files import recorded_files as recorded_files
    from doorward.plugins.failures import contained as contained
    from doorward.plugins.hook_answers import expected as expected
    from doorward.policy.decisions import PolicyRules as PolicyRules
    from doorward.policy.decisions import check_rules as check_rules
    from doorward.policy.explanation import fitting as _fitting_functions
    from doorward.policy.explanation import idle as _idle_rules
    from doorward.policy.explanation import steps as _rule_steps
    from doorward.policy.known_functions import KnownFunctions as KnownFunctions
    from doorward.policy.rules import Rule as Rule
    from doorward.programs.languages import is_script as is_script
    from doorward.programs.languages import named as _language_named
    from doorward.programs.languages import of_file as _language_of_file
    from doorward.programs.program_text import telling_line as telling_line
    from doorward.results.outcome_text import as_dict as _outcome_as_dict
    from doorward.results.outcome_text import as_text as _outcome_as_text
    from doorward.secrets.detection import hide as hide
    from doorward.secrets.detection import hide_arguments as hide_arguments
    from doorward.secrets.detection import hide_whole as hide_whole
    from doorward.secrets.detection import is_named_secret as is_named_secret
    from doorward.secrets.detection import mask_tokens as mask_tokens
    from doorward.secrets.references import Reference as Reference
    from doorward.secrets.references import find as find
    from doorward.secrets.references import is_credential as is_credential
    from doorward.secrets.references import is_plain as is_plain
    from doorward.secrets.references import joined as joined
    from doorward.secrets.references import to_variable as to_variable
    from doorward.secrets.references import unescaped as unescaped
    from doorward.secrets.scrubber import MIN_SECRET_CHARACTERS as MIN_SECRET_CHARACTERS
    from doorward.secrets.scrubber import is_guessable as is_guessable
    from doorward.servers.auths import check_auth as check_auth
    from doorward.servers.auths import url_of as url_of
    from doorward.undo.steps import Step as Step
    from doorward.undo.steps import Steps as Steps
    from doorward.undo.steps import undone_calls as undone_calls
    from doorward.undo.undoing import Undoing as Undoing
    from doorward.undo.undoing import Undone as Undone
    from doorward.views.vector_file import VectorFile as VectorFile

    answer_request = _answer_request
    artefact_uri = _artefact_uri
    bind_arguments = _bind_arguments
    config_layers = _config_layers
    example_call = _example_call
    fits_parameter = _fits_parameter
    fitting_functions = _fitting_functions
    idle_rules = _idle_rules
    language_named = _language_named
    language_of_file = _language_of_file
    load_config = _load_config
    log_stream = _log_stream
    outcome_as_dict = _outcome_as_dict
    outcome_as_text = _outcome_as_text
    plain_value = _plain_value
    read_config = _read_config
    read_enhancement = _read_enhancement
    request_as_text = _request_as_text
    response_type = _response_type
    rule_steps = _rule_steps
    stored_enhancement = _stored_enhancement
    variables_of_server = _variables_of_server
    write_file = _write_file
