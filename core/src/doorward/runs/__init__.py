"""One run, from code to outcome.

Never how code is isolated.
"""
