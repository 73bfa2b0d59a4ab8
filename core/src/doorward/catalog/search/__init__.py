"""How functions are found by words.

Never how they are stored.
"""
