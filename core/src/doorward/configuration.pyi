# `make reference` writes this file.
from doorward.config.config import Loaded as Loaded
from doorward.config.config import RESERVED_NAMES as RESERVED_NAMES
from doorward.config.config import load as load_config
from doorward.config.config import module_name as module_name
from doorward.config.config import read as read_config
from doorward.config.environment import from_environment as from_environment
from doorward.config.environment import of_server as variables_of_server
from doorward.config.install_hints import executors_of as executors_of
from doorward.config.install_hints import to_install as to_install
from doorward.config.installed_plugins import Entry as Entry
from doorward.config.installed_plugins import GROUPS as GROUPS
from doorward.config.installed_plugins import Index as Index
from doorward.config.installed_plugins import canonical as canonical
from doorward.config.installed_plugins import installed as installed
from doorward.config.installed_plugins import near_group as near_group
from doorward.config.layers import Branding as Branding
from doorward.config.layers import Managed as Managed
from doorward.config.layers import Manager as Manager
from doorward.config.layers import find_index as find_index
from doorward.config.layers import find_managed as find_managed
from doorward.config.layers import layers as config_layers
from doorward.config.layers import managed_title as managed_title
from doorward.config.owned import model_for as model_for
from doorward.config.owned import owner as key_owner
from doorward.config.owned import server_model_for as server_model_for
from doorward.config.owned import tables_in as tables_in
from doorward.config.owned import tables_of as tables_of
from doorward.config.owned import with_keys as keys_of_plugins
from doorward.config.settings import Config as Config
from doorward.config.settings import EVERYONE as EVERYONE
from doorward.config.settings import ServerSettings as ServerSettings
from doorward.config.settings import TokenSettings as TokenSettings
from doorward.config.upstream_patterns import Pattern as Pattern
from doorward.config.upstream_patterns import Upstream as Upstream
from doorward.config.upstream_patterns import is_upstream as is_upstream
from doorward.config.validation import explain as explain
from doorward.config.validation import known_keys as known_keys
from doorward.config.validation import validate as validate
from doorward.model.integrity import Integrity as Integrity
from doorward.model.integrity import Key as Key
from doorward.model.names import Named as Named
from doorward.model.settings import expand as expand
from doorward.secrets.references import Reference as Reference
from doorward.secrets.references import find as find
from doorward.secrets.references import has_references as has_references
from doorward.secrets.references import is_credential as is_credential
from doorward.secrets.references import is_plain as is_plain
from doorward.secrets.references import unescaped as unescaped
from doorward.secrets.store import Secrets as Secrets

__all__ = [
    "Branding",
    "Config",
    "EVERYONE",
    "Entry",
    "GROUPS",
    "Index",
    "Integrity",
    "Key",
    "Loaded",
    "Managed",
    "Manager",
    "Named",
    "Pattern",
    "RESERVED_NAMES",
    "Reference",
    "Secrets",
    "ServerSettings",
    "TokenSettings",
    "Upstream",
    "canonical",
    "config_layers",
    "executors_of",
    "expand",
    "explain",
    "find",
    "find_index",
    "find_managed",
    "from_environment",
    "has_references",
    "installed",
    "is_credential",
    "is_plain",
    "is_upstream",
    "key_owner",
    "keys_of_plugins",
    "known_keys",
    "load_config",
    "managed_title",
    "model_for",
    "module_name",
    "near_group",
    "read_config",
    "server_model_for",
    "tables_in",
    "tables_of",
    "to_install",
    "unescaped",
    "validate",
    "variables_of_server",
]
