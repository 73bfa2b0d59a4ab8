"""The tools of an upstream as functions, and what they answer as values.

Never anything that is connected.
"""
