"""The command line, and for commands of other distributions (`doorward.command`): the common options, printing, and
writing the configuration.

A name is loaded when it is first imported, so that a command pays only for what it uses. `doorward` imports a command
only when it is invoked.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "command_line": "main",
        "compile": "client_command compile_now",
        "completion": "complete_functions complete_servers",
        "config_file": "beside change_config",
        "function_changes": "BREAKING Change Known addresses_a_model changes reviewable_words",
        "first_configuration": "first_start",
        "installed_commands": "is_own_command known_commands",
        "keys": "put_keys",
        "progress": "show_progress",
        "project": "begin",
        "servers": "block put_server server_name servers_of",
        "shared": "EXIT_CODES CheckProvider Project common described json_object note plain print_json say table tell",
        "upgrade": "Stored StoredCheckProvider",
        "variables": "Variables variable write_env",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
