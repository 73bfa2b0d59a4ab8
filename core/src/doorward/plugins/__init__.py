"""stevedore finds, pluggy calls.

Never the name of any plugin.
"""
