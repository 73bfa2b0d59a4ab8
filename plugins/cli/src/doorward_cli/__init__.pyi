# `make reference` writes this file.
from doorward_cli.command_line import main as main
from doorward_cli.compile import client_command as client_command
from doorward_cli.compile import compile_now as compile_now
from doorward_cli.completion import complete_functions as complete_functions
from doorward_cli.completion import complete_servers as complete_servers
from doorward_cli.config_file import beside as beside
from doorward_cli.config_file import change_config as change_config
from doorward_cli.first_configuration import first_start as first_start
from doorward_cli.function_changes import BREAKING as BREAKING
from doorward_cli.function_changes import Change as Change
from doorward_cli.function_changes import Known as Known
from doorward_cli.function_changes import addresses_a_model as addresses_a_model
from doorward_cli.function_changes import changes as changes
from doorward_cli.function_changes import reviewable_words as reviewable_words
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
from doorward_cli.shared import EXIT_CODES as EXIT_CODES
from doorward_cli.shared import Project as Project
from doorward_cli.shared import common as common
from doorward_cli.shared import described as described
from doorward_cli.shared import json_object as json_object
from doorward_cli.shared import note as note
from doorward_cli.shared import plain as plain
from doorward_cli.shared import print_json as print_json
from doorward_cli.shared import say as say
from doorward_cli.shared import table as table
from doorward_cli.shared import tell as tell
from doorward_cli.upgrade import Stored as Stored
from doorward_cli.upgrade import StoredCheckProvider as StoredCheckProvider
from doorward_cli.variables import Variables as Variables
from doorward_cli.variables import variable as variable
from doorward_cli.variables import write_env as write_env

__all__ = [
    "BREAKING",
    "Change",
    "CheckProvider",
    "EXIT_CODES",
    "Known",
    "Project",
    "Stored",
    "StoredCheckProvider",
    "Variables",
    "addresses_a_model",
    "begin",
    "beside",
    "block",
    "change_config",
    "changes",
    "client_command",
    "common",
    "compile_now",
    "complete_functions",
    "complete_servers",
    "described",
    "first_start",
    "is_own_command",
    "json_object",
    "known_commands",
    "main",
    "note",
    "plain",
    "print_json",
    "put_keys",
    "put_server",
    "reviewable_words",
    "say",
    "server_name",
    "servers_of",
    "show_progress",
    "table",
    "tell",
    "variable",
    "write_env",
]
