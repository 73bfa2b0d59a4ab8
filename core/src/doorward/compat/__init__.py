"""Other systems' names for servers, helpers and call styles.

Never anything that our own names need.
"""
