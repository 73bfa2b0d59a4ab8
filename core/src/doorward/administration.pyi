# `make reference` writes this file.
from doorward.access.effects import Effects as Effects
from doorward.access.policy import Policy as Policy
from doorward.access.policy import Reached as Reached
from doorward.access.rules import Rules as Rules
from doorward.access.rules import selected as selected
from doorward.arguments.binding import bind as bind_arguments
from doorward.arguments.binding import fits as fits_parameter
from doorward.arguments.binding import takes_text as takes_text
from doorward.arguments.files import handle as artefact_uri
from doorward.arguments.files import in_words as files_in_words
from doorward.arguments.files import takes_file as takes_file
from doorward.calls.client_requests import RunClient as RunClient
from doorward.calls.permissions import nobody_asks as nobody_asks
from doorward.catalog.catalog import Catalog as Catalog
from doorward.catalog.function_codec import Report as Report
from doorward.catalog.function_codec import as_json as as_json
from doorward.catalog.notes import FunctionNotes as FunctionNotes
from doorward.catalog.schema_inference import SchemaInference as SchemaInference
from doorward.data.clean_text import clean_text as clean_text
from doorward.data.clean_text import shown_schema as shown_schema
from doorward.data.clean_text import visible as visible
from doorward.data.json_writing import digest as json_digest
from doorward.data.json_writing import dump as dump_json
from doorward.data.json_writing import exceeds as exceeds
from doorward.data.near_names import in_place_of as in_place_of
from doorward.data.near_names import nearest as nearest
from doorward.data.offload import done as maybe_in_thread
from doorward.data.offload import is_large as is_large
from doorward.data.offload import off_loop as run_in_thread
from doorward.data.offload import thread_to_its_end as thread_to_its_end
from doorward.data.planned import planned as planned
from doorward.data.planned import planned_in as planned_in
from doorward.data.quoting import in_one_line as in_one_line
from doorward.data.quoting import indented as indented
from doorward.data.values import cut as cut_value
from doorward.data.values import plain as plain_value
from doorward.data.wording import clean as clean
from doorward.data.words import stems as stems
from doorward.describe.schemas import BYTES_SCHEMAS as BYTES_SCHEMAS
from doorward.describe.schemas import Reader as SchemaReader
from doorward.describe.schemas import kinds as schema_kinds
from doorward.describe.schemas import table as schema_table
from doorward.describe.schemas import variants as schema_variants
from doorward.host.cached_file import CachedFile as CachedFile
from doorward.host.cached_file import stamp as stamp
from doorward.host.files import beside as beside
from doorward.host.files import refuse_link as refuse_link
from doorward.host.files import sync_names as sync_names
from doorward.host.files import write as write_file
from doorward.host.logs import Bounded as Bounded
from doorward.host.logs import stderr as log_stream
from doorward.host.self_reference import starts_doorward as starts_doorward
from doorward.model.clock import Clock as Clock
from doorward.model.decisions import ALLOWED as ALLOWED
from doorward.model.decisions import may_repeat as may_repeat
from doorward.model.decisions import stricter as stricter
from doorward.model.interaction import LoginPrompt as LoginPrompt
from doorward.model.names import qualified as qualified
from doorward.model.names import some as some
from doorward.model.outcomes import OutcomePart as OutcomePart
from doorward.model.outcomes import Waiting as Waiting
from doorward.model.recording import InterceptedRun as InterceptedRun
from doorward.model.recording import Interceptor as Interceptor
from doorward.model.recording import RECORDERS as RECORDERS
from doorward.model.recording import RecordedRun as RecordedRun
from doorward.model.recording import Recorder as Recorder
from doorward.model.recording import Recorders as Recorders
from doorward.model.recording import Suspends as Suspends
from doorward.model.recording import WITHHOLDS as WITHHOLDS
from doorward.model.recording import Withholds as Withholds
from doorward.model.waits import resumed_at as resumed_at
from doorward.plugins.failures import contained as contained
from doorward.plugins.hook_answers import expected as expected
from doorward.plugins.manager import Plugins as Plugins
from doorward.programs.languages import is_script as is_script
from doorward.programs.languages import named as language_named
from doorward.programs.languages import of_file as language_of_file
from doorward.runs.outcomes import failure as outcome_failure
from doorward.runs.outcomes import waiting as waiting_run
from doorward.runs.run_context import RunContext as RunContext
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
from doorward.storage.chosen import open_store as open_store

__all__ = [
    "ALLOWED",
    "BYTES_SCHEMAS",
    "Bounded",
    "CachedFile",
    "Catalog",
    "Clock",
    "Effects",
    "FunctionNotes",
    "InterceptedRun",
    "Interceptor",
    "LoginPrompt",
    "MIN_SECRET_CHARACTERS",
    "OutcomePart",
    "Outgoing",
    "PLANNED_TEXT",
    "Plugins",
    "Policy",
    "RECORDERS",
    "REDACTED",
    "Reached",
    "RecordedRun",
    "Recorder",
    "Recorders",
    "Report",
    "Rules",
    "RunClient",
    "RunContext",
    "SchemaInference",
    "SchemaReader",
    "Suspends",
    "WITHHOLDS",
    "Waiting",
    "Withholds",
    "answers_of",
    "artefact_uri",
    "as_json",
    "beside",
    "bind_arguments",
    "check_auth",
    "clean",
    "clean_text",
    "contained",
    "cut_value",
    "dump_json",
    "exceeds",
    "expected",
    "files_in_words",
    "fits_parameter",
    "hide",
    "hide_arguments",
    "hide_whole",
    "in_one_line",
    "in_place_of",
    "indented",
    "is_guessable",
    "is_large",
    "is_named_secret",
    "is_script",
    "json_digest",
    "language_named",
    "language_of_file",
    "log_stream",
    "mask_tokens",
    "may_repeat",
    "maybe_in_thread",
    "nearest",
    "nobody_asks",
    "open_store",
    "outcome_failure",
    "plain_value",
    "planned",
    "planned_in",
    "planned_in_words",
    "qualified",
    "refuse_link",
    "resumed_at",
    "run_in_thread",
    "schema_kinds",
    "schema_table",
    "schema_variants",
    "selected",
    "shown_schema",
    "some",
    "stamp",
    "starts_doorward",
    "stems",
    "stricter",
    "sync_names",
    "takes_file",
    "takes_text",
    "thread_to_its_end",
    "url_of",
    "visible",
    "waiting_run",
    "without_drawn_tokens",
    "write_file",
]
