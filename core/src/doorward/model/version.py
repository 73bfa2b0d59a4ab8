"""Which Doorward this is, and which plugins fit it."""

__version__ = "0.1.0"

PLUGIN_API = 1
"""The plugin interface that this core speaks. A plugin may state its own `PLUGIN_API`; another number is refused."""
