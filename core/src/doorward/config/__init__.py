"""`doorward.toml`, the environment, and a distribution's defaults.

Never anything that acts on them.
"""
