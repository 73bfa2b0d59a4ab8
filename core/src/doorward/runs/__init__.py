"""One run, from code to outcome, and the modules that its program may import.

Never how code is isolated.
"""
