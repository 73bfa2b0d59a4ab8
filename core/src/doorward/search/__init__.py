"""Finding functions by words: what the index knows of a function, what a question asks, and which functions fit it.

Never where the index is stored, nor who may be shown what it finds.
"""
