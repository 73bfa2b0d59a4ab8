"""For what reads, checks or manages the configuration: its models and layers, whose its tables are, the plugins that
are installed, and references to secrets in it."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "config.config": "Loaded RESERVED_NAMES load_config=load module_name read_config=read",
        "config.environment": "from_environment variables_of_server=of_server",
        "config.install_hints": "executors_of to_install",
        "config.installed_plugins": "Entry GROUPS Index canonical installed near_group",
        "config.layers": "Branding Managed Manager config_layers=layers find_index find_managed managed_title",
        "config.owned": "key_owner=owner keys_of_plugins=with_keys model_for server_model_for tables_in tables_of",
        "config.settings": "Config EVERYONE ServerSettings TokenSettings",
        "config.upstream_patterns": "Pattern Upstream is_upstream",
        "config.validation": "explain known_keys validate",
        "model.integrity": "Integrity Key",
        "model.names": "Named",
        "model.settings": "expand",
        "secrets.references": "Reference find has_references is_credential is_plain unescaped",
        "secrets.store": "Secrets",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
