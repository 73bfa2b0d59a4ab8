"""For commands of plugins (`doorward.command`): the common options, printing, and writing the configuration.

A name is loaded when it is first imported, so that a command pays only for what it uses. `doorward` imports a command
only when it is invoked.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "cli": ("known_commands", "main"),
    "cli.common": ("CheckProvider", "Project", "common", "described", "plain", "print_json", "say", "table"),
    "cli.config_file": ("change_config",),
    "cli.compile": ("client_command", "compile_now"),
    "config.distribution": ("Distribution", "find_distribution", "find_index"),
    "packages.index": ("canonical",),
    "config.manifest": ("Manifest",),
    "packages.pinned_files": ("BY_RECORD", "FileProblem", "file_problems", "hash_of_files", "recorded_files"),
    "config.settings": ("ServerSettings",),
    "config.validation": ("explain",),
    "configuring.first_start": ("first_start",),
    "configuring.keys": ("put_keys",),
    "configuring.project": ("begin",),
    "configuring.servers": ("block", "put_server", "server_name", "servers_of"),
    "configuring.variables": ("Variables", "variable", "write_env"),
    "host.files": ("beside", "write_file"),
    "secrets.detection": ("hide", "hide_arguments", "is_named_secret"),
    "secrets.references": ("Reference", "escaped", "find", "is_plain", "joined", "to_variable", "unescaped"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_NAMES_THERE = {"write_file": "write"}
"""Names in their own module, where they differ from the exported ones."""

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), _NAMES_THERE.get(name, name))
    raise AttributeError(f"module 'doorward.commands' has no attribute {name!r}")


if TYPE_CHECKING:
    from doorward.cli import known_commands as known_commands
    from doorward.cli import main as main
    from doorward.cli.common import CheckProvider as CheckProvider
    from doorward.cli.common import Project as Project
    from doorward.cli.common import common as common
    from doorward.cli.common import described as described
    from doorward.cli.common import plain as plain
    from doorward.cli.common import print_json as print_json
    from doorward.cli.common import say as say
    from doorward.cli.common import table as table
    from doorward.cli.compile import client_command as client_command
    from doorward.cli.compile import compile_now as compile_now
    from doorward.cli.config_file import change_config as change_config
    from doorward.config.distribution import Distribution as Distribution
    from doorward.config.distribution import find_distribution as find_distribution
    from doorward.config.distribution import find_index as find_index
    from doorward.config.manifest import Manifest as Manifest
    from doorward.config.settings import ServerSettings as ServerSettings
    from doorward.config.validation import explain as explain
    from doorward.configuring.first_start import first_start as first_start
    from doorward.configuring.keys import put_keys as put_keys
    from doorward.configuring.project import begin as begin
    from doorward.configuring.servers import block as block
    from doorward.configuring.servers import put_server as put_server
    from doorward.configuring.servers import server_name as server_name
    from doorward.configuring.servers import servers_of as servers_of
    from doorward.configuring.variables import Variables as Variables
    from doorward.configuring.variables import variable as variable
    from doorward.configuring.variables import write_env as write_env
    from doorward.host.files import beside as beside
    from doorward.packages.index import canonical as canonical
    from doorward.packages.pinned_files import BY_RECORD as BY_RECORD
    from doorward.packages.pinned_files import FileProblem as FileProblem
    from doorward.packages.pinned_files import file_problems as file_problems
    from doorward.packages.pinned_files import hash_of_files as hash_of_files
    from doorward.packages.pinned_files import recorded_files as recorded_files
    from doorward.secrets.detection import hide as hide
    from doorward.secrets.detection import hide_arguments as hide_arguments
    from doorward.secrets.detection import is_named_secret as is_named_secret
    from doorward.secrets.references import Reference as Reference
    from doorward.secrets.references import escaped as escaped
    from doorward.secrets.references import find as find
    from doorward.secrets.references import is_plain as is_plain
    from doorward.secrets.references import joined as joined
    from doorward.secrets.references import to_variable as to_variable
    from doorward.secrets.references import unescaped as unescaped
