# `make reference` writes this file.
from doorward.gateway import Gateway as Gateway
from doorward.host.logs import log as log
from doorward.model.agent_tools import AgentTool as AgentTool
from doorward.model.agent_tools import ToolAnswer as ToolAnswer
from doorward.model.agent_tools import ToolCaller as ToolCaller
from doorward.model.calls import Call as Call
from doorward.model.calls import CallRecord as CallRecord
from doorward.model.calls import Client as Client
from doorward.model.calls import Decider as Decider
from doorward.model.calls import Decision as Decision
from doorward.model.calls import File as File
from doorward.model.calls import Reply as Reply
from doorward.model.calls import Scope as Scope
from doorward.model.calls import Usage as Usage
from doorward.model.contexts import PluginContext as PluginContext
from doorward.model.contexts import ServerContext as ServerContext
from doorward.model.drivers import Auth as Auth
from doorward.model.drivers import Cache as Cache
from doorward.model.drivers import Observer as Observer
from doorward.model.drivers import Source as Source
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
from doorward.model.executors import Capabilities as Capabilities
from doorward.model.executors import Door as Door
from doorward.model.executors import Executor as Executor
from doorward.model.executors import Sandbox as Sandbox
from doorward.model.functions import Compiled as Compiled
from doorward.model.functions import Function as Function
from doorward.model.functions import Schema as Schema
from doorward.model.functions import Skipped as Skipped
from doorward.model.functions import Suggestion as Suggestion
from doorward.model.layers import CallLayer as CallLayer
from doorward.model.layers import Proceed as Proceed
from doorward.model.layers import Run as Run
from doorward.model.layers import RunLayer as RunLayer
from doorward.model.layers import RunState as RunState
from doorward.model.layers import StateKey as StateKey
from doorward.model.principals import LOCAL as LOCAL
from doorward.model.principals import Principal as Principal
from doorward.model.programs import Artefact as Artefact
from doorward.model.programs import Failure as Failure
from doorward.model.programs import Finding as Finding
from doorward.model.programs import Limits as Limits
from doorward.model.programs import Outcome as Outcome
from doorward.model.programs import Program as Program
from doorward.model.programs import ProgramResult as ProgramResult
from doorward.model.programs import Wait as Wait
from doorward.model.services import Service as Service
from doorward.model.services import Services as Services
from doorward.model.settings import Settings as Settings
from doorward.model.version import PLUGIN_API as PLUGIN_API
from doorward.model.version import __version__ as __version__
from doorward.plugins.hookspecs import hookimpl as hookimpl
from doorward.plugins.hookspecs import hookspec as hookspec
from doorward.secrets.store import Secret as Secret
from doorward.secrets.store import Template as Template

__all__ = [
    "AgentTool",
    "ApiError",
    "Artefact",
    "Auth",
    "Busy",
    "Cache",
    "Call",
    "CallLayer",
    "CallRecord",
    "CannotAsk",
    "Capabilities",
    "Client",
    "Compiled",
    "ConfigError",
    "Decider",
    "Decision",
    "Door",
    "DoorwardError",
    "Executor",
    "ExecutorError",
    "Failure",
    "File",
    "Finding",
    "Function",
    "Gateway",
    "GuardRefused",
    "InvalidArguments",
    "InvalidProgram",
    "LOCAL",
    "LimitExceeded",
    "Limits",
    "LoginRefused",
    "MissingSecret",
    "Observer",
    "Outcome",
    "OutcomeUnknown",
    "PLUGIN_API",
    "PluginContext",
    "PluginError",
    "Principal",
    "Proceed",
    "Program",
    "ProgramDiverged",
    "ProgramResult",
    "RateLimited",
    "Refused",
    "RefusedForNow",
    "Reply",
    "Run",
    "RunLayer",
    "RunState",
    "Sandbox",
    "SandboxDied",
    "Schema",
    "Scope",
    "Secret",
    "ServerContext",
    "ServerError",
    "Service",
    "Services",
    "Settings",
    "Skipped",
    "Source",
    "StateError",
    "StateKey",
    "Suggestion",
    "Template",
    "ToolAnswer",
    "ToolCaller",
    "ToolError",
    "UnknownName",
    "Unsupported",
    "Usage",
    "Wait",
    "__version__",
    "hookimpl",
    "hookspec",
    "log",
]
