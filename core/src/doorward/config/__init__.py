"""`doorward.toml`, the environment, what manages them; and which plugins are installed, or are to be installed for what
is not.

Never anything that acts on them.
"""
