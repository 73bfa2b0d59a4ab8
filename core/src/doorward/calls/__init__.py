"""One call, from the sandbox to its source and back.

Never the program that makes it.
"""
