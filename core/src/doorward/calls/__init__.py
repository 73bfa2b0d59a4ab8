"""One call, from the sandbox to its source and back: its arguments are bound and checked, it is allowed or refused, and
its answer is made plain.

Never the program that makes it.
"""
