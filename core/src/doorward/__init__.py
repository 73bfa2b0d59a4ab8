"""Doorward: APIs and MCP servers as Python functions that AI agents call from a sandbox, through one door.

What plugin authors and library users import stands here. Names are loaded when first used, so that
`import doorward` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

PLUGIN_API = 1
"""The plugin interface that this core speaks. A plugin may state its own `PLUGIN_API`; another number is refused."""

__version__ = "0.1.0"

_EXPORTS = {
    "addresses": ("PRIVATE_ADDRESS", "not_public", "not_public_name", "resolved"),
    "aliases": ("Aliases",),
    "config": ("module_name",),
    "contexts": ("PluginContext", "ServerContext"),
    "drivers": (
        "Auth", "Cache", "Capabilities", "Client", "Door", "Executor", "Person", "Sandbox", "Source",
    ),
    "error_bodies": ("error_text",),
    "errors": (
        "ApiError", "Busy", "ConfigError", "DoorwardError", "ExecutorError", "GuardRefused", "InvalidArguments", "InvalidProgram",
        "LimitExceeded", "LoginRefused", "MissingSecret", "PluginError", "Refused", "SandboxDied", "ServerError", "ToolError",
        "UnknownName", "Unsupported",
    ),
    "files": ("alone", "check_own", "flocked", "own_file", "own_folder"),
    "gateway": ("Gateway",),
    "hookspecs": ("hookimpl",),
    "headers": ("is_hidden_header", "shown_headers"),
    "items": ("items_of",),
    "itself": ("starts_doorward",),
    "logs": ("log",),
    "mcp": ("RawPrompt", "RawResource", "RawTool", "principal_of"),
    "names": ("is_plain", "python_name", "unique_names"),
    "network": ("GuardedTransport",),
    "programs": ("awaited", "bind", "parameters", "sets_result"),
    "quoting": ("in_a_line", "quoted", "status"),
    "offload": ("aside",),
    "reading": ("decoded", "read_json"),
    "references": ("escaped",),
    "secrets": ("Secret", "Template"),
    "settings": ("Config", "Settings"),
    "signatures": ("signature",),
    "texts": ("clean_text",),
    "types": (
        "LOCAL", "Artefact", "Call", "CallRecord", "CachedProgram", "Compiled", "Ended", "Failure", "File", "Finding", "Frame", "Function",
        "Limits", "Outcome", "Program", "Reply", "Schema", "Skipped",
        "Suggestion",
    ),
    "watchdog": ("Watchdog",),
}  # fmt: skip
_HOME = {name: module for module, names in _EXPORTS.items() for name in names}
__all__ = ["PLUGIN_API", "__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"doorward.{_HOME[name]}"), name)
    raise AttributeError(f"module 'doorward' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from doorward.addresses import PRIVATE_ADDRESS as PRIVATE_ADDRESS
    from doorward.addresses import not_public as not_public
    from doorward.addresses import not_public_name as not_public_name
    from doorward.addresses import resolved as resolved
    from doorward.aliases import Aliases as Aliases
    from doorward.config import module_name as module_name
    from doorward.contexts import PluginContext as PluginContext
    from doorward.contexts import ServerContext as ServerContext
    from doorward.drivers import Auth as Auth
    from doorward.drivers import Cache as Cache
    from doorward.drivers import Capabilities as Capabilities
    from doorward.drivers import Client as Client
    from doorward.drivers import Door as Door
    from doorward.drivers import Executor as Executor
    from doorward.drivers import Person as Person
    from doorward.drivers import Sandbox as Sandbox
    from doorward.drivers import Source as Source
    from doorward.error_bodies import error_text as error_text
    from doorward.errors import *  # noqa: F403
    from doorward.files import alone as alone
    from doorward.files import check_own as check_own
    from doorward.files import flocked as flocked
    from doorward.files import own_file as own_file
    from doorward.files import own_folder as own_folder
    from doorward.gateway import Gateway as Gateway
    from doorward.headers import is_hidden_header as is_hidden_header
    from doorward.headers import shown_headers as shown_headers
    from doorward.hookspecs import hookimpl as hookimpl
    from doorward.items import items_of as items_of
    from doorward.itself import starts_doorward as starts_doorward
    from doorward.logs import log as log
    from doorward.mcp import RawPrompt as RawPrompt
    from doorward.mcp import RawResource as RawResource
    from doorward.mcp import RawTool as RawTool
    from doorward.mcp import principal_of as principal_of
    from doorward.names import is_plain as is_plain
    from doorward.names import python_name as python_name
    from doorward.names import unique_names as unique_names
    from doorward.network import GuardedTransport as GuardedTransport
    from doorward.offload import aside as aside
    from doorward.programs import awaited as awaited
    from doorward.programs import bind as bind
    from doorward.programs import parameters as parameters
    from doorward.programs import sets_result as sets_result
    from doorward.quoting import in_a_line as in_a_line
    from doorward.quoting import quoted as quoted
    from doorward.quoting import status as status
    from doorward.reading import decoded as decoded
    from doorward.reading import read_json as read_json
    from doorward.references import escaped as escaped
    from doorward.secrets import Secret as Secret
    from doorward.secrets import Template as Template
    from doorward.settings import Config as Config
    from doorward.settings import Settings as Settings
    from doorward.signatures import signature as signature
    from doorward.texts import clean_text as clean_text
    from doorward.types import *  # noqa: F403
    from doorward.watchdog import Watchdog as Watchdog
