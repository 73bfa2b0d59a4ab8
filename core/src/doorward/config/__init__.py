"""`doorward.toml`, the environment, a distribution's defaults, and what is installed.

Never anything that acts on them.
"""
