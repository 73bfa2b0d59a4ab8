# `make reference` writes this file.
from doorward.access.effects import Effects as Effects
from doorward.arguments.binding import bind as bind_arguments
from doorward.arguments.binding import fits as fits_parameter
from doorward.arguments.binding import takes_text as takes_text
from doorward.arguments.documented_secrets import DocumentedSecrets as DocumentedSecrets
from doorward.arguments.files import handle as artefact_uri
from doorward.arguments.files import takes_file as takes_file
from doorward.catalog.catalog import Catalog as Catalog
from doorward.catalog.enhancements import read as read_enhancement
from doorward.catalog.enhancements import stored as stored_enhancement
from doorward.catalog.function_codec import Report as Report
from doorward.catalog.function_codec import as_json as as_json
from doorward.config.config import Loaded as Loaded
from doorward.config.config import RESERVED_NAMES as RESERVED_NAMES
from doorward.config.config import load as load_config
from doorward.config.config import read as read_config
from doorward.config.distribution import Distribution as Distribution
from doorward.config.distribution import find_distribution as find_distribution
from doorward.config.distribution import find_index as find_index
from doorward.config.distribution import layers as config_layers
from doorward.config.distribution import title_of_active as title_of_active
from doorward.config.environment import from_environment as from_environment
from doorward.config.environment import of_server as variables_of_server
from doorward.config.manifest import Manifest as Manifest
from doorward.config.owned import model_for as model_for
from doorward.config.owned import server_model_for as server_model_for
from doorward.config.settings import EVERYONE as EVERYONE
from doorward.config.settings import ServerSettings as ServerSettings
from doorward.config.validation import explain as explain
from doorward.data.clean_text import visible as visible
from doorward.data.quoting import in_one_line as in_one_line
from doorward.data.quoting import indented as indented
from doorward.data.values import plain as plain_value
from doorward.data.wording import clean as clean
from doorward.describe.additions import call as example_call
from doorward.describe.documentation import documentation as documentation
from doorward.describe.signatures import response as response_type
from doorward.host.files import beside as beside
from doorward.host.files import refuse_link as refuse_link
from doorward.host.files import write as write_file
from doorward.host.logs import Bounded as Bounded
from doorward.host.logs import stderr as log_stream
from doorward.journal.journals import Journals as Journals
from doorward.journal.journals import state_in_words as state_in_words
from doorward.journal.replay import StoredJournal as StoredJournal
from doorward.model.names import qualified as qualified
from doorward.model.names import some as some
from doorward.model.outcomes import PlannedCalls as PlannedCalls
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
from doorward.policy.explanation import fitting as fitting_functions
from doorward.policy.explanation import idle as idle_rules
from doorward.policy.explanation import steps as rule_steps
from doorward.policy.known_functions import KnownFunctions as KnownFunctions
from doorward.policy.rules import Rule as Rule
from doorward.programs.languages import is_script as is_script
from doorward.programs.languages import named as language_named
from doorward.programs.languages import of_file as language_of_file
from doorward.programs.program_text import telling_line as telling_line
from doorward.results.outcome_text import as_dict as outcome_as_dict
from doorward.results.outcome_text import as_text as outcome_as_text
from doorward.results.outcome_text import planned_calls as planned_calls
from doorward.secrets.detection import hide as hide
from doorward.secrets.detection import hide_arguments as hide_arguments
from doorward.secrets.detection import hide_whole as hide_whole
from doorward.secrets.detection import is_named_secret as is_named_secret
from doorward.secrets.detection import mask_tokens as mask_tokens
from doorward.secrets.outgoing import without_drawn_tokens as without_drawn_tokens
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

__all__ = [
    "BY_RECORD",
    "Bounded",
    "Catalog",
    "Distribution",
    "DocumentedSecrets",
    "EVERYONE",
    "Effects",
    "Journals",
    "KnownFunctions",
    "Loaded",
    "MIN_SECRET_CHARACTERS",
    "Manifest",
    "PlannedCalls",
    "PolicyRules",
    "RESERVED_NAMES",
    "Reference",
    "Report",
    "Rule",
    "ServerSettings",
    "Step",
    "Steps",
    "StoredJournal",
    "Undoing",
    "Undone",
    "artefact_uri",
    "as_json",
    "beside",
    "bind_arguments",
    "canonical",
    "check_auth",
    "check_rules",
    "clean",
    "config_layers",
    "contained",
    "documentation",
    "example_call",
    "executors_of",
    "expand",
    "expected",
    "explain",
    "file_problems",
    "find",
    "find_distribution",
    "find_index",
    "fits_parameter",
    "fitting_functions",
    "from_environment",
    "hash_of_files",
    "hide",
    "hide_arguments",
    "hide_whole",
    "idle_rules",
    "in_one_line",
    "indented",
    "is_credential",
    "is_guessable",
    "is_named_secret",
    "is_plain",
    "is_script",
    "joined",
    "language_named",
    "language_of_file",
    "load_config",
    "log_stream",
    "mask_tokens",
    "model_for",
    "near_group",
    "outcome_as_dict",
    "outcome_as_text",
    "plain_value",
    "planned_calls",
    "qualified",
    "read_config",
    "read_enhancement",
    "recorded_files",
    "refuse_link",
    "response_type",
    "rule_steps",
    "server_model_for",
    "some",
    "state_in_words",
    "stored_enhancement",
    "takes_file",
    "takes_text",
    "telling_line",
    "title_of_active",
    "to_install",
    "to_variable",
    "undone_calls",
    "unescaped",
    "url_of",
    "variables_of_server",
    "visible",
    "without_drawn_tokens",
    "write_file",
]
