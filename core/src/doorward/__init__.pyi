# `make reference` writes this file.
from doorward.calls.items import items_of as items_of
from doorward.config.config import module_name as module_name
from doorward.config.settings import Config as Config
from doorward.config.validation import validate as validate
from doorward.data.clean_text import clean_text as clean_text
from doorward.data.frozen import frozen as frozen
from doorward.data.headers import is_hidden_header as is_hidden_header
from doorward.data.headers import shown_headers as shown_headers
from doorward.data.json_reading import decoded as decoded
from doorward.data.json_reading import read_json as read_json
from doorward.data.json_values import values_in as values_in
from doorward.data.offload import aside as aside
from doorward.data.offload import to_its_end as to_its_end
from doorward.data.offload import write_json as write_json
from doorward.data.planned import PLANNED_KEY as PLANNED_KEY
from doorward.data.planned import Planned as Planned
from doorward.data.quoting import in_a_line as in_a_line
from doorward.data.quoting import quoted as quoted
from doorward.data.quoting import status as status
from doorward.data.wording import first_sentence as first_sentence
from doorward.describe.signatures import signature as signature
from doorward.gateway import Gateway as Gateway
from doorward.host.files import alone as alone
from doorward.host.files import check_own as check_own
from doorward.host.files import flocked as flocked
from doorward.host.files import own_file as own_file
from doorward.host.files import own_folder as own_folder
from doorward.host.files import write_own as write_own
from doorward.host.logs import log as log
from doorward.host.loopback import is_loopback as is_loopback
from doorward.host.self_reference import starts_doorward as starts_doorward
from doorward.host.sqlite_file import SqliteFile as SqliteFile
from doorward.host.sqlite_layout import SqliteLayout as SqliteLayout
from doorward.host.watchdog import Watchdog as Watchdog
from doorward.model.abilities import Enhances as Enhances
from doorward.model.abilities import HasBaseUrl as HasBaseUrl
from doorward.model.abilities import HasIdempotencyKey as HasIdempotencyKey
from doorward.model.abilities import HasOrigins as HasOrigins
from doorward.model.abilities import HasPackages as HasPackages
from doorward.model.abilities import HasPaths as HasPaths
from doorward.model.abilities import HasReady as HasReady
from doorward.model.abilities import HasSettings as HasSettings
from doorward.model.abilities import HasSlots as HasSlots
from doorward.model.abilities import HasUrl as HasUrl
from doorward.model.abilities import HasWait as HasWait
from doorward.model.abilities import HasWorkingFolder as HasWorkingFolder
from doorward.model.abilities import OffersFunctions as OffersFunctions
from doorward.model.abilities import SupportsBuild as SupportsBuild
from doorward.model.abilities import SupportsClose as SupportsClose
from doorward.model.abilities import SupportsFlush as SupportsFlush
from doorward.model.abilities import SupportsLogin as SupportsLogin
from doorward.model.abilities import SupportsLoginCheck as SupportsLoginCheck
from doorward.model.abilities import SupportsLogout as SupportsLogout
from doorward.model.abilities import SupportsMachineCheck as SupportsMachineCheck
from doorward.model.abilities import SupportsOpen as SupportsOpen
from doorward.model.abilities import SupportsServerCheck as SupportsServerCheck
from doorward.model.abilities import TellsChanges as TellsChanges
from doorward.model.abilities import TellsUpstreams as TellsUpstreams
from doorward.model.agent_tools import AgentTool as AgentTool
from doorward.model.agent_tools import ToolAnswer as ToolAnswer
from doorward.model.agent_tools import ToolCaller as ToolCaller
from doorward.model.approving import APPROVALS as APPROVALS
from doorward.model.approving import AsksApproval as AsksApproval
from doorward.model.call_trace import CallTrace as CallTrace
from doorward.model.call_trace import RequestTrace as RequestTrace
from doorward.model.calls import Call as Call
from doorward.model.calls import CallRecord as CallRecord
from doorward.model.calls import File as File
from doorward.model.calls import Reply as Reply
from doorward.model.calls import if_repeated as if_repeated
from doorward.model.contexts import PluginContext as PluginContext
from doorward.model.contexts import ServerContext as ServerContext
from doorward.model.deciders import Decider as Decider
from doorward.model.deciders import Scope as Scope
from doorward.model.decisions import Decision as Decision
from doorward.model.decisions import effect as effect
from doorward.model.drivers import Auth as Auth
from doorward.model.drivers import Cache as Cache
from doorward.model.drivers import Observer as Observer
from doorward.model.drivers import SearchView as SearchView
from doorward.model.drivers import Source as Source
from doorward.model.enhancement import Documentation as Documentation
from doorward.model.enhancement import Enhancement as Enhancement
from doorward.model.errors import ApiError as ApiError
from doorward.model.errors import Busy as Busy
from doorward.model.errors import CannotAsk as CannotAsk
from doorward.model.errors import ConfigError as ConfigError
from doorward.model.errors import DoorwardError as DoorwardError
from doorward.model.errors import ExecutorError as ExecutorError
from doorward.model.errors import GuardRefused as GuardRefused
from doorward.model.errors import InvalidArguments as InvalidArguments
from doorward.model.errors import InvalidProgram as InvalidProgram
from doorward.model.errors import LimitExceeded as LimitExceeded
from doorward.model.errors import LoginRefused as LoginRefused
from doorward.model.errors import MissingSecret as MissingSecret
from doorward.model.errors import OutcomeUnknown as OutcomeUnknown
from doorward.model.errors import PluginError as PluginError
from doorward.model.errors import ProgramDiverged as ProgramDiverged
from doorward.model.errors import RateLimited as RateLimited
from doorward.model.errors import Refused as Refused
from doorward.model.errors import RefusedForNow as RefusedForNow
from doorward.model.errors import SandboxDied as SandboxDied
from doorward.model.errors import ServerError as ServerError
from doorward.model.errors import StateError as StateError
from doorward.model.errors import ToolError as ToolError
from doorward.model.errors import UnknownName as UnknownName
from doorward.model.errors import Unsupported as Unsupported
from doorward.model.events import AuthChosen as AuthChosen
from doorward.model.events import CallFinished as CallFinished
from doorward.model.events import Event as Event
from doorward.model.events import EventsDropped as EventsDropped
from doorward.model.events import RunFinished as RunFinished
from doorward.model.events import RunStarted as RunStarted
from doorward.model.executors import Aliases as Aliases
from doorward.model.executors import Capabilities as Capabilities
from doorward.model.executors import Door as Door
from doorward.model.executors import Executor as Executor
from doorward.model.executors import Sandbox as Sandbox
from doorward.model.functions import Compiled as Compiled
from doorward.model.functions import Function as Function
from doorward.model.functions import Schema as Schema
from doorward.model.functions import Skipped as Skipped
from doorward.model.functions import Suggestion as Suggestion
from doorward.model.interaction import Client as Client
from doorward.model.interaction import LoginPrompt as LoginPrompt
from doorward.model.layers import CallLayer as CallLayer
from doorward.model.layers import Proceed as Proceed
from doorward.model.layers import Run as Run
from doorward.model.layers import RunLayer as RunLayer
from doorward.model.layers import RunState as RunState
from doorward.model.layers import StateKey as StateKey
from doorward.model.limits import Limits as Limits
from doorward.model.names import is_plain as is_plain
from doorward.model.names import python_name as python_name
from doorward.model.names import unique_names as unique_names
from doorward.model.outcomes import ARTEFACT_URI as ARTEFACT_URI
from doorward.model.outcomes import Artefact as Artefact
from doorward.model.outcomes import Outcome as Outcome
from doorward.model.principals import LOCAL as LOCAL
from doorward.model.principals import Principal as Principal
from doorward.model.program_names import PROGRAM_NAMES as PROGRAM_NAMES
from doorward.model.program_names import ProgramNames as ProgramNames
from doorward.model.programs import CachedProgram as CachedProgram
from doorward.model.programs import Failure as Failure
from doorward.model.programs import Finding as Finding
from doorward.model.programs import Frame as Frame
from doorward.model.programs import Program as Program
from doorward.model.programs import ProgramResult as ProgramResult
from doorward.model.services import Service as Service
from doorward.model.services import Services as Services
from doorward.model.settings import Settings as Settings
from doorward.model.usage import Usage as Usage
from doorward.model.version import PLUGIN_API as PLUGIN_API
from doorward.model.version import __version__ as __version__
from doorward.model.waits import Wait as Wait
from doorward.packages.index import Entry as Entry
from doorward.packages.index import GROUPS as GROUPS
from doorward.packages.index import Index as Index
from doorward.packages.index import installed as installed
from doorward.plugins.hookspecs import hookimpl as hookimpl
from doorward.plugins.hookspecs import hookspec as hookspec
from doorward.plugins.manager import Plugins as Plugins
from doorward.plugins.mcp_additions import RawPage as RawPage
from doorward.plugins.mcp_additions import RawPrompt as RawPrompt
from doorward.plugins.mcp_additions import RawResource as RawResource
from doorward.plugins.mcp_additions import RawTool as RawTool
from doorward.plugins.mcp_additions import principal_of as principal_of
from doorward.plugins.tracing import current_trace as current_trace
from doorward.program_api.helper_context import HelperContext as HelperContext
from doorward.programs.awaited_calls import awaited as awaited
from doorward.programs.parameters import bind as bind
from doorward.programs.parameters import parameters as parameters
from doorward.programs.program_text import sets_result as sets_result
from doorward.secrets.detection import found_tokens as found_tokens
from doorward.secrets.references import escaped as escaped
from doorward.secrets.store import Secret as Secret
from doorward.secrets.store import Secrets as Secrets
from doorward.secrets.store import Template as Template

__all__ = [
    "APPROVALS",
    "ARTEFACT_URI",
    "AgentTool",
    "Aliases",
    "ApiError",
    "Artefact",
    "AsksApproval",
    "Auth",
    "AuthChosen",
    "Busy",
    "Cache",
    "CachedProgram",
    "Call",
    "CallFinished",
    "CallLayer",
    "CallRecord",
    "CallTrace",
    "CannotAsk",
    "Capabilities",
    "Client",
    "Compiled",
    "Config",
    "ConfigError",
    "Decider",
    "Decision",
    "Documentation",
    "Door",
    "DoorwardError",
    "Enhancement",
    "Enhances",
    "Entry",
    "Event",
    "EventsDropped",
    "Executor",
    "ExecutorError",
    "Failure",
    "File",
    "Finding",
    "Frame",
    "Function",
    "GROUPS",
    "Gateway",
    "GuardRefused",
    "HasBaseUrl",
    "HasIdempotencyKey",
    "HasOrigins",
    "HasPackages",
    "HasPaths",
    "HasReady",
    "HasSettings",
    "HasSlots",
    "HasUrl",
    "HasWait",
    "HasWorkingFolder",
    "HelperContext",
    "Index",
    "InvalidArguments",
    "InvalidProgram",
    "LOCAL",
    "LimitExceeded",
    "Limits",
    "LoginPrompt",
    "LoginRefused",
    "MissingSecret",
    "Observer",
    "OffersFunctions",
    "Outcome",
    "OutcomeUnknown",
    "PLANNED_KEY",
    "PLUGIN_API",
    "PROGRAM_NAMES",
    "Planned",
    "PluginContext",
    "PluginError",
    "Plugins",
    "Principal",
    "Proceed",
    "Program",
    "ProgramDiverged",
    "ProgramNames",
    "ProgramResult",
    "RateLimited",
    "RawPage",
    "RawPrompt",
    "RawResource",
    "RawTool",
    "Refused",
    "RefusedForNow",
    "Reply",
    "RequestTrace",
    "Run",
    "RunFinished",
    "RunLayer",
    "RunStarted",
    "RunState",
    "Sandbox",
    "SandboxDied",
    "Schema",
    "Scope",
    "SearchView",
    "Secret",
    "Secrets",
    "ServerContext",
    "ServerError",
    "Service",
    "Services",
    "Settings",
    "Skipped",
    "Source",
    "SqliteFile",
    "SqliteLayout",
    "StateError",
    "StateKey",
    "Suggestion",
    "SupportsBuild",
    "SupportsClose",
    "SupportsFlush",
    "SupportsLogin",
    "SupportsLoginCheck",
    "SupportsLogout",
    "SupportsMachineCheck",
    "SupportsOpen",
    "SupportsServerCheck",
    "TellsChanges",
    "TellsUpstreams",
    "Template",
    "ToolAnswer",
    "ToolCaller",
    "ToolError",
    "UnknownName",
    "Unsupported",
    "Usage",
    "Wait",
    "Watchdog",
    "__version__",
    "alone",
    "aside",
    "awaited",
    "bind",
    "check_own",
    "clean_text",
    "current_trace",
    "decoded",
    "effect",
    "escaped",
    "first_sentence",
    "flocked",
    "found_tokens",
    "frozen",
    "hookimpl",
    "hookspec",
    "if_repeated",
    "in_a_line",
    "installed",
    "is_hidden_header",
    "is_loopback",
    "is_plain",
    "items_of",
    "log",
    "module_name",
    "own_file",
    "own_folder",
    "parameters",
    "principal_of",
    "python_name",
    "quoted",
    "read_json",
    "sets_result",
    "shown_headers",
    "signature",
    "starts_doorward",
    "status",
    "to_its_end",
    "unique_names",
    "validate",
    "values_in",
    "write_json",
    "write_own",
]
