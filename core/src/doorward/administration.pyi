# `make reference` writes this file.
from doorward.access.rules import selected as selected
from doorward.calls.binding import bind as bind_arguments
from doorward.calls.binding import fits as fits_parameter
from doorward.calls.binding import takes_text as takes_text
from doorward.calls.files import takes_file as takes_file
from doorward.catalog.function_codec import Report as Report
from doorward.catalog.function_codec import as_json as as_json
from doorward.catalog.notes import FunctionNotes as FunctionNotes
from doorward.catalog.schemas import BYTES_SCHEMAS as BYTES_SCHEMAS
from doorward.config.installed_plugins import PluginId as PluginId
from doorward.data.clean_text import shown_schema as shown_schema
from doorward.data.json_writing import digest as json_digest
from doorward.data.json_writing import dump as dump_json
from doorward.data.languages import named as language_named
from doorward.data.languages import of_file as language_of_file
from doorward.data.offload import done as maybe_in_thread
from doorward.data.offload import is_large as is_large
from doorward.data.offload import off_loop as run_in_thread
from doorward.data.values import cut as cut_value
from doorward.data.values import plain as plain_value
from doorward.data.words import in_place_of as in_place_of
from doorward.data.words import stems as stems
from doorward.host.logs import Bounded as Bounded
from doorward.host.logs import stderr as log_stream
from doorward.host.self_reference import starts_doorward as starts_doorward
from doorward.model.calls import LoginPrompt as LoginPrompt
from doorward.model.names import qualified as qualified
from doorward.model.names import some as some
from doorward.plugins.failures import Failures as Failures
from doorward.plugins.failures import contained as contained
from doorward.plugins.failures import limited as limited
from doorward.plugins.hook_answers import Unfit as Unfit
from doorward.plugins.hook_answers import expected as expected
from doorward.plugins.manager import Plugins as Plugins
from doorward.secrets.detection import hide as hide
from doorward.secrets.detection import hide_arguments as hide_arguments
from doorward.secrets.detection import hide_whole as hide_whole
from doorward.secrets.detection import is_named_secret as is_named_secret
from doorward.secrets.detection import mask_tokens as mask_tokens
from doorward.secrets.outgoing import Outgoing as Outgoing
from doorward.secrets.outgoing import without_drawn_tokens as without_drawn_tokens
from doorward.secrets.redaction import REDACTED as REDACTED
from doorward.secrets.scrubber import MIN_SECRET_CHARACTERS as MIN_SECRET_CHARACTERS
from doorward.secrets.scrubber import answers_of as answers_of
from doorward.secrets.scrubber import is_guessable as is_guessable
from doorward.servers.auths import check_auth as check_auth
from doorward.servers.auths import url_of as url_of
from doorward.servers.compiler import otherwise_called as with_aliases
from doorward.stores import open_store as open_store

__all__ = [
    "BYTES_SCHEMAS",
    "Bounded",
    "Failures",
    "FunctionNotes",
    "LoginPrompt",
    "MIN_SECRET_CHARACTERS",
    "Outgoing",
    "PluginId",
    "Plugins",
    "REDACTED",
    "Report",
    "Unfit",
    "answers_of",
    "as_json",
    "bind_arguments",
    "check_auth",
    "contained",
    "cut_value",
    "dump_json",
    "expected",
    "fits_parameter",
    "hide",
    "hide_arguments",
    "hide_whole",
    "in_place_of",
    "is_guessable",
    "is_large",
    "is_named_secret",
    "json_digest",
    "language_named",
    "language_of_file",
    "limited",
    "log_stream",
    "mask_tokens",
    "maybe_in_thread",
    "open_store",
    "plain_value",
    "qualified",
    "run_in_thread",
    "selected",
    "shown_schema",
    "some",
    "starts_doorward",
    "stems",
    "takes_file",
    "takes_text",
    "url_of",
    "with_aliases",
    "without_drawn_tokens",
]
