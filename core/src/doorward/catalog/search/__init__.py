"""Finding functions by words.

Never how they are stored.
"""
