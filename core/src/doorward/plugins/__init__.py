"""Finding and loading plugins with stevedore, and calling their hooks with pluggy.

Never the name of any plugin.
"""
