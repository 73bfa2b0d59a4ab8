"""What commands of plugins import (`doorward.command`): the common options, how to print, and what writes a configuration.

Importing this imports click. `doorward` itself imports it only when such a command is invoked.
"""

from __future__ import annotations

from doorward.cli import main
from doorward.cli.common import CheckProvider, Project, common, described, plain, print_json, say, table
from doorward.cli.compile import client_command, compile_now
from doorward.cli.configuring.project import begin
from doorward.cli.configuring.servers import block, put_server, server_name, servers_of
from doorward.cli.configuring.variables import Variables, variable, write_env
from doorward.host.files import beside
from doorward.host.files import write as write_file
from doorward.secrets.detection import hide, hide_arguments, is_named_secret
from doorward.secrets.references import Reference, escaped, find, is_plain, joined, to_variable, unescaped

__all__ = [
    "CheckProvider",
    "Project",
    "Reference",
    "Variables",
    "begin",
    "beside",
    "block",
    "client_command",
    "common",
    "compile_now",
    "described",
    "escaped",
    "find",
    "hide",
    "hide_arguments",
    "is_named_secret",
    "is_plain",
    "joined",
    "main",
    "plain",
    "print_json",
    "put_server",
    "say",
    "server_name",
    "servers_of",
    "table",
    "to_variable",
    "unescaped",
    "variable",
    "write_env",
    "write_file",
]
