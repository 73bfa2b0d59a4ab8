"""`doorward.toml`, the environment, and what manages them.

Never anything that acts on them.
"""
