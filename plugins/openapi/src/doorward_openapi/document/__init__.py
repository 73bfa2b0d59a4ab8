"""The document as it lies there: read, its references followed, its strings made plain.

Never what a function is.
"""
