"""Other systems' names for servers, helpers and call styles, looked up when a program runs.

Never anything that our own names need: `program_api` knows nothing of it.
"""
