"""The tools of an upstream as functions, and their answers as values. Never anything that needs a connection."""
