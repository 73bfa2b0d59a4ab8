"""The document as it was written: parsed, with references resolved and strings cleaned.

Never what a function looks like.
"""
