"""The command line, and for commands of other distributions (`doorward.command`): the common options, printing, and
writing the configuration.

A name is loaded when it is first imported, so that a command pays only for what it uses. `doorward` imports a command
only when it is invoked.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "command_line": ("main",),
    "installed_commands": ("is_own_command", "known_commands"),
    "completion": ("complete_functions", "complete_servers"),
    "shared": (
        "EXIT_CODES",
        "CheckProvider",
        "Project",
        "common",
        "described",
        "json_object",
        "plain",
        "print_json",
        "say",
        "table",
        "tell",
    ),
    "config_file": ("change_config",),
    "compile": ("client_command", "compile_now"),
    "first_configuration": ("first_start",),
    "keys": ("put_keys",),
    "progress": ("show_progress",),
    "project": ("begin",),
    "servers": ("block", "put_server", "server_name", "servers_of"),
    "variables": ("Variables", "variable", "write_env"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward_cli.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'doorward_cli' has no attribute {name!r}")


if TYPE_CHECKING:
    from doorward_cli.command_line import main as main
    from doorward_cli.compile import client_command as client_command
    from doorward_cli.compile import compile_now as compile_now
    from doorward_cli.completion import complete_functions as complete_functions
    from doorward_cli.completion import complete_servers as complete_servers
    from doorward_cli.config_file import change_config as change_config
    from doorward_cli.first_configuration import first_start as first_start
    from doorward_cli.installed_commands import is_own_command as is_own_command
    from doorward_cli.installed_commands import known_commands as known_commands
    from doorward_cli.keys import put_keys as put_keys
    from doorward_cli.progress import show_progress as show_progress
    from doorward_cli.project import begin as begin
    from doorward_cli.servers import block as block
    from doorward_cli.servers import put_server as put_server
    from doorward_cli.servers import server_name as server_name
    from doorward_cli.servers import servers_of as servers_of
    from doorward_cli.shared import CheckProvider as CheckProvider
    from doorward_cli.shared import Project as Project
    from doorward_cli.shared import common as common
    from doorward_cli.shared import described as described
    from doorward_cli.shared import plain as plain
    from doorward_cli.shared import print_json as print_json
    from doorward_cli.shared import say as say
    from doorward_cli.shared import table as table
    from doorward_cli.shared import tell as tell
    from doorward_cli.variables import Variables as Variables
    from doorward_cli.variables import variable as variable
    from doorward_cli.variables import write_env as write_env
